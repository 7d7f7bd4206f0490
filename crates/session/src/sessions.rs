//! Kernel sessions: kernels that outlive a call, each with a queue. One task owns a session's kernel and works
//! through its queue. One table admits calls and ends sessions, by rules that are tested alone.

mod bridge;
mod call;
mod error;
mod feed;
mod file;
mod key;
mod late;
mod launcher;
mod ledger;
mod lookup;
mod loss;
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

use crate::execution::CancelRequest;
use ledger::SessionLedger;
use lookup::Lookup;
use loss::LossReason;
use session_table::SessionTable;
use task::SessionTask;
use ticket::QueuedCall;

pub use bridge::Bridge;
pub use call::{CallReport, Code, CodeReport, Principal, RunRules, SessionCall, SessionKind};
pub use cellist_settings::{KernelMode, Policy, RetryOnCrash};
pub use error::SessionError;
pub use feed::{CellStep, RunEvent, RunFeed, RunState};
pub use key::{ExecutionId, OwnerId, SessionKey};
pub use late::{LateOutputs, Notebooks};
pub use launcher::{Launcher, SessionServices};
pub use ticket::{Interruption, Ticket};
pub use view::{CallView, SessionState, SessionView, Stage, StopView};
pub use workplace::Workplace;

/// All kernel sessions of a process.
///
/// - Ownership: clones share one set of sessions. Each session has a task that owns its kernel. Kernels end with
///   [`Sessions::close`] or with the process.
/// - Order: the calls of one session run in order of arrival. Calls of different sessions run concurrently. A
///   restart goes before all queued calls.
/// - Cancellation: dropping a future or a [`Ticket`] cancels nothing. [`Ticket::canceller`],
///   [`Sessions::interrupt`] and [`Sessions::stop`] do.
/// - Errors: [`Sessions::call`] never fails itself; its ticket carries the error. A panic in a task ends only that
///   session. Its callers get [`SessionError::Failed`].
#[derive(Clone)]
pub struct Sessions(Arc<SharedSessions>);

struct SharedSessions {
    policy: Policy,
    means: SessionServices,
    table: Mutex<SessionTable>,
    known: Mutex<SessionLedger>,
    notebooks: OnceLock<Arc<dyn Notebooks>>,
    /// Notifies observers of the session list.
    changes: watch::Sender<()>,
}

/// The locked table. Notifies observers of the session list on drop, if the table was borrowed mutably.
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

impl SharedSessions {
    fn table(&self) -> OpenTable<'_> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        OpenTable { table, changes: &self.changes, is_changed: false }
    }

    /// Records a session after its first result.
    fn remember(&self, key: &SessionKey) {
        let now = now_ms();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).add(key, now);
    }
}

impl Sessions {
    /// Creates an empty set of sessions. Needs a tokio runtime.
    pub fn new(policy: Policy, means: SessionServices) -> Sessions {
        let known = match means.remembers {
            true => SessionLedger::load(&means.home, now_ms()),
            false => SessionLedger::default(),
        };
        file::sweep(&means.home);
        let table = Mutex::new(SessionTable::after(known.keys().cloned()));
        let (known, notebooks, changes) = (Mutex::new(known), OnceLock::new(), watch::Sender::new(()));
        let inner = Arc::new(SharedSessions { policy, means, table, known, notebooks, changes });
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

    /// Registers the open notebooks, which receive late output and the loss of kernels. Later registrations are
    /// ignored.
    pub fn set_notebooks(&self, notebooks: Arc<dyn Notebooks>) {
        let _ = self.0.notebooks.set(notebooks);
    }

    /// Queues a call. It runs after the earlier calls of its session. The ticket carries the report or the error.
    pub fn call(&self, call: SessionCall) -> Ticket {
        let (queued, ticket) = QueuedCall::new(call);
        let mut waiting = queued.canceller.listen();
        let admitted = self.0.table().admit(&self.0.policy, Box::new(queued), &ticket);
        match admitted {
            Err((queued, error)) => queued.deliver(Err(error)),
            Ok(newcomer) => {
                if let Some(newcomer) = newcomer {
                    self.0.means.workplace.spawn(SessionTask::new(self.0.clone(), newcomer).run());
                }
                let (inner, ticket) = (Arc::downgrade(&self.0), ticket.clone());
                tokio::spawn(async move {
                    let mut view = ticket.watch();
                    let waits = |view: &CallView| matches!(view.stage, Stage::Queued { .. });
                    loop {
                        let request = tokio::select! {
                            _ = view.wait_for(|view| !waits(view)) => return,
                            request = waiting.next_request() => request,
                        };
                        if request == CancelRequest::HandOver {
                            continue;
                        }
                        // If the call has begun meanwhile, its task receives the same request.
                        let withdrawn = inner.upgrade().and_then(|inner| inner.table().withdraw(ticket.id()));
                        return match (withdrawn, request) {
                            (Some(queued), CancelRequest::Withdraw) => queued.give_up(),
                            (Some(queued), _) => queued.withdraw(),
                            (None, _) => {}
                        };
                    }
                });
            }
        }
        ticket
    }

    /// Finds a call by its id: queued, running, or recently ended.
    pub fn execution(&self, id: &ExecutionId) -> Option<Ticket> {
        self.0.table().ticket(id)
    }

    /// Lists all sessions, the oldest first.
    pub fn list(&self) -> Vec<SessionView> {
        self.0.table().list(&self.0.policy)
    }

    /// Returns a receiver that wakes when the session list may have changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Explains why the kernel of an ended session is gone. The next result in the session says the same.
    pub fn gone(&self, key: &SessionKey) -> Option<String> {
        self.0.table().gone(key).map(LossReason::words)
    }

    /// Finds a session by name, in this folder or in the only folder that has one.
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

    /// Returns the launch order of a session's kernel.
    pub fn order(&self, key: &SessionKey) -> Option<Arc<Order>> {
        self.0.table().order(key)
    }

    /// The bridge from kernel code to tools.
    pub fn bridge(&self) -> &Bridge {
        &self.0.means.bridge
    }

    /// Returns the caller of the running code, if known. The outer `None` means that no code runs.
    pub fn acting(&self, key: &SessionKey) -> Option<Option<Principal>> {
        self.0.table().acting(key)
    }

    /// Asks a session's kernel for completions; `None` if there is no idle kernel.
    pub async fn complete(&self, key: &SessionKey, code: String, cursor: usize) -> Option<Completion> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.0.table().look(key, Lookup::Complete { code, cursor, answer });
        if is_asked { answered.await.ok() } else { None }
    }

