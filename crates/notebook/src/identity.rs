//! The identity of cells: which cell of a newer version is the very cell of an older one, and the fate of a cell
//! that is gone. A pair here is proof enough to send an edit to a cell; merges of text may go by less (`align.rs`).

mod likeness;

use std::collections::HashMap;
use std::sync::Arc;

use crate::align::rising;
use crate::cell::Cell;
use crate::draft::{Snapshot, SnapshotCell};
use crate::error::{Candidate, Error, GoneCell};
use crate::id::CellId;
use crate::notebook::Notebook;
use crate::revision::Revision;
use likeness::{Words, clear_pairs};

/// How many cells are proposed in place of one that is gone.
const CANDIDATES: usize = 3;
/// How alike a cell must be to be proposed.
const NEAR: f64 = 0.3;

/// The record of a cell that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The reason it is gone, as `deleted by ann`.
    pub fate: String,
    /// Its last source.
    pub source: String,
}

/// Cells that are gone, by the names that they had.
pub type Tombstones = HashMap<CellId, Arc<Tombstone>>;

/// For each cell of `left`, the position of the very same cell in `right`.
///
/// Names decide where both versions come from one opening, since every change of ours carries them along. Otherwise
/// cells are matched by content.
pub(crate) fn same_cells(left: &[SnapshotCell], right: &[SnapshotCell]) -> Vec<Option<usize>> {
    let named = by_name(left, right);
    let has_handles = left.iter().any(|cell| cell.id.is_none());
    let is_tracked = left.iter().zip(&named).any(|(cell, at)| cell.id.is_none() && at.is_some());
    match is_tracked || !has_handles {
        true => named,
        false => by_content(left, right),
    }
}

/// Pairs cells by stored id, else by handle.
pub(crate) fn by_name(left: &[SnapshotCell], right: &[SnapshotCell]) -> Vec<Option<usize>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, cell) in right.iter().enumerate() {
        for name in [&cell.handle, &cell.id].into_iter().flatten() {
            places.insert(name, place);
        }
    }
    let find = |cell: &SnapshotCell| {
        let names = [&cell.id, &cell.handle].into_iter().flatten();
        names.filter_map(|name| places.get(name.as_str())).next().copied()
    };
    left.iter().map(find).collect()
}

/// Pairs cells by stored id and content, whatever their handles are.
///
/// - A content that occurs once in both versions is one cell, wherever it stands.
/// - Of equal cells, those between the same two neighbours are paired in their order, if there are as many in both.
/// - Cells left between two neighbours are paired where they are alike beyond doubt.
pub(crate) fn by_content(left: &[SnapshotCell], right: &[SnapshotCell]) -> Vec<Option<usize>> {
    let mut matching = Matching { left, right, to: vec![None; left.len()], taken: vec![false; right.len()] };
    matching.stored_ids();
    matching.unique_contents();
    matching.equal_in_gaps();
    matching.alike_in_gaps();
    matching.to
}

/// Pairs the remaining cells that both have ids, when they are equal and in order.
pub(crate) fn pair_renamed(left: &[SnapshotCell], right: &[SnapshotCell], pairs: &mut [Option<usize>]) {
    let mut all: Vec<Option<usize>> = pairs.to_vec();
    crate::align::by_content(left, right, &mut all);
    for (at, pair) in all.into_iter().enumerate() {
        let is_renamed = |to: usize| left[at].handle.is_none() && right[to].handle.is_none();
        if pairs[at].is_none() && pair.is_some_and(is_renamed) {
            pairs[at] = pair;
        }
    }
}

struct Matching<'a> {
    left: &'a [SnapshotCell],
    right: &'a [SnapshotCell],
    to: Vec<Option<usize>>,
    taken: Vec<bool>,
}

/// Cells of both versions between two neighbours that both have.
struct Gap {
    left: Vec<usize>,
    right: Vec<usize>,
}

type Content<'a> = (&'a str, &'a str);

fn content(cell: &SnapshotCell) -> Content<'_> {
    (cell.kind.as_str(), &cell.source)
}

