//! One trivial cell on a ready kernel: our overhead over the kernel itself.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use cellist_kernel::guard::Guard;
use cellist_kernel::{Event, Kernel, Launch, Request, runner, zmq};

use crate::measure::{Aside, median, peer};
use crate::table::{Figure, Target};

const ROUNDS: usize = 15;
const CELLS: usize = 200;

pub(crate) fn run() -> Vec<Figure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure())
}

async fn measure() -> Vec<Figure> {
    let python = testkit::python("bench-kernels");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let guard = Guard::none();
    let on_runner =
        runner::start(&python, launch(folder.path()), &guard).await.expect("the runner starts").kernel;
    let command = zmq::KernelCommand::ipykernel(&python);
    let on_zmq = zmq::start(command, launch(folder.path()), &guard).await.expect("ipykernel starts").kernel;
    let mut loop_floor = Script::start(&python, "ndjson_loop.py");
    let mut raw = Script::start(&python, "raw_cells.py");

    let (mut beyond_loop, mut against_raw) = (Vec::new(), Vec::new());
    let (mut runner_times, mut loop_times, mut zmq_times, mut raw_times) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let ours = per_cell(&*on_runner).await;
        let floor = loop_floor.per_cell();
        let zmq = per_cell(&*on_zmq).await;
        let peer = raw.per_cell();
        if round > 0 {
            beyond_loop.push((ours.as_secs_f64() - floor.as_secs_f64()) * 1000.0);
            against_raw.push(zmq.as_secs_f64() / peer.as_secs_f64());
            runner_times.push(ours.as_secs_f64());
            loop_times.push(floor.as_secs_f64());
            zmq_times.push(zmq.as_secs_f64());
            raw_times.push(peer.as_secs_f64());
        }
    }
    on_runner.shutdown().await;
    on_zmq.shutdown().await;
    let ms = |times: Vec<f64>| format!("{:.3} ms", median(times.into_iter()).unwrap_or(f64::NAN) * 1000.0);
    vec![
        Figure {
            promise: "runner: a trivial cell, beyond a bare loop over lines of JSON",
            other: ("bare loop", ms(loop_times)),
            ours: ms(runner_times),
            value: median(beyond_loop.into_iter()).unwrap_or(f64::NAN),
            unit: " ms",
            target: Target::AtMost(0.2),
        },
        Figure {
            promise: "ipykernel: a trivial cell, as a multiple of a raw pyzmq client",
            other: ("raw pyzmq", ms(raw_times)),
            ours: ms(zmq_times),
            value: median(against_raw.into_iter()).unwrap_or(f64::NAN),
            unit: "x",
            target: Target::AtMost(1.25),
        },
    ]
}

/// A launch with nothing but a folder.
pub(crate) fn launch(folder: &Path) -> Launch {
    Launch {
        cwd: folder.to_owned(),
        environment: std::env::vars_os().collect(),
        prelude: None,
        modules: Vec::new(),
        startup_timeout: Duration::from_secs(60),
        runtime_dir: folder.join("run"),
        trace: None,
    }
}

/// The median time of a trivial cell.
async fn per_cell(kernel: &dyn Kernel) -> Duration {
    let mut times = Vec::with_capacity(CELLS);
    for _ in 0..CELLS {
        let start = Instant::now();
        let mut execution = kernel.execute(Request::new("pass")).await.expect("the kernel takes code");
        loop {
            match execution.events.recv().await.expect("an execution ends with its outcome") {
                Event::Done(outcome) => {
                    assert_eq!(outcome.status, cellist_kernel::Status::Ok);
                    break;
                }
                Event::Died(death) => panic!("the kernel died: {death:?}"),
                _ => {}
            }
        }
        times.push(start.elapsed().as_secs_f64());
    }
    Duration::from_secs_f64(median(times.into_iter()).unwrap_or_default())
}

/// A peer that measures itself: it runs a batch of cells per line of input, and answers with the
/// median.
pub(crate) struct Script {
    name: String,
    process: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    aside: Aside,
}

impl Script {
    pub(crate) fn start(python: &Path, name: &str) -> Script {
        Script::start_with(python, name, &[])
    }

    pub(crate) fn start_with(python: &Path, name: &str, arguments: &[&str]) -> Script {
        let script = peer(name);
        assert!(script.is_file(), "{} is not there", script.display());
        let aside = Aside::new();
        let mut process = Command::new(python)
            .arg(script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(aside.writer())
            .spawn()
            .expect("the peer starts");
        let requests = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Script { name: name.into(), process, requests, answers, aside }
    }

    pub(crate) fn per_cell(&mut self) -> Duration {
        Duration::from_secs_f64(self.ask(CELLS))
    }

    /// The peer's answer. Skips lines that its libraries print.
    pub(crate) fn ask(&mut self, cells: usize) -> f64 {
        let asked = writeln!(self.requests, "{cells}");
        let answer = self.answers.by_ref().map_while(Result::ok).find_map(|line| line.trim().parse().ok());
        match (asked, answer) {
            (Ok(()), Some(seconds)) => seconds,
            _ => panic!("{} gave no answer:\n{}", self.name, self.aside.text()),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = writeln!(self.requests, "0");
        let _ = self.process.wait();
    }
}
