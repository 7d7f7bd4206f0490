//! Who may use which files, where the owner of a store is not the person themselves.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::Store;
use super::place::Place;
use crate::{Problem, Result};

/// What is wanted of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its content, or that it is there.
    Look,
    /// Another content.
    Change,
}

type Decide = dyn Fn(&Path, &Path, Use) -> std::result::Result<(), String> + Send + Sync;

/// Decides on the use of each file: by the path as it was named and by the file that it leads to. The words of a refusal
/// say why.
#[derive(Clone)]
pub struct Gate(Arc<Decide>);

impl Gate {
    /// A gate that decides so.
    pub fn new(
        decide: impl Fn(&Path, &Path, Use) -> std::result::Result<(), String> + Send + Sync + 'static,
    ) -> Gate {
        Gate(Arc::new(decide))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}

impl Store {
    /// The same store for someone who may not use all files.
    #[must_use]
    pub fn behind(self, gate: Option<Gate>) -> Store {
        Store { gate, ..self }
    }

    /// Whether a file may be used.
    pub fn check_use(&self, path: &Path, wanted: Use) -> Result<()> {
        self.place(path, wanted).map(drop)
    }

    /// The file that a path leads to, if it may be used.
    pub(super) fn place(&self, path: &Path, wanted: Use) -> Result<Place> {
        let place = Place::of(path)?;
        let decided = self.gate.as_ref().map(|Gate(decide)| decide(path, &place.real, wanted));
        match decided {
            Some(Err(why)) => Err(place.error(Problem::OutOfReach(why))),
            Some(Ok(())) | None => Ok(place),
        }
    }
}
