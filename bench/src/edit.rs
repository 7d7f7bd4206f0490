//! Changes one cell of a large notebook.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::measure::{self, Took, beside, cellist, in_mb, in_ms, in_turn, peer};
use crate::table::{Figure, Target};

const CELL: &str = "cell-170";

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    run_rounds(9, folder.path())
}

fn run_rounds(rounds: usize, folder: &Path) -> Vec<Figure> {
    let original = folder.join("large.ipynb");
    measure::run(Command::new(beside("cellist-bench")).arg("make-large-notebook").arg(&original));
    let size = fs::metadata(&original).expect("it was just made").len();
    let (ours, theirs, copy) =
        (folder.join("ours.ipynb"), folder.join("theirs.ipynb"), folder.join("copy.ipynb"));
    fs::copy(&original, &ours).expect("there is room");
    fs::copy(&original, &theirs).expect("there is room");
    let source = |round: usize| format!("x = {round}\nprint('é')\n");

    let mut native_copy = |_| measure::run(Command::new(beside("floor-copy")).arg(&original).arg(&copy));
    let mut nbformat = |round| edit_with_python(&theirs, &source(round));
    let mut cellist_edit = |round: usize| {
        let mut command = Command::new(cellist());
        command.args(["cell", "edit"]).arg(&ours).args([CELL, "--source", &source(round)]);
        measure::run(command.env("CELLIST_HOME", folder.join("home")).stdout(std::process::Stdio::null()))
    };
    let [floor, peer_side, our_side] = in_turn(rounds, [&mut native_copy, &mut nbformat, &mut cellist_edit]);
    assert_same(&ours, &theirs);

    vec![
        Figure {
            promise: "time, as a multiple of a native copy",
            other: ("native copy", in_ms(floor.wall())),
            ours: in_ms(our_side.wall()),
            value: our_side.ratio(&floor),
            unit: "x",
            target: Target::AtMost(1.5),
        },
        Figure {
            promise: "times faster than nbformat",
            other: ("nbformat", in_ms(peer_side.wall())),
            ours: in_ms(our_side.wall()),
            value: peer_side.ratio(&our_side),
            unit: "x",
            target: Target::AtLeast(8.0),
        },
        Figure {
            promise: "peak memory, as a multiple of the file",
            other: ("the file", in_mb(size)),
            ours: in_mb(our_side.peak_bytes()),
            value: our_side.peak_bytes() as f64 / size as f64,
            unit: "x",
            target: Target::AtMost(1.5),
        },
    ]
}

fn edit_with_python(notebook: &Path, source: &str) -> Took {
    let python = testkit::python("bench-lean");
    measure::run(Command::new(python).arg(peer("edit_nbformat.py")).arg(notebook).args([CELL, source]))
}

/// Fails unless two notebooks have equal content.
fn assert_same(one: &Path, other: &Path) {
    let read = |path: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(path).expect("it was just written")).expect("it is JSON")
    };
    assert_eq!(read(one), read(other), "our result is not the peer's");
}
