//! What is in front of a person who says something on a page: a notebook is worked on when it is attached to the message
//! and is the one that the person had in front last.

use std::fs;
use std::path::Path;

use cellist_assistant::UserMessage;
use cellist_notebook::CellId;
use cellist_tools::{EditorSelection, EditorState};

use crate::protocol::chat::ChatMessage;

/// A message in the pane of a notebook's page. What was reported last is in front.
pub(super) fn words(
    notebook: &Path,
    folder: &Path,
    reported: &EditorState,
    message: ChatMessage,
) -> UserMessage {
    let is_active = reported.active.as_deref() == Some(notebook);
    let editing = reported.selection.editing.clone().filter(|_| is_active);
    let selection = EditorSelection { cells: names(&message.selected), editing };
    said(notebook, folder, reported.active.as_deref(), selection, message)
}

/// A message at a cell: its notebook is always worked on.
pub(super) fn at_cell(notebook: &Path, folder: &Path, cell: &str, message: ChatMessage) -> UserMessage {
    let mut cells = names(&message.selected);
    if cells.iter().all(|known| known != cell) {
        cells.push(cell.to_owned());
    }
    let selection = EditorSelection { cells, editing: Some(cell.to_owned()) };
    said(notebook, folder, Some(notebook), selection, ChatMessage { is_attached: true, ..message })
}

fn said(
    notebook: &Path,
    folder: &Path,
    active: Option<&Path>,
    selection: EditorSelection,
    message: ChatMessage,
) -> UserMessage {
    let ChatMessage { id, words, mode, is_attached, attached, outputs, .. } = message;
    // What is not there is not attached: its chip was for a file that is gone.
    let others = attached.iter().filter_map(|path| fs::canonicalize(folder.join(path)).ok());
    let mut all: Vec<_> = is_attached.then(|| notebook.to_owned()).into_iter().chain(others).collect();
    all.dedup();
    let front = EditorState { active: active.map(Path::to_owned), attached: all, selection };
    UserMessage { id, words, mode, front, outputs: names(&outputs) }
}

fn names(cells: &[CellId]) -> Vec<String> {
    cells.iter().map(CellId::to_string).collect()
}
