//! Time until the program has done a small task.

use std::process::{Command, Stdio};

use crate::measure::{self, beside, cellist, in_ms, in_turn};
use crate::table::{Figure, Target};

const ROUNDS: usize = 200;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let small = testkit::fixture("saved/nbformat-4.5");
    let quiet =
        |mut command: Command| measure::run(command.env("CELLIST_HOME", folder.path()).stdout(Stdio::null()));
    let mut nothing = |_| quiet(Command::new(beside("floor-nothing")));
    let mut version = |_| {
        let mut command = Command::new(cellist());
        command.arg("--version");
        quiet(command)
    };
    let mut read = |_| {
        let mut command = Command::new(cellist());
        command.arg("read").arg(&small);
        quiet(command)
    };
    let python = testkit::python("bench-kernels");
    let mut pass = |_| {
        let mut command = Command::new(&python);
        command.args(["-c", "pass"]);
        quiet(command)
    };
    let [floor, version, read, pass] = in_turn(ROUNDS, [&mut nothing, &mut version, &mut read, &mut pass]);
    let own = read.wall().saturating_sub(floor.wall());
    vec![
        Figure {
            promise: "--version, as a multiple of a native program that does nothing",
            other: ("nothing", in_ms(floor.wall())),
            ours: in_ms(version.wall()),
            value: version.ratio(&floor),
            unit: "x",
            target: Target::AtMost(3.0),
        },
        Figure {
            promise: "read on a small notebook, beyond the start of a process",
            other: ("nothing", in_ms(floor.wall())),
            ours: in_ms(read.wall()),
            value: own.as_secs_f64() * 1000.0,
            unit: " ms",
            target: Target::AtMost(10.0),
        },
        Figure {
            promise: "read on a small notebook, times faster than a Python that does nothing",
            other: ("python -c pass", in_ms(pass.wall())),
            ours: in_ms(read.wall()),
            value: pass.ratio(&read),
            unit: "x",
            target: Target::AtLeast(2.0),
        },
    ]
}
