//! Debug logs on standard error: the stages of a kernel's start, and all messages to and from it.

use std::sync::Arc;
use std::time::Instant;

use cellist_kernel::Trace;
use cellist_session::orders::StageLog;

use crate::output::print_to_stderr;

pub(crate) fn stages() -> StageLog {
    Arc::new(print_to_stderr)
}

pub(crate) fn trace() -> Trace {
    let begun = Instant::now();
    Trace::new(move |line| {
        print_to_stderr(&format!("ipc {:>10.1} ms  {line}", begun.elapsed().as_secs_f64() * 1000.0));
    })
}
