//! Shared fixtures: sessions, and a launcher that records the kernels it started.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cellist_kernel::order::Way;
use cellist_kernel::{Death, Error, Future, Order, Result, Started, State};
use cellist_output::{Ansi, Limits};
use cellist_settings::{Home, Settings};
use cellist_store::artifact::{Artifacts, Retention};
use testkit::{Scratch, until};
use tokio::sync::{Semaphore, watch};

use crate::execution::Reading;
use crate::scripted_kernel::ScriptedKernel;
use crate::sessions::{
    CallReport, Code, Launcher, Policy, RunRules, SessionCall, SessionKey, SessionKind, SessionServices,
    SessionState, SessionView, Sessions, Ticket, Workplace,
};

pub(crate) struct Bed {
    pub(crate) sessions: Sessions,
    pub(crate) mill: Arc<Mill>,
    scratch: Scratch,
}

/// A launcher of scripted kernels.
#[derive(Default)]
pub(crate) struct Mill {
    /// All started kernels, in order.
    made: Mutex<Vec<Arc<watch::Sender<State>>>>,
    heard: Arc<Mutex<Vec<String>>>,
    /// Errors of the next starts.
    pub(crate) failures: Mutex<VecDeque<Error>>,
    /// If set, each start takes one permit.
    gate: Option<Semaphore>,
    deaf: bool,
    silent: bool,
}

impl Launcher for Mill {
    fn launch<'a>(&'a self, _: &'a Order) -> Future<'a, Result<Started>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await.unwrap().forget();
            }
            if let Some(error) = self.failures.lock().unwrap().pop_front() {
                return Err(error);
            }
            let mut kernel = ScriptedKernel::new();
            (kernel.deaf, kernel.silent, kernel.heard) = (self.deaf, self.silent, self.heard.clone());
            self.made.lock().unwrap().push(kernel.state.clone());
            Ok(Started { kernel: Box::new(kernel), notices: Vec::new() })
        })
    }
}

impl Mill {
    /// Number of started kernels.
    pub(crate) fn started(&self) -> usize {
        self.made.lock().unwrap().len()
    }

    /// Number of living kernels.
    pub(crate) fn living(&self) -> usize {
        let made = self.made.lock().unwrap();
        made.iter().filter(|state| !matches!(*state.borrow(), State::Dead(_))).count()
    }

    /// Kills the last kernel.
    pub(crate) fn kill_last(&self) {
        let state = self.made.lock().unwrap().last().unwrap().clone();
        state.send_replace(State::Dead(Death::Signal("SIGKILL".into())));
    }

    /// All code that ran, in order.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Allows this many more starts.
    pub(crate) fn open(&self, count: usize) {
        self.gate.as_ref().unwrap().add_permits(count);
    }
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::with(Policy::default(), Mill::default())
    }

    /// Kernels that start only with a permit.
    pub(crate) fn gated() -> Bed {
        Bed::with(Policy::default(), Mill { gate: Some(Semaphore::new(0)), ..Mill::default() })
    }

    /// Kernels that ignore interrupts.
    pub(crate) fn deaf() -> Bed {
        Bed::with(Policy::default(), Mill { deaf: true, ..Mill::default() })
    }

    /// Kernels that do not answer requests.
    pub(crate) fn silent() -> Bed {
        Bed::with(Policy::default(), Mill { silent: true, ..Mill::default() })
    }

    fn with(policy: Policy, mill: Mill) -> Bed {
        Bed::at(policy, mill, Scratch::new())
    }

    fn at(policy: Policy, mill: Mill, scratch: Scratch) -> Bed {
        let (mill, home) = (Arc::new(mill), Home::at(scratch.path()));
        let artifacts = Artifacts::new(&home, Retention::default());
        let means = SessionServices {
            launcher: mill.clone(),
            home,
            artifacts,
            bridge: Default::default(),
            remembers: true,
            // One clock for all, so that tests can pause it.
            workplace: Workplace::Shared,
        };
        Bed { sessions: Sessions::new(policy, means), mill, scratch }
    }

    /// Replaces the host by a new one.
    pub(crate) fn again(self) -> Bed {
        Bed::at(Policy::default(), Mill::default(), self.scratch)
    }

    /// Runs code in a session to its end.
    pub(crate) async fn run(&self, session: &str, code: &str) -> CallReport {
        done(&self.sessions.call(call(session, &[code]))).await
    }

    pub(crate) fn start(&self, session: &str, code: &str) -> Ticket {
        self.sessions.call(call(session, &[code]))
    }

    /// Names of all sessions.
    pub(crate) fn names(&self) -> Vec<String> {
        self.sessions.list().into_iter().map(|view| view.id).collect()
    }

    pub(crate) fn view(&self, session: &str) -> SessionView {
        self.sessions.list().into_iter().find(|view| view.id == session).unwrap()
    }

    pub(crate) async fn until_state(&self, session: &str, state: SessionState) {
        until(|| self.view(session).state == state).await;
    }
}

pub(crate) fn key(session: &str) -> SessionKey {
    SessionKey::new(session, "/")
}

/// A call with default values.
pub(crate) fn call(session: &str, cells: &[&str]) -> SessionCall {
    let code = |code: &&str| Code { code: (*code).to_owned(), ..Code::default() };
    let order = Order::new(Way::Runner { python: "/py".into() }, "/");
    let rules = RunRules::new(&Settings::default(), Reading::new(Limits::for_screen(), Ansi::Remove));
    let call = SessionCall::new(key(session), SessionKind::Tool, order.into(), rules);
    SessionCall { cells: cells.iter().map(code).collect(), ..call }
}

pub(crate) async fn done(ticket: &Ticket) -> CallReport {
    ticket.done().await.unwrap_or_else(|error| panic!("{error}"))
}

/// The text of the last piece.
pub(crate) fn text(report: &CallReport) -> &str {
    &report.cells.last().unwrap().report.text
}

/// The execution count of the last piece: 1 on a fresh kernel.
pub(crate) fn count(report: &CallReport) -> u64 {
    report.cells.last().unwrap().report.execution_count.unwrap()
}

/// Waits until a piece of the call runs.
pub(crate) async fn begun(ticket: &Ticket) {
    ticket.watch().wait_for(|view| view.has_begun()).await.unwrap();
}
