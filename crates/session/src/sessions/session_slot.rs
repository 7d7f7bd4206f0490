//! One session as all others see it: its place in the table, its queue, who uses it. The task that has the kernel looks
//! here for what to do next.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cellist_kernel::{Identity, Order};
use cellist_platform::clock::{in_milliseconds, milliseconds};
use cellist_settings::Policy;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use super::call::{Kind, Principal, SessionCall};
use super::error::SessionError;
use super::gone::Gone;
use super::key::{ExecutionId, OwnerId, SessionKey};
use super::look::Look;
use super::policy::Row;
use super::ticket::Queued;
use super::view::{SessionState, SessionView};
use crate::execution::{Cancel, Canceller, Ending, Wish};

/// A session in the table.
pub(super) struct SessionSlot {
    pub(super) key: SessionKey,
    kind: Kind,
    queue: VecDeque<Job>,
    running: Option<Running>,
    /// Whether the running code was interrupted and has not stopped within the grace.
    is_stuck: bool,
    pub(super) owners: BTreeSet<OwnerId>,
    /// Whether somebody without a name counts on it.
    pub(super) lasts: bool,
    /// Whether it goes as soon as it has nothing to do.
    pub(super) leaves: bool,
    /// Why it ends, once it does.
    pub(super) ending: Option<Gone>,
    /// Whether any result was told that stood on its kernel.
    pub(super) has_result: bool,
    /// Whether one was since it was made.
    pub(super) was_told: bool,
    pub(super) state: SessionState,
    pub(super) restarts: u64,
    kernel: Option<(String, Identity)>,
    /// What its kernel was started by, or will be.
    pub(super) order: Arc<Order>,
    created: SystemTime,
    used: Instant,
    last_used: SystemTime,
    /// Told to the task: look here.
    pub(super) news: Arc<Notify>,
    /// Told by the task: nothing is left of it.
    pub(super) gone: watch::Sender<bool>,
}

/// What a session has to do.
pub(super) enum Job {
    Call(Box<Queued>),
    Restart {
        answer: oneshot::Sender<Result<(), SessionError>>,
        canceller: Canceller,
    },
    /// Something to look up in a kernel that has nothing else to do.
    Look {
        look: Look,
        canceller: Canceller,
    },
}

/// What a session is doing.
struct Running {
    canceller: Canceller,
    /// The call, where it is code of a user, that can be interrupted.
    call: Option<ExecutionId>,
    /// Who started it.
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

    /// Puts a call at the end of the queue.
    pub(super) fn push(&mut self, queued: Box<Queued>) {
        // Whatever a tool's session is used for besides makes it more than that.
        if self.kind == Kind::Tool {
            self.kind = queued.call.kind.clone();
        }
        self.leaves = false;
        self.queue.push_back(Job::Call(queued));
        self.news.notify_one();
    }

    /// Puts a restart before everything that waits, and ends what runs.
    pub(super) fn push_restart(&mut self, answer: oneshot::Sender<Result<(), SessionError>>) {
        self.end_running(Ending::Restart);
        let canceller = Cancel::channel().0;
        self.queue.push_front(Job::Restart { answer, canceller });
        self.news.notify_one();
    }

    /// Puts something to look up into the queue. `false` when the kernel is busy, or there is none.
    pub(super) fn push_look(&mut self, look: Look) -> bool {
        let is_free = self.running.is_none() && self.queue.is_empty() && self.kernel.is_some();
        if is_free {
            self.queue.push_back(Job::Look { look, canceller: Cancel::channel().0 });
            self.news.notify_one();
        }
        is_free
    }

    /// Takes the next job; from now on it runs.
    pub(super) fn take(&mut self) -> Option<Job> {
        let job = self.queue.pop_front()?;
        self.running = Some(match &job {
            Job::Call(queued) => Running {
                canceller: queued.canceller.clone(),
                call: Some(queued.id.clone()),
                caller: queued.call.caller.clone(),
                is_resetting: job.begins_with_reset(),
            },
            Job::Restart { canceller, .. } => {
                Running { canceller: canceller.clone(), call: None, caller: None, is_resetting: true }
            }
            Job::Look { canceller, .. } => {
                Running { canceller: canceller.clone(), call: None, caller: None, is_resetting: false }
            }
        });
        self.touch();
        Some(job)
    }

    /// What ran has ended.
    pub(super) fn rest(&mut self, state: SessionState) {
        self.set_stuck(false);
        self.running = None;
        self.state = state;
        self.touch();
    }

