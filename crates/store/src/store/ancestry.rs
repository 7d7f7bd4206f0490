//! Finds the version that another program started from when it writes while we save, by its content.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use cellist_notebook::{Cell, Error, Notebook};

/// The versions that someone may have read, those that count first at equal distance in front.
pub(super) struct Ancestry(Vec<(Profile, Arc<Notebook>)>);

impl Ancestry {
    pub(super) fn new(base: Arc<Notebook>) -> Ancestry {
        Ancestry(vec![(Profile::of(&base), base)])
    }

    /// Someone else wrote this version. Most likely the same program will go on from it.
    pub(super) fn theirs(&mut self, version: Arc<Notebook>) {
        self.0.insert(0, (Profile::of(&version), version));
    }

    /// We put this version into the file, where someone may have read it.
    pub(super) fn ours(&mut self, version: Arc<Notebook>) {
        self.0.push((Profile::of(&version), version));
    }

    /// The version that `theirs` differs least from. `ours` is our newest version.
    ///
    /// A program that writes without looking overwrites our saves since then. With our newest version
    /// as the base of a merge, our changes would look as if it had taken them back.
    pub(super) fn closest(&self, theirs: &Notebook, ours: &Notebook) -> Arc<Notebook> {
        let (theirs, ours) = (Profile::of(theirs), Profile::of(ours));
        // The first of equals.
        let (_, version) = (self.0.iter())
            .min_by_key(|(known, _)| known.distance(&theirs, &ours))
            .expect("the base is always there");
        Arc::clone(version)
    }
}

/// The cells of a notebook, as far as it takes to see how much two notebooks have in common: for each a number
/// of its id and one of its content, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Profile(Vec<(u64, u64)>);

impl Profile {
    fn of(notebook: &Notebook) -> Profile {
        let numbers = |cell: &Cell| {
            let mut content = DefaultHasher::new();
            (cell.cell_type().as_str(), cell.source()).hash(&mut content);
            // Instead of the outputs, which may be long and are spelled differently by different programs.
            (cell.execution_count(), cell.has_outputs()).hash(&mut content);
            let content = content.finish();
            // A cell without an id is known by what it holds.
            let name = cell.stored_id().map_or(content, |id| {
                let mut name = DefaultHasher::new();
                id.hash(&mut name);
                name.finish()
            });
            (name, content)
        };
        let mut cells: Vec<(u64, u64)> = notebook.cells().iter().map(numbers).collect();
        cells.sort_unstable();
        Profile(cells)
    }

    /// How many cells are not the same in `theirs`, or infinitely many if `theirs` has a cell that only `ours`
    /// has, not this, by its name or by what it holds: then they have seen a newer version.
    fn distance(&self, theirs: &Profile, ours: &Profile) -> usize {
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

/// Our version with the cells that a merge found in conflict as they are in `base`, so that theirs stay.
/// `None` when a cell may not give way, or has no id to find it by.
pub(super) fn giving_way(
    base: &Notebook,
    ours: &Notebook,
    error: &Error,
    may_give_way: impl Fn(&str) -> bool,
) -> Option<Notebook> {
    let Error::Conflicts(conflicts) = error else { return None };
    let mut yielding = ours.clone();
    for conflict in conflicts {
        let id = conflict.id.as_deref().filter(|id| may_give_way(id))?;
        let (before, at) = (cell_with(base, id)?.1, cell_with(&yielding, id)?.0);
        yielding.set_type(at, before.cell_type());
        yielding.set_source(at, &before.source());
    }
    Some(yielding)
}

/// Whether a cell has the same type and source in both, or is in neither.
pub(super) fn has_same_cell(one: &Notebook, other: &Notebook, id: &str) -> bool {
    let text = |notebook| cell_with(notebook, id).map(|(_, cell)| (cell.cell_type(), cell.source()));
    text(one) == text(other)
}

fn cell_with<'a>(notebook: &'a Notebook, id: &str) -> Option<(usize, &'a Cell)> {
    notebook.cells().iter().enumerate().find(|(_, cell)| cell.id().as_str() == id)
}

#[cfg(test)]
mod tests {
    use super::Profile;

    #[track_caller]
    fn check(known: &[(u64, u64)], theirs: &[(u64, u64)], ours: &[(u64, u64)], expected: usize) {
        let profile = |cells: &[(u64, u64)]| Profile(cells.to_vec());
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
    fn who_has_a_newer_cell_of_ours_has_not_started_from_an_older_version() {
        check(&[(1, 1)], &[(1, 1), (2, 9)], &[(1, 1), (2, 2)], usize::MAX);
        check(&[(1, 1), (2, 2)], &[(1, 1), (2, 9)], &[(1, 1), (2, 2)], 1);
        // Under another name.
        check(&[(1, 1)], &[(1, 1), (7, 2)], &[(1, 1), (2, 2)], usize::MAX);
        check(&[(1, 1), (2, 2)], &[(1, 1), (7, 2)], &[(1, 1), (2, 2)], 2);
    }
}
