//! The revision that a change was made for.

use std::path::Path;

use cellist_notebook::{Notebook, Revision, Snapshot};

use super::Store;
use crate::error::{Error, Problem, Result};

/// The revision that a change was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeBase {
    /// The current content, without a check.
    Current,
    /// This revision. A newer notebook is merged.
    Named(Revision),
    /// The revision that was last read. A newer notebook is refused.
    LastRead(Revision),
}

impl ChangeBase {
    /// The revision, if one is named.
    pub fn revision(self) -> Option<Revision> {
        match self {
            ChangeBase::Current => None,
            ChangeBase::Named(revision) | ChangeBase::LastRead(revision) => Some(revision),
        }
    }
}

impl From<Option<Revision>> for ChangeBase {
    fn from(named: Option<Revision>) -> ChangeBase {
        named.map_or(ChangeBase::Current, ChangeBase::Named)
    }
}

impl Store {
    /// The base of a change that replaces the whole notebook: the named revision, or else the one
    /// last read.
    pub fn base_of_whole(&self, path: &Path, named: Option<Revision>) -> ChangeBase {
        match (named, self.last_read(path)) {
            (None, Some(revision)) if path.exists() => ChangeBase::LastRead(revision),
            (named, _) => named.into(),
        }
    }

    /// The snapshot to merge with, if the notebook has moved on from the base.
    pub fn snapshot_since(
        &self,
        path: &Path,
        base: ChangeBase,
        notebook: &Notebook,
    ) -> Result<Option<Snapshot>> {
        let Some(revision) = base.revision() else { return Ok(None) };
        let current = notebook.revision();
        if revision == current {
            return Ok(None);
        }
        let problem = match base {
            ChangeBase::LastRead(_) => Problem::ChangedSinceRead { base: revision, current },
            ChangeBase::Current | ChangeBase::Named(_) => match self.recall(path, revision) {
                Some(snapshot) => return Ok(Some(snapshot)),
                None => Problem::UnknownRevision { base: revision, current },
            },
        };
        Err(Error::new(path, problem))
    }
}
