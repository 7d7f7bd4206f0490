//! Shared fixtures: sessions with real kernels, and checks of their processes.

use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::Order;
use cellist_kernel::gateway::{Gateway, Target, Wanted, Which};
use cellist_kernel::guard::Guard;
use cellist_kernel::order::{KernelSurroundings, Way};
use cellist_kernel::zmq::KernelCommand;
use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Reading, Report};
use cellist_session::sessions::{
    CallReport, Code, Policy, RunRules, SessionCall, SessionKey, SessionKind, SessionServices, SessionView,
    Sessions, Ticket,
};
use cellist_settings::{Home, Settings};
use cellist_store::artifact::{Artifacts, Retention};
use testkit::{Flavour, Jupyter, Scratch, TOKEN, until};

/// Longer than any successful step takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The backends that every rule is tested on.
pub(crate) const BOTH: [Backend; 2] = [Backend::Runner, Backend::Jupyter];

/// Both, and a kernel on a gateway.
pub(crate) const ALL: [Backend; 3] = [Backend::Runner, Backend::Jupyter, Backend::Gateway];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Runner,
    Jupyter,
    Gateway,
}

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) sessions: Sessions,
    pub(crate) artifacts: Artifacts,
    pub(crate) backend: Backend,
    /// Kept alive for the test.
    gateway: Option<Arc<Jupyter>>,
}

impl Bed {
    pub(crate) fn new(backend: Backend) -> Bed {
        Bed::with(backend, Policy::default())
    }

    pub(crate) fn with(backend: Backend, policy: Policy) -> Bed {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path().join("work")).unwrap();
        let home = Home::at(scratch.path().join("home"));
        Bed::at(backend, policy, scratch, home)
    }

    pub(crate) fn at(backend: Backend, policy: Policy, scratch: Scratch, home: Home) -> Bed {
        let artifacts = Artifacts::new(&home, Retention::default());
        // Shared, so that Python compiles the runner once for all tests.
        let shared = Home::at(testkit::target_dir().join("session-tests"));
        let mut means = SessionServices::local(Guard::none(), None, shared, artifacts.clone());
        means.home = home;
        let gateway = match backend {
            Backend::Gateway => Some(Jupyter::shared(Flavour::KernelGateway)),
            Backend::Runner | Backend::Jupyter => None,
        };
        Bed { scratch, sessions: Sessions::new(policy, means), artifacts, backend, gateway }
    }

    pub(crate) fn key(&self, session: &str) -> SessionKey {
        SessionKey::new(session, self.scratch.path().join("work"))
    }

    /// A call with default values.
    pub(crate) fn call(&self, session: &str, cells: &[&str]) -> SessionCall {
        let code = |code: &&str| Code { code: (*code).to_owned(), ..Code::default() };
        let way = match self.backend {
            Backend::Runner => Way::Runner { python: testkit::python("nbformat") },
            Backend::Jupyter => Way::Jupyter(KernelCommand::ipykernel(&testkit::python("kernels"))),
            Backend::Gateway => Way::Gateway(target(self.gateway.as_ref().unwrap())),
        };
        let order = Order {
            environment: environment(&self.scratch),
            around: KernelSurroundings { has_pip: true, ..KernelSurroundings::default() },
            ..Order::new(way, self.key(session).cwd)
        };
        let reading = Reading::new(Limits::for_screen(), Ansi::Remove);
        let rules = RunRules { grace: LONG, ..RunRules::new(&Settings::default(), reading) };
        let call = SessionCall::new(self.key(session), SessionKind::Tool, order.into(), rules);
        SessionCall { cells: cells.iter().map(code).collect(), ..call }
    }

    /// Runs code in a session to its end.
    pub(crate) async fn run(&self, session: &str, code: &str) -> Report {
        last(done(&self.start(session, code)).await)
    }

    pub(crate) fn start(&self, session: &str, code: &str) -> Ticket {
        self.sessions.call(self.call(session, &[code]))
    }

    pub(crate) fn view(&self, session: &str) -> SessionView {
        self.sessions.list().into_iter().find(|view| view.id == session).unwrap()
    }

    pub(crate) fn pid(&self, session: &str) -> u32 {
        self.view(session).pid.unwrap()
    }

    /// Ends all sessions and checks that no process is left.
    pub(crate) async fn end(self) {
        let pids: Vec<u32> = self.sessions.list().into_iter().filter_map(|view| view.pid).collect();
        in_time(self.sessions.close()).await;
        for pid in pids {
            until(|| !is_alive(pid)).await;
        }
    }
}

pub(crate) fn environment(scratch: &Scratch) -> Vec<(OsString, OsString)> {
    ["PATH", "HOME", "LANG"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .chain([("IPYTHONDIR".into(), scratch.path().join("ipython").into())])
        .collect()
}

pub(crate) async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, work).await.expect("it does not take this long")
}

pub(crate) async fn done(ticket: &Ticket) -> CallReport {
    in_time(ticket.done()).await.unwrap_or_else(|error| panic!("{error}"))
}

/// The report of the last piece.
pub(crate) fn last(report: CallReport) -> Report {
    report.cells.into_iter().next_back().expect("a piece ran").report
}

/// Waits until a call shows this text.
pub(crate) async fn until_shown(ticket: &Ticket, text: &str) {
    let mut view = ticket.watch();
    in_time(view.wait_for(|view| view.text.contains(text))).await.unwrap();
}

/// Whether a process lives. A zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !['Z', 'X'].contains(&state))
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A new Python kernel on a gateway.
fn target(server: &Jupyter) -> Target {
    let gateway = Gateway::new(&server.url(), Some(TOKEN.to_owned())).unwrap();
    Target { gateway, kernel: Which::Start(Wanted::default()), variables: Vec::new() }
}
