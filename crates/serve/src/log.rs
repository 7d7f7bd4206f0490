//! What a host writes down about itself: lines with the time, on standard error, which is its log or a terminal.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::SystemTime;

use cellist_platform::clock::utc;
use cellist_platform::contained::report_panics;

/// Has panics written down as one line each, from now on.
pub fn note_panics() {
    report_panics(|line| note(line));
}

/// Writes one line. Nobody is told when that fails: there is no one left to tell.
pub fn note(what: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{} {what}", utc(SystemTime::now()));
}