impl Matching<'_> {
    fn set(&mut self, left: usize, right: usize) {
        self.to[left] = Some(right);
        self.taken[right] = true;
    }

    /// Two cells with ids of their own are two cells.
    fn may_be_same(&self, left: usize, right: usize) -> bool {
        self.left[left].id.is_none() || self.right[right].id.is_none()
    }

    fn stored_ids(&mut self) {
        let places: HashMap<&str, usize> = (self.right.iter().enumerate())
            .filter_map(|(place, cell)| Some((cell.id.as_deref()?, place)))
            .collect();
        for at in 0..self.left.len() {
            if let Some(place) = self.left[at].id.as_deref().and_then(|id| places.get(id)) {
                self.set(at, *place);
            }
        }
    }

    fn unique_contents(&mut self) {
        let (left, right) = (once(self.left), once(self.right));
        for (content, at) in left {
            // An empty cell is like any other: where it stands is all that tells it.
            let is_blank = content.1.trim().is_empty();
            if let Some(&place) = right.get(&content).filter(|_| !is_blank)
                && self.to[at].is_none()
                && !self.taken[place]
                && self.may_be_same(at, place)
            {
                self.set(at, place);
            }
        }
    }

    fn equal_in_gaps(&mut self) {
        for gap in self.gaps() {
            let mut contents: HashMap<Content<'_>, Gap> = HashMap::new();
            let empty = || Gap { left: Vec::new(), right: Vec::new() };
            for &at in &gap.left {
                contents.entry(content(&self.left[at])).or_insert_with(empty).left.push(at);
            }
            for &place in &gap.right {
                contents.entry(content(&self.right[place])).or_insert_with(empty).right.push(place);
            }
            for equal in contents.into_values().filter(|equal| equal.left.len() == equal.right.len()) {
                for (at, place) in equal.left.into_iter().zip(equal.right) {
                    if self.may_be_same(at, place) {
                        self.set(at, place);
                    }
                }
            }
        }
    }

    fn alike_in_gaps(&mut self) {
        for gap in self.gaps().into_iter().filter(|gap| !gap.left.is_empty() && !gap.right.is_empty()) {
            let left: Vec<&SnapshotCell> = gap.left.iter().map(|&at| &self.left[at]).collect();
            let right: Vec<&SnapshotCell> = gap.right.iter().map(|&place| &self.right[place]).collect();
            for (at, place) in clear_pairs(&left, &right) {
                if self.may_be_same(gap.left[at], gap.right[place]) {
                    self.set(gap.left[at], gap.right[place]);
                }
            }
        }
    }

    /// The unpaired cells, by the neighbours that keep their order.
    fn gaps(&self) -> Vec<Gap> {
        let pairs: Vec<(usize, usize)> =
            (self.to.iter().enumerate()).filter_map(|(at, to)| Some((at, (*to)?))).collect();
        let places: Vec<usize> = pairs.iter().map(|(_, place)| *place).collect();
        let steady = pairs.iter().zip(rising(&places)).filter(|(_, steady)| *steady).map(|(pair, _)| *pair);
        let mut gaps = Vec::new();
        let (mut from, mut from_place) = (0, 0);
        for (until, until_place) in steady.chain([(self.left.len(), self.right.len())]) {
            let left = (from..until).filter(|&at| self.to[at].is_none()).collect();
            let right = (from_place..until_place).filter(|&place| !self.taken[place]).collect();
            gaps.push(Gap { left, right });
            (from, from_place) = (until + 1, until_place + 1);
        }
        gaps
    }
}

/// The contents that occur once, with the position of their cell.
fn once(cells: &[SnapshotCell]) -> HashMap<Content<'_>, usize> {
    let mut found: HashMap<Content<'_>, (usize, usize)> = HashMap::new();
    for (at, cell) in cells.iter().enumerate() {
        found.entry(content(cell)).or_insert((at, 0)).1 += 1;
    }
    found.into_iter().filter(|(_, (_, count))| *count == 1).map(|(content, (at, _))| (content, at)).collect()
}

impl Notebook {
    /// Whether some cell goes by a handle, since the file stores no id for it alone.
    pub fn has_handles(&self) -> bool {
        self.cells().iter().any(|cell| !cell.is_named_by_stored_id())
    }

    /// Gives cells without an id of their own the names that they had in an earlier version of the file. One that cannot
    /// be told for certain keeps the handle that it was read with.
    pub fn identify(&mut self, before: &Snapshot) {
        if before.revision == self.revision().to_string() && before.cells.len() == self.cells().len() {
            return self
                .rename_nameless(before.cells.iter().map(|cell| cell.name().map(CellId::from)).collect());
        }
        let mut names = vec![None; self.cells().len()];
        for (was, at) in before.cells.iter().zip(by_content(&before.cells, &self.snapshot_cells())) {
            if let Some(at) = at {
                names[at] = was.name().map(CellId::from);
            }
        }
        self.rename_nameless(names);
    }

