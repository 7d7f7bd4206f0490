//! Actions on open notebooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellist_live::{Author, Document, DocumentError, DocumentView, Edited, SubmissionRefusal};
use cellist_notebook::{CellId, Ids, Notebook, OnConflict, Revision, Snapshot, merge};
use cellist_output::{Ansi, clean};
use cellist_platform::FailureKind;
use cellist_session::execution::Cancel;
use cellist_session::sessions::SessionKey;
use cellist_tools::{EditorReport, EditorSelection, EditorState};

use super::run_queue::RunSlot;
use super::turns::turns;
use super::{HostService, ServiceClient};
use crate::error::Failure;
use crate::protocol::follow::PageFocus;
use crate::protocol::notebook::{
    EditReply, NotebookAction, NotebookContent, NotebookReply, NotebookRequest, NotebookState,
};

impl HostService {
    pub(super) fn open_notebooks(&self) -> Vec<PathBuf> {
        self.documents.list().iter().map(|document| document.path().to_owned()).collect()
    }

    pub(super) async fn on_notebook(
        &self,
        client: &ServiceClient,
        asked: NotebookRequest,
        place: Option<RunSlot>,
        cancel: Cancel,
    ) -> Result<NotebookReply, Failure> {
        let NotebookRequest { path, ask } = asked;
        match ask {
            NotebookAction::Follow { clients, outputs } => {
                let whole = self.follow(client, path, clients, outputs).await?;
                Ok(NotebookReply::Whole(Box::new(whole)))
            }
            NotebookAction::News => {
                Ok(NotebookReply::News(Box::new(self.news(client, &path, cancel).await?)))
            }
            NotebookAction::Present(focus) => {
                if let Some(document) = self.followed(client, &path) {
                    self.present(client, document.path(), &focus);
                }
                Ok(NotebookReply::Done)
            }
            ask => {
                let document = self.document(client, &path).await?;
                self.on_document(client, document, ask, place).await
            }
        }
    }

    async fn on_document(
        &self,
        client: &ServiceClient,
        document: Document,
        ask: NotebookAction,
        place: Option<RunSlot>,
    ) -> Result<NotebookReply, Failure> {
        let done = |()| NotebookReply::Done;
        Ok(match ask {
            NotebookAction::Read(actor) => {
                let notebook = match actor {
                    Some(actor) => document.read(actor).await?.0,
                    None => Arc::clone(&document.view().notebook),
                };
                NotebookReply::State(Box::new(state(&document.view(), notebook)))
            }
            NotebookAction::Submit { submission, author } => {
                match document.submit(submission, client.author(author)).await {
                    Ok(version) => NotebookReply::Version(version),
                    Err(error) => refusal(error)?,
                }
            }
            NotebookAction::Edit { edit, base, author } => {
                let apply =
                    move |notebook: &mut Notebook, since: Option<&Snapshot>| edit.apply(notebook, since);
                let edited = document.edit(base, author, apply).await?;
                edited_reply(edited, |result, reply| reply.result = result)
            }
            NotebookAction::Overwrite { text, base, author } => {
                overwrite(&document, text, base, author).await?
            }
            NotebookAction::Undo { undo, author } => {
                let undone = document.undo(undo, client.author(author)).await?;
                edited_reply(undone, |undone, reply| reply.undone = undone)
            }
            NotebookAction::Judge { verdict, scope, author } => {
                NotebookReply::Version(document.judge(verdict, scope, client.author(author)).await?)
            }
            NotebookAction::SetReview(is_on) => done(document.set_review(is_on).await?),
            NotebookAction::History => NotebookReply::History(document.history().await?),
            NotebookAction::Turns => NotebookReply::Turns(turns(document.history().await?)),
            NotebookAction::Cells(cells) => NotebookReply::Cells(document.contents(cells).await?),
            NotebookAction::Complete { code, cursor } => {
                let key = SessionKey::of_notebook(document.path());
                let found = self.sessions.complete(&key, code, cursor).await.unwrap_or_default();
                NotebookReply::Completion { matches: found.matches, start: found.start, end: found.end }
            }
            NotebookAction::Inspect { code, cursor } => {
                let key = SessionKey::of_notebook(document.path());
                let found = self.sessions.inspect(&key, code, cursor).await.unwrap_or_default();
                let text = found.data.get_text("text/plain").filter(|_| found.found);
                NotebookReply::Inspection(text.map(|text| clean(text.as_bytes(), Ansi::Remove)))
            }
            NotebookAction::Run(cells) => {
                let place = place.ok_or_else(|| Failure::internal("a run was not queued"))?;
                NotebookReply::Ran(self.run_for_page(client, document, cells, place).await?)
            }
            NotebookAction::Interrupt => done(self.interrupt_notebook(&document)?),
            NotebookAction::Restart => done(self.restart_notebook(&document).await?),
            NotebookAction::Follow { .. } | NotebookAction::News | NotebookAction::Present(_) => {
                return Err(Failure::internal("a feed request reached a document"));
            }
            NotebookAction::Save => done(document.save().await?),
        })
    }

