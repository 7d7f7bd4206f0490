//! One display of 400 MB: peak memory of the receiving process beside the size of the message.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::made::code_cells;
use crate::mcp::client::Client;
use crate::measure::{self, cellist, in_mb, peak_so_far};
use crate::table::{Figure, Target};

/// Size of the display on a Jupyter kernel.
const SIZE: u64 = 400_000_000;
/// Size of the display on the runner, whose frames are smaller.
const ON_RUNNER: u64 = 200_000_000;

fn code(size: u64) -> String {
    let display = "from IPython.display import display\n";
    format!("{display}display({{'image/png': 'A' * {size}, 'text/plain': 'a picture'}}, raw=True)")
}

/// A folder with a state folder and a notebook.
struct DisplayWorkspace(tempfile::TempDir);

impl DisplayWorkspace {
    fn new(size: u64) -> DisplayWorkspace {
        let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
        code_cells(&folder.path().join("nb.ipynb"), &[code(size)]);
        DisplayWorkspace(folder)
    }

    fn notebook(&self) -> PathBuf {
        self.0.path().join("nb.ipynb")
    }

    fn command(&self, words: &[&str], backend: &str) -> Command {
        let mut command = Command::new(cellist());
        command.args(words).current_dir(self.0.path()).env("CELLIST_HOME", self.0.path().join("home"));
        if !backend.is_empty() {
            command.args(["--backend", backend, "--python"]).arg(testkit::python("bench-kernels"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Peak memory of the host.
    fn host_peak(&self) -> u64 {
        let text = std::fs::read(self.0.path().join("home/run/host.json")).expect("a host runs");
        let host: Value = serde_json::from_slice(&text).expect("JSON");
        let pid = u32::try_from(host["pid"].as_u64().expect("a process")).expect("the id of one");
        peak_so_far(pid).expect("it runs")
    }

    fn stop(&self) {
        measure::run(&mut self.command(&["stop"], ""));
    }
}

pub(crate) fn run() -> Vec<Figure> {
    vec![
        figure("cellist run, ipykernel", SIZE, by_run("jupyter", SIZE)),
        figure("cellist run, runner", ON_RUNNER, by_run("runner", ON_RUNNER)),
        figure("the host, a session on ipykernel", SIZE, in_a_session()),
        figure("the host, an open notebook on ipykernel", SIZE, in_an_open_notebook()),
    ]
}

fn by_run(backend: &str, size: u64) -> u64 {
    let place = DisplayWorkspace::new(size);
    let took = measure::run(&mut place.command(&["run", "nb.ipynb"], backend));
    assert_kept(&place.notebook(), size);
    took.peak_bytes
}

fn in_a_session() -> u64 {
    let place = DisplayWorkspace::new(0);
    measure::run(&mut place.command(&["exec", "--session", "s", &code(SIZE)], "jupyter"));
    let peak = place.host_peak();
    place.stop();
    peak
}

fn in_an_open_notebook() -> u64 {
    let place = DisplayWorkspace::new(SIZE);
    // An agent that has read a notebook keeps it open.
    let (mut agent, _) = Client::start(&mut place.command(&["mcp", "--tools", "all"], ""));
    agent.call("read", &json!({ "path": place.notebook() }));
    measure::run(&mut place.command(&["run", "nb.ipynb"], "jupyter"));
    let peak = place.host_peak();
    drop(agent);
    place.stop();
    assert_kept(&place.notebook(), SIZE);
    peak
}

fn assert_kept(notebook: &Path, size: u64) {
    let length = std::fs::metadata(notebook).expect("a notebook").len();
    assert!(length > size, "the display is not in the notebook: {length} bytes");
}

fn figure(promise: &'static str, size: u64, peak: u64) -> Figure {
    Figure {
        promise,
        other: ("the message", in_mb(size)),
        ours: in_mb(peak),
        value: peak as f64 / size as f64,
        unit: "x",
        target: Target::AtMost(2.5),
    }
}
