//! Logs of a start on standard error: its stages with their times, and every message to and from a kernel.

use std::sync::Arc;
use std::time::Instant;

use cellist_kernel::Trace;
use cellist_session::orders::StageLog;

use crate::output::print_to_stderr;

/// Prints the stages of a start.
pub(crate) fn stages() -> StageLog {
    Arc::new(|line| print_to_stderr(line))
}

/// Prints messages.
pub(crate) fn trace() -> Trace {
    let begun = Instant::now();
    Trace::new(move |line| {
        print_to_stderr(&format!("ipc {:>10.1} ms  {line}", begun.elapsed().as_secs_f64() * 1000.0));
    })
}