    fn rename_nameless(&mut self, mut names: Vec<Option<CellId>>) {
        for (cell, name) in self.cells().iter().zip(&mut names) {
            *name = name.take().filter(|_| !cell.is_named_by_stored_id());
        }
        self.rename(names);
    }

    /// Gives the cells the names that another copy of the notebook has for them.
    pub fn take_names(&mut self, names: &[CellId]) {
        if names.len() == self.cells().len() {
            self.rename(names.iter().cloned().map(Some).collect());
        }
    }

    /// Gives cells that another version has by the same names the names that they have there from now on.
    pub fn rename_from(&mut self, other: &Notebook, names: &[CellId]) {
        let called: HashMap<&CellId, &CellId> = other.cells().iter().map(Cell::id).zip(names).collect();
        let names = self.cells().iter().map(|cell| called.get(cell.id()).copied().cloned()).collect();
        self.rename(names);
    }

    /// Renames cells, where a name is given. A handle goes to the cell that it is given to; another cell that had it gets
    /// a fresh one.
    pub(crate) fn rename(&mut self, names: Vec<Option<CellId>>) {
        let is_new =
            |(cell, name): &(&Cell, &Option<CellId>)| name.as_ref().is_some_and(|name| name != cell.id());
        if !self.cells().iter().zip(&names).any(|pair| is_new(&pair)) {
            return;
        }
        let revision = self.revision();
        for (at, name) in names.into_iter().enumerate() {
            let Some(name) = name.filter(|name| name != self.cells()[at].id()) else { continue };
            if let Some(holder) = self.position(&name) {
                // Only a handle can be given up.
                if self.cells()[holder].is_named_by_stored_id() {
                    continue;
                }
                let handle = self.fresh_handle();
                self.edits.cells[holder].id = handle;
            }
            self.edits.cells[at].id = name;
        }
        self.edits.set_revision(revision);
    }

    /// Whether a name is a handle that reading the file gave.
    pub(crate) fn is_numbered(&self, name: &CellId) -> bool {
        name.is_of_generation(Revision::of([self.text.as_slice()]))
    }

    /// A handle that no cell has or had.
    pub(crate) fn fresh_handle(&mut self) -> CellId {
        let (cells, gone) = (&self.edits.cells, &self.gone);
        let is_taken = |name: &str| {
            gone.contains_key(&CellId::from(name)) || cells.iter().any(|cell| cell.id().as_str() == name)
        };
        CellId(self.ids.fresh_handle(is_taken))
    }

    /// The cells that are gone, as far as is known.
    pub fn tombstones(&self) -> &Arc<Tombstones> {
        &self.gone
    }

    /// Sets the tombstones, which explain later calls on deleted cells.
    pub fn set_tombstones(&mut self, gone: Arc<Tombstones>) {
        self.gone = gone;
    }

    /// Adds the fate of a missing cell to the error, where a tombstone has it.
    pub(crate) fn explain_missing(&self, error: Error) -> Error {
        let Error::NoSuchId { id, .. } = &error else { return error };
        match self.gone.get(&CellId::from(id.as_str())) {
            Some(stone) => self.gone_cell(id, &stone.fate, &stone.source),
            None => error,
        }
    }

    /// The refusal of a cell that an older version has, and that is not here.
    pub(crate) fn missing(&self, cell: &SnapshotCell) -> Error {
        let id = cell.name().unwrap_or_default();
        match self.gone.get(&CellId::from(id)) {
            Some(stone) => self.gone_cell(id, &stone.fate, &stone.source),
            None => self.gone_cell(id, "it was deleted or rewritten since", &cell.source),
        }
    }

    fn gone_cell(&self, id: &str, fate: &str, source: &str) -> Error {
        let words = Words::of(source);
        let mut alike: Vec<(f64, Candidate)> = (self.cells().iter().enumerate())
            .map(|(index, cell)| {
                let now = cell.source();
                let likeness = if now == source { 1.0 } else { words.likeness(&Words::of(&now)) };
                (likeness, Candidate { index, id: cell.id().to_string(), first_line: first_line(&now) })
            })
            .filter(|(likeness, _)| *likeness >= NEAR)
            .collect();
        alike.sort_by(|one, other| other.0.total_cmp(&one.0));
        let candidates = alike.into_iter().take(CANDIDATES).map(|(_, candidate)| candidate).collect();
        let (id, fate) = (id.to_owned(), fate.to_owned());
        Error::CellGone(Box::new(GoneCell { id, fate, first_line: first_line(source), candidates }))
    }
}

/// The first line that says anything, shortened.
fn first_line(source: &str) -> String {
    const MOST: usize = 60;
    let line = source.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
