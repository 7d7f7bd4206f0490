//! Which version another program started from, judged by what it made of it.

use std::sync::Arc;

use cellist_notebook::{CellChange, Error, Notebook, diff};

/// The versions that someone may have read, those that count first at equal distance in front.
#[derive(Debug)]
pub(super) struct Ancestry(Vec<Arc<Notebook>>);

impl Ancestry {
    pub(super) fn new(base: Arc<Notebook>) -> Ancestry {
        Ancestry(vec![base])
    }

    /// Someone else wrote this version. Most likely the same program will go on from it.
    pub(super) fn theirs(&mut self, version: Arc<Notebook>) {
        self.0.insert(0, version);
    }

    /// We put this version into the file, where someone may have read it.
    pub(super) fn ours(&mut self, version: Arc<Notebook>) {
        self.0.push(version);
    }

    /// The version that `foreign` differs least from, these or `others`.
    ///
    /// A program that writes without looking overwrites what we put there meanwhile. With our newest version
    /// as the base of a merge, our changes would look as if it had taken them back.
    pub(super) fn closest(
        &self,
        foreign: &Notebook,
        others: impl Iterator<Item = Arc<Notebook>>,
    ) -> Arc<Notebook> {
        let mut closest = Closest::new(foreign, &self.0[0]);
        self.0[1..].iter().for_each(|version| closest.look_at(Arc::clone(version)));
        closest.look_among(others);
        closest.version()
    }
}

/// After so many versions in a row that are further away than the closest one, no more are looked at.
const FAR_ENOUGH: usize = 4;

/// The first of the versions looked at that differ least from one notebook.
pub(super) struct Closest<'a> {
    from: &'a Notebook,
    first: Arc<Notebook>,
    other: Option<Arc<Notebook>>,
    distance: usize,
}

impl<'a> Closest<'a> {
    pub(super) fn new(from: &'a Notebook, first: &Arc<Notebook>) -> Closest<'a> {
        Closest { from, first: Arc::clone(first), other: None, distance: distance(first, from) }
    }

    fn look_at(&mut self, version: Arc<Notebook>) {
        let distance = distance(&version, self.from);
        if distance < self.distance {
            (self.other, self.distance) = (Some(version), distance);
        }
    }

    /// Looks at versions that become ever more different sooner or later.
    pub(super) fn look_among(&mut self, versions: impl Iterator<Item = Arc<Notebook>>) {
        let mut in_vain = 0;
        for version in versions {
            let before = self.distance;
            self.look_at(version);
            in_vain = if self.distance < before { 0 } else { in_vain + 1 };
            if in_vain == FAR_ENOUGH {
                return;
            }
        }
    }

    /// The closest, unless it is the first.
    pub(super) fn other(self) -> Option<Arc<Notebook>> {
        self.other
    }

    fn version(self) -> Arc<Notebook> {
        self.other.unwrap_or(self.first)
    }
}

/// Our version without our changes of the cells that a merge found in conflict, if they can be taken back.
pub(super) fn without_conflicts(base: &Notebook, ours: &Notebook, error: &Error) -> Option<Notebook> {
    let Error::Conflicts(conflicts) = error else { return None };
    let mut yielding = ours.clone();
    for conflict in conflicts {
        let id = conflict.id.as_deref()?;
        let place = |notebook: &Notebook| notebook.cells().iter().position(|cell| cell.id().as_str() == id);
        let (before, at) = (&base.cells()[place(base)?], place(&yielding)?);
        yielding.set_type(at, before.cell_type());
        yielding.set_source(at, &before.source());
    }
    Some(yielding)
}

/// How much was changed on the way from one notebook to another, in lines and values.
fn distance(from: &Notebook, to: &Notebook) -> usize {
    let (cells, keys) = diff(from, to);
    let weight = |change: &CellChange| match change {
        CellChange::Added(at) => 1 + to.cells()[*at].source().lines().count(),
        CellChange::Deleted(at) => 1 + from.cells()[*at].source().lines().count(),
        CellChange::Changed(change) => {
            let lines: usize = change.source.iter().map(|hunk| hunk.before.len().max(hunk.after.len())).sum();
            usize::from(change.moved) + usize::from(change.retyped) + lines + change.keys.len()
        }
    };
    cells.iter().map(weight).sum::<usize>() + keys.len()
}
