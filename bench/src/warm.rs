//! Time of a command with a running session, from the start of its process to its end.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::made::{code_cells, joined, outputs};
use crate::measure::{self, cellist, in_ms, in_turn};
use crate::table::{Figure, Target};

const ROUNDS: usize = 15;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let python = testkit::python("bench-kernels");
    let notebook = folder.path().join("theirs.ipynb");
    code_cells(&notebook, &["print(6 * 7)"]);
    let host = StopHostOnDrop(folder.path());
    let exec = |code: &str| {
        let mut command = host.command();
        command.args(["exec", "--session", "warm", code]);
        command
    };
    // The first one starts the host and the kernel.
    measure::run(exec("x = 42").args(["--backend", "runner", "--python"]).arg(&python));

    let mut bare = |_| measure::run(Command::new(&python).args(["-c", "pass"]));
    let mut ours = |_| measure::run(exec("print(x)").stdout(Stdio::null()).stderr(Stdio::null()));
    let [floor, beside_floor] = in_turn(ROUNDS, [&mut bare, &mut ours]);
    let mut jupyter = |_| {
        let mut command = Command::new(python.with_file_name("jupyter"));
        command.args(["execute", "--inplace"]).arg(&notebook).stderr(Stdio::null());
        measure::run(&mut command)
    };
    let [peer, beside_peer] = in_turn(ROUNDS, [&mut jupyter, &mut ours]);
    assert_eq!(joined(&outputs(&notebook)[0][0]["text"]), "42\n");
    let printed = exec("print(x)").output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&printed.stdout), "42\n");

    vec![
        Figure {
            promise: "exec in a session, as a multiple of an interpreter that does nothing",
            other: ("python -c pass", in_ms(floor.wall())),
            ours: in_ms(beside_floor.wall()),
            value: beside_floor.ratio(&floor),
            unit: "x",
            target: Target::AtMost(2.0),
        },
        Figure {
            promise: "exec in a session, times faster than jupyter execute",
            other: ("jupyter execute", in_ms(peer.wall())),
            ours: in_ms(beside_peer.wall()),
            value: peer.ratio(&beside_peer),
            unit: "x",
            target: Target::AtLeast(40.0),
        },
    ]
}

/// A folder whose host is stopped at the end.
struct StopHostOnDrop<'a>(&'a Path);

impl StopHostOnDrop<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(cellist());
        command.current_dir(self.0).env("CELLIST_HOME", self.0.join("home"));
        command
    }
}

impl Drop for StopHostOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.command().arg("stop").stdout(Stdio::null()).status();
    }
}
