//! The task that owns an open notebook: runs commands in order, saves, and merges writes of other programs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_notebook::{Notebook, OnConflict};
use cellist_platform::aside::{Aside, NotDone, aside};
use cellist_platform::clock::now_ms;
use cellist_platform::contained::{Panicked, catch, contained};
use cellist_platform::files::Mark;
use cellist_platform::in_words;
use cellist_store::receipts::Receipts;
use cellist_store::{
    Changed, Error, ErrorKind, FileCheck, ForeignVersion, Problem, Result, SaveRequest, Store,
};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::document::{Command, Reply, Then, View, Waiter, Work};
use super::history::{Heard, History};
use super::schedule::{Schedule, Urgency};
use super::state::State;
use super::watcher::FolderWatch;

/// Maximum number of shown notices.
const NOTICES: usize = 20;

/// How long the view of a quiet command may be delayed: no longer than a page waits between two updates.
const QUIET: Duration = Duration::from_millis(20);

/// How often a save with a conflict is retried at once.
const CONFLICTS: u32 = 3;

pub(super) struct Task {
    pub(super) state: State,
    pub(super) store: Store,
    pub(super) path: Arc<Path>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) view: watch::Sender<Arc<View>>,
    /// Content of the file, as far as known.
    base: Arc<Notebook>,
    /// Whether the state has those of our sources that the writer of `base` had not read.
    knows_overwritten: bool,
    /// The newest version in the file.
    saved: u64,
    schedule: Schedule,
    saving: Option<Saving>,
    looking: Option<Aside<Result<FileCheck>>>,
    /// Whether the file may have changed.
    is_suspect: bool,
    /// Identity of the file with `base`, if known.
    mark: Option<Mark>,
    /// A command that waits for a check of the file. No other command is received meanwhile.
    held: Option<Held>,
    waiters: Vec<(u64, Waiter)>,
    problem: Option<String>,
    /// Number of conflicting saves in a row.
    conflicts: u32,
    notices: Vec<String>,
    /// Total number of notices, including dropped ones.
    noted: usize,
    /// Number of merged writes by other programs.
    absorbed: usize,
    /// The version of the last save, if it failed.
    failed: Option<u64>,
    history: History,
    /// When to publish the view of quiet commands.
    unpublished: Option<Instant>,
}

/// A waiting command, and the number of file checks that must end first. A check already running when it came may
/// have read the file too early.
struct Held {
    work: Work,
    looks: u8,
}

/// A running save.
struct Saving {
    snapshot: Arc<Notebook>,
    version: u64,
    /// The submissions in it that are not in the file yet.
    heard: Option<Heard>,
    outcome: Aside<Saved>,
}

/// The result of a save.
struct Saved {
    saved: Result<Changed<()>>,
    /// Identity of the written file.
    mark: Option<Mark>,
    /// Whether the receipts were written.
    receipts: io::Result<()>,
}

/// An event of the task.
enum Moment {
    Command(Option<Command>),
    Saved(std::result::Result<Saved, NotDone>),
    Looked(std::result::Result<Result<FileCheck>, NotDone>),
    Suspect,
    Due,
    /// It is time to publish the view of quiet commands.
    Unpublished,
}

impl Task {
    pub(super) fn new(
        state: State,
        store: Store,
        path: Arc<Path>,
        commands: mpsc::Receiver<Command>,
        view: watch::Sender<Arc<View>>,
        notices: Vec<String>,
        history: History,
    ) -> Task {
        let (base, saved) = (Arc::clone(state.notebook()), state.version());
        Task {
            state,
            store,
            path,
            commands,
            view,
            base,
            knows_overwritten: false,
            saved,
            schedule: Schedule::saved_at(Instant::now()),
            saving: None,
            looking: None,
            is_suspect: false,
            mark: None,
            held: None,
            waiters: Vec::new(),
            problem: None,
            conflicts: 0,
            noted: notices.len(),
            notices,
            absorbed: 0,
            failed: None,
            history,
            unpublished: None,
        }
    }

    /// Returns the view of a state that was just opened.
    pub(super) fn first_view(state: &State, notices: Vec<String>) -> View {
        View {
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
            let moment = self.next(&watcher).await;
            match catch(|| self.meet(moment)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(panicked) => return self.fail(&panicked).await,
            }
        }
        self.commands.close();
        self.close().await
    }

