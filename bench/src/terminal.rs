//! The terminal viewer: time to the first screen, time from a key to its frame, and the cost of a
//! stream.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::made;
use crate::measure::{Took, cellist, in_mb, in_ms, in_turn, median, run as run_to_its_end};
use crate::pty::BenchTerminal;
use crate::table::{Figure, Target};

const ROUNDS: usize = 9;
const KEYS: usize = 100;
/// A screen without output for this long is finished.
const QUIET: Duration = Duration::from_millis(20);

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let mut figures = viewing(folder.path());
    figures.extend(streaming(folder.path()));
    figures
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cellist());
    command.args(words).current_dir(folder).env("CELLIST_HOME", folder.join("home")).env_remove("NO_COLOR");
    command
}

/// A notebook of 1,000 cells: its first screen, and the frames while a user scrolls.
fn viewing(folder: &Path) -> Vec<Figure> {
    made::thousand_cells(&folder.join("nb.ipynb"));
    let (mut first, mut frames) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let began = Instant::now();
        let mut terminal = BenchTerminal::start(command(folder, &["view", "nb.ipynb", "--standalone"]));
        terminal.until("cell 0 of 1000");
        let took = began.elapsed();
        terminal.settle(QUIET);
        let mut walked = Vec::new();
        for _ in 0..KEYS {
            terminal.keys("j");
            walked.push(terminal.next().as_secs_f64());
            terminal.settle(Duration::from_millis(2));
        }
        terminal.keys("q");
        terminal.finish();
        if round > 0 {
            first.push(took.as_secs_f64());
            frames.push(median(walked.into_iter()).unwrap_or(f64::NAN));
        }
    }
    let figure = |promise, times: Vec<f64>, most: f64| {
        let value = median(times.into_iter()).unwrap_or(f64::NAN);
        Figure {
            promise,
            other: ("the time it may take", format!("{most:.1} ms")),
            ours: in_ms(Duration::from_secs_f64(value)),
            value: value * 1000.0,
            unit: " ms",
            target: Target::AtMost(most),
        }
    };
    vec![
        figure("view: first screen of 1,000 cells, whole process", first, 50.0),
        figure("view: from a key to the frame that scrolls", frames, 5.0),
    ]
}

/// 100,000 lines of a cell, on a terminal and as plain text, and the memory of ten times as many.
fn streaming(folder: &Path) -> [Figure; 2] {
    let printing = |name: &str, lines: usize| {
        let source =
            format!("for i in range({lines}):\n    print(i, 'a line as programs print them, not very long')");
        made::code_cells(&folder.join(name), &[source]);
    };
    printing("flood.ipynb", 100_000);
    printing("ten.ipynb", 1_000_000);
    let words = |name| ["run", name, "--output", "done.ipynb", "--backend", "runner"];
    let on_terminal = |name| {
        let began = Instant::now();
        let peak_bytes = BenchTerminal::start(command(folder, &words(name))).finish();
        Took { wall: began.elapsed(), peak_bytes }
    };
    let mut plain = |_| {
        let text = File::create(folder.join("plain.txt")).expect("there is room");
        run_to_its_end(command(folder, &words("flood.ipynb")).stdout(text))
    };
    let [plain, shown] = in_turn(ROUNDS, [&mut plain, &mut |_| on_terminal("flood.ipynb")]);
    let many = on_terminal("ten.ipynb").peak_bytes;
    [
        Figure {
            promise: "run: a cell that prints 100,000 lines, on a terminal",
            other: ("as plain text", in_ms(plain.wall())),
            ours: in_ms(shown.wall()),
            value: shown.ratio(&plain),
            unit: "x",
            target: Target::AtMost(1.2),
        },
        Figure {
            promise: "run: memory for 1,000,000 lines on a terminal",
            other: ("for 100,000", in_mb(shown.peak_bytes())),
            ours: in_mb(many),
            value: many as f64 / shown.peak_bytes() as f64,
            unit: "x",
            target: Target::AtMost(1.5),
        },
    ]
}
