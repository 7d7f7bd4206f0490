//! Two versions of a notebook that began as one, put together: by cell, within a cell by line, and for the
//! other values of a cell by key.

mod values;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::align::{alike, pair_rest, rising};
use crate::cell::{Cell, CellType};
use crate::draft::{Planned, SnapshotCell};
use crate::error::{Conflict, Error, Result, listed};
use crate::id::CellId;
use crate::identity::{by_content, same_cells};
use crate::json::tree::Node;
use crate::lines::{MergedLines, merge_lines};
use crate::notebook::Notebook;
use values::{Value, merge_values};

pub(crate) use values::same;

/// The policy where both sides changed the same lines of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Change nothing and show both versions.
    Refuse,
    /// Keep both versions in the cell's source, between markers.
    Mark,
}

/// A merged notebook.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The other side's notebook with our changes in it.
    pub notebook: Notebook,
    /// Where one side had to give way in something that is not source, in words.
    pub notices: Vec<String>,
    /// The cells whose source holds conflict markers, by position.
    pub marked: Vec<usize>,
    /// The names of the other side's cells from now on, in its order.
    pub their_names: Vec<CellId>,
}

/// Puts our changes of `base` into `theirs`. Bytes that we did not change stay as they are in `theirs`.
///
/// Sources merge by line. Where both sides changed the outputs, or the same key of metadata, ours stay and a
/// notice says so.
pub fn merge(base: &Notebook, ours: &Notebook, theirs: &Notebook, on_conflict: OnConflict) -> Result<Merged> {
    let (base_cells, our_cells, their_cells) =
        (base.snapshot_cells(), ours.snapshot_cells(), theirs.snapshot_cells());
    // A pair that is proved to be one cell keeps its name; other pairs share their text alone.
    let (same_ours, same_theirs) =
        (same_cells(&base_cells, &our_cells), by_content(&base_cells, &their_cells));
    let mut from: Vec<Option<usize>> = vec![None; our_cells.len()];
    for (at, our) in pair_rest(&base_cells, &our_cells, same_ours.clone()).into_iter().enumerate() {
        if let Some(our) = our {
            from[our] = Some(at);
        }
    }
    let slots: Vec<Ours> = (our_cells.into_iter().zip(&from))
        .map(|(cell, from)| Ours { from: *from, id: cell.id, kind: cell.kind, source: cell.source })
        .collect();
    let mut pairs = pair_rest(&base_cells, &their_cells, same_theirs.clone());
    for slot in &slots {
        // A cell that only stands in the same place may be another one: our change is not mixed into it.
        if let Some(at) = slot.from.filter(|&at| same_theirs[at].is_none())
            && let Some(their) = pairs[at]
            && (slot.kind, &slot.source) != (base_cells[at].kind, &base_cells[at].source)
            && !alike(&base_cells[at], &their_cells[their])
        {
            pairs[at] = None;
        }
    }
    let cells = merge_cells(&Cells { base: &base_cells, ours: &slots, theirs: &their_cells, pairs: &pairs });
    if on_conflict == OnConflict::Refuse && !cells.conflicts.is_empty() {
        return Err(Error::Conflicts(cells.conflicts));
    }

    let mut merged = Merged {
        notebook: theirs.clone(),
        notices: Vec::new(),
        marked: Vec::new(),
        their_names: theirs.edits.cells.iter().map(|cell| cell.id.clone()).collect(),
    };
    // New names continue the sequence of this side, so that no name is given twice.
    merged.notebook.ids = ours.ids.clone();
    merged.marked = (cells.cells.iter().enumerate())
        .filter(|(_, cell)| cell.conflicting)
        .map(|(index, _)| index)
        .collect();
    let sources: Vec<(Option<usize>, Option<usize>)> =
        cells.cells.iter().map(|cell| (cell.ours, cell.theirs)).collect();
    let plan = cells.cells.into_iter().map(|cell| Planned {
        slot: cell.ours,
        existing: cell.theirs,
        kind: Some(cell.kind),
        source: Some(cell.source),
    });
    merged.notebook.carry_out(plan.collect());

    let mut base_of: Vec<Option<usize>> = vec![None; theirs.edits.cells.len()];
    for (at, their) in same_theirs.iter().enumerate() {
        if let Some(their) = their {
            base_of[*their] = Some(at);
        }
    }
    let mut names: Vec<Option<CellId>> = Vec::with_capacity(sources.len());
    for (index, &(our, their)) in sources.iter().enumerate() {
        let of_base = their.and_then(|their| base_of[their]);
        let Some(our) = our else {
            names.push(of_base.map(|at| base.edits.cells[at].id.clone()));
            continue;
        };
        let our_cell = &ours.edits.cells[our];
        match their {
            None => {
                merged.notebook.remove(index);
                merged.notebook.adopt(index, our_cell);
            }
            Some(_) => {
                if let Some(from) = from[our] {
                    merged.merge_cell_values(index, &base.edits.cells[from], our_cell);
                }
            }
        }
        let is_ours = their.is_none() || of_base.is_some_and(|at| same_ours[at] == Some(our));
        names.push(is_ours.then(|| our_cell.id.clone()));
    }
    merged.name_cells(names, ours);
    for (at, their) in same_theirs.iter().enumerate() {
        if let Some(their) = their {
            merged.their_names[*their] = base.edits.cells[at].id.clone();
        }
    }
    for (cell, (_, their)) in merged.notebook.edits.cells.iter().zip(&sources) {
        if let Some(their) = their {
            merged.their_names[*their] = cell.id.clone();
        }
    }
    merged.merge_top_level(base, ours);
    Ok(merged)
}

