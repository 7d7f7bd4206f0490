//! A handle on an open notebook. The notebook is saved and closed when the last handle is dropped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cellist_notebook::{self as notebook, CellId, Notebook, Revision, Snapshot};
use cellist_output::Output;
use cellist_platform::aside::aside;
use cellist_platform::contained::{Panicked, catch};
use cellist_platform::fault;
use cellist_session::sessions::{LateOutputs, SessionKey, SessionState, Sessions};
use cellist_store::{Error, Store};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use super::actor::{Actor, Author};
use super::condition::{CellState, Conditions};
use super::journal::{Entry, Undo};
use super::op::{Change, Submission, SubmissionRefusal};
use super::review::{Review, Scope, Verdict};
use super::schedule::Urgency;
use super::state::{Edited, PartlyUndone, State, Unchanged};

/// A snapshot of an open notebook. A slow observer sees only the newest one.
#[derive(Clone, Debug)]
pub struct DocumentView {
    /// Increases with each change.
    pub version: u64,
    /// The newest version on disk.
    pub saved: u64,
    /// The notebook.
    pub notebook: Arc<Notebook>,
    /// Changes that wait for review.
    pub review: Arc<Review>,
    pub(super) conditions: Arc<Conditions>,
    /// Why the last save failed, if it did.
    pub problem: Option<String>,
    /// Notices for users, newest last.
    pub notices: Vec<String>,
    /// Total number of notices, including dropped ones.
    pub(super) noted: usize,
    /// Number of merged writes by other programs.
    pub(super) absorbed: usize,
}

impl DocumentView {
    /// Returns the conditions of the code cells.
    pub fn cells(&self) -> BTreeMap<CellId, CellState> {
        self.conditions.states(&self.notebook)
    }

    /// Returns the kept notices after the first `noted`.
    pub(super) fn notices_since(&self, noted: usize) -> impl Iterator<Item = String> {
        let known = self.notices.len().saturating_sub(self.noted.saturating_sub(noted));
        self.notices[known..].iter().cloned()
    }
}

/// A notebook as read by an actor.
#[derive(Clone, Debug)]
pub struct NotebookReading {
    /// The notebook.
    pub notebook: Arc<Notebook>,
    /// Revision that the actor has read.
    pub revision: Revision,
    /// The actor's previous version, if it is still remembered.
    pub before: Option<Arc<Snapshot>>,
}

/// Why a request to an open notebook failed.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum DocumentError {
    #[error(transparent)]
    Unchanged(Arc<Unchanged>),
    #[error(transparent)]
    Refused(#[from] SubmissionRefusal),
    /// The change was applied and is not on disk yet. The save will be retried.
    #[error("the change is made, but not on disk yet: {0}")]
    NotSaved(Arc<Error>),
    #[error("the notebook was closed")]
    Closed,
    /// The request failed with an internal error. Earlier changes are saved, and the notebook can be opened again.
    #[error("the notebook was closed: {0}")]
    Failed(Panicked),
}

impl From<Unchanged> for DocumentError {
    fn from(unchanged: Unchanged) -> DocumentError {
        DocumentError::Unchanged(Arc::new(unchanged))
    }
}

/// Called when a version is on disk, or its save has failed.
pub(super) type Waiter = Box<dyn FnOnce(Result<(), Arc<Error>>) + Send>;

/// The save that a request needs.
pub(super) enum SaveNeed {
    /// None: nothing changed.
    Nothing,
    /// Save by this urgency.
    Save(Urgency),
    /// Save now and call the waiter.
    SaveFor(Waiter),
}

/// A request to the state, at a time in milliseconds since 1970.
pub(super) type Work = Box<dyn FnOnce(&mut State, u64) -> (SaveNeed, Reply) + Send>;

/// Called after the new view was published, so that the caller sees its change.
pub(super) type Reply = Option<Box<dyn FnOnce() + Send>>;

/// A command to the task.
pub(super) enum DocumentCommand {
    /// Run a request.
    Do(Work),
    /// Run a request after merging the newest file.
    DoFresh(Work),
    /// Run a request; the view may be published later.
    DoQuietly(Work),
    /// Save and end, even if other handles exist.
    Close,
}

