//! Which version another program started from, judged by what it made of it.

use std::sync::Arc;

use cellist_notebook::{CellChange, Notebook, diff};

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

    /// The version that `foreign` differs least from.
    ///
    /// A program that writes without looking overwrites what we put there meanwhile. With our newest version
    /// as the base of a merge, our changes would look as if it had taken them back.
    pub(super) fn closest(&self, foreign: &Notebook) -> Arc<Notebook> {
        match self.0.as_slice() {
            [only] => Arc::clone(only),
            versions => {
                // The first of equals.
                let closest = versions.iter().min_by_key(|version| distance(version, foreign));
                Arc::clone(closest.unwrap_or(&versions[0]))
            }
        }
    }
}

/// How much was changed on the way from one notebook to another, in lines and values.
pub(super) fn distance(from: &Notebook, to: &Notebook) -> usize {
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
