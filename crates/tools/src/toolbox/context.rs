//! The state of the active notebook, with its kernel and runs.

use cellist_live::Document;
use cellist_notebook::Notebook;
use cellist_store::Result;

use super::Toolbox;
use crate::agent::Agent;
use crate::context::{LastCellRun, NotebookContext};
use crate::editor::{EditorSelection, EditorState};
use crate::redaction::Redaction;

impl Toolbox {
    /// Returns the state of the active notebook, if there is one. Leaves out selected cells that
    /// are gone.
    pub async fn context(
        &self,
        editor: &EditorState,
        redaction: &Redaction,
    ) -> Result<Option<NotebookContext>> {
        let Some(path) = editor.notebook() else { return Ok(None) };
        Ok(self.context_of(&self.documents.open(path).await?, editor, redaction))
    }

    /// The same for an agent. The agent's later changes are based on this state.
    pub async fn agent_context(
        &self,
        agent: &Agent,
        editor: &EditorState,
    ) -> Result<Option<NotebookContext>> {
        let Some(path) = editor.notebook() else { return Ok(None) };
        let document = self.documents.open(path).await?;
        agent.hold(&document);
        // A notebook that closes now is read again at the first change.
        let _ = document.tell(agent.caller().author().actor).await;
        Ok(self.context_of(&document, editor, &agent.caller().redaction))
    }

    fn context_of(
        &self,
        document: &Document,
        editor: &EditorState,
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
            // The file may have the result of a run that this host has not seen.
            let is_known = state.last.is_some() || state.activity != Default::default();
            is_known.then(|| LastCellRun::from(state))
        };
        let context = NotebookContext::of(&view.notebook, document.path(), kernel, &selection, run).ok()?;
        Some(context.redacted(&view.notebook, redaction))
    }
}

/// Drops selected cells that no longer exist.
fn existing(selection: &EditorSelection, notebook: &Notebook) -> EditorSelection {
    let mut still = EditorSelection::default();
    for (cell, name) in selection.references().zip(&selection.cells) {
        still.cells.extend(notebook.find(&cell).ok().map(|_| name.clone()));
    }
    still.editing =
        selection.editing().filter(|cell| notebook.find(cell).is_ok()).and(selection.editing.clone());
    still
}
