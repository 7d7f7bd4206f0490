//! Kernel sessions: kernels that stay from one call to the next, each with its queue. One task has a session's kernel and
//! does one thing after the other; who comes in and who has to go is decided in one table, by rules that are tested alone.

mod bridge;
mod call;
mod error;
mod feed;
mod file;
mod gone;
mod key;
mod known;
mod late;
mod launcher;
mod look;
mod policy;
mod retry;
mod running;
mod session_slot;
mod session_table;
mod task;
mod ticket;
mod view;
mod workplace;

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cellist_kernel::{Completion, Identity, Inspection, Order};
use cellist_platform::clock::now_ms;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::execution::Wish;
use gone::Gone;
use known::Known;
use look::Look;
use session_table::SessionTable;
use task::Task;
use ticket::Queued;

pub use bridge::Bridge;
pub use call::{CallReport, Code, CodeReport, Kind, Principal, RunRules, SessionCall};
pub use cellist_settings::{KernelMode, Policy, RetryOnCrash};
pub use error::SessionError;
pub use feed::{RunEvent, RunFeed, RunState, Step};
pub use key::{ExecutionId, OwnerId, SessionKey};
pub use late::{LateOutputs, Notebooks};
pub use launcher::{Launcher, Means};
pub use ticket::{Interruption, Ticket};
pub use view::{CallView, SessionState, SessionView, Stage, StopView};
pub use workplace::Workplace;

/// All kernel sessions of a process. Cheap to clone; all clones are one. Kernels end when [`Sessions::close`] is called,
/// or with the process.
#[derive(Clone)]
pub struct Sessions(Arc<Inner>);

struct Inner {
    policy: Policy,
    means: Means,
    table: Mutex<SessionTable>,
    known: Mutex<Known>,
    notebooks: OnceLock<Arc<dyn Notebooks>>,
    /// Wakes those who show sessions.
    changes: watch::Sender<()>,
}

/// The table while it is locked. Whoever may have changed it wakes those who show sessions.
struct OpenTable<'a> {
    table: MutexGuard<'a, SessionTable>,
    changes: &'a watch::Sender<()>,
    is_changed: bool,
}

impl Deref for OpenTable<'_> {
    type Target = SessionTable;

    fn deref(&self) -> &SessionTable {
        &self.table
    }
}

impl DerefMut for OpenTable<'_> {
    fn deref_mut(&mut self) -> &mut SessionTable {
        self.is_changed = true;
        &mut self.table
    }
}

impl Drop for OpenTable<'_> {
    fn drop(&mut self) {
        if self.is_changed {
            self.changes.send_replace(());
        }
    }
}

impl Inner {
    fn table(&self) -> OpenTable<'_> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        OpenTable { table, changes: &self.changes, is_changed: false }
    }

    /// A session has given its first result.
    fn remember(&self, key: &SessionKey) {
        let now = now_ms();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(key, now);
    }
}

