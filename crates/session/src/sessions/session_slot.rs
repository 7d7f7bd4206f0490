//! One session in the table: its queue, owners and state. Its task takes the next job from here.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cellist_kernel::{Identity, Order};
use cellist_platform::clock::{in_milliseconds, milliseconds};
use cellist_settings::Policy;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::call::{Principal, SessionCall, SessionKind};
use super::error::SessionError;
use super::key::{ExecutionId, OwnerId, SessionKey};
use super::lookup::Lookup;
use super::loss::LossReason;
use super::policy::SessionRow;
use super::ticket::QueuedCall;
use super::view::{SessionState, SessionView};
use crate::execution::{Cancel, CancelRequest, Canceller, KernelEnding};

/// A session in the table.
pub(super) struct SessionSlot {
    pub(super) key: SessionKey,
    kind: SessionKind,
    queue: VecDeque<SessionJob>,
    running: Option<RunningJob>,
    /// Whether the running code was interrupted and did not stop within the grace period.
    is_stuck: bool,
    pub(super) owners: BTreeSet<OwnerId>,
    /// Whether a caller without an owner id used it.
    pub(super) lasts: bool,
    /// Whether it ends as soon as it is idle.
    pub(super) leaves: bool,
    /// Why it ends, once it does.
    pub(super) ending: Option<LossReason>,
    /// Whether a result of its kernel was delivered.
    pub(super) has_result: bool,
    /// Whether a result was delivered since the session was created.
    pub(super) was_told: bool,
    pub(super) state: SessionState,
    pub(super) restarts: u64,
    kernel: Option<(String, Identity)>,
    /// Launch order of its kernel.
    pub(super) order: Arc<Order>,
    created: SystemTime,
    used: Instant,
    last_used: SystemTime,
    /// Wakes the task.
    pub(super) news: Arc<Notify>,
    /// Set by the task when the session has ended.
    pub(super) gone: watch::Sender<bool>,
}

/// A job for the task of a session.
pub(super) enum SessionJob {
    Call(Box<QueuedCall>),
    Restart {
        answer: oneshot::Sender<Result<(), SessionError>>,
        canceller: Canceller,
    },
    /// A lookup in an idle kernel.
    Lookup {
        look: Lookup,
        canceller: Canceller,
    },
}

/// The running job of a session.
struct RunningJob {
    canceller: Canceller,
    /// The call, if the job is interruptible user code.
    call: Option<ExecutionId>,
    /// The caller of the code.
    caller: Option<Principal>,
    is_resetting: bool,
}

impl SessionSlot {
    pub(super) fn new(call: &SessionCall) -> SessionSlot {
        SessionSlot {
            key: call.key.clone(),
            kind: call.kind.clone(),
            queue: VecDeque::new(),
            running: None,
            is_stuck: false,
            owners: BTreeSet::new(),
            lasts: false,
            leaves: false,
            ending: None,
            has_result: false,
            was_told: false,
            state: SessionState::Starting,
            restarts: 0,
            kernel: None,
            order: call.order.clone(),
            created: SystemTime::now(),
            used: Instant::now(),
            last_used: SystemTime::now(),
            news: Arc::default(),
            gone: watch::Sender::new(false),
        }
    }

    /// Adds a call to the end of the queue.
    pub(super) fn push(&mut self, queued: Box<QueuedCall>) {
        // Any other use turns a tool session into one that does not count towards the limit.
        if self.kind == SessionKind::Tool {
            self.kind = queued.call.kind.clone();
        }
        self.leaves = false;
        self.queue.push_back(SessionJob::Call(queued));
        self.news.notify_one();
    }

    /// Puts a restart at the front of the queue. Ends the running job.
    pub(super) fn push_restart(&mut self, answer: oneshot::Sender<Result<(), SessionError>>) {
        self.end_running(KernelEnding::Restart);
        let canceller = Cancel::channel().0;
        self.queue.push_front(SessionJob::Restart { answer, canceller });
        self.news.notify_one();
    }

