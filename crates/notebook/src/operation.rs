//! What can be asked of a notebook's cells, singly or several at once as one change.

use serde::{Deserialize, Serialize};

use crate::cell::CellType;
use crate::draft::{Draft, Slot, Snapshot};
use crate::error::{Error, Result, counted};
use crate::id::{CellRef, Names};
use crate::notebook::Notebook;

/// One change of a cell. Positions are those before the change, or before the whole batch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named for what they are")]
pub enum Operation {
    /// Replace the source; type, metadata, attachments and outputs stay.
    Edit { cell: CellRef, source: String },
    /// Put a new cell before the one at `index`; the number of cells puts it last.
    Insert { index: i64, kind: CellType, source: String },
    /// Take a cell out.
    Delete { cell: CellRef },
    /// Let a cell stand at `index` afterwards.
    Move { cell: CellRef, index: i64 },
    /// Change the type.
    Retype { cell: CellRef, kind: CellType },
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

/// What an operation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which operation it was.
    pub action: Action,
    /// Where the cell stands now; for a deleted one, where it stood.
    pub cell_index: usize,
    /// The cell's stored id, if it has one.
    pub cell_id: Option<String>,
    /// The cell's type.
    pub cell_type: CellType,
    /// How many cells there are now.
    pub total_cells: usize,
    /// The cell's source now; for a deleted one, what was deleted.
    pub cell_source: String,
}

impl Outcome {
    /// The outcome in one sentence.
    pub fn sentence(&self) -> String {
        let Outcome { cell_index: index, cell_type: kind, .. } = self;
        let id = self.cell_id.as_ref().map_or_else(String::new, |id| format!(" ({id})"));
        let total = counted(self.total_cells);
        match self.action {
            Action::Edit => {
                format!("Replaced the source of {kind} cell {index}{id}; the notebook has {total}.")
            }
            Action::Insert => format!("Inserted {kind} cell {index}{id}; the notebook has {total}."),
            Action::Delete => format!("Deleted {kind} cell {index}{id}; the notebook has {total}."),
            Action::Move => format!("Moved {kind} cell{id} to {index}; the notebook has {total}."),
            Action::Retype => format!("Made cell {index}{id} a {kind} cell; the notebook has {total}."),
            Action::Clear => {
                format!("Cleared the outputs of {kind} cell {index}{id}; the notebook has {total}.")
            }
        }
    }
}

impl Notebook {
    /// Carries out all of `operations` or, on an error, none. Made on an older revision, they are merged
    /// with what happened since.
    pub fn perform(&mut self, operations: &[Operation], base: Option<&Snapshot>) -> Result<Vec<Outcome>> {
        let names = match base {
            Some(base) => Names::of_snapshot(base),
            None => Names::of_notebook(self),
        };
        let batch = Batch::new(operations, &names)?;
        let before: Vec<Deleted> = batch.deletions(self, base);
        let mut changed = self.clone();
        let applied = changed.apply(batch.draft, base)?;
        let index_of = |slot: usize| applied.slots.iter().position(|from| *from == Some(slot));
        for slot in &batch.cleared {
            if let Some(index) = index_of(*slot) {
                changed.clear_outputs(index);
            }
        }
        let total_cells = changed.cells().len();
        let mut deleted = before.into_iter();
        let outcomes = (batch.targets.iter())
            .map(|(action, slot)| match slot.and_then(index_of) {
                Some(index) => {
                    let cell = &changed.cells()[index];
                    Outcome {
                        action: *action,
                        cell_index: index,
                        cell_id: cell.is_named_by_stored_id().then(|| cell.id().to_string()),
                        cell_type: cell.cell_type(),
                        total_cells,
                        cell_source: cell.source().into_owned(),
                    }
                }
                None => {
                    let Deleted { index, id, kind, source } = deleted.next().unwrap_or_default();
                    Outcome {
                        action: *action,
                        cell_index: index,
                        cell_id: id,
                        cell_type: kind.unwrap_or(CellType::Code),
                        total_cells,
                        cell_source: source,
                    }
                }
            })
            .collect();
        *self = changed;
        Ok(outcomes)
    }
}

