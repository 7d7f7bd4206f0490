//! The state of the notebook in front of a person, with all that is known where it is open: kernel and runs.

use cellist_live::Document;
use cellist_notebook::Notebook;
use cellist_store::Result;

use super::Toolbox;
use crate::agent::Agent;
use crate::context::{CellRun, NotebookContext};
use crate::editor::{Editor, Selection};
use crate::redaction::Redaction;

impl Toolbox {
    /// The state of the notebook that is worked on, if one is. Cells that were selected and are gone are left out.
    pub async fn context(&self, editor: &Editor, redaction: &Redaction) -> Result<Option<NotebookContext>> {
        let Some(path) = editor.notebook() else { return Ok(None) };
        Ok(self.context_of(&self.documents.open(path).await?, editor, redaction))
    }

    /// The same for an agent, whose changes are based on it from then on.
    pub async fn tell_context(&self, agent: &Agent, editor: &Editor) -> Result<Option<NotebookContext>> {
        let Some(path) = editor.notebook() else { return Ok(None) };
        let document = self.documents.open(path).await?;
        agent.hold(&document);
        // One that closes at this moment is read anew by the first change.
        let _ = document.tell(agent.caller().author().actor).await;
        Ok(self.context_of(&document, editor, &agent.caller().redaction))
    }

    fn context_of(
        &self,
        document: &Document,
        editor: &Editor,
        redaction: &Redaction,
    ) -> Option<NotebookContext> {
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
        let context = NotebookContext::of(&view.notebook, document.path(), kernel, &selection, run).ok()?;
        Some(context.redacted(&view.notebook, redaction))
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
