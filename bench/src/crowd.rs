//! Sixteen sessions through one MCP server. One minute of random cancels, resets and kills. A
//! trivial cell beside a flood.

mod over_mcp;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cellist_kernel::Order;
use cellist_kernel::guard::Guard;
use cellist_kernel::order::{KernelSurroundings, Way};
use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Reader, Reading, Status};
use cellist_session::sessions::{
    Code, Policy, RunRules, SessionCall, SessionError, SessionKey, SessionKind, SessionServices, Sessions,
    Ticket,
};
use cellist_settings::{Home, Settings};
use cellist_store::artifact::{Artifacts, Retention};
use tokio::time::timeout;

use crate::measure::{held_by, in_mb, in_ms, median};
use crate::table::{Figure, Target};

const SESSIONS: usize = 16;
const EARLY: Duration = Duration::from_secs(10);
const ALL: Duration = Duration::from_secs(60);
/// A call that takes this long is stuck.
const STUCK: Duration = Duration::from_secs(60);
/// Enough for some seconds, because a core may serve another thread for milliseconds at a time.
const CELLS: usize = 10_000;
/// Number of memory readings for one figure, and the pause between them.
const READINGS: u32 = 21;
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) fn run() -> Vec<Figure> {
    // As the host does.
    cellist_platform::keep_memory_small();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let figures = over_mcp::figures();
    runtime.expect("a runtime").block_on(async {
        let mut figures = figures;
        figures.extend(crowd().await);
        // As a task: the thread that started the runtime is not one of its workers.
        figures.push(tokio::spawn(beside_a_flood()).await.expect("it is measured"));
        figures
    })
}

/// Sessions of one process, up to a limit, on kernels of one backend.
pub(crate) struct SessionPool {
    folder: tempfile::TempDir,
    pub(crate) sessions: Sessions,
    way: Way,
}

impl SessionPool {
    pub(crate) fn new(max_sessions: usize, way: Way) -> Arc<SessionPool> {
        let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
        let home = Home::at(folder.path().join("home"));
        // Small, so that artifacts do not grow during the minute.
        let keep = Retention { max_bytes: 64 << 20, ..Retention::default() };
        let artifacts = Artifacts::new(&home, keep);
        let means = SessionServices::local(Guard::none(), None, home, artifacts);
        let policy = Policy { max_sessions, ..Policy::default() };
        Arc::new(SessionPool { sessions: Sessions::new(policy, means), folder, way })
    }

    fn key(&self, session: &str) -> SessionKey {
        SessionKey::new(session, self.folder.path())
    }

    pub(crate) fn call(&self, session: &str, code: &str) -> SessionCall {
        let order = Order {
            environment: std::env::vars_os().collect(),
            around: KernelSurroundings { has_pip: true, ..KernelSurroundings::default() },
            ..Order::new(self.way.clone(), self.folder.path())
        };
        let reading = Reading { limits: Limits::for_screen(), ansi: Ansi::Remove, reader: Reader::default() };
        let rules = RunRules::new(&Settings::default(), reading);
        let cells = vec![Code { code: code.to_owned(), ..Code::default() }];
        SessionCall { cells, ..SessionCall::new(self.key(session), SessionKind::Tool, order.into(), rules) }
    }

    fn pid(&self, session: &str) -> Option<u32> {
        self.sessions.list().into_iter().find(|view| view.id == session)?.pid
    }
}

fn on_runner() -> Way {
    Way::Runner { python: testkit::python("bench-kernels") }
}

async fn crowd() -> Vec<Figure> {
    let place = SessionPool::new(SESSIONS, on_runner());
    let (calls, answers) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let workers: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (place, calls, answers) = (place.clone(), calls.clone(), answers.clone());
            tokio::spawn(async move { disturb(&place, number, start, &calls, &answers).await })
        })
        .collect();
    tokio::time::sleep(EARLY).await;
    let early = held().await;
    tokio::time::sleep((ALL - READINGS * PAUSE * 2).saturating_sub(start.elapsed())).await;
    let late = held().await;
    for worker in workers {
        worker.await.expect("a worker ends by itself");
    }
    in_time(place.sessions.close(), "the end of all sessions").await;
    let left = running_in(place.folder.path());
    let (calls, answers) = (calls.load(Ordering::Relaxed), answers.load(Ordering::Relaxed));
    vec![
        Figure {
            promise: "16 sessions for a minute, disturbed: calls without an answer",
            other: ("calls", calls.to_string()),
            ours: answers.to_string(),
            value: calls as f64 - answers as f64,
            unit: "",
            target: Target::AtMost(0.0),
        },
        Figure {
            promise: "16 sessions for a minute, disturbed: processes left",
            other: ("none", "0".into()),
            ours: left.to_string(),
            value: left as f64,
            unit: "",
            target: Target::AtMost(0.0),
        },
        Figure {
            promise: "16 sessions for a minute, disturbed: memory at its end",
            other: ("after 10 seconds", in_mb(early)),
            ours: in_mb(late),
            value: late as f64 / early as f64,
            unit: "x",
            target: Target::AtMost(1.1),
        },
    ]
}

