//! The editor state of a message from a page. The notebook is active if it is attached to the message and was the last
//! active one.

use std::fs;
use std::path::Path;

use cellist_assistant::UserMessage;
use cellist_notebook::CellId;
use cellist_tools::{EditorSelection, EditorState};

use crate::protocol::chat::ChatMessage;

/// A message about a notebook, with the last reported editor state.
pub(super) fn notebook_message(
    notebook: &Path,
    folder: &Path,
    reported: &EditorState,
    message: ChatMessage,
) -> UserMessage {
    let is_active = reported.active.as_deref() == Some(notebook);
    let editing = reported.selection.editing.clone().filter(|_| is_active);
    let selection = EditorSelection { cells: names(&message.selected), editing };
    user_message(notebook, folder, reported.active.as_deref(), selection, message)
}

/// A message about a cell. Its notebook is always active.
pub(super) fn cell_message(notebook: &Path, folder: &Path, cell: &str, message: ChatMessage) -> UserMessage {
    let mut cells = names(&message.selected);
    if cells.iter().all(|known| known != cell) {
        cells.push(cell.to_owned());
    }
    let selection = EditorSelection { cells, editing: Some(cell.to_owned()) };
    user_message(notebook, folder, Some(notebook), selection, ChatMessage { is_attached: true, ..message })
}

fn user_message(
    notebook: &Path,
    folder: &Path,
    active: Option<&Path>,
    selection: EditorSelection,
    message: ChatMessage,
) -> UserMessage {
    let ChatMessage { id, words, mode, is_attached, attached, outputs, .. } = message;
    // A file that no longer exists is not attached.
    let others = attached.iter().filter_map(|path| fs::canonicalize(folder.join(path)).ok());
    let mut all: Vec<_> = is_attached.then(|| notebook.to_owned()).into_iter().chain(others).collect();
    all.dedup();
    let front = EditorState { active: active.map(Path::to_owned), attached: all, selection };
    UserMessage { id, words, mode, front, outputs: names(&outputs) }
}

fn names(cells: &[CellId]) -> Vec<String> {
    cells.iter().map(CellId::to_string).collect()
}
