//! Operations on a notebook's cells, singly or several at once as one change.

mod outcome;
mod wire;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::cell::CellType;
use crate::draft::{Draft, Renamed, Slot, Snapshot};
use crate::error::{Error, Result};
use crate::id::{CellRef, Names};
use crate::notebook::Notebook;

pub use outcome::{Effect, Outcome};

/// One change of a cell. Positions are those before the change, or before the whole batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Operation {
    /// Replace the source; type, metadata, attachments and outputs stay.
    Edit { cell: CellRef, source: String },
    /// Put a new cell before the one at `index`; the number of cells puts it last.
    Insert {
        index: i64,
        #[serde(rename = "type")]
        kind: CellType,
        source: String,
    },
    /// Take a cell out.
    Delete { cell: CellRef },
    /// Let a cell stand at `index` afterwards.
    Move { cell: CellRef, index: i64 },
    /// Change the type.
    Retype {
        cell: CellRef,
        #[serde(rename = "type")]
        kind: CellType,
    },
    /// Take outputs and execution count off.
    Clear { cell: CellRef },
}

/// The name of an [`Operation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "see the operations")]
pub enum Action {
    Edit,
    Insert,
    Delete,
    Move,
    Retype,
    Clear,
}

impl Notebook {
    /// Carries out all of `operations` or, on an error, none. Made on an older revision, they are merged
    /// with the changes since.
    pub fn perform(&mut self, operations: &[Operation], base: Option<&Snapshot>) -> Result<Vec<Outcome>> {
        let base = base.map(|base| self.with_later_cells(base, operations));
        let base = base.as_deref();
        let names = match base {
            Some(base) => Names::of_snapshot(base),
            None => Names::of_notebook(self),
        };
        let batch = Batch::new(operations, &names).map_err(|error| self.explain_missing(error))?;
        if let Some(base) = base {
            self.check_targets(&batch, base)?;
        }
        let mut changed = self.clone();
        let applied = changed.apply_as(batch.draft, base, Renamed::Another)?;
        let index_of = |slot: usize| applied.slots.iter().position(|from| *from == Some(slot));
        for slot in &batch.cleared {
            if let Some(index) = index_of(*slot) {
                changed.clear_outputs(index);
            }
        }
        let outcomes = (batch.targets.iter())
            .map(|Target { action, who, slot }| match (slot.and_then(index_of), who) {
                (Some(index), _) => Outcome::of_cell(*action, &changed, index, self),
                (None, Who::Base(at)) => Outcome::of_gone(*action, changed.cells().len(), *at, self, base),
                (None, Who::Inserted(_)) => unreachable!("an inserted cell is in the notebook"),
            })
            .collect();
        *self = changed;
        Ok(outcomes)
    }
}

impl Notebook {
    /// An older revision, with the cells behind it that operations name and that came or came back later.
    fn with_later_cells<'a>(&self, base: &'a Snapshot, operations: &[Operation]) -> Cow<'a, Snapshot> {
        let mut base = Cow::Borrowed(base);
        for cell in operations.iter().filter_map(Operation::cell) {
            let is_unknown = matches!(Names::of_snapshot(&base).find(cell), Err(Error::NoSuchId { .. }));
            if let Some(at) = is_unknown.then(|| self.find(cell).ok()).flatten() {
                base.to_mut().cells.push(self.snapshot_cells().swap_remove(at));
            }
        }
        base
    }

    /// Refuses operations on cells of an older revision that are gone. To delete or clear one of those changes nothing.
    fn check_targets(&self, batch: &Batch, base: &Snapshot) -> Result<()> {
        let positions = self.positions_since(base);
        for Target { action, who, .. } in &batch.targets {
            if let Who::Base(at) = who
                && !matches!(action, Action::Delete | Action::Clear)
                && positions[*at].is_none()
            {
                return Err(self.missing(&base.cells[*at]));
            }
        }
        Ok(())
    }
}

/// Operations turned into the draft that they ask for.
struct Batch {
    draft: Draft,
    /// The slots whose outputs are to be cleared.
    cleared: Vec<usize>,
    /// The cell of each operation.
    targets: Vec<Target>,
}

/// The cell that an operation is about.
struct Target {
    action: Action,
    who: Who,
    /// Its slot in the draft; none for a deleted one.
    slot: Option<usize>,
}

/// A cell of the batch: one of the base, or the one that an operation inserts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Base(usize),
    Inserted(usize),
}

