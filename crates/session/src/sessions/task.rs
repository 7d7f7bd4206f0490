//! The task of one session. It owns the kernel and works through the queue.

use std::sync::Arc;

use cellist_kernel::process::has_files_for_a_kernel;
use cellist_kernel::{Death, Error, Event, Kernel, Order, Started, State};
use cellist_platform::contained::{Panicked, contained};
use cellist_platform::names;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::bridge::{BridgePass, equip};
use super::call::SessionCall;
use super::error::SessionError;
use super::file::{SessionFile, variables};
use super::late::LateQueue;
use super::lookup::Lookup;
use super::loss::LossReason;
use super::session_slot::{SessionJob, SessionSlot};
use super::session_table::{NewSession, NextStep};
use super::view::SessionState;
use super::{SharedSessions, all_gone};
use crate::execution::{Cancel, CancelRequest, Surroundings};

/// The task of a session.
pub(super) struct SessionTask {
    pub(super) inner: Arc<SharedSessions>,
    pub(super) slot: u64,
    news: Arc<Notify>,
    pub(super) live: Option<LiveKernel>,
    /// Late output between runs.
    pub(super) late: LateQueue,
    /// Launch order of the last kernel.
    order: Option<Arc<Order>>,
    /// Why the kernel of the session's last result is gone.
    pub(super) gone: Option<LossReason>,
    /// Whether a result was delivered.
    pub(super) has_result: bool,
    /// Number of kernels that died in a row, without a completed run between them.
    pub(super) crashes: u32,
    started: u64,
    file: Option<SessionFile>,
}

/// The kernel of the session.
pub(super) struct LiveKernel {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) id: String,
    pub(super) around: Surroundings,
    /// Whether it has run user code.
    pub(super) has_run: bool,
    /// Lets its code call tools while the kernel lives.
    _pass: Option<BridgePass>,
}

/// An event while the session is idle.
enum IdleEvent {
    /// A job is queued, or late output is due.
    News,
    Late(Event),
    Beat {
        silent: bool,
    },
    Death(Death),
}

/// Why no kernel is ready.
pub(super) enum NotReady {
    /// The kernel did not start.
    Failed(SessionError),
    /// The call was cancelled first.
    Unwanted(CancelRequest),
}

impl SessionTask {
    pub(super) fn new(inner: Arc<SharedSessions>, newcomer: NewSession) -> SessionTask {
        let news = inner.table().slot(newcomer.slot).map(|slot| slot.news.clone()).unwrap_or_default();
        SessionTask {
            inner,
            slot: newcomer.slot,
            news,
            live: None,
            late: LateQueue::default(),
            order: None,
            has_result: newcomer.before.is_some(),
            gone: newcomer.before,
            crashes: 0,
            started: 0,
            file: None,
        }
    }

    /// Works through the queue until the session ends. A panic ends the session too: its callers get an error, its
    /// kernel ends, and the next call starts a new one.
    pub(super) async fn run(mut self) {
        let failed = contained(self.work()).await.and_then(|done| done).err();
        if let Some(panicked) = &failed {
            self.inner.table().fail(self.slot, panicked);
        }
        let why = if failed.is_some() { LossReason::Failed } else { LossReason::Stopped };
        // A kernel that cannot be shut down is killed on drop.
        if contained(self.lose(why)).await.is_err() {
            self.live = None;
        }
        // The file must be gone before the end is published.
        self.file = None;
        self.inner.table().ended(self.slot);
    }

    async fn work(&mut self) -> Result<(), Panicked> {
        loop {
            let next = self.inner.table().next(self.slot);
            match next {
                NextStep::Work(SessionJob::Call(queued)) => self.carry_out(*queued).await?,
                NextStep::Work(SessionJob::Restart { answer, canceller }) => {
                    let done = self.restart(&mut canceller.listen()).await;
                    self.rest();
                    // The receiver may be gone; nothing to send.
                    let _ = answer.send(done);
                }
                NextStep::Work(SessionJob::Lookup { look: Lookup::Late(answer), .. }) => {
                    self.drain_late().await;
                    self.rest();
                    let _ = answer.send(());
                }
                NextStep::Work(SessionJob::Lookup { look, canceller }) => {
                    if let Some(live) = &self.live {
                        look.carry_out(&*live.kernel, &mut canceller.listen()).await;
                    }
                    self.rest();
                }
                NextStep::Wait => self.wait().await,
                NextStep::End => return Ok(()),
            }
        }
    }