    /// Takes a call out of the queue.
    pub(super) fn withdraw(&mut self, id: &ExecutionId) -> Option<Box<Queued>> {
        let is_it = |job: &Job| matches!(job, Job::Call(queued) if queued.id == *id);
        let index = self.queue.iter().position(is_it)?;
        match self.queue.remove(index) {
            Some(Job::Call(queued)) => Some(queued),
            Some(Job::Restart { .. } | Job::Look { .. }) | None => None,
        }
    }

    /// Ends the session, for this reason. Returns what waited in it, to be told so.
    #[must_use]
    pub(super) fn end(&mut self, why: Gone) -> VecDeque<Job> {
        self.ending = Some(why);
        self.end_running(Ending::Stop);
        self.news.notify_one();
        std::mem::take(&mut self.queue)
    }

    fn end_running(&self, ending: Ending) {
        if let Some(running) = &self.running {
            running.canceller.end(ending);
        }
    }

    /// Passes a wish on to the call that runs. Returns whether one runs.
    pub(super) fn wish(&self, wish: Wish) -> bool {
        let call = self.running.as_ref().filter(|running| running.call.is_some());
        if let Some(running) = call {
            running.canceller.pass_on(wish);
        }
        call.is_some()
    }

    /// Notes whether the call that runs does not stop, and tells the calls that wait for it.
    pub(super) fn set_stuck(&mut self, is_stuck: bool) {
        if std::mem::replace(&mut self.is_stuck, is_stuck) == is_stuck {
            return;
        }
        self.end_if_left();
        let behind = self.stuck();
        for job in &self.queue {
            if let Job::Call(queued) = job {
                queued.set_behind(behind.clone());
            }
        }
    }

    /// Ends a call that does not stop and whose session nobody uses any more.
    pub(super) fn end_if_left(&self) {
        if self.is_stuck && self.leaves {
            self.end_running(Ending::Stop);
        }
    }

    /// The call that runs.
    pub(super) fn running(&self) -> Option<ExecutionId> {
        self.running.as_ref().and_then(|running| running.call.clone())
    }

    /// The call that runs, where it does not stop.
    pub(super) fn stuck(&self) -> Option<ExecutionId> {
        self.running().filter(|_| self.is_stuck)
    }

    /// Who started the code that runs.
    pub(super) fn acting(&self) -> Option<Option<Principal>> {
        self.running.as_ref().filter(|running| running.call.is_some()).map(|running| running.caller.clone())
    }

    /// Whether a kernel is being restarted on somebody's wish, or is about to be.
    pub(super) fn is_resetting(&self) -> bool {
        match (&self.running, self.queue.front()) {
            (_, Some(Job::Restart { .. })) => true,
            (Some(running), _) => running.is_resetting,
            (None, Some(next)) => next.begins_with_reset(),
            (None, None) => false,
        }
    }

    /// Takes note that a reset begins or is done.
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

    /// How many calls wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// How many calls are before one that comes now.
    pub(super) fn before(&self) -> usize {
        self.queue.len() + usize::from(self.running.is_some())
    }

    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || !self.queue.is_empty()
    }

    pub(super) fn touch(&mut self) {
        (self.used, self.last_used) = (Instant::now(), SystemTime::now());
    }

    /// As the decisions about sessions see it.
    pub(super) fn row(&self, policy: &Policy) -> Row {
        Row {
            counts: self.kind == Kind::Tool,
            is_busy: self.is_busy(),
            has_owner: !self.owners.is_empty(),
            used: self.used,
            stays: self.stays(policy),
        }
    }

    /// How long it stays when nobody uses it.
    pub(super) fn stays(&self, policy: &Policy) -> Duration {
        match &self.kind {
            Kind::Notebook { .. } => policy.notebook_idle,
            Kind::Tool | Kind::Run { .. } | Kind::Terminal | Kind::Command => policy.idle_timeout,
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

impl Job {
    fn begins_with_reset(&self) -> bool {
        match self {
            Job::Call(queued) => {
                queued.call.reset || queued.call.cells.first().is_some_and(|cell| cell.reset)
            }
            Job::Restart { .. } => true,
            Job::Look { .. } => false,
        }
    }

    /// Tells whoever waits for it that the session has ended.
    pub(super) fn refuse(self, error: SessionError) {
        match self {
            Job::Call(queued) => queued.deliver(Err(error)),
            // Who does not wait any more need not know.
            Job::Restart { answer, .. } => drop(answer.send(Err(error))),
            Job::Look { .. } => {}
        }
    }
}