    /// Handles an event. Returns `false` if the task should end.
    fn meet(&mut self, moment: Moment) -> bool {
        let is_quiet = matches!(moment, Moment::Command(Some(Command::DoQuietly(_))));
        match moment {
            Moment::Command(Some(Command::DoFresh(work))) if self.is_outdated() => {
                self.is_suspect = true;
                self.held = Some(Held { work, looks: 1 + u8::from(self.looking.is_some()) });
            }
            Moment::Command(Some(Command::Do(work) | Command::DoFresh(work))) => self.carry_out(work),
            Moment::Command(Some(Command::DoQuietly(work))) => {
                if let Some(reply) = self.carry_out_unseen(work) {
                    reply();
                }
            }
            Moment::Command(Some(Command::Close) | None) => return false,
            Moment::Unpublished => {}
            Moment::Suspect => self.is_suspect = true,
            Moment::Due => self.begin_save(),
            Moment::Saved(saved) => self.saved_or_not(saved),
            Moment::Looked(looked) => {
                self.looked_or_not(looked);
                self.resume();
            }
        }
        if self.is_suspect && self.saving.is_none() && self.looking.is_none() {
            self.begin_look();
        }
        match is_quiet {
            true => drop(self.unpublished.get_or_insert_with(|| Instant::now() + QUIET)),
            false => self.publish(),
        }
        true
    }

    fn saved_or_not(&mut self, saved: std::result::Result<Saved, NotDone>) {
        let cannot = |error: NotDone| Saved {
            saved: Err(Error::new(&self.path, Problem::CannotSave(error.into()))),
            mark: self.mark,
            receipts: Ok(()),
        };
        let saved = saved.unwrap_or_else(cannot);
        self.settle(saved);
    }

    fn looked_or_not(&mut self, looked: std::result::Result<Result<FileCheck>, NotDone>) {
        let cannot = |error: NotDone| Err(Error::new(&self.path, Problem::Unreadable(error.into())));
        let looked = looked.unwrap_or_else(cannot);
        self.take_in(looked);
    }