    /// Updates the session file. The kernel works without it if it cannot be written.
    pub(super) fn write_file(&mut self, call: &SessionCall) {
        let written = match &mut self.file {
            Some(file) => file.update(call),
            None => SessionFile::create(&self.inner.means.home, call).map(|file| self.file = Some(file)),
        };
        if written.is_err() {
            self.file = None;
        }
    }

    /// Adds the session file, the artifact folder, helpers and the tool bridge to a launch order.
    fn given(&self, order: &Order, pass: Option<&BridgePass>) -> Order {
        let mut order = order.clone();
        let artifacts = self.inner.means.artifacts.made_folder();
        order.environment.extend(variables(self.file.as_ref(), artifacts));
        equip(&mut order, pass);
        order
    }

    /// Updates the session in the table.
    pub(super) fn show(&self, change: impl FnOnce(&mut SessionSlot)) {
        if let Some(slot) = self.inner.table().slot(self.slot) {
            change(slot);
        }
    }

    /// Notes that a result of the kernel was delivered.
    pub(super) fn note_result(&self) {
        let first = self.inner.table().note_result(self.slot);
        if let Some(key) = first {
            self.inner.remember(&key);
        }
    }

    /// Notes that the running job has ended.
    pub(super) fn rest(&self) {
        let state = if self.live.is_some() { SessionState::Idle } else { SessionState::Dead };
        self.show(|slot| slot.rest(state));
    }