/// What is remembered of a cell that a batch deletes.
#[derive(Default)]
struct Deleted {
    index: usize,
    id: Option<String>,
    kind: Option<CellType>,
    source: String,
}

/// Operations turned into the draft that they ask for.
struct Batch {
    draft: Draft,
    /// The slots whose outputs are to be cleared.
    cleared: Vec<usize>,
    /// For each operation, the slot of its cell in the draft; none for a deleted one.
    targets: Vec<(Action, Option<usize>)>,
    /// Cells to delete, by position before, in the order of the operations.
    deleted: Vec<usize>,
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
        let targets = whos
            .iter()
            .map(|(action, who)| (*action, place(*who).filter(|_| *action != Action::Delete)))
            .collect();
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
        Ok(Batch { draft, cleared, targets, deleted })
    }

    /// What the deleted cells were, looked up in the notebook that is about to lose them.
    fn deletions(&self, notebook: &Notebook, base: Option<&Snapshot>) -> Vec<Deleted> {
        let positions = base.map(|base| notebook.positions_since(base));
        let now = |at: usize| positions.as_ref().map_or(Some(at), |positions| positions[at]);
        let describe = |&at: &usize| {
            now(at).and_then(|index| Some((index, notebook.cells().get(index)?))).map_or_else(
                || Deleted { index: at, ..Deleted::default() },
                |(index, cell)| Deleted {
                    index,
                    id: cell.is_named_by_stored_id().then(|| cell.id().to_string()),
                    kind: Some(cell.cell_type()),
                    source: cell.source().into_owned(),
                },
            )
        };
        self.deleted.iter().map(describe).collect()
    }
}

/// The order of the cells after a batch: what stays keeps its order, insertions go before the cell that had
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

/// An operation as JSON says it: `{"action": "edit", "cell": 3, "content": "x = 1"}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    action: Action,
    #[serde(alias = "cell_index", alias = "cell_id")]
    cell: Option<serde_json::Value>,
    index: Option<i64>,
    #[serde(alias = "source")]
    content: Option<String>,
    #[serde(rename = "type", alias = "cell_type")]
    kind: Option<CellType>,
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        let wire = Wire::deserialize(deserializer)?;
        let needs = |what: &str| D::Error::custom(format!("`{}` needs {what}", wire.action.as_str()));
        let cell = || match &wire.cell {
            Some(serde_json::Value::Number(number)) => {
                number.as_i64().map(CellRef::Index).ok_or_else(|| needs("a whole number as `cell`"))
            }
            Some(serde_json::Value::String(name)) => Ok(CellRef::Name(name.clone())),
            Some(_) => Err(needs("an index or an id as `cell`")),
            None => Err(needs("`cell`, an index or an id")),
        };
        let content = || wire.content.clone().ok_or_else(|| needs("content"));
        Ok(match wire.action {
            Action::Edit => Operation::Edit { cell: cell()?, source: content()? },
            Action::Insert => {
                let index = match (wire.index, cell()) {
                    (Some(index), _) | (None, Ok(CellRef::Index(index))) => index,
                    (None, _) => return Err(needs("`index`")),
                };
                Operation::Insert { index, kind: wire.kind.unwrap_or(CellType::Code), source: content()? }
            }
            Action::Delete => Operation::Delete { cell: cell()? },
            Action::Move => {
                Operation::Move { cell: cell()?, index: wire.index.ok_or_else(|| needs("`index`"))? }
            }
            Action::Retype => {
                Operation::Retype { cell: cell()?, kind: wire.kind.ok_or_else(|| needs("`type`"))? }
            }
            Action::Clear => Operation::Clear { cell: cell()? },
        })
    }
}

impl Action {
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
