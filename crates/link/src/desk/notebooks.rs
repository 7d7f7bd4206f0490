//! What is asked of open notebooks.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_notebook::{
    self as notebook, Applied, Ids, Notebook, OnConflict, Operation, Outcome, Revision, Snapshot, merge,
    replace_once,
};
use cellist_session::execution::Cancel;
use cellist_session::live::{Author, Document, DocumentError, Edited, Refusal, View};
use cellist_session::run::put_parameters;
use tokio::sync::watch;

use super::{Client, Desk};
use crate::error::Failure;
use crate::notebook::{
    NotebookAsk, NotebookEdit, NotebookEdited, NotebookNews, NotebookReply, NotebookState, OnNotebook,
};
use crate::request::Event;

/// What an edit returns, whatever it was.
type Done = (Vec<Outcome>, Applied, Vec<String>);

impl Desk {
    pub(super) fn open_notebooks(&self) -> Vec<PathBuf> {
        self.documents.list().iter().map(|document| document.path().to_owned()).collect()
    }

    pub(super) async fn on_notebook(
        &self,
        client: &Client,
        asked: OnNotebook,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<NotebookReply, Failure> {
        let document = self.documents.open(&asked.path).await?;
        Ok(match asked.ask {
            NotebookAsk::Open => {
                document.meet_kernel(&self.sessions).await?;
                let view = document.view();
                let state = state(&view, &view.notebook);
                self.held.hold(client, document);
                NotebookReply::State(Box::new(state))
            }
            NotebookAsk::Newer { version, answer } => self.newer(client, document, version, answer).await?,
            NotebookAsk::Close => {
                self.held.release(client, &document);
                NotebookReply::Done
            }
            NotebookAsk::Read(actor) => {
                let (notebook, _) = document.read(actor).await?;
                NotebookReply::State(Box::new(state(&document.view(), &notebook)))
            }
            NotebookAsk::Watch => {
                tokio::select! {
                    () = watch(&document, &events) => {}
                    () = cancel.asked() => {}
                }
                NotebookReply::Done
            }
            NotebookAsk::Since(version) => match document.since(version).await {
                Ok(changes) => NotebookReply::Changes(owned(changes)),
                Err(error) => refusal(error)?,
            },
            NotebookAsk::Submit { submission, author } => match document.submit(submission, author).await {
                Ok(version) => NotebookReply::Version(version),
                Err(error) => refusal(error)?,
            },
            NotebookAsk::Edit { edit, base, author } => {
                let base = match base {
                    Some(base) => Some(base.parse::<Revision>().map_err(|error| {
                        Failure::bad_input("invalid_revision", format!("{base}: {error}"))
                    })?),
                    None => None,
                };
                edited(change(&document, edit, base, author).await?)
            }
            NotebookAsk::Undo { undo, author } => {
                let Edited { value, version, notebook, changed } = document.undo(undo, author).await?;
                NotebookReply::Edited(Box::new(NotebookEdited {
                    version,
                    revision: notebook.revision().to_string(),
                    changed,
                    outcomes: Vec::new(),
                    applied: Applied::default(),
                    undone: value,
                    notices: Vec::new(),
                }))
            }
            NotebookAsk::Judge { verdict, scope, author } => {
                NotebookReply::Version(document.judge(verdict, scope, author).await?)
            }
            NotebookAsk::SetReview(is_on) => {
                document.set_review(is_on).await?;
                NotebookReply::Done
            }
            NotebookAsk::History => NotebookReply::History(document.history().await?),
            NotebookAsk::Save => {
                document.save().await?;
                NotebookReply::Done
            }
        })
    }
}

/// Tells of each newer version until the notebook is closed.
async fn watch(document: &Document, events: &watch::Sender<Option<Event>>) {
    let mut views = document.watch();
    loop {
        let news = NotebookNews::from(&**views.borrow_and_update());
        events.send_replace(Some(Event::Notebook(news)));
        if views.changed().await.is_err() {
            return;
        }
    }
}

async fn change(
    document: &Document,
    edit: NotebookEdit,
    base: Option<Revision>,
    author: Author,
) -> Result<Edited<Done>, Failure> {
    let (mut operations, mut whole) = (Vec::new(), None);
    match &edit {
        NotebookEdit::Operations(given) => {
            let parsed: Result<Vec<Operation>, _> =
                given.iter().cloned().map(serde_json::from_value).collect();
            operations =
                parsed.map_err(|error| Failure::bad_input("invalid_operation", error.to_string()))?;
        }
        NotebookEdit::Raw(text) => {
            let ids = Ids::seeded(document.view().version);
            let parsed = Notebook::parse(text.clone().into_bytes(), ids);
            whole = Some(parsed.map_err(|error| Failure::bad_input("invalid_notebook", error.to_string()))?);
        }
        NotebookEdit::Text(_) | NotebookEdit::Replace { .. } | NotebookEdit::Parameters(_) => {}
    }
    let edited = document.edit(base, author, move |notebook, snapshot| match &edit {
        NotebookEdit::Text(text) => {
            let (applied, notices) = notebook.apply_text(text, snapshot)?;
            Ok(Some((Vec::new(), applied, notices)))
        }
        NotebookEdit::Replace { old, new } => {
            let text = replaced(snapshot.map_or_else(|| notebook.to_text(), Snapshot::to_text), old, new)?;
            let (applied, notices) = notebook.apply_text(&text, snapshot)?;
            Ok(Some((Vec::new(), applied, notices)))
        }
        NotebookEdit::Raw(_) => {
            // What others changed since cannot be told apart from what its author took out.
            let Some(whole) = whole.filter(|_| snapshot.is_none()) else { return Ok(None) };
            // Cells that are the same keep what they are called here.
            *notebook = merge(notebook, notebook, &whole, OnConflict::Refuse)?.notebook;
            Ok(Some((Vec::new(), Applied::default(), Vec::new())))
        }
        NotebookEdit::Parameters(source) => {
            let said = put_parameters(notebook, source).map(str::to_owned);
            Ok(Some((Vec::new(), Applied::default(), said.into_iter().collect())))
        }
        NotebookEdit::Operations(_) => {
            let outcomes = notebook.perform(&operations, snapshot)?;
            Ok(Some((outcomes, Applied::default(), Vec::new())))
        }
    });
    let Edited { value, version, notebook, changed } = edited.await?;
    match value {
        Some(value) => Ok(Edited { value, version, notebook, changed }),
        None => Err(Failure::stale(base, notebook.revision())),
    }
}

fn replaced(text: String, old: &str, new: &str) -> notebook::Result<String> {
    match text.is_empty() && old.is_empty() {
        true => Ok(new.to_owned()),
        false => replace_once(&text, old, new),
    }
}

fn edited(edited: Edited<Done>) -> NotebookReply {
    let Edited { value: (outcomes, applied, notices), version, notebook, changed } = edited;
    let revision = notebook.revision().to_string();
    let undone = Vec::new();
    let edited = NotebookEdited { version, revision, changed, outcomes, applied, undone, notices };
    NotebookReply::Edited(Box::new(edited))
}

pub(super) fn state(view: &View, notebook: &Notebook) -> NotebookState {
    let mut states = view.cells();
    let cells = notebook.cells().iter().map(|cell| (cell.id().clone(), states.remove(cell.id())));
    NotebookState {
        news: NotebookNews::from(view),
        revision: notebook.revision().to_string(),
        // What is in it was read as text.
        text: String::from_utf8_lossy(&notebook.to_bytes()).into_owned(),
        review: (*view.review).clone(),
        cells: cells.collect(),
    }
}

/// What a client can go on from is an answer; all else is a failure.
fn refusal(error: DocumentError) -> Result<NotebookReply, Failure> {
    match error {
        DocumentError::Refused(Refusal::Behind { version, changes }) => {
            Ok(NotebookReply::Behind { version, changes: owned(changes) })
        }
        DocumentError::Refused(Refusal::TooFar { version, .. }) => Ok(NotebookReply::TooFar { version }),
        error => Err(error.into()),
    }
}

fn owned<T: Clone>(shared: Vec<Arc<T>>) -> Vec<T> {
    shared.into_iter().map(Arc::unwrap_or_clone).collect()
}