/// A handle on an open notebook.
///
/// - Ownership: one task owns the notebook; handles send it commands. Clones share the notebook. When the last
///   handle is dropped, the task saves and ends.
/// - Order: the task applies commands one by one, each as a new version. The published view contains a change
///   before its caller gets the reply.
/// - Cancellation: a command runs even if its future is dropped; only the reply is lost.
/// - Errors: [`DocumentError::Refused`] and [`DocumentError::Unchanged`] mean that nothing changed.
///   [`DocumentError::NotSaved`] means that the change is in the notebook and the save will be retried.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) commands: mpsc::Sender<DocumentCommand>,
    pub(super) view: watch::Receiver<Arc<DocumentView>>,
    pub(super) path: Arc<Path>,
    pub(super) store: Store,
}

impl Document {
    /// The real path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the newest view.
    pub fn view(&self) -> Arc<DocumentView> {
        Arc::clone(&self.view.borrow())
    }

    /// Returns a receiver of views. A slow observer skips to the newest.
    pub fn watch(&self) -> watch::Receiver<Arc<DocumentView>> {
        self.view.clone()
    }

    /// Returns the newest view, and the number of the last submission of each of these clients.
    pub async fn resync(
        &self,
        clients: Vec<String>,
    ) -> Result<(Arc<DocumentView>, BTreeMap<String, u64>), DocumentError> {
        let asked = self.ask(move |state, _| {
            let number = |client: String| Some((*state.heard().get(&client)?, client));
            let heard = clients.into_iter().filter_map(number).map(|(number, client)| (client, number));
            ((state.version(), Arc::clone(state.notebook()), heard.collect()), SaveNeed::Nothing)
        });
        let (version, notebook, heard) = asked.await?;
        Ok((self.view_at(version, notebook), heard))
    }

    /// Returns the newest view, and all changes since a version.
    pub async fn newer(&self, version: u64) -> Result<(Arc<DocumentView>, Vec<Arc<Change>>), DocumentError> {
        let asked = self.ask(move |state, _| {
            let changes = state.since(version);
            ((state.version(), Arc::clone(state.notebook()), changes), SaveNeed::Nothing)
        });
        let (version, notebook, changes) = asked.await?;
        Ok((self.view_at(version, notebook), changes?))
    }

    fn view_at(&self, version: u64, notebook: Arc<Notebook>) -> Arc<DocumentView> {
        Arc::new(DocumentView { version, notebook, ..DocumentView::clone(&self.view()) })
    }

    /// Applies a submission and returns its version. It is on disk within a second.
    pub async fn submit(&self, submission: Submission, author: Author) -> Result<u64, DocumentError> {
        let submitted = self.ask(move |state, now| {
            let submitted = state.submit(submission, &author, now);
            let then = if submitted.is_ok() { SaveNeed::Save(Urgency::Soon) } else { SaveNeed::Nothing };
            (submitted, then)
        });
        Ok(submitted.await??)
    }

    /// Returns the JSON of these cells, as they are or as they were when last deleted.
    pub async fn contents(&self, cells: Vec<CellId>) -> Result<Vec<Option<String>>, DocumentError> {
        self.ask(move |state, _| (state.contents(&cells), SaveNeed::Nothing)).await
    }

    /// Returns the newest notebook and its revision, which the actor may base an edit on.
    pub async fn read(&self, actor: Actor) -> Result<(Arc<Notebook>, Revision), DocumentError> {
        let NotebookReading { notebook, revision, .. } = self.tell(actor).await?;
        Ok((notebook, revision))
    }

    /// Like [`Document::read`], with the actor's previous version.
    pub async fn tell(&self, actor: Actor) -> Result<NotebookReading, DocumentError> {
        let told = self.ask_fresh(move |state, _| {
            let before = state.last_told(&actor);
            let revision = state.tell(&actor);
            (NotebookReading { notebook: Arc::clone(state.notebook()), revision, before }, SaveNeed::Nothing)
        });
        let told = told.await?;
        // Keeps the revision for a later process.
        let (store, path, notebook) =
            (self.store.clone(), Arc::clone(&self.path), Arc::clone(&told.notebook));
        drop(aside(move || store.keep(&path, &notebook.snapshot())));
        Ok(told)
    }