impl Batch {
    fn new(operations: &[Operation], names: &Names) -> Result<Batch> {
        let count = names.len();
        let mut slots = Draft::unchanged(count).slots;
        let mut deleted: Vec<usize> = Vec::new();
        let mut cleared = Vec::new();
        let mut inserts: Vec<(usize, usize)> = Vec::new();
        let mut moves: Vec<(i64, usize)> = Vec::new();
        let mut whos: Vec<(Action, Who)> = Vec::new();
        for (position, operation) in operations.iter().enumerate() {
            let find = |cell: &CellRef, deleted: &[usize]| {
                let index = names.find(cell)?;
                if deleted.contains(&index) {
                    return Err(Error::AlreadyDeleted { position, index });
                }
                Ok(index)
            };
            let who = match operation {
                Operation::Edit { cell, source } => {
                    let at = find(cell, &deleted)?;
                    if let Slot::Kept { source: wanted, .. } = &mut slots[at] {
                        *wanted = Some(source.clone());
                    }
                    (Action::Edit, Who::Base(at))
                }
                Operation::Retype { cell, kind } => {
                    let at = find(cell, &deleted)?;
                    if let Slot::Kept { kind: wanted, .. } = &mut slots[at] {
                        *wanted = Some(*kind);
                    }
                    (Action::Retype, Who::Base(at))
                }
                Operation::Delete { cell } => {
                    let at = find(cell, &deleted)?;
                    deleted.push(at);
                    moves.retain(|(_, moved)| *moved != at);
                    (Action::Delete, Who::Base(at))
                }
                Operation::Clear { cell } => {
                    let at = find(cell, &deleted)?;
                    cleared.push(at);
                    (Action::Clear, Who::Base(at))
                }
                Operation::Move { cell, index } => {
                    let at = find(cell, &deleted)?;
                    moves.retain(|(_, moved)| *moved != at);
                    moves.push((*index, at));
                    (Action::Move, Who::Base(at))
                }
                Operation::Insert { index, .. } => {
                    let at = usize::try_from(*index).ok().filter(|&at| at <= count);
                    inserts.push((at.ok_or(Error::NoSuchPosition { index: *index, count })?, position));
                    (Action::Insert, Who::Inserted(position))
                }
            };
            whos.push(who);
        }

        let order = arrange(count, &deleted, &inserts, &moves)?;
        let place = |who: Who| order.iter().position(|at| *at == who);
        let targets = whos.iter().map(|&(action, who)| Target { action, who, slot: place(who) }).collect();
        let draft = Draft {
            slots: (order.iter())
                .map(|who| match who {
                    Who::Base(at) => slots[*at].clone(),
                    Who::Inserted(position) => match &operations[*position] {
                        Operation::Insert { kind, source, .. } => {
                            Slot::New { kind: *kind, source: source.clone() }
                        }
                        _ => unreachable!("only insertions are recorded as inserted"),
                    },
                })
                .collect(),
        };
        let cleared = cleared.into_iter().filter_map(|at| place(Who::Base(at))).collect();
        Ok(Batch { draft, cleared, targets })
    }
}

/// The order of the cells after a batch: kept cells keep their order, insertions go before the cell that had
/// their position, and every moved cell stands exactly where it was sent.
fn arrange(
    count: usize,
    deleted: &[usize],
    inserts: &[(usize, usize)],
    moves: &[(i64, usize)],
) -> Result<Vec<Who>> {
    let mut order = Vec::new();
    for at in 0..=count {
        let inserted = inserts.iter().filter(|(place, _)| *place == at);
        order.extend(inserted.map(|(_, position)| Who::Inserted(*position)));
        let moved = moves.iter().any(|(_, moved)| *moved == at);
        if at < count && !moved && !deleted.contains(&at) {
            order.push(Who::Base(at));
        }
    }
    let total = order.len() + moves.len();
    let mut moves = moves.to_vec();
    moves.sort_by_key(|(target, _)| *target);
    if let Some(pair) = moves.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::SameTarget { index: pair[0].0 });
    }
    // Sent to different places and taken in rising order, each finds its place filled up to it.
    for (target, at) in moves {
        let index = usize::try_from(target).ok().filter(|&index| index < total);
        let index = index.ok_or(Error::NoSuchTarget { index: target, count: total })?;
        order.insert(index, Who::Base(at));
    }
    Ok(order)
}

impl Operation {
    /// Names a cell that is counted from the end of `count` cells by its index, which JSON can express. One that does
    /// not exist stays as it is.
    pub fn count_from_start(&mut self, count: usize) {
        let (Operation::Edit { cell, .. }
        | Operation::Delete { cell }
        | Operation::Move { cell, .. }
        | Operation::Retype { cell, .. }
        | Operation::Clear { cell }) = self
        else {
            return;
        };
        if let CellRef::FromEnd(back) = cell
            && let Some(index) = count.checked_sub(*back).and_then(|index| i64::try_from(index).ok())
        {
            *cell = CellRef::Index(index);
        }
    }

    /// The cell that it is about, unless it makes one.
    fn cell(&self) -> Option<&CellRef> {
        match self {
            Operation::Edit { cell, .. }
            | Operation::Delete { cell }
            | Operation::Move { cell, .. }
            | Operation::Retype { cell, .. }
            | Operation::Clear { cell } => Some(cell),
            Operation::Insert { .. } => None,
        }
    }
}

impl Action {
    /// All actions, in the order in which they are listed to people.
    pub const ALL: [Action; 6] =
        [Action::Edit, Action::Insert, Action::Delete, Action::Move, Action::Retype, Action::Clear];

    /// The action's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Edit => "edit",
            Action::Insert => "insert",
            Action::Delete => "delete",
            Action::Move => "move",
            Action::Retype => "retype",
            Action::Clear => "clear",
        }
    }
}
