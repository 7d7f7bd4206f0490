//! Sources that were written over, put back into the notebook that took their place.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::align::{alike, pair};
use crate::cell::{Cell, CellType};
use crate::draft::SnapshotCell;
use crate::id::CellId;
use crate::lines::merge_text;
use crate::notebook::Notebook;

/// The result of [`Notebook::reinstate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reinstated {
    /// Cells that were added, or got another source.
    pub cells: Vec<CellId>,
    /// Cells that both sides changed in ways that do not go together. The notebook's own text stays.
    pub refused: Vec<SnapshotCell>,
}

impl Notebook {
    /// Puts the sources that `ours` added to `base`, or changed in it, into this notebook: another version made
    /// from `base`. Sources merge by line. Outputs, counts, metadata, deletions and moves of `ours` are not
    /// taken over, and a source that is here already is left alone, so a second call changes nothing.
    pub fn reinstate(&mut self, base: &[SnapshotCell], ours: &[SnapshotCell]) -> Reinstated {
        let theirs = self.snapshot_cells();
        let names: Vec<CellId> = self.cells().iter().map(|cell| cell.id().clone()).collect();
        let there = same_cells(base, &theirs);
        let mut origins = vec![None; ours.len()];
        for (origin, our) in same_cells(base, ours).into_iter().enumerate() {
            our.into_iter().for_each(|our| origins[our] = Some(origin));
        }
        let (known, wanted, present) = (counts(base), counts(ours), counts(&theirs));
        let is_present = |our: &SnapshotCell| present.get(&text(our)) >= wanted.get(&text(our));

        let mut reinstated = Reinstated::default();
        // The nearest cell of ours above that is in this notebook.
        let mut above: Option<CellId> = None;
        for (our, origin) in ours.iter().zip(origins) {
            let before = origin.map(|origin| &base[origin]);
            let is_news = match before {
                Some(before) => text(before) != text(our),
                // A cell without an id may just stand elsewhere.
                None => our.id.is_some() || known.get(&text(our)) < wanted.get(&text(our)),
            };
            let place = match origin {
                Some(origin) => there[origin],
                None => {
                    our.id.as_ref().and_then(|id| theirs.iter().position(|cell| cell.id.as_ref() == Some(id)))
                }
            };
            match (place, before) {
                (Some(place), Some(before)) if is_news => {
                    let their = &theirs[place];
                    match merged(before, our, their) {
                        Some((kind, source)) if (kind, source.as_str()) != text(their) => {
                            self.put_text(&names[place], kind, &source);
                            reinstated.cells.push(names[place].clone());
                        }
                        Some(_) => {}
                        None => reinstated.refused.push(our.clone()),
                    }
                    above = Some(names[place].clone());
                }
                (Some(place), _) => above = Some(names[place].clone()),
                (None, _) if is_news && !is_present(our) => {
                    let index = above.as_ref().and_then(|above| self.position(above)).map_or(0, |at| at + 1);
                    let name = self.put_cell(index, our);
                    reinstated.cells.push(name.clone());
                    above = Some(name);
                }
                (None, _) => {}
            }
        }
        reinstated
    }

    /// The same for a notebook that was made from `found`: puts into it the sources that `found` lacks. A cell that has
    /// been changed or deleted since stays so, and is refused.
    pub fn reinstate_since(
        &mut self,
        found: &Notebook,
        base: &[SnapshotCell],
        ours: &[SnapshotCell],
    ) -> Reinstated {
        let mut mended = found.clone();
        let Reinstated { cells, mut refused } = mended.reinstate(base, ours);
        let snapshot = mended.snapshot_cells();
        let present = self.snapshot_cells();
        let (present, wanted) = (counts(&present), counts(&snapshot));
        // Names of cells that both have. A new cell without an id may have any handle.
        let mut shared: HashMap<CellId, CellId> =
            found.cells().iter().map(|cell| (cell.id().clone(), cell.id().clone())).collect();
        let mut kept = Vec::new();
        for name in cells {
            let Some(at) = mended.position(&name) else { continue };
            let cell = &snapshot[at];
            let Some(before) = found.position(&name).map(|at| text_of(&found.cells()[at])) else {
                let is_named = cell.id.is_some() && self.position(&name).is_some();
                if !is_named && present.get(&text(cell)) < wanted.get(&text(cell)) {
                    let above = mended.cells()[..at].iter().rev();
                    let above =
                        above.filter_map(|above| shared.get(above.id())).find_map(|name| self.position(name));
                    let put = self.put_cell(above.map_or(0, |at| at + 1), cell);
                    shared.insert(name, put.clone());
                    kept.push(put);
                }
                continue;
            };
            let now = self.position(&name).map(|at| text_of(&self.cells()[at]));
            if now.as_ref() == Some(&before) {
                self.put_text(&name, cell.kind, &cell.source);
                kept.push(name);
            } else if now != Some((cell.kind, cell.source.as_str().into())) {
                refused.push(cell.clone());
            }
        }
        Reinstated { cells: kept, refused }
    }