    /// Returns the last revision that an actor has read.
    pub async fn last_told(&self, actor: Actor) -> Result<Option<Revision>, DocumentError> {
        let told = self.ask(move |state, _| (state.last_told(&actor), SaveNeed::Nothing)).await?;
        Ok(told.and_then(|told| told.revision.parse().ok()))
    }

    /// Changes the notebook by `edit`. Returns once the change is on disk.
    ///
    /// `base` is the revision that the change was made for; without one, the last that the actor has read. If the
    /// notebook has changed since, `edit` also gets the notebook of that revision, to merge with.
    pub async fn edit<T: Send + 'static>(
        &self,
        base: Option<Revision>,
        author: Author,
        edit: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T> + Send + 'static,
    ) -> Result<Edited<T>, DocumentError> {
        let remembered = self.remembered(base).await;
        self.change(move |state, now| state.edit(base, remembered, &author, now, edit)).await
    }

    /// Returns the notebook of a revision read from an earlier process.
    async fn remembered(&self, base: Option<Revision>) -> Option<Snapshot> {
        let base = base.filter(|base| *base != self.view().notebook.revision())?;
        let (store, path) = (self.store.clone(), Arc::clone(&self.path));
        aside(move || store.recall(&path, base)).await.ok().flatten()
    }

    /// Undoes changes. Returns once the result is on disk.
    pub async fn undo(&self, undo: Undo, author: Author) -> Result<Edited<Vec<Entry>>, DocumentError> {
        self.change(move |state, now| state.undo(&undo, &author, now)).await
    }

    /// Like [`Document::undo`], but keeps changes that conflict with later changes of others.
    pub async fn undo_partly(
        &self,
        undo: Undo,
        author: Author,
    ) -> Result<Edited<PartlyUndone>, DocumentError> {
        self.change(move |state, now| state.undo_partly(&undo, &author, now)).await
    }

    /// Keeps or undoes changes that wait for review.
    pub async fn judge(&self, verdict: Verdict, scope: Scope, author: Author) -> Result<u64, DocumentError> {
        let judged = self.ask(move |state, now| {
            let judged = state.judge(verdict, &scope, &author, now);
            (judged, SaveNeed::Save(Urgency::Soon))
        });
        Ok(judged.await??)
    }

    /// Switches review on or off.
    pub async fn set_review(&self, is_on: bool) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.set_review(is_on), SaveNeed::Save(Urgency::Soon))).await
    }

    /// Sets the outputs and the execution count of a cell; `has_ended` means that no more follow soon. Returns
    /// `false` if the cell is deleted or not a code cell.
    pub async fn set_outputs(
        &self,
        cell: CellId,
        outputs: Vec<Output>,
        count: Option<u64>,
        has_ended: bool,
        author: Author,
    ) -> Result<bool, DocumentError> {
        self.ask(move |state, now| {
            let is_there = state.set_outputs(&cell, &outputs, count, &author, now);
            (is_there, SaveNeed::Save(if has_ended { Urgency::Ended } else { Urgency::Later }))
        })
        .await
    }

    /// Notes the kernel of the notebook's session, if it has one. A session may outlive the open notebook.
    pub async fn meet_kernel(&self, sessions: &Sessions) -> Result<(), DocumentError> {
        let key = SessionKey::of_notebook(self.path());
        let all = sessions.list().into_iter();
        let session = all.filter(|session| session.id == key.id && session.cwd == key.cwd);
        let living = session.filter(|session| session.state != SessionState::Dead);
        match living.filter_map(|session| session.kernel_id).next() {
            Some(kernel) => {
                self.ask(|state, _| (state.conditions_mut().meet_kernel(kernel), SaveNeed::Nothing)).await
            }
            None => Ok(()),
        }
    }

    /// Notes the loss of a kernel with its state.
    pub(super) async fn lose_kernel(&self, kernel: String) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.conditions_mut().lose_kernel(&kernel), SaveNeed::Nothing)).await
    }

    /// Marks cells as queued.
    pub async fn mark_waiting(&self, cells: Vec<CellId>) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.conditions_mut().wait(&cells), SaveNeed::Nothing)).await
    }

    /// Marks cells as idle.
    pub async fn mark_resting(&self, cells: Vec<CellId>) -> Result<(), DocumentError> {
        self.ask(move |state, now| {
            state.conditions_mut().rest(&cells);
            (state.put_late(now), SaveNeed::Save(Urgency::Soon))
        })
        .await
    }

    /// Marks cells as idle without waiting for a reply.
    pub(super) fn mark_resting_soon(&self, cells: Vec<CellId>) {
        let document = self.clone();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { drop(document.mark_resting(cells).await) });
        }
    }

    /// Accepts late output of an idle session. It is on disk within a second.
    pub(super) async fn hear_late(&self, late: LateOutputs) -> Result<(), DocumentError> {
        self.ask(move |state, now| (state.hear_late(late, now), SaveNeed::Save(Urgency::Soon))).await
    }

    /// Returns the history, oldest first.
    pub async fn history(&self) -> Result<Vec<Entry>, DocumentError> {
        self.ask(|state, _| (state.journal().entries().to_vec(), SaveNeed::Nothing)).await
    }

    /// Waits until all changes so far are on disk.
    pub async fn save(&self) -> Result<(), DocumentError> {
        let (reply, saved) = oneshot::channel();
        self.send(DocumentCommand::Do(Box::new(move |_, _| {
            (SaveNeed::SaveFor(Box::new(move |saved| drop(reply.send(saved)))), None)
        })))
        .await?;
        saved.await.map_err(|_| DocumentError::Closed)?.map_err(DocumentError::NotSaved)
    }

    /// Runs a request and waits until its change is on disk.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut State, u64) -> Result<Edited<T>, Unchanged> + Send + 'static,
    ) -> Result<Edited<T>, DocumentError> {
        let (reply, changed) = oneshot::channel();
        self.send(DocumentCommand::DoFresh(Box::new(move |state, now| match catch(|| change(state, now)) {
            Err(panicked) => {
                let _ = reply.send(Err(DocumentError::Failed(panicked.clone())));
                panicked.go_on()
            }
            Ok(Err(unchanged)) => {
                (SaveNeed::Nothing, Some(Box::new(move || drop(reply.send(Err(unchanged.into()))))))
            }
            Ok(Ok(edited)) => {
                let saved = move |saved: Result<(), Arc<Error>>| {
                    drop(reply.send(saved.map(|()| edited).map_err(DocumentError::NotSaved)));
                };
                (SaveNeed::SaveFor(Box::new(saved)), None)
            }
        })))
        .await?;
        changed.await.map_err(|_| DocumentError::Closed)?
    }

    /// Runs a request and returns its result.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, SaveNeed) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, DocumentCommand::Do).await
    }

    /// Like [`Document::ask`], after a check of the file if it may have changed.
    async fn ask_fresh<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, SaveNeed) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, DocumentCommand::DoFresh).await
    }

    /// Like [`Document::ask`], but the view is published a little later, together with others.
    pub(super) async fn ask_quietly<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, SaveNeed) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, DocumentCommand::DoQuietly).await
    }

    async fn answer<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, SaveNeed) + Send + 'static,
        command: fn(Work) -> DocumentCommand,
    ) -> Result<T, DocumentError> {
        let (reply, answer) = oneshot::channel();
        self.send(command(Box::new(move |state, now| {
            let asked = catch(|| {
                fault::panic_point("document");
                ask(state, now)
            });
            match asked {
                Ok((value, then)) => (then, Some(Box::new(move || drop(reply.send(Ok(value)))))),
                Err(panicked) => {
                    let _ = reply.send(Err(DocumentError::Failed(panicked.clone())));
                    panicked.go_on()
                }
            }
        })))
        .await?;
        answer.await.map_err(|_| DocumentError::Closed)?
    }

    async fn send(&self, command: DocumentCommand) -> Result<(), DocumentError> {
        self.commands.send(command).await.map_err(|_| DocumentError::Closed)
    }
}
