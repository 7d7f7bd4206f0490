//! The desired state of a notebook: which cells, in which order, with which type and source. Text and
//! operations both become drafts, and a draft can be applied to a notebook that has moved on since.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::align::rising;
use crate::cell::{Cell, CellType};
use crate::edit::Made;
use crate::error::{Error, Result};
use crate::identity::{pair_renamed, same_cells};
use crate::merge::{Cells, Ours, merge_cells};
use crate::notebook::Notebook;
use crate::revision::Revision;

/// The cells of one revision, as far as text shows them: enough to apply an edit that was based on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The revision's name.
    pub revision: String,
    /// Its cells, in order.
    pub cells: Vec<SnapshotCell>,
}

/// One cell of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotCell {
    /// Its stored id, unless other cells have the same.
    pub id: Option<String>,
    /// The name that it goes by, where that is not its stored id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Its type.
    pub kind: CellType,
    /// Its source.
    pub source: String,
}

impl SnapshotCell {
    /// The name that the cell goes by, where it is known.
    pub fn name(&self) -> Option<&str> {
        self.handle.as_deref().or(self.id.as_deref())
    }
}

/// The cells that a notebook should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// In the order wanted.
    pub slots: Vec<Slot>,
}

/// One cell of a [`Draft`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A cell of the base, with its desired values; `None` leaves one as it is.
    Kept {
        /// Its position in the base.
        from: usize,
        /// The type it should have.
        kind: Option<CellType>,
        /// The source it should have.
        source: Option<String>,
    },
    /// A cell that the base does not have.
    New {
        /// Its type.
        kind: CellType,
        /// Its source.
        source: String,
    },
}

/// The effect of a draft. Positions are those in the notebook afterwards, but for `deleted`, which holds
/// positions before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Cells left as they were.
    pub kept: Vec<usize>,
    /// Cells with another type or source.
    pub changed: Vec<usize>,
    /// New cells.
    pub added: Vec<usize>,
    /// Cells that stand elsewhere among the others.
    pub moved: Vec<usize>,
    /// Cells that are gone.
    pub deleted: Vec<usize>,
    /// For each cell, the slot of the draft that it came from.
    #[serde(skip)]
    pub slots: Vec<Option<usize>>,
}

/// Whether an equal cell with another id is the same cell, for a draft of an older revision. Some programs give all
/// cells new ids when they save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// The same: a text shows no ids.
    Same,
    /// Another: an operation names the cell that it is about.
    Another,
}

impl Draft {
    /// A draft that leaves `count` cells as they are.
    pub fn unchanged(count: usize) -> Draft {
        Draft { slots: (0..count).map(|from| Slot::Kept { from, kind: None, source: None }).collect() }
    }
}

