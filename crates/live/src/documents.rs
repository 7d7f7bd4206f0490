//! The open notebooks of this process. Each file is open once, under any path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cellist_kernel::Future;
use cellist_platform::aside::{NotDone, aside};
use cellist_platform::clock::now_ms;
use cellist_session::sessions::{LateOutputs, Notebooks};
use cellist_store::receipts::Receipts;
use cellist_store::{Error, Problem, Result, Store};
use tokio::sync::{mpsc, watch};

use super::condition::Conditions;
use super::document::{Document, DocumentCommand, DocumentView};
use super::history::History;
use super::state::State;
use super::task::DocumentTask;
use super::watcher::FolderWatch;

/// Capacity of the command channel; a full channel makes callers wait. Each command takes well under a millisecond.
const COMMANDS: usize = 64;

/// The open notebooks of a process. Clones share them.
#[derive(Clone, Debug)]
pub struct Documents {
    store: Store,
    slots: Arc<Mutex<HashMap<PathBuf, DocumentSlot>>>,
    is_reviewing: bool,
}

/// A file that is open or being opened.
#[derive(Debug)]
enum DocumentSlot {
    /// Another caller is opening it; the channel closes when that is done.
    Opening(watch::Receiver<()>),
    Open {
        commands: mpsc::WeakSender<DocumentCommand>,
        view: watch::Receiver<Arc<DocumentView>>,
        /// Closes when all is saved. The value is the path of a copy, if the save failed.
        ended: watch::Receiver<Option<PathBuf>>,
    },
}

/// How to open a file.
enum OpenStep {
    Use(Document),
    Wait(watch::Receiver<()>),
    WaitForEnd(watch::Receiver<Option<PathBuf>>),
    Open(OpeningMark),
}

/// Marks a file as being opened, until dropped.
struct OpeningMark {
    slots: Arc<Mutex<HashMap<PathBuf, DocumentSlot>>>,
    path: PathBuf,
    _done: watch::Sender<()>,
}

impl Documents {
    /// Creates an empty set of notebooks on a store.
    pub fn new(store: Store) -> Documents {
        Documents { store, slots: Arc::default(), is_reviewing: true }
    }

