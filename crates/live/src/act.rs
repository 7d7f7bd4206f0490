//! Acts on a notebook, each with enough data to undo it.

use std::collections::{HashMap, HashSet};

use cellist_notebook::{Cell, CellId, CellType, Notebook, rising};
use serde::{Deserialize, Serialize};

use super::ChangeSet;
use super::op::Effect;

/// One act on a notebook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    Inserted {
        cell: CellId,
        after: Option<CellId>,
        kind: CellType,
        source: String,
        /// Whether outputs or metadata were inserted too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        has_more: bool,
    },
    Deleted {
        cell: CellId,
        after: Option<CellId>,
        kind: CellType,
        source: String,
        /// JSON of the cell.
        json: String,
    },
    Moved {
        cell: CellId,
        from: Option<CellId>,
        to: Option<CellId>,
    },
    Retyped {
        cell: CellId,
        before: CellType,
        after: CellType,
        /// JSON of the cell before, if it lost its outputs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        json: Option<String>,
    },
    Edited {
        cell: CellId,
        before: String,
        after: String,
        /// The exact change, if known; otherwise one with the same effect.
        #[serde(skip)]
        change: Option<ChangeSet>,
    },
    Cleared {
        cell: CellId,
        /// JSON of the cell before.
        json: String,
    },
    /// Values other than source and type changed.
    Refitted {
        cell: CellId,
        /// JSON of the cell before.
        before: String,
        /// JSON of the cell after.
        after: String,
        /// Whether it undid an earlier act.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_back: bool,
    },
    /// Outputs came from a run or from the file. They cannot be undone.
    Outputs {
        cell: CellId,
    },
    /// Other values of a cell or of the notebook changed. They cannot be undone.
    Metadata {
        cell: Option<CellId>,
    },
}

impl Act {
    /// The affected cell.
    pub(crate) fn cell(&self) -> Option<&CellId> {
        match self {
            Act::Inserted { cell, .. }
            | Act::Deleted { cell, .. }
            | Act::Moved { cell, .. }
            | Act::Retyped { cell, .. }
            | Act::Edited { cell, .. }
            | Act::Cleared { cell, .. }
            | Act::Refitted { cell, .. }
            | Act::Outputs { cell } => Some(cell),
            Act::Metadata { cell } => cell.as_ref(),
        }
    }

    /// Whether the act can invalidate a source change that was made without it.
    pub(crate) fn touches_text(&self) -> bool {
        match self {
            Act::Inserted { .. } | Act::Deleted { .. } | Act::Retyped { .. } | Act::Edited { .. } => true,
            Act::Moved { .. }
            | Act::Cleared { .. }
            | Act::Refitted { .. }
            | Act::Outputs { .. }
            | Act::Metadata { .. } => false,
        }
    }

    /// Whether the act can be undone.
    pub(crate) fn is_undoable(&self) -> bool {
        !matches!(self, Act::Outputs { .. } | Act::Metadata { .. })
    }

    /// Returns the effects for clients.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        let cell = |cell: &CellId| cell.clone();
        let mut effects = vec![match self {
            Act::Inserted { cell: id, after, kind, source, .. } => {
                Effect::Inserted { cell: cell(id), after: after.clone(), kind: *kind, source: source.clone() }
            }
            Act::Deleted { cell: id, .. } => Effect::Deleted { cell: cell(id) },
            Act::Moved { cell: id, to, .. } => Effect::Moved { cell: cell(id), after: to.clone() },
            Act::Retyped { cell: id, after, .. } => Effect::Retyped { cell: cell(id), kind: *after },
            Act::Edited { cell: id, before, after, change } => Effect::Changed {
                cell: cell(id),
                change: change.clone().unwrap_or_else(|| ChangeSet::between(before, after)),
            },
            Act::Cleared { cell: id, .. } | Act::Refitted { cell: id, .. } | Act::Outputs { cell: id } => {
                Effect::Outputs { cell: cell(id) }
            }
            Act::Metadata { cell } => Effect::Metadata { cell: cell.clone() },
        }];
        match self {
            Act::Retyped { cell, json: Some(_), .. } => effects.push(Effect::Outputs { cell: cell.clone() }),
            Act::Inserted { cell, has_more: true, .. } => {
                effects.push(Effect::Outputs { cell: cell.clone() });
                effects.push(Effect::Metadata { cell: Some(cell.clone()) });
            }
            Act::Refitted { cell, .. } => effects.push(Effect::Metadata { cell: Some(cell.clone()) }),
            _ => {}
        }
        effects
    }
}

/// The cell before the one at `index`.
pub(crate) fn before(notebook: &Notebook, index: usize) -> Option<CellId> {
    index.checked_sub(1).and_then(|at| notebook.cells().get(at)).map(|cell| cell.id().clone())
}

/// Deletes a cell.
pub(crate) fn delete(notebook: &mut Notebook, index: usize) -> Act {
    let after = before(notebook, index);
    let cell = notebook.remove(index);
    Act::Deleted {
        cell: cell.id().clone(),
        after,
        kind: cell.cell_type(),
        source: cell.source().into_owned(),
        json: cell.to_json(),
    }
}

