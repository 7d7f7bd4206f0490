//! The log of a host: lines with a timestamp on standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::SystemTime;

use cellist_platform::clock::utc;
use cellist_platform::contained::report_panics;

/// Logs every panic as one line from now on.
pub fn note_panics() {
    report_panics(|line| note(line));
}

/// Logs a line. Ignores errors.
pub fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{} {line}", utc(SystemTime::now()));
}
