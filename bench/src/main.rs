//! Benchmarks: ours, a peer and a floor do the same work in the same run. A figure is a ratio,
//! taken per round, so that a noisy machine slows all sides alike. Results are compared too: a fast
//! wrong answer fails.
#![expect(clippy::print_stdout, reason = "the tables are the answer")]

mod browser;
mod cells;
mod chat;
mod cold;
mod crowd;
mod display;
mod document;
mod edit;
mod flood;
mod frames;
mod gateway;
mod idle;
mod made;
mod mcp;
mod measure;
mod page;
mod pty;
mod real;
mod round_trip;
mod start;
mod streams;
mod table;
mod terminal;
mod text;
mod warm;

use std::path::PathBuf;
use std::process::ExitCode;

use table::Figure;

/// A benchmark: its name, its subject and its function.
type Bench = (&'static str, &'static str, fn() -> Vec<Figure>);

const BENCHES: &[Bench] = &[
    ("edit", "change one cell of a 52 MB notebook and save it, whole process", edit::run),
    ("text", "1,000 cells to cell-marked text and back, process starts included", text::run),
    ("start", "the start of the program", start::run),
    ("cold", "the first result from a cold command line", cold::run),
    ("warm", "a result from a running session, whole process", warm::run),
    ("cells", "notebooks of many small cells, and of a few heavy ones, whole process", cells::run),
    ("round-trip", "one trivial cell on a ready kernel", round_trip::run),
    ("streams", "floods of output, kept complete", streams::run),
    ("flood", "a program that prints 2 GB", flood::run),
    ("display", "one display of 400 MB, peak memory", display::run),
    ("crowd", "many sessions at once", crowd::run),
    ("gateway", "kernels behind gateways", gateway::run),
    ("mcp", "latency and tokens of an agent over MCP", mcp::run),
    ("document", "an open notebook that several clients edit", document::run),
    ("terminal", "the terminal viewer and output on a terminal", terminal::run),
    ("page", "the live page in a real browser", page::run),
    ("idle", "the host's socket beside thousands of idle connections", idle::run),
    ("frames", "frames that announce a terabyte, on each protocol of the host", frames::run),
    (
        "real",
        "real notebooks, by nbclient and by both backends; a folder of them with --corpus DIR",
        real::run,
    ),
    ("chat", "the assistant on the page, with a provider on this machine", chat::run),
];

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = words.iter().position(|word| word == "--corpus") {
        let Some(folder) = words.get(at + 1).map(PathBuf::from).filter(|folder| folder.is_dir()) else {
            eprintln!("--corpus needs a folder of notebooks");
            return ExitCode::from(2);
        };
        let _ = real::CORPUS.set(folder);
        words.drain(at..at + 2);
    }
    // A separate process makes the large notebooks: a child is charged with the memory of the
    // process that starts it.
    if let [command, path] = words.as_slice()
        && command == "make-large-notebook"
    {
        made::large_notebook(path.as_ref());
        return ExitCode::SUCCESS;
    }
    let unknown: Vec<&String> =
        words.iter().filter(|word| BENCHES.iter().all(|(name, ..)| name != word)).collect();
    if !unknown.is_empty() {
        let names: Vec<&str> = BENCHES.iter().map(|(name, ..)| *name).collect();
        eprintln!("there is no benchmark {unknown:?}; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let mut missed = 0;
    for (name, about, run) in
        BENCHES.iter().filter(|(name, ..)| words.is_empty() || words.iter().any(|word| word == name))
    {
        let figures = run();
        println!("\n{name}: {about}");
        print!("{}", table::render(&figures));
        missed += figures.iter().filter(|figure| !figure.is_met()).count();
    }
    if missed > 0 {
        println!("\n{missed} figures missed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
