//! The task of one session: it has the kernel, and does what the table says, one thing after the other.

use std::sync::Arc;

use cellist_kernel::process::has_files_for_a_kernel;
use cellist_kernel::{Death, Error, Event, Kernel, Order, Started, State};
use cellist_platform::contained::{Panicked, contained};
use cellist_platform::names;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::bridge::{Pass, equip};
use super::call::SessionCall;
use super::error::SessionError;
use super::file::{SessionFile, variables};
use super::gone::Gone;
use super::late::Gathered;
use super::look::Look;
use super::session_slot::{Job, SessionSlot};
use super::session_table::{Newcomer, Next};
use super::view::SessionState;
use super::{Inner, all_gone};
use crate::execution::{Cancel, Surroundings, Wish};

/// A session's task.
pub(super) struct Task {
    pub(super) inner: Arc<Inner>,
    pub(super) slot: u64,
    news: Arc<Notify>,
    pub(super) live: Option<Live>,
    /// Late output that came between runs.
    pub(super) late: Gathered,
    /// What the last kernel was started by.
    order: Option<Arc<Order>>,
    /// Why the kernel is gone that the session's last result stood on.
    pub(super) gone: Option<Gone>,
    /// Whether any result was told.
    pub(super) has_result: bool,
    /// How many kernels died in a row without a run that came to its end.
    pub(super) crashes: u32,
    started: u64,
    file: Option<SessionFile>,
}

/// A kernel that is there.
pub(super) struct Live {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) id: String,
    pub(super) around: Surroundings,
    /// Whether it has run code of its user.
    pub(super) has_run: bool,
    /// What lets its code call tools, while it lives.
    _pass: Option<Pass>,
}

/// An event that a session with nothing to do meets.
enum Met {
    /// There is something to do, or late output to write.
    News,
    Late(Event),
    Beat {
        silent: bool,
    },
    Death(Death),
}

/// Why there is no kernel.
pub(super) enum NotReady {
    /// It does not start.
    Failed(SessionError),
    /// Nobody wants it any more.
    Unwanted(Wish),
}

impl Task {
    pub(super) fn new(inner: Arc<Inner>, newcomer: Newcomer) -> Task {
        let news = inner.table().slot(newcomer.slot).map(|slot| slot.news.clone()).unwrap_or_default();
        Task {
            inner,
            slot: newcomer.slot,
            news,
            live: None,
            late: Gathered::default(),
            order: None,
            has_result: newcomer.before.is_some(),
            gone: newcomer.before,
            crashes: 0,
            started: 0,
            file: None,
        }
    }

    /// Does what there is to do until the session ends. A fault of ours ends it too: its callers are told, its kernel goes,
    /// and the next call begins anew.
    pub(super) async fn run(mut self) {
        let failed = contained(self.work()).await.and_then(|done| done).err();
        if let Some(panicked) = &failed {
            self.inner.table().fail(self.slot, panicked);
        }
        let why = if failed.is_some() { Gone::Failed } else { Gone::Stopped };
        // A kernel that cannot be asked to end is killed when it is dropped.
        if contained(self.lose(why)).await.is_err() {
            self.live = None;
        }
        // Nothing of it is left when others hear of its end.
        self.file = None;
        self.inner.table().ended(self.slot);
    }

    async fn work(&mut self) -> Result<(), Panicked> {
        loop {
            let next = self.inner.table().next(self.slot);
            match next {
                Next::Work(Job::Call(queued)) => self.carry_out(*queued).await?,
                Next::Work(Job::Restart { answer, canceller }) => {
                    let done = self.restart(&mut canceller.listen()).await;
                    self.rest();
                    // Who does not wait any more need not know.
                    let _ = answer.send(done);
                }
                Next::Work(Job::Look { look: Look::Late(answer), .. }) => {
                    self.drain_late().await;
                    self.rest();
                    let _ = answer.send(());
                }
                Next::Work(Job::Look { look, canceller }) => {
                    if let Some(live) = &self.live {
                        look.carry_out(&*live.kernel, &mut canceller.listen()).await;
                    }
                    self.rest();
                }
                Next::Wait => self.wait().await,
                Next::End => return Ok(()),
            }
        }
    }

    /// Brings the session's file up to date. A kernel does without one that cannot be written.
    pub(super) fn write_file(&mut self, call: &SessionCall) {
        let written = match &mut self.file {
            Some(file) => file.update(call),
            None => SessionFile::create(&self.inner.means.home, call).map(|file| self.file = Some(file)),
        };
        if written.is_err() {
            self.file = None;
        }
    }

    /// What a kernel is given beside what was ordered: where its session and the artifacts are, helpers, and the way to
    /// tools.
    fn given(&self, order: &Order, pass: Option<&Pass>) -> Order {
        let mut order = order.clone();
        let artifacts = self.inner.means.artifacts.made_folder();
        order.environment.extend(variables(self.file.as_ref(), artifacts));
        equip(&mut order, pass);
        order
    }