impl Notebook {
    /// The cells as they stand.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { revision: self.revision().to_string(), cells: self.snapshot_cells() }
    }

    pub(crate) fn snapshot_cells(&self) -> Vec<SnapshotCell> {
        let shared: Vec<String> = self.shared_ids().into_iter().map(|(id, _)| id).collect();
        let cell = |cell: &Cell| SnapshotCell {
            id: cell.stored_id().filter(|id| !shared.iter().any(|known| known == id)).map(Cow::into_owned),
            handle: (!cell.is_named_by_stored_id()).then(|| cell.id().to_string()),
            kind: cell.cell_type(),
            source: cell.source().into_owned(),
        };
        self.cells().iter().map(cell).collect()
    }

    /// Makes the notebook as `draft` says. A draft made on another revision is merged with the changes
    /// since, cell by cell and line by line; where that cannot be, nothing is changed.
    pub fn apply(&mut self, draft: Draft, base: Option<&Snapshot>) -> Result<Applied> {
        self.apply_as(draft, base, Renamed::Same)
    }

    pub(crate) fn apply_as(
        &mut self,
        draft: Draft,
        base: Option<&Snapshot>,
        renamed: Renamed,
    ) -> Result<Applied> {
        let plan = match base.filter(|base| !self.has_revision(&base.revision)) {
            None => Self::plan_of(draft),
            Some(base) => self.plan_on(&draft, base, renamed)?,
        };
        Ok(self.carry_out(plan))
    }

    /// Where the very cells of an older snapshot stand now; none for one that is gone, or that may be any of several.
    pub(crate) fn positions_since(&self, base: &Snapshot) -> Vec<Option<usize>> {
        if self.has_revision(&base.revision) {
            return (0..self.cells().len()).map(Some).collect();
        }
        same_cells(&base.cells, &self.snapshot_cells())
    }

    fn has_revision(&self, revision: &str) -> bool {
        revision.parse::<Revision>() == Ok(self.revision())
    }

    fn plan_of(draft: Draft) -> Vec<Planned> {
        let planned = |(slot, wanted): (usize, Slot)| match wanted {
            Slot::Kept { from, kind, source } => {
                Planned { slot: Some(slot), existing: Some(from), kind, source }
            }
            Slot::New { kind, source } => {
                Planned { slot: Some(slot), existing: None, kind: Some(kind), source: Some(source) }
            }
        };
        draft.slots.into_iter().enumerate().map(planned).collect()
    }

    fn plan_on(&self, draft: &Draft, base: &Snapshot, renamed: Renamed) -> Result<Vec<Planned>> {
        let ours: Vec<Ours> = (draft.slots.iter())
            .map(|slot| match slot {
                Slot::Kept { from, kind, source } => Ours {
                    from: Some(*from),
                    id: None,
                    kind: kind.unwrap_or(base.cells[*from].kind),
                    source: source.clone().unwrap_or_else(|| base.cells[*from].source.clone()),
                },
                Slot::New { kind, source } => {
                    Ours { from: None, id: None, kind: *kind, source: source.clone() }
                }
            })
            .collect();
        let theirs = self.snapshot_cells();
        let mut pairs = same_cells(&base.cells, &theirs);
        if renamed == Renamed::Same {
            pair_renamed(&base.cells, &theirs, &mut pairs);
        }
        let merged = merge_cells(&Cells { base: &base.cells, ours: &ours, theirs: &theirs, pairs: &pairs });
        if !merged.conflicts.is_empty() {
            return Err(Error::Conflicts(merged.conflicts));
        }
        let planned = |cell: crate::merge::MergedCell| Planned {
            slot: cell.ours,
            existing: cell.theirs,
            kind: Some(cell.kind),
            source: Some(cell.source),
        };
        Ok(merged.cells.into_iter().map(planned).collect())
    }

    pub(crate) fn carry_out(&mut self, plan: Vec<Planned>) -> Applied {
        let count = self.edits.cells.len();
        let existing: Vec<usize> = plan.iter().filter_map(|planned| planned.existing).collect();
        let mut is_kept = vec![false; count];
        existing.iter().for_each(|&at| is_kept[at] = true);
        let mut in_place = vec![false; count];
        existing.iter().zip(rising(&existing)).for_each(|(&at, steady)| in_place[at] = steady);

        let mut applied =
            Applied { deleted: (0..count).filter(|&at| !is_kept[at]).collect(), ..Applied::default() };
        let mut surroundings = None;
        let mut made = Made::default();
        let new = || plan.iter().filter(|planned| planned.existing.is_none());
        made.reserve(new().count(), new().filter_map(|new| new.source.as_ref()).map(String::len).sum());
        let mut order = Vec::with_capacity(plan.len());
        for (index, planned) in plan.into_iter().enumerate() {
            applied.slots.push(planned.slot);
            let Some(at) = planned.existing else {
                // Behind all others first, and put in order below.
                order.push(count + made.len());
                let kind = planned.kind.unwrap_or(CellType::Code);
                let surroundings = surroundings.get_or_insert_with(|| self.surroundings(count));
                let source = planned.source.unwrap_or_default();
                self.make(kind, &source, None, surroundings, &mut made);
                applied.added.push(index);
                continue;
            };
            order.push(at);
            let kind = planned.kind.unwrap_or(self.edits.cells[at].cell_type());
            let retyped = kind != self.edits.cells[at].cell_type();
            let source = planned.source.filter(|source| self.edits.cells[at].source() != *source);
            if retyped || source.is_some() {
                applied.changed.push(index);
                self.set_type(at, kind);
            } else {
                applied.kept.push(index);
            }
            if let Some(source) = source {
                self.set_source(at, &source);
            }
            if !in_place[at] {
                applied.moved.push(index);
            }
        }
        self.append(made);
        self.arrange(&order);
        applied
    }

    /// Keeps the cells at the given positions, in that order.
    fn arrange(&mut self, order: &[usize]) {
        if order.iter().copied().eq(0..self.edits.cells.len()) {
            return;
        }
        let mut cells: Vec<Option<Cell>> = self.edits.cells.drain(..).map(Some).collect();
        self.edits.cells = order.iter().filter_map(|&at| cells[at].take()).collect();
        self.edits.rearranged = true;
    }
}

/// A cell to be: one that the notebook has, or a new one.
pub(crate) struct Planned {
    pub(crate) slot: Option<usize>,
    pub(crate) existing: Option<usize>,
    pub(crate) kind: Option<CellType>,
    pub(crate) source: Option<String>,
}