    /// Queues a lookup. Returns `false` if the kernel is busy or missing.
    pub(super) fn push_look(&mut self, look: Lookup) -> bool {
        let is_free = self.running.is_none() && self.queue.is_empty() && self.kernel.is_some();
        if is_free {
            self.queue.push_back(SessionJob::Lookup { look, canceller: Cancel::channel().0 });
            self.news.notify_one();
        }
        is_free
    }

    /// Takes the next job, which now runs.
    pub(super) fn take(&mut self) -> Option<SessionJob> {
        let job = self.queue.pop_front()?;
        self.running = Some(match &job {
            SessionJob::Call(queued) => RunningJob {
                canceller: queued.canceller.clone(),
                call: Some(queued.id.clone()),
                caller: queued.call.caller.clone(),
                is_resetting: job.begins_with_reset(),
            },
            SessionJob::Restart { canceller, .. } => {
                RunningJob { canceller: canceller.clone(), call: None, caller: None, is_resetting: true }
            }
            SessionJob::Lookup { canceller, .. } => {
                RunningJob { canceller: canceller.clone(), call: None, caller: None, is_resetting: false }
            }
        });
        self.touch();
        Some(job)
    }

    /// Notes that the running job has ended.
    pub(super) fn rest(&mut self, state: SessionState) {
        self.set_stuck(false);
        self.running = None;
        self.state = state;
        self.touch();
    }

    /// Removes a call from the queue.
    pub(super) fn withdraw(&mut self, id: &ExecutionId) -> Option<Box<QueuedCall>> {
        let is_it = |job: &SessionJob| matches!(job, SessionJob::Call(queued) if queued.id == *id);
        let index = self.queue.iter().position(is_it)?;
        match self.queue.remove(index) {
            Some(SessionJob::Call(queued)) => Some(queued),
            Some(SessionJob::Restart { .. } | SessionJob::Lookup { .. }) | None => None,
        }
    }

    /// Ends the session for this reason. Returns the queued jobs, which the caller must refuse.
    #[must_use]
    pub(super) fn end(&mut self, why: LossReason) -> VecDeque<SessionJob> {
        self.ending = Some(why);
        self.end_running(KernelEnding::Stop);
        self.news.notify_one();
        std::mem::take(&mut self.queue)
    }

    fn end_running(&self, ending: KernelEnding) {
        if let Some(running) = &self.running {
            running.canceller.end(ending);
        }
    }

    /// Forwards a cancel request to the running call. Returns whether one runs.
    pub(super) fn forward(&self, request: CancelRequest) -> bool {
        let call = self.running.as_ref().filter(|running| running.call.is_some());
        if let Some(running) = call {
            running.canceller.pass_on(request);
        }
        call.is_some()
    }

    /// Notes whether the running call ignores its interrupt. Updates the views of the queued calls.
    pub(super) fn set_stuck(&mut self, is_stuck: bool) {
        if std::mem::replace(&mut self.is_stuck, is_stuck) == is_stuck {
            return;
        }
        self.end_if_left();
        let behind = self.stuck();
        for job in &self.queue {
            if let SessionJob::Call(queued) = job {
                queued.set_behind(behind.clone());
            }
        }
    }

    /// Ends a call that ignores its interrupt, if no owner uses its session.
    pub(super) fn end_if_left(&self) {
        if self.is_stuck && self.leaves {
            self.end_running(KernelEnding::Stop);
        }
    }

    /// Returns the running call.
    pub(super) fn running(&self) -> Option<ExecutionId> {
        self.running.as_ref().and_then(|running| running.call.clone())
    }

    /// Returns the running call, if it ignores its interrupt.
    pub(super) fn stuck(&self) -> Option<ExecutionId> {
        self.running().filter(|_| self.is_stuck)
    }