    /// Asks a session's kernel about the name at the cursor; `None` if there is no idle kernel.
    pub async fn inspect(&self, key: &SessionKey, code: String, cursor: usize) -> Option<Inspection> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.0.table().look(key, Lookup::Inspect { code, cursor, answer });
        if is_asked { answered.await.ok() } else { None }
    }

    /// Delivers the late output of a session to its notebook, unless the session is busy.
    pub async fn flush_late(&self, key: &SessionKey) {
        let (answer, answered) = oneshot::channel();
        if self.0.table().look(key, Lookup::Late(answer)) {
            let _ = answered.await;
        }
    }

    /// Returns the identity of a session's kernel.
    pub fn identity(&self, key: &SessionKey) -> Option<Identity> {
        self.0.table().identity(key)
    }

    /// Interrupts the running code of a session. Returns whether code ran. Does not kill the kernel.
    pub fn interrupt(&self, key: &SessionKey) -> Result<bool, SessionError> {
        self.0.table().forward(key, CancelRequest::Stop)
    }

    /// Returns the running call of a session.
    pub fn running(&self, key: &SessionKey) -> Result<Option<Ticket>, SessionError> {
        self.0.table().running(key)
    }

    /// Restarts the kernel of a session before its queued calls. Ends the running call. Returns when the kernel is
    /// ready.
    pub async fn restart(&self, key: &SessionKey) -> Result<(), SessionError> {
        let (answer, answered) = oneshot::channel();
        self.0.table().restart(key, answer)?;
        answered.await.unwrap_or_else(|_| Err(SessionError::Ended { id: key.id.clone() }))
    }

    /// Ends a session with its running and queued calls. Returns when its kernel is gone.
    pub async fn stop(&self, key: &SessionKey) -> Result<(), SessionError> {
        let gone = self.0.table().stop(key)?;
        all_gone(vec![gone]).await;
        Ok(())
    }

    /// Registers an owner. Sessions that it calls stay as long as it does.
    pub fn join(&self, owner: OwnerId) {
        self.0.table().join(owner);
    }

    /// Lets a registered owner use a session without a call.
    pub fn attach(&self, owner: &OwnerId, key: &SessionKey) -> Result<(), SessionError> {
        self.0.table().attach(owner, key)
    }

    /// Removes an owner. Its calls run on; sessions without other owners end after that.
    pub fn leave(&self, owner: &OwnerId) {
        self.0.table().leave(owner);
    }

    /// Ends all sessions. Returns when their kernels are gone.
    pub async fn close(&self) {
        let ended = self.0.table().close();
        all_gone(ended).await;
    }
}

async fn all_gone(ended: Vec<watch::Receiver<bool>>) {
    for mut gone in ended {
        // The task is gone, and its kernel with it.
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

#[cfg(test)]
mod tests;
