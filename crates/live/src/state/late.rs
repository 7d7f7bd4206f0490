//! Late output of an idle session: it goes into the cells that wrote it.

use std::sync::Arc;

use cellist_notebook::CellId;
use cellist_session::execution::OutputBuffer;
use cellist_session::sessions::LateOutputs;

use super::State;
use crate::condition::CellRun;

/// Late output that is not in the notebook yet.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Held back while cells are queued or running: their run has outputs that are not in the notebook yet.
    held: Vec<LateOutputs>,
    /// The last run that wrote late output, with its outputs as put into the notebook.
    last: Option<(Arc<str>, OutputBuffer)>,
}

impl State {
    /// Accepts late output.
    pub(crate) fn hear_late(&mut self, late: LateOutputs, now: u64) {
        self.late.held.push(late);
        self.put_late(now);
    }

    /// Takes the held-back output, for the run that now writes outputs.
    pub(crate) fn take_late(&mut self) -> Vec<LateOutputs> {
        std::mem::take(&mut self.late.held)
    }

    /// Puts late output into its cells, unless a run is active.
    pub(crate) fn put_late(&mut self, now: u64) {
        if self.conditions.is_active() {
            return;
        }
        for late in self.take_late() {
            self.add_late(late, now);
        }
    }

    /// Adds late output to a cell, up to the limit of its run. Output of a deleted cell or of an earlier run is
    /// dropped.
    fn add_late(&mut self, late: LateOutputs, now: u64) -> Option<()> {
        let cell: CellId = CellRun::cell_of(&late.tag)?;
        let run = self.conditions.last_run(&cell, &late.tag)?.clone();
        let found = &self.notebook.cells()[self.notebook.position(&cell)?];
        let count = found.execution_count().and_then(|count| u64::try_from(count).ok());
        let outputs = found.outputs();
        let mut kept = match self.late.last.take() {
            // Outputs that were cleared or changed since do not come back.
            Some((tag, kept)) if tag == late.tag && *kept.saved() == *outputs => kept,
            _ => OutputBuffer::of(run.max_output, outputs),
        };
        late.events.into_iter().for_each(|event| kept.apply(event));
        self.set_outputs(&cell, &kept.saved(), count, &run.author, now);
        self.late.last = Some((late.tag, kept));
        Some(())
    }
}
