//! The task that owns an open notebook: runs commands in order, saves, and merges writes of other programs.

mod saving;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_notebook::Notebook;
use cellist_platform::aside::{Aside, NotDone};
use cellist_platform::clock::now_ms;
use cellist_platform::contained::{Panicked, catch, contained};
use cellist_platform::files::Mark;
use cellist_store::{FileCheck, Result, Store};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::document::{DocumentCommand, DocumentView, Reply, SaveNeed, Waiter, Work};
use super::history::{Heard, History};
use super::schedule::{Schedule, Urgency};
use super::state::State;
use super::watcher::FolderWatch;
use saving::{SaveOutcome, rescue};

/// Maximum number of shown notices.
const NOTICES: usize = 20;

/// How long the view of a quiet command may be delayed: no longer than a page waits between two updates.
const QUIET: Duration = Duration::from_millis(20);

/// The task of an open notebook.
pub(super) struct DocumentTask {
    state: State,
    commands: mpsc::Receiver<DocumentCommand>,
    view: watch::Sender<Arc<DocumentView>>,
    file: FileState,
    saves: SaveState,
    history: History,
    notices: ShownNotices,
    /// A command that waits for a check of the file. No other command is received meanwhile.
    held: Option<HeldCommand>,
    /// Number of merged writes by other programs.
    absorbed: usize,
    /// When to publish the view of quiet commands.
    unpublished: Option<Instant>,
}

/// The file of a notebook, as far as the task knows it.
struct FileState {
    store: Store,
    path: Arc<Path>,
    /// Content of the file, as far as known.
    base: Arc<Notebook>,
    /// Whether the state has those of our sources that the writer of `base` had not read.
    knows_overwritten: bool,
    /// The newest version in the file.
    saved: u64,
    /// A running check of the file.
    check: Option<Aside<Result<FileCheck>>>,
    /// Whether the file may have changed.
    is_suspect: bool,
    /// Identity of the file with `base`, if known.
    mark: Option<Mark>,
}

/// The saves of a notebook: due, running and failed.
struct SaveState {
    schedule: Schedule,
    running: Option<RunningSave>,
    /// Callers that wait for a version to be on disk.
    waiters: Vec<(u64, Waiter)>,
    /// Why the file cannot be read or written, if so.
    problem: Option<String>,
    /// Number of conflicting saves in a row.
    conflicts: u32,
    /// The version of the last save, if it failed.
    failed: Option<u64>,
}

/// The newest notices for users.
struct ShownNotices {
    list: Vec<String>,
    /// Total number of notices, including dropped ones.
    noted: usize,
}

/// A waiting command, and the number of file checks that must end first. A check already running when it came may
/// have read the file too early.
struct HeldCommand {
    work: Work,
    looks: u8,
}

/// A running save.
struct RunningSave {
    snapshot: Arc<Notebook>,
    version: u64,
    /// The submissions in it that are not in the file yet.
    heard: Option<Heard>,
    outcome: Aside<SaveOutcome>,
}

/// An event of the task.
enum TaskEvent {
    Command(Option<DocumentCommand>),
    Saved(std::result::Result<SaveOutcome, NotDone>),
    Looked(std::result::Result<Result<FileCheck>, NotDone>),
    Suspect,
    Due,
    /// It is time to publish the view of quiet commands.
    Unpublished,
}

impl DocumentTask {
    pub(super) fn new(
        state: State,
        store: Store,
        path: Arc<Path>,
        commands: mpsc::Receiver<DocumentCommand>,
        view: watch::Sender<Arc<DocumentView>>,
        notices: Vec<String>,
        history: History,
    ) -> DocumentTask {
        let file = FileState {
            store,
            path,
            base: Arc::clone(state.notebook()),
            knows_overwritten: false,
            saved: state.version(),
            check: None,
            is_suspect: false,
            mark: None,
        };
        let saves = SaveState {
            schedule: Schedule::saved_at(Instant::now()),
            running: None,
            waiters: Vec::new(),
            problem: None,
            conflicts: 0,
            failed: None,
        };
        let notices = ShownNotices { noted: notices.len(), list: notices };
        let (held, absorbed, unpublished) = (None, 0, None);
        DocumentTask { state, commands, view, file, saves, history, notices, held, absorbed, unpublished }
    }