    /// Sets whether changes of agents wait for review, in notebooks without their own choice.
    #[must_use]
    pub fn reviewing(self, is_reviewing: bool) -> Documents {
        Documents { is_reviewing, ..self }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Opens a notebook, or returns a handle on the open one. Needs a tokio runtime.
    pub async fn open(&self, path: &Path) -> Result<Document> {
        let real = self.store.real_path(path)?;
        loop {
            match self.step(&real) {
                OpenStep::Use(document) => return Ok(document),
                // The channel closes in any case; then the slot is read again.
                OpenStep::Wait(mut done) => drop(done.changed().await),
                OpenStep::WaitForEnd(mut ended) => while ended.changed().await.is_ok() {},
                OpenStep::Open(opening) => return self.begin(opening).await,
            }
        }
    }

    /// Returns the open notebooks.
    pub fn list(&self) -> Vec<Document> {
        let mut open: Vec<Document> = lock(&self.slots)
            .iter()
            .filter_map(|(path, slot)| match slot {
                DocumentSlot::Open { commands, view, .. } => self.handle(path, commands.upgrade()?, view),
                DocumentSlot::Opening(_) => None,
            })
            .collect();
        open.sort_by(|one, other| one.path.cmp(&other.path));
        open
    }

    /// Saves and closes all notebooks, even with other handles. Returns the copies of notebooks that could not be
    /// saved.
    pub async fn close(&self) -> Vec<PathBuf> {
        let (mut opening, mut ends) = (Vec::new(), Vec::new());
        for document in self.list() {
            let _ = document.commands.send(DocumentCommand::Close).await;
        }
        for slot in lock(&self.slots).values() {
            match slot {
                DocumentSlot::Opening(done) => opening.push(done.clone()),
                DocumentSlot::Open { ended, .. } => ends.push(ended.clone()),
            }
        }
        for mut done in opening {
            while done.changed().await.is_ok() {}
        }
        let mut rescued = Vec::new();
        for mut end in ends {
            while end.changed().await.is_ok() {}
            rescued.extend(end.borrow().clone());
        }
        rescued
    }

    fn step(&self, real: &Path) -> OpenStep {
        let mut slots = lock(&self.slots);
        match slots.get(real) {
            Some(DocumentSlot::Open { commands, view, ended }) => {
                let open = commands.upgrade().and_then(|commands| self.handle(real, commands, view));
                match open {
                    Some(document) => return OpenStep::Use(document),
                    None if ended.has_changed().is_ok() => return OpenStep::WaitForEnd(ended.clone()),
                    None => {}
                }
            }
            Some(DocumentSlot::Opening(done)) => return OpenStep::Wait(done.clone()),
            None => {}
        }
        let (tell, done) = watch::channel(());
        slots.insert(real.to_owned(), DocumentSlot::Opening(done));
        OpenStep::Open(OpeningMark { slots: Arc::clone(&self.slots), path: real.to_owned(), _done: tell })
    }

    /// Returns a handle, unless the task has stopped accepting commands.
    fn handle(
        &self,
        path: &Path,
        commands: mpsc::Sender<DocumentCommand>,
        view: &watch::Receiver<Arc<DocumentView>>,
    ) -> Option<Document> {
        let is_open = !commands.is_closed();
        is_open.then(|| Document {
            commands,
            view: view.clone(),
            path: path.into(),
            store: self.store.clone(),
        })
    }

    async fn begin(&self, opening: OpeningMark) -> Result<Document> {
        let (store, path) = (self.store.clone(), opening.path.clone());
        // Starts watching before reading, so that no write in between is missed.
        let opening_it = move || {
            let watch = FolderWatch::new(&path);
            let opened = store.open(&path)?;
            let ran = Receipts::new(store.home()).of(&path);
            Ok((watch, opened, History::open(&store, &path), ran))
        };
        let opened = aside(opening_it).await;
        let cannot = |error: NotDone| Error::new(&opening.path, Problem::Unreadable(error.into()));
        let opened: Result<_> = opened.map_err(cannot)?;
        let (watch, opened, (history, journal, mut review), ran) = opened?;
        if !review.is_chosen {
            review.is_on = self.is_reviewing;
        }
        let heard = history.last_heard(opened.notebook.revision()).clone();
        // Higher than any version that a client may know from an earlier host.
        let mut state = State::new(opened.notebook, now_ms() * 1000, journal, review);
        *state.conditions_mut() = Conditions::new(ran, &state.notebook().clone());
        state.set_heard(heard);
        let (commands, asked) = mpsc::channel(COMMANDS);
        let (tell, view) = watch::channel(Arc::new(DocumentTask::first_view(&state, opened.notices.clone())));
        let (end, ended) = watch::channel(None);
        let path: Arc<Path> = opening.path.as_path().into();
        let task = DocumentTask::new(
            state,
            self.store.clone(),
            Arc::clone(&path),
            asked,
            tell,
            opened.notices,
            history,
        );
        let slot = DocumentSlot::Open { commands: commands.downgrade(), view: view.clone(), ended };
        lock(&self.slots).insert(opening.path.clone(), slot);
        tokio::spawn(async move {
            let rescued = task.run(watch).await;
            end.send_replace(rescued);
        });
        Ok(Document { commands, view, path, store: self.store.clone() })
    }
}

/// A notebook that is closed in between gets the state when it is opened again.
impl Notebooks for Documents {
    fn put_late(&self, late: Vec<LateOutputs>) -> Future<'_, ()> {
        Box::pin(async move {
            let open = self.list();
            for late in late {
                if let Some(document) = open.iter().find(|open| open.view().conditions.has_run(&late.tag)) {
                    let _ = document.hear_late(late).await;
                }
            }
        })
    }

    fn lose_kernel<'a>(&'a self, kernel: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            for document in self.list() {
                let _ = document.lose_kernel(kernel.to_owned()).await;
            }
        })
    }
}

impl Drop for OpeningMark {
    fn drop(&mut self) {
        let mut slots = lock(&self.slots);
        if matches!(slots.get(&self.path), Some(DocumentSlot::Opening(_))) {
            slots.remove(&self.path);
        }
    }
}

/// The table is consistent at any time, even after a panic.
fn lock(
    slots: &Mutex<HashMap<PathBuf, DocumentSlot>>,
) -> std::sync::MutexGuard<'_, HashMap<PathBuf, DocumentSlot>> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}
