//! Random operations of simulated clients.

use super::*;

/// Returns a random operation on the cells of a client.
pub(super) fn some_op(chance: &mut Chance, letters: &mut Letters, replica: &mut Replica) -> Option<Op> {
    let cells: Vec<(CellId, String)> =
        replica.cells().iter().map(|cell| (cell.id.clone(), cell.source.clone())).collect();
    let pick = |chance: &mut Chance| cells.get(chance.below(cells.len())).cloned();
    let after = pick(chance).map(|(id, _)| id).filter(|_| !chance.one_in(5));
    Some(match chance.below(40) {
        0..=1 => Op::Insert {
            cell: Some(replica.fresh_name()),
            after,
            kind: if chance.one_in(3) { CellType::Markdown } else { CellType::Code },
            source: (0..chance.below(4)).map(|_| letters.next()).collect(),
            content: None,
        },
        2 if cells.len() > 2 => {
            let cell = replica.cells()[chance.below(cells.len())].clone();
            letters.delete(&cell.source);
            letters.gone.push(cell.clone());
            Op::Delete { cell: cell.id }
        }
        5..=6 => {
            let is_gone = |gone: &&CellText| cells.iter().all(|(id, _)| *id != gone.id);
            let CellText { id, kind, source } = letters.gone.iter().rev().find(is_gone)?.clone();
            let content = Some(Content::Cell { cell: id.clone(), outputs: true });
            Op::Insert { cell: Some(id), after, kind, source, content }
        }
        7 => Op::Absorb { cell: pick(chance)?.0, from: vec![pick(chance)?.0] },
        8 => Op::Refit { cell: pick(chance)?.0 },
        3 => Op::Move { cell: pick(chance)?.0, after },
        4 => Op::Retype { cell: pick(chance)?.0, kind: CellType::ALL[chance.below(3)] },
        _ => {
            let (cell, source) = pick(chance)?;
            Op::Change { cell, change: typed(chance, letters, &source) }
        }
    })
}

/// Returns a change that inserts and deletes some letters of a text.
pub(super) fn typed(chance: &mut Chance, letters: &mut Letters, source: &str) -> ChangeSet {
    let characters: Vec<char> = source.chars().collect();
    let at = chance.below(characters.len() + 1);
    let removed = if chance.one_in(4) { chance.below(3).min(characters.len() - at) } else { 0 };
    let gone: String = characters[at..at + removed].iter().collect();
    letters.delete(&gone);
    let mut text: String = (0..chance.below(4)).map(|_| letters.next()).collect();
    if chance.one_in(6) {
        text.push('\n');
    }
    let start = units(&characters[..at].iter().collect::<String>());
    ChangeSet::replace(units(source), start..start + units(&gone), &text).unwrap()
}