    /// Returns the view of a state that was just opened.
    pub(super) fn first_view(state: &State, notices: Vec<String>) -> DocumentView {
        DocumentView {
            version: state.version(),
            saved: state.version(),
            notebook: Arc::clone(state.notebook()),
            review: Arc::clone(state.review()),
            conditions: Arc::clone(state.conditions()),
            problem: None,
            noted: notices.len(),
            notices,
            absorbed: 0,
        }
    }

    /// Runs until the last handle is dropped or a close command comes; then everything is on disk. Content that
    /// cannot be saved goes to a copy, whose path is returned. A panic ends the task too.
    pub(super) async fn run(mut self, watcher: FolderWatch) -> Option<PathBuf> {
        loop {
            let event = self.next(&watcher).await;
            match catch(|| self.handle(event)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(panicked) => return self.fail(&panicked).await,
            }
        }
        self.commands.close();
        self.close().await
    }

    /// Handles an event. Returns `false` if the task should end.
    fn handle(&mut self, event: TaskEvent) -> bool {
        let is_quiet = matches!(event, TaskEvent::Command(Some(DocumentCommand::DoQuietly(_))));
        match event {
            TaskEvent::Command(Some(DocumentCommand::DoFresh(work))) if self.is_outdated() => {
                self.file.is_suspect = true;
                self.held = Some(HeldCommand { work, looks: 1 + u8::from(self.file.check.is_some()) });
            }
            TaskEvent::Command(Some(DocumentCommand::Do(work) | DocumentCommand::DoFresh(work))) => {
                self.carry_out(work)
            }
            TaskEvent::Command(Some(DocumentCommand::DoQuietly(work))) => {
                if let Some(reply) = self.carry_out_unseen(work) {
                    reply();
                }
            }
            TaskEvent::Command(Some(DocumentCommand::Close) | None) => return false,
            TaskEvent::Unpublished => {}
            TaskEvent::Suspect => self.file.is_suspect = true,
            TaskEvent::Due => self.begin_save(),
            TaskEvent::Saved(saved) => self.saved_or_not(saved),
            TaskEvent::Looked(looked) => {
                self.looked_or_not(looked);
                self.resume();
            }
        }
        if self.file.is_suspect && self.saves.running.is_none() && self.file.check.is_none() {
            self.begin_look();
        }
        match is_quiet {
            true => drop(self.unpublished.get_or_insert_with(|| Instant::now() + QUIET)),
            false => self.publish(),
        }
        true
    }

    /// Ends after a panic. The published version is consistent; it is saved or copied.
    async fn fail(mut self, panicked: &Panicked) -> Option<PathBuf> {
        self.commands.close();
        // Dropping these commands tells their callers that the notebook is closed.
        while self.commands.try_recv().is_ok() {}
        self.held = None;
        self.note(vec![panicked.to_string()]);
        let seen = Arc::clone(&self.view.borrow());
        let (store, path) = (self.file.store.clone(), Arc::clone(&self.file.path));
        let is_whole =
            self.state.version() == seen.version && Arc::ptr_eq(self.state.notebook(), &seen.notebook);
        if is_whole && let Ok(rescued) = contained(self.close()).await {
            return rescued;
        }
        if seen.version <= seen.saved {
            return None;
        }
        rescue(store, path, Arc::clone(&seen.notebook)).await
    }