    /// Returns the caller of the running code.
    pub(super) fn acting(&self) -> Option<Option<Principal>> {
        self.running.as_ref().filter(|running| running.call.is_some()).map(|running| running.caller.clone())
    }

    /// Whether a requested kernel restart is running or next in the queue.
    pub(super) fn is_resetting(&self) -> bool {
        match (&self.running, self.queue.front()) {
            (_, Some(SessionJob::Restart { .. })) => true,
            (Some(running), _) => running.is_resetting,
            (None, Some(next)) => next.begins_with_reset(),
            (None, None) => false,
        }
    }

    /// Notes that a reset begins or is done.
    pub(super) fn set_resetting(&mut self, is_resetting: bool) {
        if let Some(running) = &mut self.running {
            running.is_resetting = is_resetting;
        }
    }

    pub(super) fn set_kernel(&mut self, kernel: Option<(String, Identity)>) {
        self.kernel = kernel;
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        self.kernel.as_ref().map(|(_, identity)| identity.clone())
    }

    /// Number of queued jobs.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Number of jobs ahead of a new call.
    pub(super) fn before(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.queue.is_empty()
    }

    pub(super) fn touch(&mut self) {
        (self.used, self.last_used) = (Instant::now(), SystemTime::now());
    }

    /// Returns the properties for the session policy.
    pub(super) fn row(&self, policy: &Policy) -> SessionRow {
        SessionRow {
            counts: self.kind == SessionKind::Tool,
            is_busy: self.is_busy(),
            has_owner: !self.owners.is_empty(),
            used: self.used,
            stays: self.stays(policy),
        }
    }

    /// How long the session stays when unused.
    pub(super) fn stays(&self, policy: &Policy) -> Duration {
        match &self.kind {
            SessionKind::Notebook { .. } => policy.notebook_idle,
            SessionKind::Tool | SessionKind::Run { .. } | SessionKind::Terminal | SessionKind::Command => {
                policy.idle_timeout
            }
        }
    }

    pub(super) fn view(&self, policy: &Policy) -> SessionView {
        let is_unused = !self.is_busy() && self.owners.is_empty();
        let identity = self.kernel.as_ref().map(|(_, identity)| identity);
        SessionView {
            id: self.key.id.clone(),
            cwd: self.key.cwd.clone(),
            notebook: self.kind.notebook().cloned(),
            backend: identity.map_or(self.order.backend(), |identity| identity.backend),
            python: match identity {
                Some(identity) => identity.python.clone(),
                None => self.order.python().map(Into::into),
            },
            kernel_id: self.kernel.as_ref().map(|(id, _)| id.clone()),
            pid: identity.and_then(|identity| identity.pid),
            state: self.state,
            execution: self.running(),
            is_stuck: self.is_stuck,
            queued: self.queue.len(),
            owners: self.owners.iter().cloned().collect(),
            restarts: self.restarts,
            created_ms: milliseconds(self.created),
            last_used_ms: milliseconds(self.last_used),
            stays_ms: in_milliseconds(self.stays(policy)),
            ends_ms: is_unused.then(|| milliseconds(self.last_used + self.stays(policy))),
        }
    }
}

impl SessionJob {
    fn begins_with_reset(&self) -> bool {
        match self {
            SessionJob::Call(queued) => {
                queued.call.reset || queued.call.cells.first().is_some_and(|cell| cell.reset)
            }
            SessionJob::Restart { .. } => true,
            SessionJob::Lookup { .. } => false,
        }
    }

    /// Tells the waiting caller that the session has ended.
    pub(super) fn refuse(self, error: SessionError) {
        match self {
            SessionJob::Call(queued) => queued.deliver(Err(error)),
            // The receiver is gone; nothing to send.
            SessionJob::Restart { answer, .. } => drop(answer.send(Err(error))),
            SessionJob::Lookup { .. } => {}
        }
    }
}
