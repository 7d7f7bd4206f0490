//! Records which test ran on which real part. `cargo xtask test` sets the file, reads it afterwards
//! and prints the counts.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::{env, thread};

/// The environment variable with the file. Without it nothing is recorded.
pub const TALLY: &str = "CELLIST_TALLY";

/// Counts the calling test as a user of `part`. Call it on the test's own thread, which has its
/// name.
pub fn tally(part: &str) {
    if let Some(file) = env::var_os(TALLY) {
        record(Path::new(&file), part);
    }
}

fn record(file: &Path, part: &str) {
    let program = env::current_exe().expect("a running program has a path");
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let thread = thread::current();
    let line = format!("{part}\t{program}\t{}\n", thread.name().unwrap_or("unnamed"));
    // One write in append mode: lines of parallel tests do not mix.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut opened| opened.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("the tally {} cannot be written: {error}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::record;
    use crate::Scratch;

    #[test]
    fn a_line_holds_the_part_the_program_and_the_test() {
        let scratch = Scratch::new();
        let file = scratch.path().join("tally");
        record(&file, "nbformat");
        record(&file, "zmq");
        let text = std::fs::read_to_string(file).unwrap();
        let fields: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!([fields[0][0], fields[1][0]], ["nbformat", "zmq"]);
        assert!(fields[0][1].starts_with("testkit-"), "{text}");
        assert_eq!(fields[0][2], "tally::tests::a_line_holds_the_part_the_program_and_the_test");
    }
}
