//! Times the stages of a kernel start, if `PI_DEBUG_STARTUP` is set.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_platform::Variables;

/// Receives one line per stage.
pub type StageLog = Arc<dyn Fn(&str) + Send + Sync>;

/// The clock of a kernel start.
pub struct Stages {
    begun: Instant,
    last: Instant,
    log: Option<StageLog>,
}

impl Stages {
    /// Logs to `log` if the client's variables ask for it.
    pub fn new(variables: &Variables, log: Option<StageLog>) -> Stages {
        let log = log.filter(|_| variables.is_on("PI_DEBUG_STARTUP"));
        Stages { log, ..Stages::silent() }
    }

    /// Logs nothing.
    pub fn silent() -> Stages {
        let now = Instant::now();
        Stages { begun: now, last: now, log: None }
    }

    /// Logs the end of a stage.
    pub fn done(&mut self, stage: &str) {
        let Some(log) = &self.log else { return };
        let now = Instant::now();
        let (since, total) = (milliseconds(now - self.last), milliseconds(now - self.begun));
        log(&format!("startup: {since:>8} ms  {stage} (after {total} ms)"));
        self.last = now;
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
