//! A handle on an open notebook. Many hold one; when the last is gone, the notebook is saved and closed.

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
use super::op::{Change, Refusal, Submission};
use super::review::{Review, Scope, Verdict};
use super::schedule::Urgency;
use super::state::{Edited, PartlyUndone, State, Unchanged};

/// What an open notebook is at a moment. Whoever looks rarely sees only the newest.
#[derive(Clone, Debug)]
pub struct View {
    /// Counts up with each change.
    pub version: u64,
    /// The newest version that is on disk.
    pub saved: u64,
    /// The notebook.
    pub notebook: Arc<Notebook>,
    /// What waits for review.
    pub review: Arc<Review>,
    pub(super) conditions: Arc<Conditions>,
    /// Why it could not be saved, if the last attempt failed.
    pub problem: Option<String>,
    /// Notices for people, newest last.
    pub notices: Vec<String>,
    /// How many notices there were, also those that are not kept.
    pub(super) noted: usize,
    /// How many writes of other programs were taken in.
    pub(super) absorbed: usize,
}

impl View {
    /// How the code cells stand.
    pub fn cells(&self) -> BTreeMap<CellId, CellState> {
        self.conditions.states(&self.notebook)
    }

    /// The notices after the first `noted`, as far as they are kept.
    pub(super) fn notices_since(&self, noted: usize) -> impl Iterator<Item = String> {
        let known = self.notices.len().saturating_sub(self.noted.saturating_sub(noted));
        self.notices[known..].iter().cloned()
    }
}

/// What someone is told of a notebook.
#[derive(Clone, Debug)]
pub struct Told {
    /// The notebook.
    pub notebook: Arc<Notebook>,
    /// Its revision.
    pub revision: Revision,
    /// What the same actor was told before, as far as it is still remembered.
    pub before: Option<Arc<Snapshot>>,
}

/// Why an open notebook did not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum DocumentError {
    #[error(transparent)]
    Unchanged(Arc<Unchanged>),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The change was made, and is not on disk yet. It is tried again.
    #[error("the change is made, but not on disk yet: {0}")]
    NotSaved(Arc<Error>),
    #[error("the notebook was closed")]
    Closed,
    /// What was asked for was not done. What was done before is saved, and the notebook can be opened again.
    #[error("the notebook was closed: {0}")]
    Failed(Panicked),
}

impl From<Unchanged> for DocumentError {
    fn from(unchanged: Unchanged) -> DocumentError {
        DocumentError::Unchanged(Arc::new(unchanged))
    }
}

/// Tells someone that what they wait for is on disk, or why not.
pub(super) type Waiter = Box<dyn FnOnce(Result<(), Arc<Error>>) + Send>;

/// What has to follow what was done.
pub(super) enum Then {
    /// Nothing: all is as it was.
    Nothing,
    /// Saving.
    Save(Urgency),
    /// Saving, which someone waits for.
    SaveFor(Waiter),
}

/// Something to do with the state, at a time in milliseconds since 1970.
pub(super) type Work = Box<dyn FnOnce(&mut State, u64) -> (Then, Reply) + Send>;

/// What is called when others see what was done: whoever is answered finds it in the next view.
pub(super) type Reply = Option<Box<dyn FnOnce() + Send>>;

/// What the task is asked to do.
pub(super) enum Command {
    /// Something with the state.
    Do(Work),
    /// The same, with all in it that other programs have written into the file.
    DoFresh(Work),
    /// Something with the state that others need not see at once.
    DoQuietly(Work),
    /// To save and end, even if others still hold handles.
    Close,
}

/// A handle on an open notebook.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) view: watch::Receiver<Arc<View>>,
    pub(super) path: Arc<Path>,
    pub(super) store: Store,
}

