//! Kernels behind gateways: our overhead over gateway and kernel, for one kernel and many, and
//! completeness of their output.

mod servers;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_kernel::gateway::{self, Target as Wanted, Which};
use cellist_kernel::order::Way;
use cellist_kernel::{Event, Kernel, Request};
use cellist_session::execution::Status;

use crate::crowd::{SessionPool, in_time};
use crate::made::{code_cells, joined, outputs};
use crate::measure::{self, in_mb, median};
use crate::round_trip::{Script, launch};
use crate::table::{Figure, Target};
use servers::{EnterpriseServer, OwnGateway};

const ROUNDS: usize = 9;
/// Cells of a round. Slow peers get fewer.
const CELLS: usize = 100;
const FEW: usize = 20;
/// Cells of a round on many kernels, in total.
const MANY: usize = 320;
const KERNELS: [usize; 3] = [1, 4, 16];

pub(crate) fn run() -> Vec<Figure> {
    let python = testkit::python("gateway");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let ours = OwnGateway::start(&python);
    let enterprise = EnterpriseServer::start();
    let mut figures =
        runtime.block_on(async {
            let kernel = gateway::start_shared(&ours.home(), &python, launch(ours.folder())).await;
            let mut figures = trivial_cell(
                [
                    "Kernel Gateway: a trivial cell, times faster than the usual client",
                    "Kernel Gateway: a trivial cell, as a multiple of a client that waits for nothing",
                ],
                &*kernel.expect("a kernel on our own gateway").kernel,
                &python,
                ours.credentials(),
            )
            .await;
            let wanted = Wanted {
                gateway: enterprise.gateway(),
                kernel: Which::Start(gateway::Wanted::default()),
                variables: vec![("KERNEL_USERNAME".to_owned(), "bench".to_owned())],
            };
            let kernel = gateway::start(wanted, launch(ours.folder())).await;
            figures.extend(
            trivial_cell(
                ["EnterpriseServer Gateway: a trivial cell, times faster than the usual client",
                 "EnterpriseServer Gateway: a trivial cell, as a multiple of a client that waits for nothing"],
                &*kernel.expect("a kernel on the EnterpriseServer Gateway").kernel,
                &python,
                enterprise.credentials(),
            )
            .await,
        );
            for kernels in KERNELS {
                figures.push(many(kernels, &ours, &python).await);
            }
            figures
        });
    figures.push(memory_per_kernel(&ours, &python));
    figures.extend(losses(&ours, &python));
    figures
}

/// One trivial cell on one kernel: ours, Jupyter's client, and a minimal client that avoids delayed
/// acknowledgements.
async fn trivial_cell(
    promises: [&'static str; 2],
    kernel: &dyn Kernel,
    python: &Path,
    credentials: [String; 2],
) -> Vec<Figure> {
    let [url, token] = credentials;
    let mut usual = Script::start_with(python, "gateway_default.py", &[&url, &token]);
    let mut raw = Script::start_with(python, "gateway_raw.py", &[&url, &token, "1"]);
    let (mut our_times, mut usual_times, mut raw_times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let start = Instant::now();
        for _ in 0..CELLS {
            trivial(kernel).await;
        }
        let ours = start.elapsed().as_secs_f64() / CELLS as f64;
        let (usual, raw) = (usual.ask(FEW), raw.ask(CELLS));
        if round > 0 {
            our_times.push(ours);
            usual_times.push(usual);
            raw_times.push(raw);
        }
    }
    kernel.shutdown().await;
    let [faster, multiple] = promises;
    vec![
        Figure {
            promise: faster,
            other: ("websocket-client", in_ms(&usual_times)),
            ours: in_ms(&our_times),
            value: ratio(&usual_times, &our_times),
            unit: "x",
            target: Target::AtLeast(5.0),
        },
        Figure {
            promise: multiple,
            other: ("bare socket, quick acknowledgements", in_ms(&raw_times)),
            ours: in_ms(&our_times),
            value: ratio(&our_times, &raw_times),
            unit: "x",
            target: Target::AtMost(1.25),
        },
    ]
}

async fn trivial(kernel: &dyn Kernel) {
    let mut execution = kernel.execute(Request::new("pass")).await.expect("the kernel takes code");
    loop {
        match execution.events.recv().await.expect("an execution ends with its outcome") {
            Event::Done(outcome) => return assert_eq!(outcome.status, cellist_kernel::Status::Ok),
            Event::Died(death) => panic!("the kernel died: {death:?}"),
            _ => {}
        }
    }
}

/// Many kernels at once on one gateway, one per session.
async fn many(kernels: usize, ours: &OwnGateway, python: &Path) -> Figure {
    let way = Way::SharedGateway { python: python.to_owned(), home: ours.home() };
    let place = SessionPool::new(kernels, way);
    let [url, token] = ours.credentials();
    let mut raw = Script::start_with(python, "gateway_raw.py", &[&url, &token, &kernels.to_string()]);
    let each = MANY / kernels;
    let (mut our_times, mut raw_times) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let our_time = on_all(&place, kernels, each).await;
        let raw_time = raw.ask(each);
        if round > 0 {
            our_times.push(our_time);
            raw_times.push(raw_time);
        }
    }
    in_time(place.sessions.close(), "the end of all sessions").await;
    let rate = |times: &[f64]| format!("{:.0}/s", 1.0 / median(times.iter().copied()).unwrap_or(f64::NAN));
    Figure {
        promise: match kernels {
            1 => "1 kernel: cells per second, as a multiple of a bare client's",
            4 => "4 kernels on one gateway: cells per second, as a multiple of a bare client's",
            _ => "16 kernels on one gateway: cells per second, as a multiple of a bare client's",
        },
        other: ("bare sockets", rate(&raw_times)),
        ours: rate(&our_times),
        value: ratio(&raw_times, &our_times),
        unit: "x",
        target: Target::AtLeast(1.0),
    }
}

