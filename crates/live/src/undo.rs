//! Undoes acts beside later changes of others.

use cellist_notebook::{CellId, CellType, Conflict, Error, Notebook, Result, merge_text};

use super::act::Act;
use super::tombstones::CellTombstones;

/// Undoes acts, the newest first. If another actor has changed the same since, nothing changes and the error shows
/// both versions.
pub(crate) fn take_back<'a>(
    notebook: &mut Notebook,
    acts: impl Iterator<Item = &'a Act>,
    tombstones: &CellTombstones,
) -> Result<()> {
    let mut changed = notebook.clone();
    let mut conflicts = Vec::new();
    for act in acts {
        if let Err(conflict) = one(&mut changed, act, tombstones)? {
            conflicts.push(conflict);
        }
    }
    if !conflicts.is_empty() {
        return Err(Error::Conflicts(conflicts));
    }
    *notebook = changed;
    Ok(())
}

fn one(
    notebook: &mut Notebook,
    act: &Act,
    tombstones: &CellTombstones,
) -> Result<std::result::Result<(), Conflict>> {
    let index = act.cell().and_then(|cell| notebook.position(cell));
    let now = |notebook: &Notebook, index: usize| {
        let cell = &notebook.cells()[index];
        (cell.cell_type(), cell.source().into_owned())
    };
    let conflict = |ours: Option<(CellType, String)>, theirs: Option<(CellType, String)>| {
        let id = act.cell().map(CellId::to_string);
        Ok(Err(Conflict { index: index.unwrap_or_default(), id, ours, theirs }))
    };
    match (act, index) {
        // The affected cell is already deleted.
        (Act::Inserted { .. } | Act::Moved { .. } | Act::Cleared { .. } | Act::Refitted { .. }, None) => {}
        (Act::Inserted { kind, source, .. }, Some(index)) => {
            let theirs = now(notebook, index);
            if theirs != (*kind, source.clone()) {
                return conflict(None, Some(theirs));
            }
            notebook.remove(index);
        }
        (Act::Deleted { .. }, Some(_)) => {}
        (Act::Deleted { cell, after, json, .. }, None) => {
            let at = tombstones.place(notebook, after.as_ref()).unwrap_or(notebook.cells().len());
            notebook.restore(at, cell, json)?;
        }
        (Act::Moved { from, .. }, Some(index)) => {
            // Without its old neighbour, the cell stays in place.
            if let Some(at) = tombstones.place(notebook, from.as_ref()) {
                notebook.shift(index, if at > index { at - 1 } else { at });
            }
        }
        (Act::Retyped { before, .. }, None) => return conflict(Some((*before, String::new())), None),
        (Act::Retyped { before, after, json, .. }, Some(index)) => {
            let theirs = now(notebook, index);
            if theirs.0 != *after {
                return conflict(Some((*before, theirs.1.clone())), Some(theirs));
            }
            notebook.set_type(index, *before);
            if let Some(json) = json {
                notebook.restore_outputs(index, json)?;
            }
        }
        (Act::Edited { before, .. }, None) => {
            return conflict(Some((CellType::Code, before.clone())), None);
        }
        (Act::Edited { before, after, .. }, Some(index)) => {
            let theirs = now(notebook, index);
            match merge_text(after, before, &theirs.1) {
                Some(text) => notebook.set_source(index, &text),
                None => return conflict(Some((theirs.0, before.clone())), Some(theirs)),
            }
        }
        (Act::Cleared { json, .. }, Some(index)) => {
            if !notebook.cells()[index].has_run() {
                notebook.restore_outputs(index, json)?;
            }
        }
        (Act::Refitted { before, after, .. }, Some(index)) => notebook.refit(index, before, after)?,
        (Act::Outputs { .. } | Act::Metadata { .. }, _) => {}
    }
    Ok(Ok(()))
}
