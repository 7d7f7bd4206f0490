//! The differences between two notebooks, cell by cell.

use std::borrow::Cow;

use crate::align::{pair, rising};
use crate::cell::Cell;
use crate::lines::{Hunk, hunks};
use crate::merge::same;
use crate::notebook::Notebook;

/// One cell that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellChange {
    /// Only in the new notebook, at this position.
    Added(usize),
    /// Only in the old notebook, at this position.
    Deleted(usize),
    /// In both, but not the same.
    Changed(CellDiff),
}

/// How a cell that both notebooks have differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellDiff {
    /// Its position in the old notebook.
    pub before: usize,
    /// Its position in the new one.
    pub after: usize,
    /// Whether it stands elsewhere among the cells that both have.
    pub moved: bool,
    /// Whether its type is another.
    pub retyped: bool,
    /// Where its source differs, by lines.
    pub source: Vec<Hunk>,
    /// Other keys whose values differ: `outputs`, `metadata` and so on.
    pub keys: Vec<String>,
}

/// The cells that differ, in the order of the new notebook, each deleted cell where it used to stand; and the
/// top-level keys that differ.
pub fn diff(before: &Notebook, after: &Notebook) -> (Vec<CellChange>, Vec<String>) {
    let pairs = pair(&before.snapshot_cells(), &after.snapshot_cells());
    let common: Vec<usize> = pairs.iter().flatten().copied().collect();
    let mut in_place = vec![false; after.cells().len()];
    common.iter().zip(rising(&common)).for_each(|(&at, steady)| in_place[at] = steady);
    let mut old_of: Vec<Option<usize>> = vec![None; after.cells().len()];
    pairs.iter().enumerate().for_each(|(old, new)| {
        if let Some(new) = new {
            old_of[*new] = Some(old);
        }
    });

    let mut changes = Vec::new();
    let mut told = 0;
    let tell_deleted = |changes: &mut Vec<CellChange>, told: &mut usize, until: usize| {
        while *told < until {
            if pairs[*told].is_none() {
                changes.push(CellChange::Deleted(*told));
            }
            *told += 1;
        }
    };
    // Where the next cell that both have in place stood: deletions before it come first.
    let mut next_old = vec![before.cells().len(); after.cells().len() + 1];
    for index in (0..after.cells().len()).rev() {
        next_old[index] = old_of[index].filter(|_| in_place[index]).unwrap_or(next_old[index + 1]);
    }
    for (index, cell) in after.cells().iter().enumerate() {
        tell_deleted(&mut changes, &mut told, next_old[index]);
        let Some(old) = old_of[index] else {
            changes.push(CellChange::Added(index));
            continue;
        };
        let change = CellDiff {
            before: old,
            after: index,
            moved: !in_place[index],
            retyped: cell.cell_type() != before.cells()[old].cell_type(),
            source: hunks(&before.cells()[old].source(), &cell.source()),
            keys: differing_keys(&before.cells()[old], cell),
        };
        if change.moved || change.retyped || !change.source.is_empty() || !change.keys.is_empty() {
            changes.push(CellChange::Changed(change));
        }
    }
    tell_deleted(&mut changes, &mut told, before.cells().len());
    (changes, differing_top_level(before, after))
}

fn differing_keys(before: &Cell, after: &Cell) -> Vec<String> {
    let mut keys: Vec<Cow<'_, str>> = before.keys();
    keys.extend(after.keys().into_iter().filter(|key| before.value(key).is_none()));
    keys.retain(|key| !matches!(&**key, "cell_type" | "source"));
    keys.retain(|key| !same(before.value(key), after.value(key)));
    keys.into_iter().map(Cow::into_owned).collect()
}

fn differing_top_level(before: &Notebook, after: &Notebook) -> Vec<String> {
    let mut keys = before.keys();
    keys.extend(after.keys().into_iter().filter(|key| before.value(key).is_none()));
    keys.retain(|key| key != "cells" && !same(before.value(key), after.value(key)));
    keys
}
