//! What can be watched while a kernel starts: the stages with their times, and every message.

use std::time::{Duration, Instant};

use cellist_kernel::Trace;
use cellist_platform::Variables;

use crate::answer::print_aside;

/// Tells the stages of a start, if someone asked for that.
#[derive(Debug)]
pub(crate) struct Stages {
    begun: Instant,
    last: Instant,
    is_on: bool,
}

impl Stages {
    pub(crate) fn new(variables: &Variables) -> Stages {
        let now = Instant::now();
        Stages { begun: now, last: now, is_on: variables.is_on("PI_DEBUG_STARTUP") }
    }

    /// Tells nothing, where a screen would be written over.
    pub(crate) fn silent() -> Stages {
        let now = Instant::now();
        Stages { begun: now, last: now, is_on: false }
    }

    /// A stage is done.
    pub(crate) fn done(&mut self, stage: &str) {
        if !self.is_on {
            return;
        }
        let now = Instant::now();
        let (since, total) = (milliseconds(now - self.last), milliseconds(now - self.begun));
        print_aside(&format!("startup: {since:>8} ms  {stage} (after {total} ms)"));
        self.last = now;
    }
}

/// Whether someone asked for every message to be written down.
pub(crate) fn is_traced(variables: &Variables) -> bool {
    variables.is_on("PI_PYTHON_IPC_TRACE")
}

/// Where messages are written down.
pub(crate) fn trace() -> Trace {
    let begun = Instant::now();
    Trace::new(move |line| print_aside(&format!("ipc {:>10} ms  {line}", milliseconds(begun.elapsed()))))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
