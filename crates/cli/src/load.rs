//! Notebooks that are only looked at: nothing of them is remembered, and nothing is saved.

use std::fs;
use std::path::Path;

use cellist_notebook::{Ids, Notebook, Revision};
use cellist_session::{Home, Store, Use};

use crate::author::gate;
use crate::error::CliError;
use crate::memory;

/// The store that all commands use.
pub(crate) fn store() -> Store {
    Store::new(Home::from_env()).behind(gate())
}

/// Refuses an agent a file that it may not look at.
pub(crate) fn check_look(path: &Path) -> Result<(), CliError> {
    match gate().is_some() && path != Path::new("/dev/null") {
        true => Ok(store().check_use(path, Use::Look)?),
        false => Ok(()),
    }
}

/// Refuses an agent a file that it may not write.
pub(crate) fn check_change(path: &Path) -> Result<(), CliError> {
    match gate() {
        Some(_) => Ok(store().check_use(path, Use::Change)?),
        None => Ok(()),
    }
}

/// The store of a command that reads or changes one notebook and is done.
pub(crate) fn store_in_passing() -> Store {
    memory::prepare();
    store()
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