    /// Waits for the next event. All awaited futures are cancel-safe.
    async fn next(&mut self, watcher: &FolderWatch) -> TaskEvent {
        let due = self.saves.schedule.next().filter(|_| self.file.check.is_none());
        let alarm = async {
            match due {
                Some(due) => sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        let unpublished = self.unpublished;
        let (saving, looking) = (&mut self.saves.running, &mut self.file.check);
        tokio::select! {
            biased;
            Some(saved) = heard(saving.as_mut().map(|saving| &mut saving.outcome)) => TaskEvent::Saved(saved),
            Some(looked) = heard(looking.as_mut()) => TaskEvent::Looked(looked),
            () = alarm => TaskEvent::Due,
            () = sleep_until(unpublished.unwrap_or_else(Instant::now).into()), if unpublished.is_some() => {
                TaskEvent::Unpublished
            }
            () = watcher.changed() => TaskEvent::Suspect,
            command = self.commands.recv(), if self.held.is_none() => TaskEvent::Command(command),
        }
    }

    /// Whether the file differs from the one last read or written. A running save merges by itself. The watcher
    /// reports changes too, a event later.
    fn is_outdated(&self) -> bool {
        self.saves.running.is_none() && self.file.store.mark(&self.file.path) != self.file.mark
    }

    /// Counts an ended file check, and runs the held command after the last one.
    fn resume(&mut self) {
        match self.held.take() {
            Some(HeldCommand { work, looks: 0 | 1 }) => self.carry_out(work),
            Some(HeldCommand { work, looks }) => {
                self.file.is_suspect = true;
                self.held = Some(HeldCommand { work, looks: looks - 1 });
            }
            None => {}
        }
    }

    fn carry_out(&mut self, work: Work) {
        if let Some(reply) = self.carry_out_unseen(work) {
            self.publish();
            reply();
        }
    }

    /// Runs a request without publishing. Returns the reply to call after publishing.
    fn carry_out_unseen(&mut self, work: Work) -> Reply {
        let (version, review) = (self.state.version(), Arc::clone(self.state.review()));
        let (then, reply) = work(&mut self.state, now_ms());
        let now = Instant::now();
        let is_changed = self.state.version() != version
            || !Arc::ptr_eq(self.state.review(), &review)
            || self.state.has_receipts();
        match then {
            SaveNeed::Nothing => {}
            SaveNeed::Save(urgency) if is_changed => self.saves.schedule.changed(urgency, now),
            SaveNeed::Save(_) => {}
            SaveNeed::SaveFor(waiter) => {
                let version = self.state.version();
                // A version already on disk needs no save, unless the file may have changed.
                let is_clean = version == self.file.saved && !self.state.has_receipts();
                if is_clean && self.saves.running.is_none() && !self.file.is_suspect {
                    waiter(Ok(()));
                    return reply;
                }
                let is_being_saved =
                    self.saves.running.as_ref().is_some_and(|saving| saving.version == version);
                self.saves.waiters.push((version, waiter));
                if !is_being_saved || self.file.is_suspect || self.state.has_receipts() {
                    self.saves.schedule.changed(Urgency::Now, now);
                }
            }
        }
        reply
    }

    fn note(&mut self, notices: Vec<String>) {
        self.notices.noted += notices.len();
        self.notices.list.extend(notices);
        let surplus = self.notices.list.len().saturating_sub(NOTICES);
        self.notices.list.drain(..surplus);
    }

    fn publish(&mut self) {
        self.unpublished = None;
        self.view.send_if_modified(|view| {
            let is_same = view.version == self.state.version()
                && view.saved == self.file.saved
                && Arc::ptr_eq(&view.notebook, self.state.notebook())
                && Arc::ptr_eq(&view.review, self.state.review())
                && Arc::ptr_eq(&view.conditions, self.state.conditions())
                && view.problem == self.saves.problem
                && view.notices == self.notices.list
                && view.absorbed == self.absorbed;
            if !is_same {
                *view = Arc::new(DocumentView {
                    conditions: Arc::clone(self.state.conditions()),
                    version: self.state.version(),
                    saved: self.file.saved,
                    notebook: Arc::clone(self.state.notebook()),
                    review: Arc::clone(self.state.review()),
                    problem: self.saves.problem.clone(),
                    notices: self.notices.list.clone(),
                    noted: self.notices.noted,
                    absorbed: self.absorbed,
                });
            }
            !is_same
        });
    }
}

/// Returns the result of work on another thread; `None` at once if there is none.
async fn heard<T>(work: Option<&mut Aside<T>>) -> Option<std::result::Result<T, NotDone>> {
    Some(work?.await)
}