impl Sessions {
    /// No sessions yet. Needs a tokio runtime.
    pub fn new(policy: Policy, means: Means) -> Sessions {
        let known = match means.remembers {
            true => Known::load(&means.home, now_ms()),
            false => Known::default(),
        };
        file::sweep(&means.home);
        let table = Mutex::new(SessionTable::after(known.keys().cloned()));
        let (known, notebooks, changes) = (Mutex::new(known), OnceLock::new(), watch::Sender::new(()));
        let inner = Arc::new(Inner { policy, means, table, known, notebooks, changes });
        let swept = Arc::downgrade(&inner);
        tokio::spawn(async move {
            let mut ticks = interval_at(Instant::now() + policy.sweep, policy.sweep);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                match swept.upgrade() {
                    Some(inner) => inner.table().sweep(&inner.policy, Instant::now()),
                    None => return,
                }
            }
        });
        Sessions(inner)
    }

    /// Names the open notebooks that hear what happens in their sessions between runs: late output, and the end of a
    /// kernel, whatever the cause. Those that are named first stay.
    pub fn tell_notebooks(&self, notebooks: Arc<dyn Notebooks>) {
        let _ = self.0.notebooks.set(notebooks);
    }

    /// Hands a call in. It runs when those before it in its session have ended; what comes of it, also that it cannot be
    /// carried out, the ticket tells.
    pub fn call(&self, call: SessionCall) -> Ticket {
        let (queued, ticket) = Queued::new(call);
        let mut waiting = queued.canceller.listen();
        let admitted = self.0.table().admit(&self.0.policy, Box::new(queued), &ticket);
        match admitted {
            Err((queued, error)) => queued.deliver(Err(error)),
            Ok(newcomer) => {
                if let Some(newcomer) = newcomer {
                    self.0.means.workplace.spawn(Task::new(self.0.clone(), newcomer).run());
                }
                let (inner, ticket) = (Arc::downgrade(&self.0), ticket.clone());
                tokio::spawn(async move {
                    let mut view = ticket.watch();
                    let waits = |view: &CallView| matches!(view.stage, Stage::Queued { .. });
                    loop {
                        let wish = tokio::select! {
                            _ = view.wait_for(|view| !waits(view)) => return,
                            wish = waiting.wish() => wish,
                        };
                        if wish == Wish::HandOver {
                            continue;
                        }
                        // If it has begun meanwhile, the task that runs it hears the same wish.
                        let withdrawn = inner.upgrade().and_then(|inner| inner.table().withdraw(ticket.id()));
                        return match (withdrawn, wish) {
                            (Some(queued), Wish::Withdraw) => queued.give_up(),
                            (Some(queued), _) => queued.withdraw(),
                            (None, _) => {}
                        };
                    }
                });
            }
        }
        ticket
    }

    /// A call by its name: one that waits or runs, or one of the last that have ended.
    pub fn execution(&self, id: &ExecutionId) -> Option<Ticket> {
        self.0.table().ticket(id)
    }

    /// All sessions, the oldest first.
    pub fn list(&self) -> Vec<SessionView> {
        self.0.table().list(&self.0.policy)
    }

    /// Wakes when sessions may be others than they were.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Why the kernel of a session that has ended is gone, in words. The next result in it says the same.
    pub fn gone(&self, key: &SessionKey) -> Option<String> {
        self.0.table().gone(key).map(Gone::words)
    }

    /// The session of this name, in this folder or else in the only folder that has one.
    pub fn find(&self, id: &str, cwd: Option<&Path>) -> Result<SessionKey, SessionError> {
        let mut keys = self.0.table().named(id);
        if let Some(cwd) = cwd {
            keys.retain(|key| key.cwd == cwd);
        }
        match keys.len() {
            0 => Err(SessionError::NoSuchSession { id: id.to_owned() }),
            1 => Ok(keys.remove(0)),
            _ => Err(SessionError::Ambiguous { id: id.to_owned(), keys }),
        }
    }

    /// What the kernel of a session was started by, or will be.
    pub fn order(&self, key: &SessionKey) -> Option<Arc<Order>> {
        self.0.table().order(key)
    }

    /// The way from the code in them to tools.
    pub fn bridge(&self) -> &Bridge {
        &self.0.means.bridge
    }

    /// Who started the code that runs in a session, as far as that is known; `None` when no code runs there.
    pub fn acting(&self, key: &SessionKey) -> Option<Option<Principal>> {
        self.0.table().acting(key)
    }

    /// How code could go on, by a session's kernel; `None` when there is none that has time for it.
    pub async fn complete(&self, key: &SessionKey, code: String, cursor: usize) -> Option<Completion> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.0.table().look(key, Look::Complete { code, cursor, answer });
        if is_asked { answered.await.ok() } else { None }
    }

    /// What a session's kernel knows of the name at a place; `None` when there is none that has time for it.
    pub async fn inspect(&self, key: &SessionKey, code: String, cursor: usize) -> Option<Inspection> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.0.table().look(key, Look::Inspect { code, cursor, answer });
        if is_asked { answered.await.ok() } else { None }
    }

    /// Gives the notebook of a session the late output that has come so far, unless the session is busy.
    pub async fn flush_late(&self, key: &SessionKey) {
        let (answer, answered) = oneshot::channel();
        if self.0.table().look(key, Look::Late(answer)) {
            let _ = answered.await;
        }
    }

    /// The identity of a session's kernel.
    pub fn identity(&self, key: &SessionKey) -> Option<Identity> {
        self.0.table().identity(key)
    }

    /// Interrupts the running code of a session, and returns whether code ran. The kernel is not killed.
    pub fn interrupt(&self, key: &SessionKey) -> Result<bool, SessionError> {
        self.0.table().wish(key, Wish::Stop)
    }

    /// The call that runs in a session.
    pub fn running(&self, key: &SessionKey) -> Result<Option<Ticket>, SessionError> {
        self.0.table().running(key)
    }

    /// Gives a session a new kernel, before all that waits in it; what runs is ended. Returns when the kernel is ready.
    pub async fn restart(&self, key: &SessionKey) -> Result<(), SessionError> {
        let (answer, answered) = oneshot::channel();
        self.0.table().restart(key, answer)?;
        answered.await.unwrap_or_else(|_| Err(SessionError::Ended { id: key.id.clone() }))
    }

    /// Ends a session with all that runs and waits in it. Returns when nothing is left of it.
    pub async fn stop(&self, key: &SessionKey) -> Result<(), SessionError> {
        let gone = self.0.table().stop(key)?;
        all_gone(vec![gone]).await;
        Ok(())
    }

    /// Somebody is there from now on: sessions that they call in stay as long as they do.
    pub fn join(&self, owner: OwnerId) {
        self.0.table().join(owner);
    }

    /// Somebody who is there uses a session, without a call.
    pub fn attach(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), SessionError> {
        self.0.table().attach(owner, key)
    }

    /// Somebody has gone. What they asked for goes on; sessions that nobody else uses end after that.
    pub fn leave(&self, owner: &OwnerId) {
        self.0.table().leave(owner);
    }

    /// Ends everything. Returns when nothing is left.
    pub async fn close(&self) {
        let ended = self.0.table().close();
        all_gone(ended).await;
    }
}

async fn all_gone(ended: Vec<watch::Receiver<bool>>) {
    for mut gone in ended {
        // A task that is not there any more has nothing left.
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

#[cfg(test)]
mod tests;