/// Three versions of a list of cells. `pairs` says where the cells of `base` stand in `theirs`.
pub(crate) struct Cells<'a> {
    pub(crate) base: &'a [SnapshotCell],
    pub(crate) ours: &'a [Ours],
    pub(crate) theirs: &'a [SnapshotCell],
    pub(crate) pairs: &'a [Option<usize>],
}

/// A cell as this side wants it, and the cell of the base that it comes from.
pub(crate) struct Ours {
    pub(crate) from: Option<usize>,
    pub(crate) id: Option<String>,
    pub(crate) kind: CellType,
    pub(crate) source: String,
}

/// The merged list. Where there are conflicts, the cells hold both versions between markers.
pub(crate) struct MergedCells {
    pub(crate) cells: Vec<MergedCell>,
    pub(crate) conflicts: Vec<Conflict>,
}

/// A cell of the merged list, and where each side has it.
pub(crate) struct MergedCell {
    pub(crate) ours: Option<usize>,
    pub(crate) theirs: Option<usize>,
    pub(crate) kind: CellType,
    pub(crate) source: String,
    pub(crate) conflicting: bool,
}

pub(crate) fn merge_cells(sides: &Cells<'_>) -> MergedCells {
    let Cells { base, ours, theirs, pairs } = sides;
    let mut our_place: Vec<Option<usize>> = vec![None; base.len()];
    for (place, cell) in ours.iter().enumerate() {
        if let Some(from) = cell.from {
            our_place[from] = Some(place);
        }
    }
    let mut base_of: Vec<Option<usize>> = vec![None; theirs.len()];
    for (at, their) in pairs.iter().enumerate() {
        if let Some(their) = their {
            base_of[*their] = Some(at);
        }
    }

    let mut conflicts = Vec::new();
    let mut cells = Vec::new();
    for (place, their) in theirs.iter().enumerate() {
        let kept = |ours, conflicting| MergedCell {
            ours,
            theirs: Some(place),
            kind: their.kind,
            source: their.source.clone(),
            conflicting,
        };
        let Some(from) = base_of[place] else {
            cells.push(kept(ours.iter().position(|our| our.is_the_added(their)), false));
            continue;
        };
        let before = &base[from];
        let Some(our_place) = our_place[from] else {
            if before.kind != their.kind || before.source != their.source {
                conflicts.push(conflict(place, their.id.clone(), None, Some((their.kind, &their.source))));
                cells.push(kept(None, true));
            }
            continue;
        };
        let our = &ours[our_place];
        let lines = merge_lines(&before.source, &our.source, &their.source);
        let kind = if our.kind == before.kind { their.kind } else { our.kind };
        let kinds_clash = our.kind != before.kind && their.kind != before.kind && our.kind != their.kind;
        let (source, lines_clash) = match lines {
            MergedLines::Clean(text) => (text, false),
            MergedLines::Conflict(text) => (text, true),
        };
        if kinds_clash || lines_clash {
            conflicts.push(conflict(
                place,
                their.id.clone(),
                Some((our.kind, &our.source)),
                Some((their.kind, &their.source)),
            ));
        }
        let conflicting = kinds_clash || lines_clash;
        cells.push(MergedCell { ours: Some(our_place), theirs: Some(place), kind, source, conflicting });
    }
    place_ours(sides, &mut cells, &mut conflicts);
    conflicts.sort_by_key(|conflict| conflict.index);
    MergedCells { cells, conflicts }
}

