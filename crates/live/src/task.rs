//! The task that owns an open notebook: does what it is asked for in order, saves, and takes in what other
//! programs write.

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

/// How many notices are shown.
const NOTICES: usize = 20;

/// How long others may wait to see what was done quietly: no longer than a page waits between two looks.
const QUIET: Duration = Duration::from_millis(20);

/// How often in a row a save that met something new is tried again at once.
const CONFLICTS: u32 = 3;

pub(super) struct Task {
    pub(super) state: State,
    pub(super) store: Store,
    pub(super) path: Arc<Path>,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) view: watch::Sender<Arc<View>>,
    /// What is in the file, as far as we know.
    base: Arc<Notebook>,
    /// Whether the state has the sources of ours that the program that wrote `base` had not read.
    knows_overwritten: bool,
    /// The newest version that is in the file.
    saved: u64,
    schedule: Schedule,
    saving: Option<Saving>,
    looking: Option<Aside<Result<FileCheck>>>,
    /// Whether the file may be another than the one we know.
    is_suspect: bool,
    /// The file that holds `base`, where that is known.
    mark: Option<Mark>,
    /// A command that waits for a look at the file. No other is taken meanwhile.
    held: Option<Held>,
    waiters: Vec<(u64, Waiter)>,
    problem: Option<String>,
    /// How many saves in a row met something that could not be merged.
    conflicts: u32,
    notices: Vec<String>,
    /// How many notices there were, also those that are not kept.
    noted: usize,
    /// How many writes of other programs were taken in.
    absorbed: usize,
    /// The version of the last save, if that failed.
    failed: Option<u64>,
    history: History,
    /// When others are shown what was done quietly.
    unpublished: Option<Instant>,
}

/// A command that waits, and the number of looks that have to end before its turn: one that was going on when it came
/// may have read the file too early.
struct Held {
    work: Work,
    looks: u8,
}

/// A save that is going on.
struct Saving {
    snapshot: Arc<Notebook>,
    version: u64,
    /// The submissions in it that are not in the file yet.
    heard: Option<Heard>,
    outcome: Aside<Saved>,
}

/// What came of a save.
struct Saved {
    saved: Result<Changed<()>>,
    /// The file that it made.
    mark: Option<Mark>,
    /// Whether what ran could be written down.
    receipts: io::Result<()>,
}

/// What happened next.
enum Moment {
    Command(Option<Command>),
    Saved(std::result::Result<Saved, NotDone>),
    Looked(std::result::Result<Result<FileCheck>, NotDone>),
    Suspect,
    Due,
    /// It is time to show what was done quietly.
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

    /// What others see of a state that was just opened.
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

    /// Runs until nobody holds a handle any more, or it is told to end; all is on disk then. Content that cannot be saved
    /// goes to a copy, whose path is returned. A fault of ours ends it too.
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

    /// Does what has to be done about what happened. `false` when that is to end.
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

    /// Ends after a fault of ours. What others have seen is whole, and is saved or kept elsewhere.
    async fn fail(mut self, panicked: &Panicked) -> Option<PathBuf> {
        self.commands.close();
        // Whoever asked for these hears that it is closed.
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

    /// Waits for what happens next. All that is waited for is safe to drop.
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

    /// Whether the file is not the one that was looked at or written last. A save that is going on merges by itself. The
    /// watcher tells of changes too, a moment later.
    fn is_outdated(&self) -> bool {
        self.saving.is_none() && self.store.mark(&self.path) != self.mark
    }

    /// Counts a look that has ended, and carries the held command out if it was the last one.
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

    /// Does something that others do not see yet, and returns what is to be called when they do.
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
                // What is on disk already needs no save, unless there is reason to doubt it.
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
                    // Someone else's changes are in the file too.
                    let in_file = Arc::new(saved.notebook);
                    self.absorb(&snapshot, &in_file, &in_file);
                }
                self.answer(version, Ok(()));
            }
            Err(error) => {
                // What was written in between is taken in by a look at it, and saved again at once.
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

    /// Tells those who wait for a version.
    fn answer(&mut self, version: u64, saved: std::result::Result<(), Arc<Error>>) {
        let (done, waiting) =
            std::mem::take(&mut self.waiters).into_iter().partition(|(for_, _)| *for_ <= version);
        self.waiters = waiting;
        let done: Vec<(u64, Waiter)> = done;
        // Who is told looks at the view next.
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
            // It may be back in a moment; a save says what is wrong.
            Err(error) => self.problem = Some(error.to_string()),
        }
    }

    /// Takes in `theirs`, which another program made of `base`. The file holds `in_file`.
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

    /// Saves the changes that are not on disk yet. Where that fails, returns the path of a copy.
    async fn close(mut self) -> Option<PathBuf> {
        // Once for what was changed, and again for what others wrote meanwhile.
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

/// Writes a copy of a notebook that cannot be saved, and returns its path. Without a thread for it, the copy is written
/// here.
async fn rescue(store: Store, path: Arc<Path>, ours: Arc<Notebook>) -> Option<PathBuf> {
    let (own, place, kept) = (store.clone(), Arc::clone(&path), Arc::clone(&ours));
    match aside(move || own.rescue(&place, &kept)).await {
        Ok(rescued) => rescued,
        Err(_) => catch(|| store.rescue(&path, &ours)).ok().flatten(),
    }
}

/// What a piece of work on another thread came to; `None` at once where there is none.
async fn heard<T>(work: Option<&mut Aside<T>>) -> Option<std::result::Result<T, NotDone>> {
    Some(work?.await)
}
