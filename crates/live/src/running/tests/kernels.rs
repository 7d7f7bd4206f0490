//! Sessions on scripted kernels.

#[path = "../../../../session/src/scripted_kernel.rs"]
#[allow(dead_code, reason = "shared with the tests of sessions")]
mod scripted_kernel;

mod lingering;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cellist_kernel::order::Way;
use cellist_kernel::{Death, Error, Future, Order, Result, Started, State};
use cellist_output::{Ansi, Limits};
use cellist_session::execution::Reading;
use cellist_session::sessions::{
    Launcher, Policy, RunRules, SessionCall, SessionKey, SessionKind, SessionServices, Sessions, Workplace,
};
use cellist_settings::{Home, Retention, Settings};
use cellist_store::artifact::Artifacts;
use testkit::Scratch;
use tokio::sync::watch;

use lingering::Lingering;
use scripted_kernel::ScriptedKernel;

pub(super) struct Kernels {
    pub(super) sessions: Sessions,
    pub(super) mill: Arc<Mill>,
    pub(super) artifacts: Artifacts,
    _scratch: Scratch,
}

/// A launcher of scripted kernels.
#[derive(Default)]
pub(super) struct Mill {
    /// The last kernel.
    last: Mutex<Option<Arc<watch::Sender<State>>>>,
    /// Errors of the next starts.
    pub(super) failures: Mutex<VecDeque<Error>>,
    /// Whether its kernels ignore interrupts.
    is_deaf: bool,
}

impl Launcher for Mill {
    fn launch<'a>(&'a self, _: &'a Order) -> Future<'a, Result<Started>> {
        Box::pin(async move {
            if let Some(error) = self.failures.lock().unwrap().pop_front() {
                return Err(error);
            }
            let mut kernel = ScriptedKernel::new();
            kernel.deaf = self.is_deaf;
            *self.last.lock().unwrap() = Some(kernel.state.clone());
            Ok(Started { kernel: Box::new(Lingering::new(kernel)), notices: Vec::new() })
        })
    }
}

impl Mill {
    /// Kills the last kernel.
    pub(super) fn kill_last(&self) {
        let state = self.last.lock().unwrap().clone().unwrap();
        state.send_replace(State::Dead(Death::Signal("SIGKILL".into())));
    }
}

impl Kernels {
    pub(super) fn new() -> Kernels {
        Kernels::of(Mill::default())
    }

    /// Kernels that ignore interrupts.
    pub(super) fn deaf() -> Kernels {
        Kernels::of(Mill { is_deaf: true, ..Mill::default() })
    }

    fn of(mill: Mill) -> Kernels {
        let (mill, scratch) = (Arc::new(mill), Scratch::new());
        let home = Home::at(scratch.path());
        let artifacts = Artifacts::new(&home, Retention::default());
        let means = SessionServices {
            launcher: mill.clone(),
            home,
            artifacts: artifacts.clone(),
            bridge: Default::default(),
            remembers: true,
            workplace: Workplace::Shared,
        };
        Kernels { sessions: Sessions::new(Policy::default(), means), mill, artifacts, _scratch: scratch }
    }
}

/// A call without code, with default values.
pub(super) fn call(session: &str) -> SessionCall {
    let order = Order::new(Way::Runner { python: "/py".into() }, "/");
    let rules = RunRules::new(&Settings::default(), Reading::new(Limits::for_screen(), Ansi::Remove));
    SessionCall::new(SessionKey::new(session, "/"), SessionKind::Tool, order.into(), rules)
}
