//! Floods of output: speed and memory of saving them, and completeness.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cellist_kernel::guard::Guard;
use cellist_kernel::{Event, Request, runner, zmq};

use crate::made::{code_cells, joined, outputs};
use crate::measure::{self, cellist, in_mb, in_ms, in_turn, peer};
use crate::round_trip::launch;
use crate::table::{Figure, Target};

const ROUNDS: usize = 3;
const LINES: usize = 300_000;
const DISPLAYS: usize = 20_000;

/// A flood: its name, the code, the size of its largest output, and the amount that a notebook
/// keeps.
struct Flood {
    name: &'static str,
    code: String,
    largest: u64,
    expected: usize,
    count: fn(&serde_json::Value) -> usize,
}

fn floods() -> [Flood; 3] {
    [
        Flood {
            name: "300,000 lines",
            code: format!("for n in range({LINES}):\n    print('line', n)"),
            largest: 3_500_000,
            expected: LINES,
            count: |output| joined(&output["text"]).matches('\n').count(),
        },
        Flood {
            name: "a 100 MB print",
            code: "print('x' * 100_000_000)".into(),
            largest: 100_000_000,
            expected: 100_000_001,
            count: |output| joined(&output["text"]).len(),
        },
        Flood {
            name: "a 20 MB image",
            code: "import base64\nfrom IPython.display import display\ndisplay({'image/png': 'A' * 20_000_000}, raw=True)".into(),
            largest: 20_000_000,
            expected: 20_000_000,
            count: |output| joined(&output["data"]["image/png"]).len(),
        },
    ]
}

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let python = testkit::python("bench-kernels");
    let mut figures = Vec::new();
    for flood in floods() {
        let names = ["runner", "zmq", "nbclient"].map(|name| folder.path().join(format!("{name}.ipynb")));
        let [on_runner, on_zmq, with_nbclient] = &names;
        let cellist_run = |backend: &str, notebook: &Path| {
            let mut command = Command::new(cellist());
            command
                .args(["run", "--full-outputs", "--backend", backend, "--python"])
                .arg(&python)
                .arg(notebook);
            measure::run(command.env("CELLIST_HOME", folder.path().join("home")).stdout(Stdio::null()))
        };
        // Each round runs a notebook without outputs. Those of the last round would count as our
        // memory.
        let fresh = |notebook: &Path| code_cells(notebook, &[&flood.code]);
        let mut runner = |_| {
            fresh(on_runner);
            cellist_run("runner", on_runner)
        };
        let mut zmq = |_| {
            fresh(on_zmq);
            cellist_run("jupyter", on_zmq)
        };
        let mut nbclient = |_| {
            fresh(with_nbclient);
            let mut command = Command::new(&python);
            measure::run(command.arg(peer("run_nbclient.py")).arg(with_nbclient))
        };
        let [runner, zmq, nbclient] = in_turn(ROUNDS, [&mut runner, &mut zmq, &mut nbclient]);
        for notebook in [on_runner, on_zmq] {
            let kept: usize = outputs(notebook)[0].iter().map(flood.count).sum();
            assert_eq!(kept, flood.expected, "{}: output was lost on {}", flood.name, notebook.display());
        }
        for (backend, side) in [("runner", &runner), ("ipykernel", &zmq)] {
            figures.push(Figure {
                promise: leak(format!("{backend}: {}, times nbclient's speed", flood.name)),
                other: ("nbclient", in_ms(nbclient.wall())),
                ours: in_ms(side.wall()),
                value: nbclient.ratio(side),
                unit: "x",
                target: Target::AtLeast(1.0),
            });
            let room = 30_000_000.0 + 2.5 * flood.largest as f64;
            figures.push(Figure {
                promise: leak(format!("{backend}: {}, peak memory of the room it may take", flood.name)),
                other: ("30 MB + 2.5 outputs", in_mb(room as u64)),
                ours: in_mb(side.peak_bytes()),
                value: side.peak_bytes() as f64 / room,
                unit: "x",
                target: Target::AtMost(1.0),
            });
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    figures.extend(runtime.block_on(paused_observer(&python)));
    figures
}

/// 20,000 displays for an observer that pauses for three seconds.
async fn paused_observer(python: &Path) -> Vec<Figure> {
    let code = format!("from IPython.display import display\nfor n in range({DISPLAYS}):\n    display(n)");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let guard = Guard::none();
    let kernels = [
        (
            "runner",
            runner::start(python, launch(folder.path()), &guard).await.expect("the runner starts").kernel,
        ),
        (
            "ipykernel",
            zmq::start(zmq::KernelCommand::ipykernel(python), launch(folder.path()), &guard)
                .await
                .expect("ipykernel starts")
                .kernel,
        ),
    ];
    let mut figures = Vec::new();
    for (backend, kernel) in kernels {
        let mut execution = kernel.execute(Request::new(code.as_str())).await.expect("the kernel takes code");
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut seen = 0;
        loop {
            match execution.events.recv().await.expect("an execution ends with its outcome") {
                Event::Display { .. } => seen += 1,
                Event::Done(_) => break,
                Event::Died(death) => panic!("the kernel died: {death:?}"),
                _ => {}
            }
        }
        kernel.shutdown().await;
        figures.push(Figure {
            promise: leak(format!("{backend}: 20,000 displays, observer paused for 3 s, lost")),
            other: ("made", DISPLAYS.to_string()),
            ours: seen.to_string(),
            value: (DISPLAYS - seen) as f64,
            unit: "",
            target: Target::AtMost(0.0),
        });
    }
    figures
}

/// Labels live as long as the program, which prints them and ends.
fn leak(label: String) -> &'static str {
    Box::leak(label.into_boxed_str())
}