    fn put_text(&mut self, name: &CellId, kind: CellType, source: &str) {
        if let Some(at) = self.position(name) {
            self.set_type(at, kind);
            self.set_source(at, source);
        }
    }

    /// Inserts a cell under the id that it had, unless that is taken.
    fn put_cell(&mut self, index: usize, cell: &SnapshotCell) -> CellId {
        let stored = |id: &str| self.cells().iter().any(|cell| cell.stored_id().as_deref() == Some(id));
        let id = cell.id.as_deref().filter(|id| !stored(id)).map(CellId::from);
        match id.filter(|id| self.position(id).is_none()) {
            Some(id) => self.insert_named(index, id, cell.kind, &cell.source),
            None => self.insert(index, cell.kind, &cell.source),
        }
        self.cells()[index].id().clone()
    }
}

/// For each cell of `left`, the position of the same cell in `right`. Without ids, equal cells are the same, and alike
/// ones of which the text on the left is nowhere on the right.
fn same_cells(left: &[SnapshotCell], right: &[SnapshotCell]) -> Vec<Option<usize>> {
    let present = counts(right);
    let is_same = |cell: &SnapshotCell, other: &SnapshotCell| {
        cell.id.is_some() && cell.id == other.id
            || text(cell) == text(other)
            || !present.contains_key(&text(cell)) && alike(cell, other)
    };
    let pairs = pair(left, right);
    let same = |(at, place): (usize, Option<usize>)| place.filter(|&place| is_same(&left[at], &right[place]));
    pairs.into_iter().enumerate().map(same).collect()
}

fn text(cell: &SnapshotCell) -> (CellType, &str) {
    (cell.kind, &cell.source)
}

fn text_of(cell: &Cell) -> (CellType, Cow<'_, str>) {
    (cell.cell_type(), cell.source())
}

fn counts(cells: &[SnapshotCell]) -> HashMap<(CellType, &str), usize> {
    let mut counts = HashMap::new();
    cells.iter().for_each(|cell| *counts.entry(text(cell)).or_insert(0) += 1);
    counts
}

