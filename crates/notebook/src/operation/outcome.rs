//! The outcome of an operation, and the one sentence that reports it.

use serde::{Deserialize, Serialize};

use super::Action;
use crate::cell::{Cell, CellType};
use crate::draft::Snapshot;
use crate::error::counted;
use crate::notebook::Notebook;

/// The effect of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which operation it was.
    pub action: Action,
    /// Whether anything is different for it.
    pub effect: Effect,
    /// Where the cell stands now; for one that is gone, where it stood.
    pub cell_index: usize,
    /// The name that the cell goes by: its stored id, or a handle. Unknown of a cell that is gone and was read long ago.
    pub cell_id: Option<String>,
    /// The cell's type.
    pub cell_type: CellType,
    /// How many cells there are now.
    pub total_cells: usize,
    /// The cell's source now; for a deleted one, its last source.
    pub cell_source: String,
}

/// Whether an operation made a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It was carried out as requested.
    Changed,
    /// The cell was as wanted before.
    Unchanged,
    /// Another client had deleted the cell.
    Gone,
}

impl Outcome {
    /// The outcome in one sentence.
    pub fn sentence(&self) -> String {
        let Outcome { cell_index: index, cell_type: kind, .. } = self;
        let id = self.cell_id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
        let what = match self.effect {
            Effect::Changed => match self.action {
                Action::Edit => format!("Replaced the source of {kind} cell {index}{id}"),
                Action::Insert => format!("Inserted {kind} cell {index}{id}"),
                Action::Delete => format!("Deleted {kind} cell {index}{id}"),
                Action::Move => format!("Moved {kind} cell{id} to {index}"),
                Action::Retype => format!("Made cell {index}{id} a {kind} cell"),
                Action::Clear => format!("Cleared the outputs of {kind} cell {index}{id}"),
            },
            Effect::Unchanged => {
                let why = match self.action {
                    Action::Edit => "it has this source already".to_owned(),
                    Action::Move => "it stands there already".to_owned(),
                    Action::Retype => format!("it is a {kind} cell already"),
                    Action::Clear => "it has no outputs to clear".to_owned(),
                    Action::Insert | Action::Delete => "there was nothing to do".to_owned(),
                };
                format!("Left {kind} cell {index}{id} unchanged: {why}")
            }
            Effect::Gone => format!(
                "Changed nothing: {kind} cell {index}{id} is gone: another writer deleted or rewrote it"
            ),
        };
        format!("{what}; the notebook has {}.", counted(self.total_cells))
    }

    /// The outcome for a cell that stands at `index` of `after`.
    pub(super) fn of_cell(action: Action, after: &Notebook, index: usize, before: &Notebook) -> Outcome {
        let cell = &after.cells()[index];
        // A handle stays with its cell, so it finds the cell as it was.
        let as_before = before.position(cell.id()).is_some_and(|at| {
            let old = &before.cells()[at];
            match action {
                Action::Edit => old.source() == cell.source(),
                Action::Move => at == index,
                Action::Retype => old.cell_type() == cell.cell_type(),
                Action::Clear => !old.has_run(),
                Action::Insert | Action::Delete => false,
            }
        });
        let effect = if as_before { Effect::Unchanged } else { Effect::Changed };
        Outcome::new(action, effect, index, Seen::of(cell), after.cells().len())
    }

    /// The outcome for a cell that is not there afterwards: it had position `at` in the base.
    pub(super) fn of_gone(
        action: Action,
        total_cells: usize,
        at: usize,
        before: &Notebook,
        base: Option<&Snapshot>,
    ) -> Outcome {
        let now = base.map_or(Some(at), |base| before.positions_since(base)[at]);
        let seen = now.and_then(|index| Some((index, Seen::of(before.cells().get(index)?))));
        match (seen, base) {
            (Some((index, seen)), _) => Outcome::new(action, Effect::Changed, index, seen, total_cells),
            (None, Some(base)) => {
                let cell = base.cells[at].clone();
                let seen = Seen { id: cell.name().map(str::to_owned), kind: cell.kind, source: cell.source };
                Outcome::new(action, Effect::Gone, at, seen, total_cells)
            }
            (None, None) => unreachable!("an operation on the newest notebook names a cell of it"),
        }
    }

    fn new(action: Action, effect: Effect, cell_index: usize, seen: Seen, total_cells: usize) -> Outcome {
        let Seen { id: cell_id, kind: cell_type, source: cell_source } = seen;
        Outcome { action, effect, cell_index, cell_id, cell_type, total_cells, cell_source }
    }
}

/// The description of a cell in an outcome.
struct Seen {
    id: Option<String>,
    kind: CellType,
    source: String,
}

impl Seen {
    fn of(cell: &Cell) -> Seen {
        Seen { id: Some(cell.id().to_string()), kind: cell.cell_type(), source: cell.source().into_owned() }
    }
}
