//! The changes of an open notebook against the text it was read from, and its revision.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use crate::cell::Cell;
use crate::revision::Revision;

/// The cells and the changes around them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits {
    pub(crate) cells: Vec<Cell>,
    /// Top-level keys written since the text was read.
    pub(crate) changed: Vec<(String, Vec<u8>)>,
    /// Whether cells were added, removed or moved since.
    pub(crate) rearranged: bool,
}

/// Edits with the revision of the notebook that has them, once it was computed. A caller that gets the
/// edits to change them makes it unknown again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracked {
    edits: Edits,
    revision: OnceLock<Revision>,
}

impl Tracked {
    /// The revision, worked out by `hash` unless it is known.
    pub(crate) fn revision(&self, hash: impl FnOnce() -> Revision) -> Revision {
        *self.revision.get_or_init(hash)
    }

    /// Sets the revision for changes that are not in the file.
    pub(crate) fn set_revision(&mut self, revision: Revision) {
        self.revision = OnceLock::from(revision);
    }
}

impl From<Vec<Cell>> for Tracked {
    fn from(cells: Vec<Cell>) -> Tracked {
        Tracked { edits: Edits { cells, ..Edits::default() }, revision: OnceLock::new() }
    }
}

impl Deref for Tracked {
    type Target = Edits;

    fn deref(&self) -> &Edits {
        &self.edits
    }
}

impl DerefMut for Tracked {
    fn deref_mut(&mut self) -> &mut Edits {
        self.revision.take();
        &mut self.edits
    }
}