/// Puts the cells that we added, moved or changed after they were deleted where we have them: behind the
/// nearest cell before them that is still there.
fn place_ours(sides: &Cells<'_>, cells: &mut Vec<MergedCell>, conflicts: &mut Vec<Conflict>) {
    let Cells { base, ours, pairs, .. } = sides;
    let origins: Vec<usize> = ours.iter().filter_map(|cell| cell.from).collect();
    let mut steady = rising(&origins).into_iter();
    for (place, our) in ours.iter().enumerate() {
        let in_place = our.from.is_some() && steady.next().unwrap_or(true);
        let deleted = our.from.filter(|&from| pairs[from].is_none());
        let cell = match (our.from, deleted) {
            (Some(from), Some(_)) => {
                if our.kind == base[from].kind && our.source == base[from].source {
                    continue;
                }
                let ours_now = Some((our.kind, our.source.as_str()));
                conflicts.push(conflict(from, base[from].id.clone(), ours_now, None));
                our.as_merged(place, true)
            }
            (Some(_), None) if in_place => continue,
            (Some(_), None) => match cells.iter().position(|cell| cell.ours == Some(place)) {
                Some(at) => cells.remove(at),
                None => continue,
            },
            (None, _) if cells.iter().any(|cell| cell.ours == Some(place)) => continue,
            (None, _) => our.as_merged(place, false),
        };
        let anchor =
            (0..place).rev().find_map(|before| cells.iter().position(|cell| cell.ours == Some(before)));
        cells.insert(anchor.map_or(0, |at| at + 1), cell);
    }
}

impl Ours {
    /// Whether both sides added this very cell: one id, one content.
    fn is_the_added(&self, theirs: &SnapshotCell) -> bool {
        self.from.is_none()
            && self.id.is_some()
            && (&self.id, self.kind, &self.source) == (&theirs.id, theirs.kind, &theirs.source)
    }

    fn as_merged(&self, place: usize, conflicting: bool) -> MergedCell {
        MergedCell {
            ours: Some(place),
            theirs: None,
            kind: self.kind,
            source: self.source.clone(),
            conflicting,
        }
    }
}

fn conflict(
    index: usize,
    id: Option<String>,
    ours: Option<(CellType, &str)>,
    theirs: Option<(CellType, &str)>,
) -> Conflict {
    let owned = |version: Option<(CellType, &str)>| version.map(|(kind, source)| (kind, source.to_owned()));
    Conflict { index, id, ours: owned(ours), theirs: owned(theirs) }
}

