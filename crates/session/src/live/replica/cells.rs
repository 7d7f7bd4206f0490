//! Lists of cells, and the results of operations and effects on them.

use cellist_notebook::{CellId, Notebook};

use super::super::ChangeSet;
use super::super::change_set::BadChange;
use super::super::op::{Effect, Op};
use super::ReplicaCell;

pub(super) fn cells_of(notebook: &Notebook) -> Vec<ReplicaCell> {
    let cells = notebook.cells().iter();
    cells
        .map(|cell| ReplicaCell {
            id: cell.id().clone(),
            kind: cell.cell_type(),
            source: cell.source().into_owned(),
        })
        .collect()
}

pub(super) fn position(cells: &[ReplicaCell], id: &CellId) -> Option<usize> {
    cells.iter().position(|cell| cell.id == *id)
}

/// Applies an effect of the notebook to a copy.
pub(super) fn follow(cells: &mut Vec<ReplicaCell>, effect: &Effect) -> Result<(), BadChange> {
    match effect {
        Effect::Inserted { cell, after, kind, source } => {
            let at = place(cells, after.as_ref());
            cells.insert(at, ReplicaCell { id: cell.clone(), kind: *kind, source: source.clone() });
        }
        Effect::Deleted { cell } => cells.retain(|known| known.id != *cell),
        Effect::Moved { cell, after } => shift(cells, cell, after.as_ref()),
        Effect::Retyped { cell, kind } => {
            if let Some(at) = position(cells, cell) {
                cells[at].kind = *kind;
            }
        }
        Effect::Changed { cell, change } => {
            if let Some(at) = position(cells, cell) {
                cells[at].source = change.apply(&cells[at].source)?;
            }
        }
        Effect::Outputs { .. } | Effect::Metadata { .. } => {}
    }
    Ok(())
}

/// Applies an operation to a copy.
pub(super) fn carry_out(cells: &mut Vec<ReplicaCell>, op: &Op) -> Result<(), BadChange> {
    let effect = match op.clone() {
        Op::Insert { cell: None, .. } | Op::Clear { .. } | Op::Absorb { .. } | Op::Refit { .. } => {
            return Ok(());
        }
        Op::Insert { cell: Some(cell), after, kind, source, .. } => {
            Effect::Inserted { cell, after, kind, source }
        }
        Op::Delete { cell } => Effect::Deleted { cell },
        Op::Move { cell, after } => Effect::Moved { cell, after },
        Op::Retype { cell, kind } => Effect::Retyped { cell, kind },
        Op::Change { cell, change } => Effect::Changed { cell, change },
        Op::Write { cell, source } => {
            let before = position(cells, &cell).map(|at| cells[at].source.clone()).unwrap_or_default();
            Effect::Changed { cell, change: ChangeSet::between(&before, &source) }
        }
    };
    follow(cells, &effect)
}

fn place(cells: &[ReplicaCell], after: Option<&CellId>) -> usize {
    match after {
        None => 0,
        Some(after) => position(cells, after).map_or(cells.len(), |at| at + 1),
    }
}

fn shift(cells: &mut Vec<ReplicaCell>, cell: &CellId, after: Option<&CellId>) {
    if after == Some(cell) {
        return;
    }
    if let Some(at) = position(cells, cell) {
        let moved = cells.remove(at);
        let to = place(cells, after);
        cells.insert(to, moved);
    }
}

/// The effects that turn one list of cells into another.
pub(super) fn between(old: &[ReplicaCell], new: &[ReplicaCell]) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let gone = old.iter().filter(|cell| position(new, &cell.id).is_none());
    effects.extend(gone.map(|cell| Effect::Deleted { cell: cell.id.clone() }));
    let mut order: Vec<ReplicaCell> =
        old.iter().filter(|cell| position(new, &cell.id).is_some()).cloned().collect();
    for (at, cell) in new.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| new[before].id.clone());
        let effect = match position(&order, &cell.id) {
            None => Effect::Inserted {
                cell: cell.id.clone(),
                after,
                kind: cell.kind,
                source: cell.source.clone(),
            },
            Some(known) => {
                let was = order[known].clone();
                if was.kind != cell.kind {
                    effects.push(Effect::Retyped { cell: cell.id.clone(), kind: cell.kind });
                }
                if was.source != cell.source {
                    let change = ChangeSet::between(&was.source, &cell.source);
                    effects.push(Effect::Changed { cell: cell.id.clone(), change });
                }
                if known == at {
                    continue;
                }
                Effect::Moved { cell: cell.id.clone(), after }
            }
        };
        // Only names matter for the order.
        let _ = follow(&mut order, &effect);
        effects.push(effect);
    }
    effects
}
