//! The first message of a background host to the process that started it.

use std::fs::OpenOptions;
use std::io::{self, Write};

use cellist_host::StartupReport;

/// Writes the message to standard output and closes that, so that the starting process can go on.
pub fn report_startup(words: &StartupReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    // The starting process may be gone already.
    let _ = serde_json::to_writer(&mut out, words);
    let _ = out.flush();
    let nothing = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&nothing)?)
}