    /// Ends after a panic. The published version is consistent; it is saved or copied.
    async fn fail(mut self, panicked: &Panicked) -> Option<PathBuf> {
        self.commands.close();
        // Dropping these commands tells their callers that the notebook is closed.
        while self.commands.try_recv().is_ok() {}
        self.held = None;
        self.note(vec![panicked.to_string()]);
        let seen = Arc::clone(&self.view.borrow());
        let (store, path) = (self.store.clone(), Arc::clone(&self.path));
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
    async fn next(&mut self, watcher: &FolderWatch) -> Moment {
        let due = self.schedule.next().filter(|_| self.looking.is_none());
        let alarm = async {
            match due {
                Some(due) => sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        let unpublished = self.unpublished;
        let (saving, looking) = (&mut self.saving, &mut self.looking);
        tokio::select! {
            biased;
            Some(saved) = heard(saving.as_mut().map(|saving| &mut saving.outcome)) => Moment::Saved(saved),
            Some(looked) = heard(looking.as_mut()) => Moment::Looked(looked),
            () = alarm => Moment::Due,
            () = sleep_until(unpublished.unwrap_or_else(Instant::now).into()), if unpublished.is_some() => {
                Moment::Unpublished
            }
            () = watcher.changed() => Moment::Suspect,
            command = self.commands.recv(), if self.held.is_none() => Moment::Command(command),
        }
    }

    /// Whether the file differs from the one last read or written. A running save merges by itself. The watcher
    /// reports changes too, a moment later.
    fn is_outdated(&self) -> bool {
        self.saving.is_none() && self.store.mark(&self.path) != self.mark
    }

    /// Counts an ended file check, and runs the held command after the last one.
    fn resume(&mut self) {
        match self.held.take() {
            Some(Held { work, looks: 0 | 1 }) => self.carry_out(work),
            Some(Held { work, looks }) => {
                self.is_suspect = true;
                self.held = Some(Held { work, looks: looks - 1 });
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
            Then::Nothing => {}
            Then::Save(urgency) if is_changed => self.schedule.changed(urgency, now),
            Then::Save(_) => {}
            Then::SaveFor(waiter) => {
                let version = self.state.version();
                // A version already on disk needs no save, unless the file may have changed.
                let is_clean = version == self.saved && !self.state.has_receipts();
                if is_clean && self.saving.is_none() && !self.is_suspect {
                    waiter(Ok(()));
                    return reply;
                }
                let is_being_saved = self.saving.as_ref().is_some_and(|saving| saving.version == version);
                self.waiters.push((version, waiter));
                if !is_being_saved || self.is_suspect || self.state.has_receipts() {
                    self.schedule.changed(Urgency::Now, now);
                }
            }
        }
        reply
    }

    fn begin_save(&mut self) {
        self.schedule.began(Instant::now());
        let (snapshot, base) = (Arc::clone(self.state.notebook()), Arc::clone(&self.base));
        let (store, path, ours) = (self.store.clone(), Arc::clone(&self.path), Arc::clone(&snapshot));
        let news = self.history.news(&mut self.state);
        let (heard, history) = (self.history.unsaved(&self.state), self.history.clone());
        let about = heard.clone();
        let receipts = self.state.take_receipts();
        let knows_overwritten = self.knows_overwritten;
        let outcome = aside(move || {
            let put =
                SaveRequest { base: &base, ours: &ours, knows_overwritten, on_conflict: OnConflict::Mark };
            let saved = store.put(&path, put, |revision| {
                if let Some(heard) = &about {
                    history.saving(revision, heard);
                }
            });
            history.add(&news);
            if let (Ok(_), Some(heard)) = (&saved, &about) {
                history.saved(heard);
            }
            let receipts = Receipts::new(store.home()).add(&path, &receipts);
            Saved { saved, mark: store.mark(&path), receipts }
        });
        self.saving = Some(Saving { snapshot, version: self.state.version(), heard, outcome });
    }

    fn settle(&mut self, Saved { saved, mark, receipts }: Saved) {
        if let Err(error) = receipts {
            let notice = format!("what ran could not be written down: {}", in_words(&error));
            if !self.notices.contains(&notice) {
                self.note(vec![notice]);
            }
        }
        let Some(Saving { snapshot, version, heard, .. }) = self.saving.take() else { return };
        self.schedule.ended(saved.is_ok(), Instant::now());
        match saved {
            Ok(saved) => {
                (self.saved, self.mark) = (version, mark);
                if let Some(heard) = heard {
                    self.history.set_saved(heard);
                }
                (self.problem, self.conflicts, self.failed) = (None, 0, None);
                self.note(saved.notices);
                self.knows_overwritten = false;
                if saved.revision == snapshot.revision() {
                    self.base = snapshot;
                } else {
                    // The file also contains changes of others.
                    let in_file = Arc::new(saved.notebook);
                    self.absorb(&snapshot, &in_file, &in_file);
                }
                self.answer(version, Ok(()));
            }
            Err(error) => {
                // A file check merges the foreign write, and the save is retried at once.
                self.conflicts += 1;
                if error.kind() == ErrorKind::Conflict && self.conflicts <= CONFLICTS {
                    self.is_suspect = true;
                    self.schedule.changed(Urgency::Now, Instant::now());
                    return;
                }
                (self.problem, self.failed) = (Some(error.to_string()), Some(version));
                self.answer(version, Err(Arc::new(error)));
            }
        }
    }

    /// Answers the callers that wait for a version.
    fn answer(&mut self, version: u64, saved: std::result::Result<(), Arc<Error>>) {
        let (done, waiting) =
            std::mem::take(&mut self.waiters).into_iter().partition(|(for_, _)| *for_ <= version);
        self.waiters = waiting;
        let done: Vec<(u64, Waiter)> = done;
        // A caller reads the view after the answer.
        self.publish();
        done.into_iter().for_each(|(_, waiter)| waiter(saved.clone()));
    }

    fn begin_look(&mut self) {
        self.is_suspect = false;
        let (store, path, known) = (self.store.clone(), Arc::clone(&self.path), self.base.revision());
        self.looking = Some(aside(move || store.look(&path, known)));
    }

    fn take_in(&mut self, looked: Result<FileCheck>) {
        self.looking = None;
        self.mark = looked.as_ref().ok().and_then(|looked| looked.mark);
        match looked.map(|looked| looked.seen) {
            Ok(None) => self.problem = self.problem.take().filter(|_| self.schedule.is_dirty()),
            Ok(Some(ForeignVersion { in_file, mended, notices })) => {
                self.problem = self.problem.take().filter(|_| self.schedule.is_dirty());
                self.note(notices);
                let base = Arc::clone(&self.base);
                self.absorb(&base, &mended, &in_file);
                self.knows_overwritten = true;
            }
            // The file may be back in a moment; a save reports the problem.
            Err(error) => self.problem = Some(error.to_string()),
        }
    }

    /// Merges `theirs`, which another program made of `base`. The file contains `in_file`.
    fn absorb(&mut self, base: &Notebook, theirs: &Notebook, in_file: &Arc<Notebook>) {
        let before = self.state.version();
        let names = match self.state.absorb(base, theirs, now_ms()) {
            Ok((remarks, names)) => {
                self.note(remarks);
                names
            }
            Err(error) => return self.note(vec![error.to_string()]),
        };
        self.absorbed += 1;
        let is_all = self.state.notebook().revision() == in_file.revision();
        let was_clean = self.saved == before;
        self.base = match is_all {
            true => Arc::clone(self.state.notebook()),
            false => {
                let mut in_file = Notebook::clone(in_file);
                in_file.rename_from(theirs, &names);
                Arc::new(in_file)
            }
        };
        if is_all && was_clean {
            self.saved = self.state.version();
        } else if !is_all {
            self.schedule.changed(Urgency::Soon, Instant::now());
        }
    }

    fn note(&mut self, notices: Vec<String>) {
        self.noted += notices.len();
        self.notices.extend(notices);
        let surplus = self.notices.len().saturating_sub(NOTICES);
        self.notices.drain(..surplus);
    }

    fn publish(&mut self) {
        self.unpublished = None;
        self.view.send_if_modified(|view| {
            let is_same = view.version == self.state.version()
                && view.saved == self.saved
                && Arc::ptr_eq(&view.notebook, self.state.notebook())
                && Arc::ptr_eq(&view.review, self.state.review())
                && Arc::ptr_eq(&view.conditions, self.state.conditions())
                && view.problem == self.problem
                && view.notices == self.notices
                && view.absorbed == self.absorbed;
            if !is_same {
                *view = Arc::new(View {
                    conditions: Arc::clone(self.state.conditions()),
                    version: self.state.version(),
                    saved: self.saved,
                    notebook: Arc::clone(self.state.notebook()),
                    review: Arc::clone(self.state.review()),
                    problem: self.problem.clone(),
                    notices: self.notices.clone(),
                    noted: self.noted,
                    absorbed: self.absorbed,
                });
            }
            !is_same
        });
    }

    /// Saves the pending changes. If that fails, returns the path of a copy.
    async fn close(mut self) -> Option<PathBuf> {
        // Once for pending changes, and again for foreign writes meanwhile.
        for _ in 0..3 {
            while let Ok(Command::Do(work) | Command::DoFresh(work) | Command::DoQuietly(work)) =
                self.commands.try_recv()
            {
                self.carry_out(work);
            }
            if let Some(saved) = heard(self.saving.as_mut().map(|saving| &mut saving.outcome)).await {
                self.saved_or_not(saved);
            }
            if let Some(looked) = heard(self.looking.as_mut()).await {
                self.looked_or_not(looked);
            }
            if self.is_suspect {
                self.begin_look();
                continue;
            }
            if !self.schedule.is_dirty() || self.failed == Some(self.state.version()) {
                break;
            }
            self.begin_save();
        }
        if let Some(saved) = heard(self.saving.as_mut().map(|saving| &mut saving.outcome)).await {
            self.saved_or_not(saved);
        }
        if !self.schedule.is_dirty() {
            return None;
        }
        rescue(self.store, self.path, Arc::clone(self.state.notebook())).await
    }
}

/// Writes a copy of a notebook that cannot be saved, and returns its path. Falls back to the current thread.
async fn rescue(store: Store, path: Arc<Path>, ours: Arc<Notebook>) -> Option<PathBuf> {
    let (own, place, kept) = (store.clone(), Arc::clone(&path), Arc::clone(&ours));
    match aside(move || own.rescue(&place, &kept)).await {
        Ok(rescued) => rescued,
        Err(_) => catch(|| store.rescue(&path, &ours)).ok().flatten(),
    }
}

/// Returns the result of work on another thread; `None` at once if there is none.
async fn heard<T>(work: Option<&mut Aside<T>>) -> Option<std::result::Result<T, NotDone>> {
    Some(work?.await)
}
