//! Time from a cold command line to the first result.

use std::process::{Command, Stdio};

use crate::made::{code_cells, joined, outputs};
use crate::measure::{self, cellist, in_ms, in_turn};
use crate::table::{Figure, Target};

const ROUNDS: usize = 15;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let path = |name: &str| folder.path().join(name);
    let python = testkit::python("bench-kernels");
    let (ours, theirs) = (path("ours.ipynb"), path("theirs.ipynb"));
    code_cells(&ours, &["print(6 * 7)"]);
    code_cells(&theirs, &["print(6 * 7)"]);
    let cellist = |words: &[&str]| {
        let mut command = Command::new(cellist());
        command
            .args(words)
            .arg("--python")
            .arg(&python)
            .env("CELLIST_HOME", path("home"))
            .stdout(Stdio::null());
        command
    };

    let mut bare = |_| measure::run(Command::new(&python).args(["-c", "import json, ast, threading"]));
    let mut runner = |_| measure::run(&mut cellist(&["exec", "--backend", "runner", "6 * 7"]));
    let [floor, runner] = in_turn(ROUNDS, [&mut bare, &mut runner]);

    let mut jupyter = |_| {
        let program = python.with_file_name("jupyter");
        let mut command = Command::new(program);
        command.args(["execute", "--inplace"]).arg(&theirs);
        measure::run(&mut command)
    };
    let mut zmq = |_| measure::run(cellist(&["run", "--backend", "jupyter"]).arg(&ours));
    let [peer, zmq] = in_turn(ROUNDS, [&mut jupyter, &mut zmq]);
    for notebook in [&ours, &theirs] {
        assert_eq!(joined(&outputs(notebook)[0][0]["text"]), "42\n", "{}", notebook.display());
    }

    vec![
        Figure {
            promise: "runner: exec, as a multiple of the interpreter's own start",
            other: ("python -c import", in_ms(floor.wall())),
            ours: in_ms(runner.wall()),
            value: runner.ratio(&floor),
            unit: "x",
            target: Target::AtMost(1.5),
        },
        Figure {
            promise: "ipykernel: run of one cell, times faster than jupyter execute",
            other: ("jupyter execute", in_ms(peer.wall())),
            ours: in_ms(zmq.wall()),
            value: peer.ratio(&zmq),
            unit: "x",
            target: Target::AtLeast(2.5),
        },
    ]
}
