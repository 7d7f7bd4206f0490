//! Files of commands: the store with the gate of an agent, and notebooks that are only compared.

use std::fs;
use std::path::Path;

use cellist_notebook::{Ids, Notebook, Revision};
use cellist_settings::Home;
use cellist_store::{Store, Use};

use super::author::gate;
use crate::error::CliError;

/// The store that all commands use.
pub(crate) fn store() -> Store {
    Store::new(Home::from_env()).with_gate(gate())
}

/// Refuses an agent a file that it may not look at.
pub(crate) fn check_look(path: &Path) -> Result<(), CliError> {
    if gate().is_some() && path != Path::new("/dev/null") {
        store().check_use(path, Use::Look)?;
    }
    Ok(())
}

/// Refuses an agent a file that it may not write.
pub(crate) fn check_change(path: &Path) -> Result<(), CliError> {
    if gate().is_some() {
        store().check_use(path, Use::Change)?;
    }
    Ok(())
}

/// A notebook that is one side of a comparison; `/dev/null` is one without cells.
pub(crate) fn side(path: &Path) -> Result<Notebook, CliError> {
    if path == Path::new("/dev/null") {
        return Ok(Notebook::empty(Ids::seeded(0)));
    }
    Ok(store().open(path)?.notebook)
}

/// A notebook in a temporary file of git's. Nobody is about to write that, so there is nothing to wait for.
pub(crate) fn blob(path: &Path) -> Result<Notebook, CliError> {
    if path == Path::new("/dev/null") {
        return side(path);
    }
    check_look(path)?;
    let bytes = fs::read(path).map_err(|error| CliError::unreadable(path, &error))?;
    // Ids for cells that get a new one follow from the content, so that a merge made twice is the same.
    let seed = u64::from_str_radix(&Revision::of([bytes.as_slice()]).to_string(), 16).unwrap_or_default();
    Notebook::parse(bytes, Ids::seeded(seed)).map_err(|error| CliError::notebook(path, &error))
}