/// Both changes of a cell together; `None` where they do not go together.
fn merged(before: &SnapshotCell, ours: &SnapshotCell, theirs: &SnapshotCell) -> Option<(CellType, String)> {
    let kind = if ours.kind == before.kind { theirs.kind } else { ours.kind };
    if kind != theirs.kind && theirs.kind != before.kind {
        return None;
    }
    merge_text(&before.source, &ours.source, &theirs.source).map(|source| (kind, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Ids;
    use crate::revision::Revision;

    /// Code cells, each written `id:source`, or as a source alone in a format without ids.
    fn notebook(cells: &[&str]) -> Notebook {
        let has_ids = cells.iter().any(|cell| cell.contains(':'));
        let minor = if has_ids { 5 } else { 4 };
        let text =
            format!("{{\"cells\": [], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": {minor}}}");
        // Each notebook has handles of its own, as if it had been opened by itself.
        let seed = Revision::of([cells.join("|").as_bytes()]).number();
        let mut notebook = Notebook::parse(text.into_bytes(), Ids::seeded(seed)).unwrap();
        for (index, cell) in cells.iter().enumerate() {
            match cell.split_once(':') {
                Some((id, source)) => notebook.insert_named(index, id.into(), CellType::Code, source),
                None => notebook.insert(index, CellType::Code, cell),
            }
        }
        notebook
    }

    #[track_caller]
    fn check(base: &[&str], ours: &[&str], theirs: &[&str], expected: &[&str], refused: &[&str]) {
        let (base, ours) = (notebook(base).snapshot().cells, notebook(ours).snapshot().cells);
        let mut found = notebook(theirs);
        let reinstated = found.reinstate(&base, &ours);
        let shown = |cells: &[SnapshotCell]| -> Vec<String> {
            let shown = |cell: &SnapshotCell| match &cell.id {
                Some(id) => format!("{id}:{}", cell.source),
                None => cell.source.clone(),
            };
            cells.iter().map(shown).collect()
        };
        assert_eq!(shown(&found.snapshot().cells), expected);
        assert_eq!(shown(&reinstated.refused), refused);
        let before = found.to_bytes();
        assert_eq!(found.reinstate(&base, &ours).cells, []);
        assert_eq!(found.to_bytes(), before, "a second time changes nothing");
    }

    #[test]
    fn added_and_changed_sources_come_back_to_their_places() {
        check(&["a:1"], &["a:1", "b:2"], &["a:9"], &["a:9", "b:2"], &[]);
        check(
            &["a:1", "z:3"],
            &["n:0", "a:1", "b:2", "z:3"],
            &["a:1", "z:9"],
            &["n:0", "a:1", "b:2", "z:9"],
            &[],
        );
        check(&["a:1", "b:2"], &["a:one", "b:2"], &["a:1", "b:9"], &["a:one", "b:9"], &[]);
        check(&["a:x\ny\nz"], &["a:X\ny\nz"], &["a:x\ny\nZ"], &["a:X\ny\nZ"], &[]);
    }

    #[test]
    fn a_later_change_is_stronger() {
        let (base, ours) =
            (notebook(&["a:1", "b:2", "c:3"]), notebook(&["a:one", "b:two", "c:three", "d:4"]));
        let (base, ours) = (base.snapshot().cells, ours.snapshot().cells);
        let found = notebook(&["a:1", "b:2", "c:3"]);
        let mut made = found.clone();
        made.set_source(0, "uno");
        made.remove(1);
        made.insert_named(0, "n".into(), CellType::Code, "new");
        let reinstated = made.reinstate_since(&found, &base, &ours);
        let sources: Vec<String> = made.cells().iter().map(|cell| cell.source().into_owned()).collect();
        assert_eq!(sources, ["new", "uno", "three", "4"]);
        let refused: Vec<&str> = reinstated.refused.iter().map(|cell| cell.source.as_str()).collect();
        assert_eq!(refused, ["one", "two"]);
        assert_eq!(reinstated.cells, ["c".into(), "d".into()]);
        assert_eq!(made.reinstate_since(&found, &base, &ours).cells, []);
    }

    #[test]
    fn cells_without_ids_come_back_beside_a_later_change() {
        let (base, ours) =
            (notebook(&["a", "b"]).snapshot().cells, notebook(&["a", "new", "newer", "b"]).snapshot().cells);
        let found = notebook(&["a", "b", "theirs"]);
        let mut made = found.clone();
        made.insert(0, CellType::Code, "first");
        made.insert(4, CellType::Code, "last");
        assert_eq!(made.reinstate_since(&found, &base, &ours).cells.len(), 2);
        let sources: Vec<String> = made.cells().iter().map(|cell| cell.source().into_owned()).collect();
        assert_eq!(sources, ["first", "a", "new", "newer", "b", "theirs", "last"]);
        assert_eq!(made.reinstate_since(&found, &base, &ours), Reinstated::default());
    }

    #[test]
    fn deletions_and_moves_are_not_made_again() {
        check(&["a:1", "b:2"], &["b:2"], &["a:1", "b:9"], &["a:1", "b:9"], &[]);
        check(
            &["a:1", "b:2", "c:3"],
            &["c:3", "a:1", "b:2"],
            &["a:1", "b:2", "c:9"],
            &["a:1", "b:2", "c:9"],
            &[],
        );
    }

    #[test]
    fn a_changed_cell_that_they_deleted_comes_back() {
        check(&["a:1", "b:2"], &["a:1", "b:two"], &["a:1"], &["a:1", "b:two"], &[]);
    }

    #[test]
    fn where_both_changed_the_same_lines_theirs_stays() {
        check(&["a:1"], &["a:one"], &["a:uno"], &["a:uno"], &["a:one"]);
    }

    #[test]
    fn sources_that_are_there_are_left_alone() {
        check(&["a:1"], &["a:1", "b:2"], &["a:9", "q:2"], &["a:9", "q:2"], &[]);
        check(&["a:1"], &["a:1", "b:2"], &["a:9", "b:3"], &["a:9", "b:3"], &[]);
        check(&["a:show()"], &["a:show()", "b:show()"], &["a:show()"], &["a:show()", "b:show()"], &[]);
    }

    #[test]
    fn cells_without_ids_come_back_too() {
        check(&["a", "b"], &["a", "new", "b"], &["a", "b", "theirs"], &["a", "new", "b", "theirs"], &[]);
        check(&["a", "b"], &["a", "b"], &["b", "theirs"], &["b", "theirs"], &[]);
        // Moved, not changed.
        check(&["a", "b", "c"], &["c", "a", "new"], &["a", "b", "c", "x"], &["a", "b", "c", "new", "x"], &[]);
        check(&["x\ny\nz\n"], &["x\nY\nz\n"], &["x\ny\nz\nw\n"], &["x\nY\nz\nw\n"], &[]);
    }
}
