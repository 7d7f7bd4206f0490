//! Where cells stood that are gone, so that what refers to them still finds a place.

use std::collections::HashMap;

use cellist_notebook::{CellId, Notebook};

use super::act::Act;

/// For each cell that is gone, the one that stood before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graves(HashMap<CellId, Option<CellId>>);

impl Graves {
    /// Takes note of what was done.
    pub(crate) fn note(&mut self, act: &Act) {
        match act {
            Act::Deleted { cell, after, .. } => drop(self.0.insert(cell.clone(), after.clone())),
            Act::Inserted { cell, .. } => drop(self.0.remove(cell)),
            Act::Moved { .. }
            | Act::Retyped { .. }
            | Act::Edited { .. }
            | Act::Cleared { .. }
            | Act::Refitted { .. }
            | Act::Outputs { .. }
            | Act::Metadata { .. } => {}
        }
    }

    /// Whether a cell of this name was there and is gone.
    pub(crate) fn knows(&self, cell: &CellId) -> bool {
        self.0.contains_key(cell)
    }

    /// The place behind a cell, or the first one. Where the cell is gone, behind what stood before it; `None`
    /// where it was never there.
    pub(crate) fn place(&self, notebook: &Notebook, after: Option<&CellId>) -> Option<usize> {
        let mut anchor = after;
        // Each was there when the one before it in the chain went, so that the chain has an end.
        for _ in 0..=self.0.len() {
            match anchor {
                None => return Some(0),
                Some(cell) => match notebook.position(cell) {
                    Some(at) => return Some(at + 1),
                    None => anchor = self.0.get(cell)?.as_ref(),
                },
            }
        }
        None
    }
}
