//! File access of commands: the store with the agent's file policy, and notebooks for comparison.

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

/// Rejects a file that the agent may not read.
pub(crate) fn check_look(path: &Path) -> Result<(), CliError> {
    if gate().is_some() && path != Path::new("/dev/null") {
        store().check_use(path, Use::Look)?;
    }
    Ok(())
}

/// Rejects a file that the agent may not write.
pub(crate) fn check_change(path: &Path) -> Result<(), CliError> {
    if gate().is_some() {
        store().check_use(path, Use::Change)?;
    }
    Ok(())
}

/// Reads a side of a comparison; `/dev/null` is an empty notebook.
pub(crate) fn side(path: &Path) -> Result<Notebook, CliError> {
    if path == Path::new("/dev/null") {
        return Ok(Notebook::empty(Ids::seeded(0)));
    }
    Ok(store().open(path)?.notebook)
}

/// Reads a temporary file of git. No program is writing it, so this does not wait.
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