impl Document {
    /// The file, with no link in its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is now.
    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.borrow())
    }

    /// A way to be told of each newer view; who is slow skips to the newest.
    pub fn watch(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    /// The newest view, and the number of the last submission in it of each of these clients.
    pub async fn resync(
        &self,
        clients: Vec<String>,
    ) -> Result<(Arc<View>, BTreeMap<String, u64>), DocumentError> {
        let asked = self.ask(move |state, _| {
            let number = |client: String| Some((*state.heard().get(&client)?, client));
            let heard = clients.into_iter().filter_map(number).map(|(number, client)| (client, number));
            ((state.version(), Arc::clone(state.notebook()), heard.collect()), Then::Nothing)
        });
        let (version, notebook, heard) = asked.await?;
        Ok((self.view_at(version, notebook), heard))
    }

    /// The newest view, and all changes that led to it from a version.
    pub async fn newer(&self, version: u64) -> Result<(Arc<View>, Vec<Arc<Change>>), DocumentError> {
        let asked = self.ask(move |state, _| {
            let changes = state.since(version);
            ((state.version(), Arc::clone(state.notebook()), changes), Then::Nothing)
        });
        let (version, notebook, changes) = asked.await?;
        Ok((self.view_at(version, notebook), changes?))
    }

    fn view_at(&self, version: u64, notebook: Arc<Notebook>) -> Arc<View> {
        Arc::new(View { version, notebook, ..View::clone(&self.view()) })
    }

    /// Takes what a client submits and tells the version that has it. It is on disk within a second.
    pub async fn submit(&self, submission: Submission, author: Author) -> Result<u64, DocumentError> {
        let submitted = self.ask(move |state, now| {
            let submitted = state.submit(submission, &author, now);
            let then = if submitted.is_ok() { Then::Save(Urgency::Soon) } else { Then::Nothing };
            (submitted, then)
        });
        Ok(submitted.await??)
    }

    /// All of these cells as JSON, each as it stands or as it was when it was deleted last.
    pub async fn contents(&self, cells: Vec<CellId>) -> Result<Vec<Option<String>>, DocumentError> {
        self.ask(move |state, _| (state.contents(&cells), Then::Nothing)).await
    }

    /// The newest notebook and its revision, for someone who may base an edit on it.
    pub async fn read(&self, actor: Actor) -> Result<(Arc<Notebook>, Revision), DocumentError> {
        let Told { notebook, revision, .. } = self.tell(actor).await?;
        Ok((notebook, revision))
    }

    /// The same, with what that actor was told before.
    pub async fn tell(&self, actor: Actor) -> Result<Told, DocumentError> {
        let told = self.ask_fresh(move |state, _| {
            let before = state.last_told(&actor);
            let revision = state.tell(&actor);
            (Told { notebook: Arc::clone(state.notebook()), revision, before }, Then::Nothing)
        });
        let told = told.await?;
        // So that it is still known when this process is not there any more.
        let (store, path, notebook) =
            (self.store.clone(), Arc::clone(&self.path), Arc::clone(&told.notebook));
        drop(aside(move || store.keep(&path, &notebook.snapshot())));
        Ok(told)
    }

    /// The revision that an actor was told last.
    pub async fn last_told(&self, actor: Actor) -> Result<Option<Revision>, DocumentError> {
        let told = self.ask(move |state, _| (state.last_told(&actor), Then::Nothing)).await?;
        Ok(told.and_then(|told| told.revision.parse().ok()))
    }

    /// Changes the notebook by `edit`; when it returns, that is on disk. `base` is the revision that the change
    /// was made for, or without one what the actor has read last; where the notebook has moved on, `edit` is
    /// given what it was then, to merge with.
    pub async fn edit<T: Send + 'static>(
        &self,
        base: Option<Revision>,
        author: Author,
        edit: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T> + Send + 'static,
    ) -> Result<Edited<T>, DocumentError> {
        let remembered = self.remembered(base).await;
        self.change(move |state, now| state.edit(base, remembered, &author, now, edit)).await
    }

    /// What was told of a revision before this process began.
    async fn remembered(&self, base: Option<Revision>) -> Option<Snapshot> {
        let base = base.filter(|base| *base != self.view().notebook.revision())?;
        let (store, path) = (self.store.clone(), Arc::clone(&self.path));
        aside(move || store.recall(&path, base)).await.ok().flatten()
    }

    /// Takes something back; when it returns, that is on disk.
    pub async fn undo(&self, undo: Undo, author: Author) -> Result<Edited<Vec<Entry>>, DocumentError> {
        self.change(move |state, now| state.undo(&undo, &author, now)).await
    }

    /// The same, but changes that conflict with later changes of others stay.
    pub async fn undo_partly(
        &self,
        undo: Undo,
        author: Author,
    ) -> Result<Edited<PartlyUndone>, DocumentError> {
        self.change(move |state, now| state.undo_partly(&undo, &author, now)).await
    }

    /// Says what becomes of something that waits for review.
    pub async fn judge(&self, verdict: Verdict, scope: Scope, author: Author) -> Result<u64, DocumentError> {
        let judged = self.ask(move |state, now| {
            let judged = state.judge(verdict, &scope, &author, now);
            (judged, Then::Save(Urgency::Soon))
        });
        Ok(judged.await??)
    }

    /// Switches review on or off.
    pub async fn set_review(&self, is_on: bool) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.set_review(is_on), Then::Save(Urgency::Soon))).await
    }

    /// Gives a cell outputs and an execution count; `has_ended` says that no more will come soon. `false` when
    /// the cell is gone, or holds no code any more.
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
            (is_there, Then::Save(if has_ended { Urgency::Ended } else { Urgency::Later }))
        })
        .await
    }

    /// Notes the kernel of the notebook's session, where there is one: a session outlives the time that a notebook is
    /// open.
    pub async fn meet_kernel(&self, sessions: &Sessions) -> Result<(), DocumentError> {
        let key = SessionKey::of_notebook(self.path());
        let all = sessions.list().into_iter();
        let session = all.filter(|session| session.id == key.id && session.cwd == key.cwd);
        let living = session.filter(|session| session.state != SessionState::Dead);
        match living.filter_map(|session| session.kernel_id).next() {
            Some(kernel) => {
                self.ask(|state, _| (state.conditions_mut().meet_kernel(kernel), Then::Nothing)).await
            }
            None => Ok(()),
        }
    }

    /// This kernel is gone, with all that ran on it.
    pub(super) async fn lose_kernel(&self, kernel: String) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.conditions_mut().lose_kernel(&kernel), Then::Nothing)).await
    }

    /// Says that cells wait for their turn.
    pub async fn mark_waiting(&self, cells: Vec<CellId>) -> Result<(), DocumentError> {
        self.ask(move |state, _| (state.conditions_mut().wait(&cells), Then::Nothing)).await
    }

    /// Says that cells do not wait or run any more.
    pub async fn mark_resting(&self, cells: Vec<CellId>) -> Result<(), DocumentError> {
        self.ask(move |state, now| {
            state.conditions_mut().rest(&cells);
            (state.put_late(now), Then::Save(Urgency::Soon))
        })
        .await
    }

    /// Says so as soon as there is time.
    pub(super) fn mark_resting_soon(&self, cells: Vec<CellId>) {
        let document = self.clone();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { drop(document.mark_resting(cells).await) });
        }
    }

    /// Takes output that came after the end of its run, while the session had nothing to do. It is on disk within a second.
    pub(super) async fn hear_late(&self, late: LateOutputs) -> Result<(), DocumentError> {
        self.ask(move |state, now| (state.hear_late(late, now), Then::Save(Urgency::Soon))).await
    }

    /// Who did what, oldest first.
    pub async fn history(&self) -> Result<Vec<Entry>, DocumentError> {
        self.ask(|state, _| (state.journal().entries().to_vec(), Then::Nothing)).await
    }

    /// Returns when all that was changed so far is on disk.
    pub async fn save(&self) -> Result<(), DocumentError> {
        let (reply, saved) = oneshot::channel();
        self.send(Command::Do(Box::new(move |_, _| {
            (Then::SaveFor(Box::new(move |saved| drop(reply.send(saved)))), None)
        })))
        .await?;
        saved.await.map_err(|_| DocumentError::Closed)?.map_err(DocumentError::NotSaved)
    }

    /// Changes something and waits until that is on disk.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut State, u64) -> Result<Edited<T>, Unchanged> + Send + 'static,
    ) -> Result<Edited<T>, DocumentError> {
        let (reply, changed) = oneshot::channel();
        self.send(Command::DoFresh(Box::new(move |state, now| match catch(|| change(state, now)) {
            Err(panicked) => {
                let _ = reply.send(Err(DocumentError::Failed(panicked.clone())));
                panicked.go_on()
            }
            Ok(Err(unchanged)) => {
                (Then::Nothing, Some(Box::new(move || drop(reply.send(Err(unchanged.into()))))))
            }
            Ok(Ok(edited)) => {
                let saved = move |saved: Result<(), Arc<Error>>| {
                    drop(reply.send(saved.map(|()| edited).map_err(DocumentError::NotSaved)));
                };
                (Then::SaveFor(Box::new(saved)), None)
            }
        })))
        .await?;
        changed.await.map_err(|_| DocumentError::Closed)?
    }

    /// Asks the task for something that it knows or does at once.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, Then) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, Command::Do).await
    }

    /// The same, after a look at the file if it may have changed.
    async fn ask_fresh<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, Then) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, Command::DoFresh).await
    }

    /// The same, but others see it a little later, together with what is done until then.
    pub(super) async fn ask_quietly<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, Then) + Send + 'static,
    ) -> Result<T, DocumentError> {
        self.answer(ask, Command::DoQuietly).await
    }

    async fn answer<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut State, u64) -> (T, Then) + Send + 'static,
        command: fn(Work) -> Command,
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

    async fn send(&self, command: Command) -> Result<(), DocumentError> {
        self.commands.send(command).await.map_err(|_| DocumentError::Closed)
    }
}