/// Calls in one session until the minute is over, and disturbs its calls.
async fn disturb(place: &SessionPool, number: usize, start: Instant, calls: &AtomicU64, answers: &AtomicU64) {
    let session = format!("s{number}");
    let key = place.key(&session);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1));
    let mut waiting: Vec<Ticket> = Vec::new();
    while start.elapsed() < ALL {
        let endless = dice.roll(8) == 0;
        let code = match dice.roll(3) {
            _ if endless => "import time\ntime.sleep(600)",
            0 => "print('x' * 1_000_000)",
            _ => "x = globals().get('x', 0) + 1\nprint(x)",
        };
        let mut call = place.call(&session, code);
        call.reset = dice.roll(20) == 0;
        calls.fetch_add(1, Ordering::Relaxed);
        let ticket = place.sessions.call(call);
        match dice.roll(30) {
            0 => drop(in_time(place.sessions.restart(&key), "a restart").await),
            1 => drop(in_time(place.sessions.stop(&key), "a stop").await),
            2 => place.pid(&session).into_iter().for_each(kill),
            3 => drop(place.sessions.interrupt(&key)),
            4..8 => ticket.canceller().cancel(),
            _ => {}
        }
        if endless {
            ticket.canceller().interrupt();
        }
        waiting.push(ticket);
        if dice.roll(3) == 0 {
            answered(&mut waiting, answers).await;
        }
    }
    answered(&mut waiting, answers).await;
}

async fn answered(waiting: &mut Vec<Ticket>, answers: &AtomicU64) {
    for ticket in waiting.drain(..) {
        match in_time(ticket.done(), "a call").await {
            Ok(_) | Err(SessionError::ResetUnderWay { .. } | SessionError::Ended { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// The slowest of a hundred trivial cells beside an endless printer, relative to the quiet case.
async fn beside_a_flood() -> Figure {
    let place = SessionPool::new(SESSIONS, on_runner());
    p99(&place).await;
    let quiet = p99(&place).await;
    let flood = place.sessions.call(place.call("flood", "while True:\n    print('x' * 1000)"));
    let mut view = flood.watch();
    let flows = view.wait_for(|view| !view.text.is_empty());
    in_time(flows, "the flood").await.expect("the flood goes on");
    let busy = p99(&place).await;
    flood.canceller().cancel();
    let ended = in_time(flood.done(), "the flood's end").await.expect("the flood ran");
    assert_eq!(ended.status, Status::Cancelled);
    in_time(place.sessions.close(), "the end of all sessions").await;
    Figure {
        promise: "p99 of a trivial cell while another session floods",
        other: ("while it is quiet", in_ms(quiet)),
        ours: in_ms(busy),
        value: busy.as_secs_f64() / quiet.as_secs_f64(),
        unit: "x",
        target: Target::AtMost(5.0),
    }
}

async fn p99(place: &SessionPool) -> Duration {
    let mut times = Vec::with_capacity(CELLS);
    for _ in 0..CELLS {
        let start = Instant::now();
        let ticket = place.sessions.call(place.call("trivial", "pass"));
        let report = in_time(ticket.done(), "a trivial cell").await.expect("a trivial cell runs");
        assert_eq!(report.status, Status::Ok);
        times.push(start.elapsed());
    }
    times.sort();
    times[CELLS * 99 / 100]
}

pub(crate) async fn in_time<T>(work: impl Future<Output = T>, name: &str) -> T {
    timeout(STUCK, work).await.unwrap_or_else(|_| panic!("{name} takes more than {STUCK:?}"))
}

/// Reproducible pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Memory of this process while the sessions work. The median of several readings, because a single
/// one is random.
async fn held() -> u64 {
    let mut readings = Vec::new();
    for _ in 0..READINGS {
        let held = held_by("self").expect("a system that tells of processes");
        readings.push(held as f64);
        tokio::time::sleep(PAUSE).await;
    }
    median(readings.into_iter()).map_or(0, |bytes| bytes as u64)
}

#[expect(unsafe_code, reason = "the standard library kills only children that it has started")]
fn kill(pid: u32) {
    // SAFETY: it takes two numbers. The process is one of our kernels, or was a moment ago.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
}

/// The number of processes that run in a folder.
fn running_in(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("a system that tells of processes").flatten();
    processes.filter(|it| std::fs::read_link(it.path().join("cwd")).is_ok_and(|cwd| cwd == folder)).count()
}