    /// Changes how the session is seen.
    pub(super) fn show(&self, change: impl FnOnce(&mut SessionSlot)) {
        if let Some(slot) = self.inner.table().slot(self.slot) {
            change(slot);
        }
    }

    /// A result is told that stands on the kernel.
    pub(super) fn tell(&self) {
        let first = self.inner.table().told(self.slot);
        if let Some(key) = first {
            self.inner.remember(&key);
        }
    }

    /// What ran has ended.
    pub(super) fn rest(&self) {
        let state = if self.live.is_some() { SessionState::Idle } else { SessionState::Dead };
        self.show(|slot| slot.rest(state));
    }

    /// Waits until there is something to do. Late output is gathered meanwhile, and now and then the kernel is asked whether
    /// it is there.
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
            () = self.news.notified() => Met::News,
            dead = state.wait_for(|state| matches!(state, State::Dead(_))) => {
                Met::Death(death(dead.as_deref().ok()))
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Met::News,
            event = live.kernel.late(), if gathers => Met::Late(event),
            answer = beat => match answer {
                Err(Error::Dead { death }) => Met::Death(death),
                // One that does not answer may be stopped, or at work in a thread: that is no reason to end it.
                answer => Met::Beat { silent: matches!(answer, Err(Error::NoAnswer { .. })) },
            },
        };
        match met {
            Met::News => self.put_late().await,
            Met::Late(event) => self.late.hear(event),
            Met::Beat { silent } => {
                let state = if silent { SessionState::Silent } else { SessionState::Idle };
                self.show(|slot| {
                    if !slot.is_busy() {
                        slot.state = state
                    }
                });
            }
            Met::Death(death) => {
                self.lose(Gone::Died(death)).await;
                self.show(|slot| slot.state = SessionState::Dead);
            }
        }
    }

    /// Lets go of the kernel and of all that it started.
    pub(super) async fn lose(&mut self, why: Gone) {
        self.drain_late().await;
        let Some(live) = &self.live else { return };
        if let Some(notebooks) = self.inner.notebooks.get() {
            notebooks.lose_kernel(&live.id).await;
        }
        live.kernel.shutdown().await;
        // Its last output.
        self.drain_late().await;
        self.live = None;
        if self.has_result && self.gone.is_none() {
            self.gone = Some(why);
        }
        self.show(|slot| slot.set_kernel(None));
    }

    async fn restart(&mut self, cancel: &mut Cancel) -> Result<(), SessionError> {
        self.lose(Gone::Restarted).await;
        let Some(order) = self.order.clone() else { return Ok(()) };
        match self.ready(&order, cancel).await {
            Ok(_) => Ok(()),
            Err(NotReady::Failed(error)) => Err(error),
            // Who asks for a new kernel is told when the session ends instead.
            Err(NotReady::Unwanted(_)) => Err(self.ended()),
        }
    }

    /// What is told when the session ends before it could do what was asked.
    pub(super) fn ended(&self) -> SessionError {
        let id = self.inner.table().slot(self.slot).map(|slot| slot.key.id.clone());
        SessionError::Ended { id: id.unwrap_or_default() }
    }

    /// What to say where the kernel that is there is not the one that a call would have started.
    pub(super) fn other_kernel(&self, wanted: &Order) -> Option<String> {
        let (_, order) = self.live.as_ref().zip(self.order.as_ref())?;
        let name = |order: &Order| match order.python() {
            Some(python) => format!("{} on {}", order.backend(), python.display()),
            None => order.backend().to_string(),
        };
        let (has, wants) = (name(order), name(wanted));
        (has != wants).then(|| format!("the session's kernel is {has}, not {wants}: a reset changes that"))
    }

    /// Sees to it that there is a kernel that can run code. Returns what its user should know about a new one.
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
            self.lose(Gone::Died(death)).await;
        }
        if self.live.is_some() {
            return Ok(Vec::new());
        }
        let unwanted = tokio::select! {
            biased;
            wish = cancel.stopped() => wish,
            started = self.start(order) => {
                return started.map_err(|error| NotReady::Failed(SessionError::start(&error, order)));
            }
        };
        Err(NotReady::Unwanted(unwanted))
    }

    /// Starts a kernel. Where the system has no files left, sessions that nobody uses make room for it, once.
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
        self.live = Some(Live { kernel, id, around, has_run: false, _pass: pass });
        Ok(notices)
    }
}

/// Whether it failed for want of files, also where the failure looks like another.
fn is_out_of_files(started: &cellist_kernel::Result<Started>) -> bool {
    started.as_ref().is_err_and(|error| error.is_out_of_files() || !has_files_for_a_kernel())
}

fn death(state: Option<&State>) -> Death {
    match state {
        Some(State::Dead(death)) => death.clone(),
        Some(State::Starting | State::Idle | State::Busy(_)) | None => Death::Unknown,
    }
}