/// Changes the type of a cell.
pub(crate) fn retype(notebook: &mut Notebook, index: usize, kind: CellType) -> Act {
    let cell = &notebook.cells()[index];
    let (id, before) = (cell.id().clone(), cell.cell_type());
    let json = cell.has_run().then(|| cell.to_json());
    notebook.set_type(index, kind);
    Act::Retyped { cell: id, before, after: kind, json }
}

/// Returns the acts that turn one notebook into another, by cell id.
pub(crate) fn between(old: &Notebook, new: &Notebook) -> Vec<Act> {
    let place = |notebook: &Notebook| -> HashMap<CellId, usize> {
        notebook.cells().iter().enumerate().map(|(at, cell)| (cell.id().clone(), at)).collect()
    };
    let (old_place, new_place) = (place(old), place(new));
    let mut acts = Vec::new();
    // The order of the cells while the acts are applied one by one.
    let mut order: Vec<&CellId> = old.cells().iter().map(Cell::id).collect();
    for cell in old.cells().iter().filter(|cell| !new_place.contains_key(cell.id())) {
        let at = order.iter().position(|id| *id == cell.id()).unwrap_or_default();
        acts.push(Act::Deleted {
            cell: cell.id().clone(),
            after: at.checked_sub(1).map(|before| order[before].clone()),
            kind: cell.cell_type(),
            source: cell.source().into_owned(),
            json: cell.to_json(),
        });
        order.remove(at);
    }
    let steady = steady(&order, &new_place);
    for (at, cell) in new.cells().iter().enumerate() {
        let (id, after) = (cell.id(), before(new, at));
        let Some(&was) = old_place.get(id) else {
            acts.push(Act::Inserted {
                cell: id.clone(),
                after,
                kind: cell.cell_type(),
                source: cell.source().into_owned(),
                has_more: cell.has_run() || cell.metadata().as_object().is_some_and(|map| !map.is_empty()),
            });
            put_behind(&mut order, id, before(new, at).as_ref());
            continue;
        };
        if !steady.contains(id) {
            let now = order.iter().position(|known| *known == id).unwrap_or(at);
            let from = now.checked_sub(1).map(|before| order[before].clone());
            if from != after {
                order.remove(now);
                put_behind(&mut order, id, after.as_ref());
                acts.push(Act::Moved { cell: id.clone(), from, to: after });
            }
        }
        let was = &old.cells()[was];
        if !cell.is_untouched_since(was) {
            inside(was, cell, &mut acts);
        }
    }
    let others = |notebook: &Notebook| -> Vec<(String, Option<Vec<u8>>)> {
        let keys = notebook.keys().into_iter().filter(|key| key != "cells");
        keys.map(|key| (key.clone(), notebook.value(&key).map(<[u8]>::to_vec))).collect()
    };
    if others(old) != others(new) {
        acts.push(Act::Metadata { cell: None });
    }
    acts
}

fn put_behind<'a>(order: &mut Vec<&'a CellId>, id: &'a CellId, after: Option<&CellId>) {
    // Most cells are appended.
    let at = after.and_then(|after| order.iter().rposition(|known| *known == after));
    order.insert(at.map_or(0, |at| at + 1), id);
}

/// Returns the cells that keep their relative order.
fn steady<'a>(order: &[&'a CellId], places: &HashMap<CellId, usize>) -> HashSet<&'a CellId> {
    let numbers: Vec<usize> = order.iter().filter_map(|id| places.get(*id).copied()).collect();
    order.iter().zip(rising(&numbers)).filter(|(_, steady)| *steady).map(|(id, _)| *id).collect()
}

/// Adds the acts within one cell.
fn inside(old: &Cell, new: &Cell, acts: &mut Vec<Act>) {
    let id = new.id().clone();
    if old.cell_type() != new.cell_type() {
        let json = (old.has_run() && !new.has_run()).then(|| old.to_json());
        acts.push(Act::Retyped { cell: id.clone(), before: old.cell_type(), after: new.cell_type(), json });
    }
    let (before, after) = (old.source(), new.source());
    if before != after {
        let (before, after) = (before.into_owned(), after.into_owned());
        acts.push(Act::Edited { cell: id.clone(), before, after, change: None });
    }
    let differs = |key: &str| old.value(key) != new.value(key);
    if differs("outputs") || differs("execution_count") {
        match (old.cell_type() == new.cell_type(), old.has_run(), new.has_run()) {
            (true, true, false) => acts.push(Act::Cleared { cell: id.clone(), json: old.to_json() }),
            (true, _, _) | (false, _, true) => acts.push(Act::Outputs { cell: id.clone() }),
            (false, _, false) => {}
        }
    }
    let mut keys: HashSet<String> = HashSet::new();
    keys.extend(old.keys().into_iter().chain(new.keys()).map(std::borrow::Cow::into_owned));
    let known = ["source", "cell_type", "outputs", "execution_count"];
    if keys.iter().any(|key| !known.contains(&key.as_str()) && differs(key)) {
        acts.push(Act::Metadata { cell: Some(id) });
    }
}

#[cfg(test)]
mod tests;