    /// Waits for a job. Meanwhile collects late output and checks the kernel's heartbeat.
    async fn wait(&mut self) {
        let Some(live) = &self.live else { return self.news.notified().await };
        let mut state = live.kernel.state();
        let beat = async {
            sleep(self.inner.policy.heartbeat).await;
            live.kernel.beat().await
        };
        let (due, gathers) = (self.late.due(), self.late.has_room());
        let met = tokio::select! {
            biased;
            () = self.news.notified() => IdleEvent::News,
            dead = state.wait_for(|state| matches!(state, State::Dead(_))) => {
                IdleEvent::Death(death(dead.as_deref().ok()))
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => IdleEvent::News,
            event = live.kernel.late(), if gathers => IdleEvent::Late(event),
            answer = beat => match answer {
                Err(Error::Dead { death }) => IdleEvent::Death(death),
                // A kernel that does not answer may be suspended or busy in a thread, so it is kept.
                answer => IdleEvent::Beat { silent: matches!(answer, Err(Error::NoAnswer { .. })) },
            },
        };
        match met {
            IdleEvent::News => self.put_late().await,
            IdleEvent::Late(event) => self.late.hear(event),
            IdleEvent::Beat { silent } => {
                let state = if silent { SessionState::Silent } else { SessionState::Idle };
                self.show(|slot| {
                    if !slot.is_busy() {
                        slot.state = state
                    }
                });
            }
            IdleEvent::Death(death) => {
                self.lose(LossReason::Died(death)).await;
                self.show(|slot| slot.state = SessionState::Dead);
            }
        }
    }

    /// Shuts the kernel down with its child processes.
    pub(super) async fn lose(&mut self, why: LossReason) {
        self.drain_late().await;
        let Some(live) = &self.live else { return };
        if let Some(notebooks) = self.inner.notebooks.get() {
            notebooks.lose_kernel(&live.id).await;
        }
        live.kernel.shutdown().await;
        // The last output of the kernel.
        self.drain_late().await;
        self.live = None;
        if self.has_result && self.gone.is_none() {
            self.gone = Some(why);
        }
        self.show(|slot| slot.set_kernel(None));
    }

    async fn restart(&mut self, cancel: &mut Cancel) -> Result<(), SessionError> {
        self.lose(LossReason::Restarted).await;
        let Some(order) = self.order.clone() else { return Ok(()) };
        match self.ready(&order, cancel).await {
            Ok(_) => Ok(()),
            Err(NotReady::Failed(error)) => Err(error),
            // The session ended instead of restarting.
            Err(NotReady::Unwanted(_)) => Err(self.ended()),
        }
    }

    /// The error for callers when the session ended first.
    pub(super) fn ended(&self) -> SessionError {
        let id = self.inner.table().slot(self.slot).map(|slot| slot.key.id.clone());
        SessionError::Ended { id: id.unwrap_or_default() }
    }

    /// Returns a notice if the current kernel differs from the one the call asks for.
    pub(super) fn other_kernel(&self, wanted: &Order) -> Option<String> {
        let (_, order) = self.live.as_ref().zip(self.order.as_ref())?;
        let name = |order: &Order| match order.python() {
            Some(python) => format!("{} on {}", order.backend(), python.display()),
            None => order.backend().to_string(),
        };
        let (has, wants) = (name(order), name(wanted));
        (has != wants).then(|| format!("the session's kernel is {has}, not {wants}; a reset switches to it"))
    }

    /// Ensures that a kernel can run code. Returns the notices of a new kernel.
    pub(super) async fn ready(
        &mut self,
        order: &Arc<Order>,
        cancel: &mut Cancel,
    ) -> Result<Vec<String>, NotReady> {
        let dead = self.live.as_ref().and_then(|live| match &*live.kernel.state().borrow() {
            State::Dead(death) => Some(death.clone()),
            State::Starting | State::Idle | State::Busy(_) => None,
        });
        if let Some(death) = dead {
            self.lose(LossReason::Died(death)).await;
        }
        if self.live.is_some() {
            return Ok(Vec::new());
        }
        let unwanted = tokio::select! {
            biased;
            request = cancel.stopped() => request,
            started = self.start(order) => {
                return started.map_err(|error| NotReady::Failed(SessionError::start(&error, order)));
            }
        };
        Err(NotReady::Unwanted(unwanted))
    }

    /// Starts a kernel. If file descriptors run out, unused sessions are ended, and the start is retried once.
    async fn start(&mut self, order: &Arc<Order>) -> cellist_kernel::Result<Vec<String>> {
        self.show(|slot| {
            slot.state = SessionState::Starting;
            slot.order = Arc::clone(order);
        });
        self.order = Some(Arc::clone(order));
        let key = self.inner.table().slot(self.slot).map(|slot| slot.key.clone());
        let pass = key.and_then(|key| self.inner.means.bridge.pass(order, &key));
        let order = &self.given(order, pass.as_ref());
        let launcher = &self.inner.means.launcher;
        let mut started = launcher.launch(order).await;
        if is_out_of_files(&started) {
            let shed = self.inner.table().shed(&self.inner.policy);
            all_gone(shed).await;
            started = launcher.launch(order).await;
        }
        if is_out_of_files(&started) && order.make_room().await {
            started = launcher.launch(order).await;
        }
        let Started { kernel, notices } = started?;
        let around = order.around.clone();
        let id = names::random();
        let (shown, restarts) = ((id.clone(), kernel.identity()), self.started);
        self.started += 1;
        self.show(|slot| {
            slot.set_kernel(Some(shown));
            slot.restarts = restarts;
        });
        self.live = Some(LiveKernel { kernel, id, around, has_run: false, _pass: pass });
        Ok(notices)
    }
}

/// Whether the start failed for lack of file descriptors, even if the error looks different.
fn is_out_of_files(started: &cellist_kernel::Result<Started>) -> bool {
    started.as_ref().is_err_and(|error| error.is_out_of_files() || !has_files_for_a_kernel())
}

fn death(state: Option<&State>) -> Death {
    match state {
        Some(State::Dead(death)) => death.clone(),
        Some(State::Starting | State::Idle | State::Busy(_)) | None => Death::Unknown,
    }
}
