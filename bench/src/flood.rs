//! A program that prints 2 GB: speed and memory of recording it, and completeness.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use cellist_settings::Home;
use cellist_store::artifact::{Artifacts, Retention};
use serde_json::Value;

use crate::measure::{self, cellist, in_mb, in_ms, in_turn};
use crate::table::{Figure, Target};

const ROUNDS: usize = 3;
const LINES: u64 = 2_000_000;
const LINE: u64 = 1000;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let path = |name: &str| folder.path().join(name);
    let python = testkit::python("bench-kernels");
    let (program, plain, answer) = (path("program.py"), path("plain"), path("answer.json"));
    let code = format!("rest = 'x' * {}\nfor n in range({LINES}):\n    print(f'{{n:07}}', rest)\n", LINE - 9);
    std::fs::write(&program, code).expect("the program can be written");
    let home = Home::at(path("home"));

    let mut bare = |_| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$0\" -u \"$1\" | cat > \"$2\""]).args([&python, &program, &plain]);
        measure::run(&mut shell)
    };
    let mut ours = |_| {
        let artifacts = home.path().join("artifacts");
        // Artifacts of earlier rounds would fill the disk.
        let _ = std::fs::remove_dir_all(&artifacts);
        let mut command = Command::new(cellist());
        command
            .args(["exec", "--json", "--backend", "runner", "--timeout", "600", "--python"])
            .arg(&python)
            .arg("--file")
            .arg(&program)
            .env("CELLIST_HOME", home.path())
            .stdout(Stdio::from(File::create(&answer).expect("the answer can be written")));
        measure::run(&mut command)
    };
    let [bare, ours] = in_turn(ROUNDS, [&mut bare, &mut ours]);

    let report: Value = serde_json::from_reader(BufReader::new(File::open(&answer).expect("an answer")))
        .expect("the answer is JSON");
    let total = |name: &str| report["truncated"][name].as_u64().expect("a count");
    assert_eq!((total("total_lines"), total("total_bytes")), (LINES, LINES * LINE));
    let text = report["text"].as_str().expect("a text");
    let shown = text.lines().filter(|line| line.len() as u64 == LINE - 1).count() as u64;
    assert_eq!(shown, total("shown_lines"), "the text shows as many lines as it says");
    let id = report["artifact"].as_str().expect("an artifact").parse().expect("its name");
    let kept = Artifacts::new(&home, Retention::default()).path(&id);
    assert!(is_same(&kept, &plain), "the artifact differs from the output of the program");

    vec![
        Figure {
            promise: "2 GB of lines, kept complete: speed relative to a plain file",
            other: ("python -u | cat > file", in_ms(bare.wall())),
            ours: in_ms(ours.wall()),
            value: bare.ratio(&ours),
            unit: "x",
            target: Target::AtLeast(0.7),
        },
        Figure {
            promise: "2 GB of lines, kept complete: peak memory",
            other: ("the room it may take", in_mb(150_000_000)),
            ours: in_mb(ours.peak_bytes()),
            value: ours.peak_bytes() as f64 / 1e6,
            unit: " MB",
            target: Target::AtMost(150.0),
        },
    ]
}

/// Compares two files of any size.
fn is_same(one: &Path, other: &Path) -> bool {
    let open = |path: &Path| File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut one, mut other) = (open(one), open(other));
    let [mut left, mut right] = [vec![0; 1 << 20], vec![0; 1 << 20]];
    loop {
        let (read, also) = (fill(&mut one, &mut left), fill(&mut other, &mut right));
        if left[..read] != right[..also] {
            return false;
        }
        if read == 0 {
            return true;
        }
    }
}

/// Fills the buffer, or reads the rest of the file.
fn fill(file: &mut File, buffer: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]).expect("the file can be read") {
            0 => break,
            read => filled += read,
        }
    }
    filled
}
