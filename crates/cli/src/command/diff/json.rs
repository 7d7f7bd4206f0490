//! A diff as one object.

use cellist_notebook::{Cell, CellChange, CellDiff, split};
use serde_json::{Value, json};

use super::{DiffSides, NotebookChanges};

pub(super) fn view(sides: &DiffSides, changes: &NotebookChanges) -> Value {
    let [before, after] = &sides.notebooks;
    let cells: Vec<Value> = (changes.cells.iter())
        .map(|change| match change {
            CellChange::Added(index) => whole("added", *index, &after.cells()[*index]),
            CellChange::Deleted(index) => whole("deleted", *index, &before.cells()[*index]),
            CellChange::Changed(change) => {
                changed(change, &before.cells()[change.before], &after.cells()[change.after])
            }
        })
        .collect();
    json!({
        "before": sides.names[0],
        "after": sides.names[1],
        "same": changes.is_empty(),
        "cells": cells,
        "notebook_keys": changes.keys,
    })
}

fn whole(change: &str, index: usize, cell: &Cell) -> Value {
    json!({
        "change": change,
        "cell_index": index,
        "cell_id": cell.stored_id(),
        "cell_type": cell.cell_type(),
        "source": cell.source(),
    })
}

fn changed(change: &CellDiff, before: &Cell, after: &Cell) -> Value {
    let (before_source, after_source) = (before.source(), after.source());
    let (old, new) = (split(&before_source), split(&after_source));
    let hunks: Vec<Value> = (change.source.iter())
        .map(|hunk| {
            json!({
                "before_line": hunk.before.start + 1,
                "before": old[hunk.before.clone()],
                "after_line": hunk.after.start + 1,
                "after": new[hunk.after.clone()],
            })
        })
        .collect();
    json!({
        "change": "changed",
        "cell_index": change.after,
        "cell_index_before": change.before,
        "cell_id": after.stored_id(),
        "cell_type": after.cell_type(),
        "cell_type_before": before.cell_type(),
        "moved": change.moved,
        "source": hunks,
        "keys": change.keys,
    })
}
