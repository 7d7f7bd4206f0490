//! Positions of deleted cells, so that references to them still find a place.

use std::collections::HashMap;

use cellist_notebook::{CellId, Notebook};

use super::act::Act;

/// For each deleted cell, the cell before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellTombstones(HashMap<CellId, Option<CellId>>);

impl CellTombstones {
    /// Records an act.
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

    /// Whether a cell of this id was deleted.
    pub(crate) fn knows(&self, cell: &CellId) -> bool {
        self.0.contains_key(cell)
    }

    /// Returns the index after a cell, or 0. After a deleted cell, uses the cell before it; `None` if the cell
    /// never existed.
    pub(crate) fn place(&self, notebook: &Notebook, after: Option<&CellId>) -> Option<usize> {
        let mut anchor = after;
        // Each cell existed when the one before it in the chain was deleted, so the chain ends.
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
