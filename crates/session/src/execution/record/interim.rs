//! The report of code that was interrupted and has not stopped within the grace. It is no end: the code runs on, and
//! nothing is known yet of its state.

use cellist_output::{Status, notices};
use cellist_platform::clock::in_milliseconds;

use super::{Record, Told};
use crate::execution::brief::brief;
use crate::execution::report::{KernelReport, KernelState, Report};

impl Record {
    /// The report at this moment, for callers that do not wait for the end of `execution`.
    pub(crate) fn so_far(&self, told: &Told<'_>, execution: &str) -> Report {
        let shown = self.sink.clone().finish(None);
        let buffer = self.buffer.lock();
        let mut report = Report {
            status: told.pace.cause().map_or(Status::Cancelled, Status::from),
            exit_code: None,
            text: shown.text,
            outputs: brief(&buffer.outputs(), &self.reading.limits),
            pictures: self.pictures(&buffer),
            error: None,
            execution_count: self.execution_count,
            duration_ms: in_milliseconds(told.duration),
            cancelled: true,
            still_running: true,
            stdin_requested: self.stdin_requested,
            truncated: shown.truncated,
            artifact: None,
            kernel: KernelReport {
                state: KernelState::Unknown,
                restarted: told.restarted,
                ..KernelReport::of(told.identity)
            },
            notices: Vec::new(),
        };
        let mut said = told.before.clone();
        said.extend(self.notices(told));
        said.push(notices::not_stopped(execution));
        said.push(notices::state_unknown());
        said.into_iter().for_each(|notice| report.say(notice));
        report
    }
}
