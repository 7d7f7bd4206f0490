//! Finds the version that a foreign program started from when it writes during a save, by content.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use cellist_notebook::{Cell, Error, Notebook};

/// The versions that a foreign program may have read. At equal distance the first one wins.
pub(super) struct Ancestry(Vec<(CellProfile, Arc<Notebook>)>);

impl Ancestry {
    pub(super) fn new(base: Arc<Notebook>) -> Ancestry {
        Ancestry(vec![(CellProfile::of(&base), base)])
    }

    /// Adds a version of a foreign program, in front: the same program most likely continues from
    /// it.
    pub(super) fn add_theirs(&mut self, version: Arc<Notebook>) {
        self.0.insert(0, (CellProfile::of(&version), version));
    }

    /// Adds a version that we put into the file, where another program may have read it.
    pub(super) fn add_ours(&mut self, version: Arc<Notebook>) {
        self.0.push((CellProfile::of(&version), version));
    }

    /// The version with the smallest distance to `theirs`. `ours` is our newest version.
    ///
    /// A program that writes without reading discards our saves since its last read. A merge based
    /// on our newest version would take that for a deliberate revert.
    pub(super) fn closest(&self, theirs: &Notebook, ours: &Notebook) -> Arc<Notebook> {
        let (theirs, ours) = (CellProfile::of(theirs), CellProfile::of(ours));
        // `min_by_key` returns the first of equals.
        let (_, version) = (self.0.iter())
            .min_by_key(|(known, _)| known.distance(&theirs, &ours))
            .expect("the base is always there");
        Arc::clone(version)
    }
}

/// Hashes of a notebook's cells, to measure the distance between two notebooks. Sorted pairs of an
/// id's hash and a content's hash.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CellProfile(Vec<(u64, u64)>);

impl CellProfile {
    fn of(notebook: &Notebook) -> CellProfile {
        let numbers = |cell: &Cell| {
            let mut content = DefaultHasher::new();
            (cell.cell_type().as_str(), cell.source()).hash(&mut content);
            // In place of the outputs, which may be long and differ in layout between programs.
            (cell.execution_count(), cell.has_outputs()).hash(&mut content);
            let content = content.finish();
            // A cell without an id is identified by its content.
            let name = cell.stored_id().map_or(content, |id| {
                let mut name = DefaultHasher::new();
                id.hash(&mut name);
                name.finish()
            });
            (name, content)
        };
        let mut cells: Vec<(u64, u64)> = notebook.cells().iter().map(numbers).collect();
        cells.sort_unstable();
        CellProfile(cells)
    }

    /// The number of cells that differ in `theirs`. `usize::MAX` if `theirs` has a cell, by id or
    /// content, that `ours` has and this version lacks: its author has read a newer version.
    fn distance(&self, theirs: &CellProfile, ours: &CellProfile) -> usize {
        let (mut distance, mut at) = (0, 0);
        for (name, content) in &theirs.0 {
            while self.0.get(at).is_some_and(|(mine, _)| mine < name) {
                at += 1;
                distance += 1;
            }
            match self.0.get(at) {
                Some((mine, known)) if mine == name => {
                    at += 1;
                    distance += usize::from(known != content);
                }
                _ if ours.has(*name) => return usize::MAX,
                _ if ours.holds(*content) && !self.holds(*content) => return usize::MAX,
                _ => distance += 1,
            }
        }
        distance + self.0.len() - at
    }

    fn has(&self, name: u64) -> bool {
        self.0.binary_search_by_key(&name, |(known, _)| *known).is_ok()
    }

    fn holds(&self, content: u64) -> bool {
        self.0.iter().any(|(_, known)| *known == content)
    }
}

/// Our version with its conflicting cells reset to `base`, so that theirs win. `None` if a cell may
/// not be reset, or has no id.
pub(super) fn reset_conflicts(
    base: &Notebook,
    ours: &Notebook,
    error: &Error,
    may_reset: impl Fn(&str) -> bool,
) -> Option<Notebook> {
    let Error::Conflicts(conflicts) = error else { return None };
    let mut reset = ours.clone();
    for conflict in conflicts {
        let id = conflict.id.as_deref().filter(|id| may_reset(id))?;
        let (before, at) = (cell_with(base, id)?.1, cell_with(&reset, id)?.0);
        reset.set_type(at, before.cell_type());
        reset.set_source(at, &before.source());
    }
    Some(reset)
}

/// Whether a cell has the same type and source in both notebooks, or is in neither.
pub(super) fn has_same_cell(one: &Notebook, other: &Notebook, id: &str) -> bool {
    let text = |notebook| cell_with(notebook, id).map(|(_, cell)| (cell.cell_type(), cell.source()));
    text(one) == text(other)
}

fn cell_with<'a>(notebook: &'a Notebook, id: &str) -> Option<(usize, &'a Cell)> {
    notebook.cells().iter().enumerate().find(|(_, cell)| cell.id().as_str() == id)
}

#[cfg(test)]
mod tests {
    use super::CellProfile;

    #[track_caller]
    fn check(known: &[(u64, u64)], theirs: &[(u64, u64)], ours: &[(u64, u64)], expected: usize) {
        let profile = |cells: &[(u64, u64)]| CellProfile(cells.to_vec());
        assert_eq!(profile(known).distance(&profile(theirs), &profile(ours)), expected);
    }

    #[test]
    fn the_distance_counts_cells_that_differ() {
        check(&[], &[], &[], 0);
        check(&[(1, 1), (2, 2)], &[(1, 1), (2, 2)], &[], 0);
        check(&[(1, 1), (2, 2), (3, 3)], &[(1, 1), (3, 3)], &[], 1);
        check(&[(1, 1), (3, 3)], &[(1, 1), (2, 2), (3, 3), (4, 4)], &[], 2);
        check(&[(1, 1), (2, 2)], &[(1, 9), (2, 2)], &[], 1);
        check(&[(1, 1), (1, 1)], &[(1, 1)], &[], 1);
        check(&[(1, 1), (2, 2)], &[(3, 3)], &[], 3);
    }

    #[test]
    fn a_newer_cell_of_ours_excludes_older_versions() {
        check(&[(1, 1)], &[(1, 1), (2, 9)], &[(1, 1), (2, 2)], usize::MAX);
        check(&[(1, 1), (2, 2)], &[(1, 1), (2, 9)], &[(1, 1), (2, 2)], 1);
        // Under another name.
        check(&[(1, 1)], &[(1, 1), (7, 2)], &[(1, 1), (2, 2)], usize::MAX);
        check(&[(1, 1), (2, 2)], &[(1, 1), (7, 2)], &[(1, 1), (2, 2)], 2);
    }
}
