//! The interim report of code that was interrupted and did not stop within the grace period. The code still runs,
//! so its final state is unknown.

use cellist_output::{Status, notices};
use cellist_platform::clock::in_milliseconds;

use super::{Record, RunFacts};
use crate::execution::brief::brief;
use crate::execution::report::{KernelReport, KernelState, Report};

impl Record {
    /// Returns the report so far, for callers that do not wait for the end of `execution`.
    pub(crate) fn so_far(&self, facts: &RunFacts<'_>, execution: &str) -> Report {
        let shown = self.sink.clone().finish(None);
        let buffer = self.buffer.lock();
        let mut report = Report {
            status: facts.pace.cause().map_or(Status::Cancelled, Status::from),
            exit_code: None,
            text: shown.text,
            outputs: brief(&buffer.outputs(), &self.reading.limits),
            pictures: self.pictures(&buffer),
            error: None,
            execution_count: self.execution_count,
            duration_ms: in_milliseconds(facts.duration),
            cancelled: true,
            still_running: true,
            stdin_requested: self.stdin_requested,
            truncated: shown.truncated,
            artifact: None,
            kernel: KernelReport {
                state: KernelState::Unknown,
                restarted: facts.restarted,
                ..KernelReport::of(facts.identity)
            },
            notices: Vec::new(),
        };
        let mut said = facts.before.clone();
        said.extend(self.notices(facts));
        said.push(notices::not_stopped(execution));
        said.push(notices::state_unknown());
        said.into_iter().for_each(|notice| report.say(notice));
        report
    }
}
