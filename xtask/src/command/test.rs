//! Everything in one go: parts, checks, tests, and at the end the counts.

use std::path::Path;
use std::{fs, io, thread};

use testkit::{NeededBy, PARTS, TALLY};

use super::check::{CHECKS, passes};
use super::{deny, format, no_arguments, setup, web};
use crate::failure::Failure;
use crate::follow::follow;
use crate::process::cargo;
use crate::report::{Report, Suite, verdict};

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    // The last line has the same form for every outcome, for readers of that line alone.
    if let Err(failure) = setup::provide(NeededBy::Tests) {
        eprint!("{failure}");
        println!("\n{}", verdict(0, 1));
        return Err(Failure::told());
    }
    let mut checks: Vec<_> = CHECKS.iter().map(|check| (check.name, passes(check))).collect();
    checks.push((format::NAME, format::passes()));
    checks.push((deny::NAME, deny::passes()));
    checks.push(("page", web::is_current()));
    let tally = testkit::target_dir().join("cellist-tally");
    let suite = tests(&tally).map_err(|error| Failure::new(format!("the tests cannot be run: {error}")))?;
    let parts = PARTS.iter().filter(|part| part.needed_by == NeededBy::Tests).map(|part| part.name).collect();
    let tally = fs::read_to_string(&tally).unwrap_or_default();
    let report = Report { checks, suite, parts, tally };
    report.complaints().iter().for_each(|complaint| eprintln!("error: {complaint}"));
    print!("\n{report}");
    if report.failed() == 0 { Ok(()) } else { Err(Failure::told()) }
}

fn tests(tally: &Path) -> io::Result<Suite> {
    match fs::remove_file(tally) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // With a single thread tests run on the main thread, which does not carry their names for the tally.
    let threads = thread::available_parallelism().map_or(2, |threads| threads.get().max(2));
    let mut suite = Suite::default();
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--no-fail-fast"])
        .env(TALLY, tally)
        .env("RUST_TEST_THREADS", threads.to_string())
        // A snapshot that differs fails; it is not written beside the old one.
        .env("INSTA_UPDATE", "no");
    suite.ended_well = follow(&mut command, |line| suite.read(line))?;
    // After the others, which build the program and leave the machine to the browser.
    web::test(&mut suite)?;
    Ok(suite)
}