impl Merged {
    /// Takes over our changes in a cell besides its source and type.
    fn merge_cell_values(&mut self, index: usize, base: &Cell, ours: &Cell) {
        let mut gave_way = Vec::new();
        let mut keys: Vec<Cow<'_, str>> = ours.keys();
        keys.extend(base.keys().into_iter().filter(|key| ours.value(key).is_none()));
        keys.retain(|key| !matches!(&**key, "cell_type" | "source" | "id"));
        for key in &keys {
            let cell = &self.notebook.edits.cells[index];
            let code_only = matches!(&**key, "outputs" | "execution_count");
            if code_only && cell.cell_type() != CellType::Code {
                continue;
            }
            match merge_values(base.value(key), ours.value(key), cell.value(key)) {
                Value::Theirs => {}
                Value::Removed => self.notebook.edits.cells[index].set(key, None),
                Value::Ours { over_theirs } => {
                    if over_theirs {
                        gave_way.push(format!("`{key}`"));
                    }
                    self.take_value(index, key, ours);
                }
                Value::Both(value, over_theirs) => {
                    if over_theirs {
                        gave_way.push(format!("`{key}`"));
                    }
                    self.notebook.edits.cells[index].set_node(key, &Node::of(&value), false);
                }
            }
        }
        if !gave_way.is_empty() {
            let keys = gave_way.join(", ");
            self.notices.push(format!("cell {index}: both sides changed {keys}; this side's was kept"));
        }
    }

    /// Copies a value of ours as it stands where the layouts agree, else laid out anew.
    fn take_value(&mut self, index: usize, key: &str, ours: &Cell) {
        let Some(value) = ours.value(key) else { return };
        let cell = &mut self.notebook.edits.cells[index];
        if cell.indent() == ours.indent() && cell.layout() == ours.layout() {
            cell.set(key, Some(value.to_vec()));
        } else {
            cell.set_node(key, &Node::of(value), false);
        }
    }

    fn merge_top_level(&mut self, base: &Notebook, ours: &Notebook) {
        for key in ours.keys().into_iter().filter(|key| key != "cells") {
            let theirs = self.notebook.value(&key);
            let (value, over_theirs) = match merge_values(base.value(&key), ours.value(&key), theirs) {
                Value::Theirs | Value::Removed => continue,
                Value::Ours { over_theirs } => (ours.value(&key).unwrap_or_default().to_vec(), over_theirs),
                Value::Both(value, over_theirs) => (value, over_theirs),
            };
            if over_theirs {
                self.notices
                    .push(format!("both sides changed `{key}` of the notebook; this side's was kept"));
            }
            self.notebook.set_top_level(&key, &Node::of(&value));
        }
    }

    /// Names the merged cells. A cell that both sides know by stored ids of their own has the other side's. Elsewhere the
    /// name that it has on our side lasts, also where the other side gave it an id or took that away.
    fn name_cells(&mut self, mut names: Vec<Option<CellId>>, ours: &Notebook) {
        self.notebook.gone = Arc::clone(&ours.gone);
        let stored = ours.edits.cells.iter().filter(|cell| cell.is_named_by_stored_id()).map(|cell| &cell.id);
        let stored: HashSet<&CellId> = stored.collect();
        for (cell, name) in self.notebook.edits.cells.iter().zip(&mut names) {
            if cell.is_named_by_stored_id() && name.as_ref().is_some_and(|name| stored.contains(name)) {
                *name = None;
            }
        }
        let is_new: Vec<bool> = names.iter().map(Option::is_none).collect();
        self.notebook.rename(names);
        let mut seen: HashSet<CellId> = HashSet::new();
        for (index, is_new) in is_new.into_iter().enumerate() {
            let cell = &self.notebook.edits.cells[index];
            // A file that is as it was before has the handles of then, whose cells may be others.
            let is_numbered = is_new && !cell.is_named_by_stored_id() && self.notebook.is_numbered(&cell.id);
            if is_numbered || seen.contains(&cell.id) {
                let handle = self.notebook.fresh_handle();
                self.notebook.edits.cells[index].id = handle;
            }
            seen.insert(self.notebook.edits.cells[index].id.clone());
        }
    }

    /// Notices about the merge for a person, in one line each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.notices.clone();
        if !self.marked.is_empty() {
            let cells = if self.marked.len() == 1 { "cell" } else { "cells" };
            remarks.push(format!("conflict markers stand in the source of {cells} {}", listed(&self.marked)));
        }
        remarks
    }
}
