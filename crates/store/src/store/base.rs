//! The revision that a change of a notebook was made for.

use std::path::Path;

use cellist_notebook::{Notebook, Revision, Snapshot};

use super::Store;
use crate::error::{Error, Problem, Result};

/// The state of a notebook that a change was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The notebook as it is.
    Current,
    /// This revision; a notebook that has changed since is merged with.
    Named(Revision),
    /// The revision that was read last; a notebook that has changed since is left alone.
    LastRead(Revision),
}

impl Base {
    /// The revision, where there is one.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Base::Current => None,
            Base::Named(revision) | Base::LastRead(revision) => Some(revision),
        }
    }
}

impl From<Option<Revision>> for Base {
    fn from(named: Option<Revision>) -> Base {
        named.map_or(Base::Current, Base::Named)
    }
}

impl Store {
    /// The base of a change that replaces everything: the named revision, or else the one that was read last.
    pub fn base_of_whole(&self, path: &Path, named: Option<Revision>) -> Base {
        match (named, self.last_read(path)) {
            (None, Some(revision)) if path.exists() => Base::LastRead(revision),
            (named, _) => named.into(),
        }
    }

    /// The snapshot to merge with, where a notebook is at another revision than the base.
    pub fn snapshot_since(&self, path: &Path, base: Base, notebook: &Notebook) -> Result<Option<Snapshot>> {
        let Some(revision) = base.revision() else { return Ok(None) };
        let current = notebook.revision();
        if revision == current {
            return Ok(None);
        }
        let problem = match base {
            Base::LastRead(_) => Problem::ChangedSinceRead { base: revision, current },
            Base::Current | Base::Named(_) => match self.recall(path, revision) {
                Some(snapshot) => return Ok(Some(snapshot)),
                None => Problem::UnknownRevision { base: revision, current },
            },
        };
        Err(Error::new(path, problem))
    }
}
