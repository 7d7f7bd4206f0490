//! A notebook to cell-marked text and back.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::made::joined;
use crate::measure::{self, beside, cellist, in_ms, in_turn, peer};
use crate::table::{Figure, Target};

const ROUNDS: usize = 9;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let path = |name: &str| folder.path().join(name);
    let notebook = path("thousand.ipynb");
    crate::made::thousand_cells(&notebook);
    let (text, ours, theirs) = (path("text.txt"), path("ours.ipynb"), path("theirs.ipynb"));

    let mut jupytext = |_| {
        let python = testkit::python("bench-jupytext");
        measure::run(Command::new(python).arg(peer("text_jupytext.py")).args([&notebook, &theirs]))
    };
    let mut cellist_text = |_| {
        let _ = fs::remove_file(&ours);
        let program = |words: &[&str]| {
            let mut command = Command::new(cellist());
            command.args(words).env("CELLIST_HOME", path("home"));
            command
        };
        let read = measure::run(
            program(&["read"]).arg(&notebook).stdout(File::create(&text).expect("the folder can be written")),
        );
        let write = measure::run(program(&["write"]).arg(&ours).arg(&text).stdout(Stdio::null()));
        read.and(&write)
    };
    // As many programs as ours, and as many bytes read and written, with no work in between.
    let mut native_copies = |_| {
        let copy = |from: &Path, to: &Path| measure::run(Command::new(beside("floor-copy")).args([from, to]));
        let (there, back) =
            (copy(&notebook, &path("copy.ipynb")), copy(&notebook, &path("copied-back.ipynb")));
        there.and(&back)
    };
    let [floor, peer_side, our_side] =
        in_turn(ROUNDS, [&mut native_copies, &mut jupytext, &mut cellist_text]);

    let sources = |path: &Path| -> Vec<(String, String)> {
        let value: serde_json::Value =
            serde_json::from_slice(&fs::read(path).expect("it was just written")).expect("it is JSON");
        let cells = value["cells"].as_array().cloned().unwrap_or_default();
        cells.iter().map(|cell| (cell["cell_type"].to_string(), joined(&cell["source"]))).collect()
    };
    assert_eq!(sources(&ours).len(), 1000, "a cell was lost");
    assert_eq!(sources(&ours), sources(&theirs), "our result is not the peer's");

    vec![
        Figure {
            promise: "as a multiple of two native copies",
            other: ("native copies", in_ms(floor.wall())),
            ours: in_ms(our_side.wall()),
            value: our_side.ratio(&floor),
            unit: "x",
            target: Target::AtMost(5.0),
        },
        Figure {
            promise: "times faster than jupytext's percent format",
            other: ("jupytext", in_ms(peer_side.wall())),
            ours: in_ms(our_side.wall()),
            value: peer_side.ratio(&our_side),
            unit: "x",
            target: Target::AtLeast(50.0),
        },
    ]
}
