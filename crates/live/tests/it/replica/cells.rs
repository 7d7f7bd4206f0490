//! The results of operations on lists of cells.

use cellist_live::{BadChange, CellText, ChangeSet, Effect, Op, follow, position};

/// Applies an operation to a copy.
pub(super) fn carry_out(cells: &mut Vec<CellText>, op: &Op) -> Result<(), BadChange> {
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

/// Returns the effects that turn one list of cells into another.
pub(super) fn between(old: &[CellText], new: &[CellText]) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let gone = old.iter().filter(|cell| position(new, &cell.id).is_none());
    effects.extend(gone.map(|cell| Effect::Deleted { cell: cell.id.clone() }));
    let mut order: Vec<CellText> =
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
        // Only ids matter for the order.
        let _ = follow(&mut order, &effect);
        effects.push(effect);
    }
    effects
}
