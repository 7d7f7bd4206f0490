//! Access rules for callers that may not use every file, such as agents.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::Store;
use super::location::FileLocation;
use crate::{Problem, Result};

/// The kind of access to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read it, or test whether it exists.
    Look,
    /// Write it.
    Change,
}

type Decide = dyn Fn(&Path, &Path, Use) -> std::result::Result<(), String> + Send + Sync;

/// Decides on every access, from the path as given and the resolved path. A refusal carries its
/// reason.
#[derive(Clone)]
pub struct FileGate(Arc<Decide>);

impl FileGate {
    /// A gate with this decision function.
    pub fn new(
        decide: impl Fn(&Path, &Path, Use) -> std::result::Result<(), String> + Send + Sync + 'static,
    ) -> FileGate {
        FileGate(Arc::new(decide))
    }
}

impl fmt::Debug for FileGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileGate")
    }
}

impl Store {
    /// Restricts the store by a gate; `None` lifts the restriction.
    #[must_use]
    pub fn with_gate(self, gate: Option<FileGate>) -> Store {
        Store { gate, ..self }
    }

    /// Checks whether the gate allows an access.
    pub fn check_use(&self, path: &Path, wanted: Use) -> Result<()> {
        self.location(path, wanted).map(drop)
    }

    /// Resolves a path, if the gate allows the access.
    pub(super) fn location(&self, path: &Path, wanted: Use) -> Result<FileLocation> {
        let location = FileLocation::of(path)?;
        let decided = self.gate.as_ref().map(|FileGate(decide)| decide(path, &location.real, wanted));
        match decided {
            Some(Err(why)) => Err(location.error(Problem::OutOfReach(why))),
            Some(Ok(())) | None => Ok(location),
        }
    }
}
