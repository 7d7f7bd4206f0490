//! The guard, which outlives a killed owner: a small process that holds a pipe to the owner of kernels and, when the pipe closes, kills
//! the process groups and removes the private files that are still registered. The owner's end; `guard/` has the rest.

mod cleaning;
mod held;
mod keeper;
mod ledger;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub use cleaning::main;
use held::{Change, What};
use keeper::{Keeper, KeeperMessage};
use ledger::Ledger;

use crate::process::tree;
use cellist_platform::fault::{self, Site};

/// The owner's end. Cheap to clone; the guard process starts with the first registration, in a thread of its
/// own, is replaced when it dies, and ends with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Guard(Option<Arc<Owner>>);

#[derive(Debug)]
struct Owner {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// The private folder of our kernels, which keeps the ledgers.
    runtime_dir: Option<PathBuf>,
    log: Option<fn(&str)>,
    ledger: Mutex<LedgerSlot>,
    line: Mutex<GuardPipe>,
}

/// The way to the thread that keeps the guard process.
#[derive(Debug, Default)]
struct GuardPipe {
    sender: Option<Sender<KeeperMessage>>,
    /// Changes that a thread gets which could not be had yet.
    waiting: Vec<Change>,
}

#[derive(Debug, Default)]
enum LedgerSlot {
    #[default]
    Unopened,
    Open(Ledger),
    /// There is no folder for it, or nothing can be written there.
    Unavailable,
}

impl Guard {
    /// A guard that runs `program` with `arguments`, which must end up in [`main`].
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Guard {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Guard(Some(Arc::new(Owner {
            program: program.into(),
            arguments,
            runtime_dir: None,
            log: None,
            ledger: Mutex::default(),
            line: Mutex::default(),
        })))
    }

    /// No guard: registered processes and paths outlive an owner that is killed.
    pub fn none() -> Guard {
        Guard(None)
    }

    /// Also keeps a ledger in the folder, by which a later owner finds leftovers of an owner whose guard was killed too.
    /// For a guard that has no clones yet.
    pub fn with_ledger(mut self, runtime_dir: impl Into<PathBuf>) -> Guard {
        if let Some(owner) = self.0.as_mut().and_then(Arc::get_mut) {
            owner.runtime_dir = Some(runtime_dir.into());
        }
        self
    }

    /// Reports lost guard processes and swept leftovers. For a guard that has no clones yet.
    pub fn with_log(mut self, log: fn(&str)) -> Guard {
        if let Some(owner) = self.0.as_mut().and_then(Arc::get_mut) {
            owner.log = Some(log);
        }
        self
    }

    /// From now on the process group goes when the owner does. Its leader must not have been reaped yet.
    pub fn add_group(&self, group: u32) {
        self.tell(Change::Add(What::Group { group, began: tree::began(group) }));
    }

    /// The process group is gone, or is no longer ours.
    pub fn remove_group(&self, group: u32) {
        self.tell(Change::RemoveGroup(group));
    }

    /// From now on the file, or the folder with all in it, goes when the owner does. It need not be there yet.
    pub fn add_path(&self, path: &Path) {
        self.tell(Change::Add(What::Path(path.to_owned())));
    }

    /// The file or folder is gone, or is no longer ours.
    pub fn remove_path(&self, path: &Path) {
        self.tell(Change::RemovePath(path.to_owned()));
    }

    /// Removes leftovers of earlier owners in the same folder, in the guard's thread: kernels that outlived both their owner
    /// and its guard, and their private folders.
    pub fn sweep(&self) {
        self.send(KeeperMessage::Sweep);
    }

    /// Waits until the guard process knows of all that was registered, and a sweep is done. Without this, an owner that is
    /// killed at once may leave it behind.
    pub fn settle(&self) {
        // Longer than a process takes to start on a busy machine; then there is none to be had.
        const PATIENCE: Duration = Duration::from_secs(10);

        let (told, known) = channel();
        self.send(KeeperMessage::Settle(told));
        let _ = known.recv_timeout(PATIENCE);
    }

    fn tell(&self, change: Change) {
        let Some(owner) = &self.0 else { return };
        // Here and not in the thread: an owner may be killed before the thread has its turn.
        if let Some(ledger) = owner.record(&change) {
            self.send(KeeperMessage::Change(Change::Ledger(ledger)));
        }
        self.send(KeeperMessage::Change(change));
    }

    fn send(&self, message: KeeperMessage) {
        let Some(owner) = &self.0 else { return };
        let mut line = owner.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.sender.is_none() {
            line.sender = owner.start().ok();
        }
        match (&line.sender, message) {
            (Some(sender), message) => {
                let sender = sender.clone();
                // The keeper serves until it is told to end.
                let waiting = line.waiting.drain(..).map(KeeperMessage::Change);
                waiting.chain([message]).for_each(|message| drop(sender.send(message)));
            }
            (None, KeeperMessage::Change(change)) => line.waiting.push(change),
            // Without a thread nothing is swept, and nobody waits for it.
            (None, _) => {}
        }
    }
}

impl Owner {
    /// Starts the thread that keeps a guard process. Where there is no thread now, the next change tries again.
    fn start(&self) -> io::Result<Sender<KeeperMessage>> {
        let (sender, receiver) = channel();
        let keeper = Keeper::new(
            (self.program.clone(), self.arguments.clone()),
            self.runtime_dir.clone(),
            self.log,
            sender.clone(),
        );
        let builder = thread::Builder::new().name("guard".into());
        fault::thread(Site::GuardThread, builder, move || keeper.serve(&receiver))?;
        Ok(sender)
    }

    /// Writes a change into the ledger. Returns the path of one that is new.
    fn record(&self, change: &Change) -> Option<PathBuf> {
        let mut created = None;
        let mut slot = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if let (LedgerSlot::Unopened, Change::Add(_)) = (&*slot, change) {
            *slot = match self.runtime_dir.as_deref().map(Ledger::create) {
                Some(Ok(ledger)) => {
                    created = Some(ledger.path().to_owned());
                    LedgerSlot::Open(ledger)
                }
                Some(Err(_)) | None => LedgerSlot::Unavailable,
            };
        }
        if let LedgerSlot::Open(ledger) = &mut *slot {
            ledger.append(change);
        }
        created
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Before the guard hears of the end: it removes a ledger that is not locked.
        *self.ledger.get_mut().unwrap_or_else(PoisonError::into_inner) = LedgerSlot::Unavailable;
        // The thread that watches the guard process has a sender too, so the channel does not close by itself.
        let line = self.line.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &line.sender {
            let _ = sender.send(KeeperMessage::End);
        }
    }
}
