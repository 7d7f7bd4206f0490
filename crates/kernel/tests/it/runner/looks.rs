//! Values and errors look as on Jupyter's own kernel: the same cells run on both, and their texts are compared.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cellist_kernel::zmq::KernelCommand;
use cellist_kernel::{Event, Kernel, Request};

use super::bed::{self, Bed, all};
use crate::zmq;

const HELPER: &str = include_str!("../../looks/helper.py");

/// One cell each, between lines of dashes.
const ERRORS: &str = include_str!("../../looks/errors.txt");
const VALUES: &str = include_str!("../../looks/values.txt");

fn cells(text: &str) -> Vec<&str> {
    text.split("\n----\n").map(|cell| cell.trim_end_matches('\n')).collect()
}

/// The errors and results of cells, as text without colours, addresses and the kernel's own folder.
async fn looks(kernel: &dyn Kernel, folder: &Path, cells: &[String]) -> Vec<String> {
    let mut looks = Vec::new();
    for cell in cells {
        let mut text = String::new();
        for event in all(kernel.execute(Request::new(cell.as_str())).await.unwrap()).await {
            match event {
                Event::Error { name, message, traceback } => {
                    let _ = writeln!(text, "{name}: {message}\n{}", traceback.join("\n"));
                }
                Event::Result { data, .. } => {
                    let _ = writeln!(text, "{}", data.get_text("text/plain").unwrap_or_default());
                }
                _ => {}
            }
        }
        looks.push(plain(&text.replace(&folder.display().to_string(), "FOLDER")));
    }
    looks
}

/// Text without colours and memory addresses.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for (at, piece) in text.split('\x1b').enumerate() {
        shown.push_str(if at == 0 { piece } else { piece.split_once('m').map_or("", |(_, rest)| rest) });
    }
    let mut pieces = shown.split("0x");
    let mut nowhere = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        nowhere.push_str("0x…");
        nowhere.push_str(piece.trim_start_matches(|sign: char| sign.is_ascii_hexdigit()));
    }
    nowhere
}

/// Runs cells on Jupyter's own kernel of one environment and on the runner of another.
async fn check(kernel_of: &str, runner_of: PathBuf, cells: Vec<String>) {
    let theirs = zmq::bed::Bed::new();
    theirs.scratch.write("work/helper.py", HELPER);
    let kernel = theirs.start(KernelCommand::ipykernel(&testkit::python(kernel_of))).await;
    let expected = looks(&*kernel.kernel, &theirs.launch.cwd.canonicalize().unwrap(), &cells).await;
    kernel.kernel.shutdown().await;

    let ours = Bed::with(runner_of);
    ours.file("helper.py", HELPER);
    let session = ours.start().await;
    let folder = session.bed.launch.cwd.canonicalize().unwrap();
    let found = looks(&*session.kernel, &folder, &cells).await;
    session.end().await;
    let mut wrong = String::new();
    for ((cell, expected), found) in cells.iter().zip(&expected).zip(&found) {
        if expected != found {
            let _ = writeln!(wrong, "{cell}\n--- ipykernel\n{expected}--- runner\n{found}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn errors() -> Vec<String> {
    cells(ERRORS).into_iter().map(str::to_owned).collect()
}

fn values() -> Vec<String> {
    cells(VALUES).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn errors_look_as_on_ipykernel_7() {
    check("kernels", bed::full_python(), errors()).await;
}

#[tokio::test]
async fn errors_look_as_on_ipykernel_6() {
    check("kernels-6", testkit::python("kernels-6"), errors()).await;
}

#[tokio::test]
async fn errors_look_as_in_the_installed_ipython_also_where_it_is_older() {
    check("ipython-8", testkit::python("ipython-8"), errors()).await;
}

#[tokio::test]
async fn errors_look_the_same_without_ipython() {
    // Only IPython itself shows a line of its own file.
    let own = |cell: &String| ["exec('b = = 2')", "ast.parse"].iter().any(|code| cell.contains(code));
    check("kernels", bed::bare_python(), errors().into_iter().filter(|cell| !own(cell)).collect()).await;
}

#[tokio::test]
async fn each_mode_of_tracebacks_looks_as_on_ipykernel() {
    let chosen = ["fail(1)", "1/0", "Thing().method([1, 2])", "import json\njson.loads('{')", "b = = 2"];
    let mut cells = vec!["from helper import *".to_owned()];
    for mode in ["Plain", "Verbose", "Minimal", "Context"] {
        cells.push(format!("%xmode {mode}"));
        cells.extend(chosen.map(str::to_owned));
    }
    check("kernels", bed::full_python(), cells.clone()).await;
    check("ipython-8", testkit::python("ipython-8"), cells).await;
}

#[tokio::test]
async fn values_look_as_on_ipykernel() {
    check("kernels", bed::full_python(), values()).await;
}

#[tokio::test]
async fn values_look_the_same_without_ipython() {
    check("kernels", bed::bare_python(), values()).await;
}

#[tokio::test]
async fn a_deep_recursion_is_folded() {
    let session = Bed::new().start().await;
    let heard = session.run("def deep(n):\n    return deep(n + 1)\ndeep(0)").await;
    let traceback = plain(&heard.error().unwrap().2);
    assert!(traceback.contains("[... skipping similar frames: deep at line 2 ("), "{traceback}");
    assert!(traceback.lines().count() < 30, "{traceback}");
    session.end().await;
}

#[tokio::test]
async fn parts_for_tracebacks_and_long_values_are_loaded_when_used() {
    let session = Bed::new().start().await;
    let loaded = "import sys\n' '.join(sorted(name[15:] for name in sys.modules if name.startswith(('cellist_runner.pretty', 'cellist_runner.tracebacks', 'cellist_runner.errors'))))";
    session
        .check(&[
            ("[1, 'a', {2: (3,)}]", "result text/plain=[1, 'a', {2: (3,)}]"),
            (loaded, "result text/plain=''"),
            ("{2, 1}", "result text/plain={1, 2}"),
            (loaded, "result text/plain='pretty pretty_types'"),
        ])
        .await;
    session.end().await;
}