    /// Shows the active cells of a page to other participants and to agents. Attaches the notebook.
    fn present(&self, client: &ServiceClient, path: &Path, focus: &PageFocus) {
        self.presence.looks(path, client.owner(), client.author(None).actor, focus);
        let selection = EditorSelection {
            cells: focus.selected.iter().map(CellId::to_string).collect(),
            editing: focus.cell.as_ref().filter(|_| focus.editing).map(CellId::to_string),
        };
        let (active, attach) = (Some(path.to_owned()), vec![path.to_owned()]);
        self.toolbox.apply_report(EditorReport { active, selection, attach, detach: Vec::new() });
    }

    /// Records that a page has closed a notebook.
    pub(super) fn absent(&self, client: &ServiceClient, path: &Path) {
        if !self.presence.leaves(path, client.owner()) {
            return;
        }
        let EditorState { mut active, mut selection, .. } = self.toolbox.editor();
        if active.as_deref() == Some(path) {
            (active, selection) = (None, EditorSelection::default());
        }
        self.toolbox.apply_report(EditorReport {
            active,
            selection,
            attach: Vec::new(),
            detach: vec![path.to_owned()],
        });
    }
}

async fn overwrite(
    document: &Document,
    text: String,
    base: Revision,
    author: Author,
) -> Result<NotebookReply, Failure> {
    let whole = Notebook::parse(text.into_bytes(), Ids::seeded(document.view().version))
        .map_err(|error| Failure::bad_input(FailureKind::InvalidNotebook, error.to_string()))?;
    let edited = document.edit(Some(base), author, move |notebook, since| {
        // After a change since `base`, it is unknown which differences the text intends.
        if since.is_some() {
            return Ok(false);
        }
        // Equal cells keep their ids.
        *notebook = merge(notebook, notebook, &whole, OnConflict::Refuse)?.notebook;
        Ok(true)
    });
    let edited = edited.await?;
    if edited.value {
        Ok(edited_reply(edited, |_, _| ()))
    } else {
        Err(Failure::stale(base, edited.notebook.revision()))
    }
}

fn edited_reply<T>(edited: Edited<T>, add: impl FnOnce(T, &mut EditReply)) -> NotebookReply {
    let mut reply = EditReply { changed: edited.changed, ..EditReply::default() };
    add(edited.value, &mut reply);
    NotebookReply::Edited(Box::new(reply))
}

fn state(view: &DocumentView, notebook: Arc<Notebook>) -> NotebookState {
    NotebookState {
        version: view.version,
        problem: view.problem.clone(),
        notices: view.notices.clone(),
        content: NotebookContent(notebook),
    }
}

/// Converts a refusal that a client can handle into a reply. All other errors are failures.
fn refusal(error: DocumentError) -> Result<NotebookReply, Failure> {
    match error {
        DocumentError::Refused(SubmissionRefusal::Behind { version, changes }) => {
            let changes = changes.into_iter().map(Arc::unwrap_or_clone).collect();
            Ok(NotebookReply::Behind { version, changes })
        }
        DocumentError::Refused(SubmissionRefusal::TooFar { .. }) => Ok(NotebookReply::TooFar),
        error => Err(error.into()),
    }
}
