//! Real notebooks: a folder of them run by nbclient, by us on ipykernel and by us on the runner. Outputs are compared
//! cell by cell; cells whose outputs differ between two runs of nbclient are counted apart.

mod kinds;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::measure::{cellist, peer};
use crate::table::{Figure, Target};

/// The folder that `--corpus` names.
pub(crate) static CORPUS: OnceLock<PathBuf> = OnceLock::new();

/// The seconds that a cell may take.
const CELL_SECONDS: &str = "120";

/// Variables that a run needs.
const KEPT: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// A way to run a notebook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Nbclient,
    Cellist(&'static str),
}

/// The notebooks as one way left them, and the time that it took.
struct Pass {
    notebooks: Vec<Option<Value>>,
    wall: Duration,
}

/// The cells of one way beside those of nbclient.
#[derive(Default)]
struct Tally {
    equal: usize,
    kinds: Vec<(&'static str, usize)>,
}

impl Tally {
    fn different(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    fn count(&mut self, kind: &'static str) {
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((kind, 1)),
        }
    }

    fn percent(&self) -> f64 {
        100.0 * self.equal as f64 / (self.equal + self.different()).max(1) as f64
    }
}

pub(crate) fn run() -> Vec<Figure> {
    let corpus = CORPUS.get().cloned().unwrap_or_else(|| {
        println!("no corpus given: the notebooks of the tests are run; name a folder with --corpus DIR");
        testkit::repo_root().join("crates/cli/tests/suite")
    });
    let scratch = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let place =
        Place { corpus: corpus.clone(), work: scratch.path().join("work"), home: scratch.path().into() };
    let paths = notebooks(&corpus);
    assert!(!paths.is_empty(), "no notebooks in {}", corpus.display());
    let first = place.pass(&paths, Way::Nbclient);
    let second = place.pass(&paths, Way::Nbclient);
    let zmq = place.pass(&paths, Way::Cellist("jupyter"));
    let runner = place.pass(&paths, Way::Cellist("runner"));

    let mut report = String::new();
    let (mut cells, mut unrepeatable) = (0, 0);
    let mut tallies = [Tally::default(), Tally::default()];
    for (at, path) in paths.iter().enumerate() {
        let shapes = |pass: &Pass| pass.notebooks[at].as_ref().map(shapes).unwrap_or_default();
        let (wanted, again) = (shapes(&first), shapes(&second));
        let sides = [("ipykernel", shapes(&zmq)), ("runner", shapes(&runner))];
        for (index, cell) in wanted.iter().enumerate() {
            cells += 1;
            if again.get(index) != Some(cell) {
                unrepeatable += 1;
                continue;
            }
            for ((name, found), tally) in sides.iter().zip(&mut tallies) {
                let found = found.get(index).cloned().unwrap_or_default();
                if found == *cell {
                    tally.equal += 1;
                    continue;
                }
                let kind = kinds::kind(cell, &found);
                tally.count(kind);
                let _ = writeln!(
                    report,
                    "{} code cell {} on {name}: {kind}\n  nbclient {cell}\n  cellist  {found}\n",
                    path.display(),
                    index + 1
                );
            }
        }
    }
    let [on_zmq, on_runner] = &tallies;
    println!("{} notebooks, {cells} code cells, {unrepeatable} not repeatable", paths.len());
    for (name, tally) in [("ipykernel", on_zmq), ("runner", on_runner)] {
        let kinds: Vec<String> = tally.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        println!("  {name}: {} equal, {} different{kinds}", tally.equal, tally.different());
    }
    if !report.is_empty() {
        let path = testkit::target_dir().join("real-differences.txt");
        fs::write(&path, report).expect("the target folder can be written");
        println!("  the different cells are in {}", path.display());
    }
    let nbclient = (first.wall + second.wall) / 2;
    let figure = |promise, tally: &Tally, pass: &Pass, least| Figure {
        promise,
        other: ("nbclient", in_seconds(nbclient)),
        ours: in_seconds(pass.wall),
        value: tally.percent(),
        unit: " %",
        target: Target::AtLeast(least),
    };
    vec![
        figure("ipykernel: repeatable cells as by nbclient", on_zmq, &zmq, 100.0),
        figure("runner: repeatable cells as by nbclient", on_runner, &runner, 98.0),
    ]
}

fn in_seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The code cells of a notebook, without the differences that are allowed.
fn shapes(notebook: &Value) -> Vec<Value> {
    let cells = notebook["cells"].as_array().expect("a notebook has cells");
    cells.iter().filter(|cell| cell["cell_type"] == "code").map(testkit::comparable_cell).collect()
}

/// The notebooks of a folder and of the folders in it, by their paths within it.
fn notebooks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).expect("the corpus can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "ipynb") {
                found.push(path.strip_prefix(folder).expect("it is below").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Where notebooks run: the same folder each time, so that paths in outputs are equal.
struct Place {
    corpus: PathBuf,
    work: PathBuf,
    home: PathBuf,
}

impl Place {
    fn pass(&self, paths: &[PathBuf], way: Way) -> Pass {
        if self.work.exists() {
            fs::remove_dir_all(&self.work).expect("our own folder can be removed");
        }
        copy(&self.corpus, &self.work);
        let python = testkit::python("bench-corpus");
        let output = self.home.join("output.ipynb");
        let (mut notebooks, mut wall) = (Vec::new(), Duration::ZERO);
        for path in paths {
            let notebook = self.work.join(path);
            let mut command = match way {
                Way::Nbclient => {
                    let mut command = Command::new(&python);
                    command.arg(peer("run_notebook.py")).arg(&notebook).arg(&output);
                    command
                }
                Way::Cellist(backend) => {
                    let mut command = Command::new(cellist());
                    command.args(["run", "--allow-errors", "--timeout", CELL_SECONDS, "--full-outputs"]);
                    command.args(["--backend", backend, "--python"]).arg(&python).arg(&notebook);
                    command.arg("--output").arg(&output);
                    command
                }
            };
            // All ways have the same environment: a variable of a numeric library may change the last digit.
            command
                .env_clear()
                .envs(std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == *kept)));
            command.env("CELLIST_HOME", self.home.join("home")).env("IPYTHONDIR", self.home.join("ipython"));
            command.current_dir(notebook.parent().expect("a folder"));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = fs::remove_file(&output);
            let start = Instant::now();
            // A run that fails leaves no notebook, or one whose cells differ.
            let _ = command.status().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
            wall += start.elapsed();
            let written = fs::read(&output).ok();
            notebooks.push(written.and_then(|bytes| serde_json::from_slice(&bytes).ok()));
        }
        Pass { notebooks, wall }
    }
}

/// Copies a folder; files that may only be read can be written there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder can be written");
    for entry in fs::read_dir(from).expect("the corpus can be read").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            let bytes = fs::read(entry.path()).expect("the corpus can be read");
            fs::write(target, bytes).expect("the target folder can be written");
        }
    }
}