/// Runs cells in all sessions at once. Returns the time per cell.
async fn on_all(place: &Arc<SessionPool>, sessions: usize, cells: usize) -> f64 {
    let start = Instant::now();
    let workers = (0..sessions).map(|number| {
        let place = place.clone();
        tokio::spawn(async move {
            for _ in 0..cells {
                let ticket = place.sessions.call(place.call(&format!("s{number}"), "pass"));
                let report = in_time(ticket.done(), "a trivial cell").await.expect("a trivial cell runs");
                assert_eq!(report.status, Status::Ok);
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.expect("a worker ends by itself");
    }
    start.elapsed().as_secs_f64() / (sessions * cells) as f64
}

/// Memory of the host per kernel on a gateway.
fn memory_per_kernel(ours: &OwnGateway, python: &Path) -> Figure {
    const MOST: usize = 16;
    let host = ours.host(MOST);
    let exec = |session: usize| {
        let mut command = host.command();
        command.args(["exec", "--backend", "gateway", "--session", &format!("s{session}"), "--python"]);
        command.arg(python).arg("for n in range(2000): print(n)").stdout(Stdio::null());
        measure::run(&mut command);
    };
    // Several calls each, so that caches and buffers have grown.
    let warm = |sessions: std::ops::Range<usize>| {
        for _ in 0..3 {
            sessions.clone().for_each(exec);
        }
        host.memory()
    };
    let (one, all) = (warm(0..1), warm(0..MOST));
    let each = all.saturating_sub(one) as f64 / (MOST - 1) as f64;
    Figure {
        promise: "16 kernels on one gateway: memory of the host per kernel",
        other: ("the host with one", in_mb(one)),
        ours: in_mb(all),
        value: each / 1e6,
        unit: " MB",
        target: Target::AtMost(3.0),
    }
}

/// Floods through our own gateway, saved in a notebook.
fn losses(ours: &OwnGateway, python: &Path) -> Vec<Figure> {
    type Count = fn(&serde_json::Value) -> usize;
    let floods: [(&'static str, &str, usize, Count); 3] = [
        (
            "300,000 lines through our gateway, lost",
            "for n in range(300_000):\n    print('line', n)",
            300_000,
            |output| joined(&output["text"]).lines().count(),
        ),
        (
            "a 100 MB print through our gateway, bytes lost",
            "print('x' * 99_999_999)",
            100_000_000,
            |output| joined(&output["text"]).len(),
        ),
        (
            "20,000 displays through our gateway, lost",
            "for n in range(20_000):\n    display(n)",
            20_000,
            |output| usize::from(output["output_type"] == "display_data"),
        ),
    ];
    let notebook = ours.folder().join("flood.ipynb");
    let lost = floods.map(|(promise, code, made, count)| {
        code_cells(&notebook, &[code]);
        let mut command = ours.command();
        command
            .args(["run", "--full-outputs", "--backend", "gateway", "--python"])
            .arg(python)
            .arg(&notebook);
        measure::run(command.stdout(Stdio::null()));
        let kept: usize = outputs(&notebook)[0].iter().map(count).sum();
        Figure {
            promise,
            other: ("made", made.to_string()),
            ours: kept.to_string(),
            value: made as f64 - kept as f64,
            unit: "",
            target: Target::AtMost(0.0),
        }
    });
    lost.into()
}

fn in_ms(times: &[f64]) -> String {
    measure::in_ms(Duration::from_secs_f64(median(times.iter().copied()).unwrap_or_default()))
}

/// The median over the rounds.
fn ratio(one: &[f64], other: &[f64]) -> f64 {
    median(one.iter().zip(other).map(|(one, other)| one / other)).unwrap_or(f64::NAN)
}
