//! The state of the notebook in front of a person, with all that is known where it is open: kernel and runs.

use cellist_notebook::Notebook;
use cellist_session::Result;

use super::Toolbox;
use crate::context::{CellRun, NotebookContext};
use crate::editor::{Editor, Selection};

impl Toolbox {
    /// The state of the notebook that is worked on, if one is. Cells that were selected and are gone are left out.
    pub async fn context(&self, editor: &Editor) -> Result<Option<NotebookContext>> {
        let Some(path) = editor.notebook() else { return Ok(None) };
        let document = self.documents.open(path).await?;
        let view = document.view();
        let states = view.cells();
        let sessions = self.sessions.list();
        let session = sessions.iter().find(|session| session.notebook.as_deref() == Some(document.path()));
        let kernel = session.and_then(|session| session.kernel_id.as_deref());
        let selection = existing(&editor.selection, &view.notebook);
        let run = |id: &_| {
            let state = states.get(id)?;
            // Of a cell that nobody here has run, the file may know more.
            let is_known = state.last.is_some() || state.activity != Default::default();
            is_known.then(|| CellRun::from(state))
        };
        Ok(NotebookContext::of(&view.notebook, path, kernel, &selection, run).ok())
    }
}

/// What is selected and still there.
fn existing(selection: &Selection, notebook: &Notebook) -> Selection {
    let mut still = Selection::default();
    for (cell, name) in selection.references().zip(&selection.cells) {
        still.cells.extend(notebook.find(&cell).ok().map(|_| name.clone()));
    }
    still.editing =
        selection.editing().filter(|cell| notebook.find(cell).is_ok()).and(selection.editing.clone());
    still
}
