//! The state of each cell of a run in progress, for replies before its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_live::Document;
use cellist_notebook::CellId;
use cellist_output::{CellEnding, RunSummary};
use cellist_session::cells::{is_run, may_fail};
use cellist_session::execution::CellReport;
use cellist_session::sessions::{CellStep, RunEvent};

use crate::result::ending;

/// The cells of a run. Clones share one ledger. The ledger of a run without cells stays empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<LedgerEntries>>);

#[derive(Debug, Default)]
struct LedgerEntries {
    ended: RunSummary,
    /// The current cell, and whether its code is running.
    current: Option<(usize, bool)>,
    batch: Option<BatchCells>,
}

/// The cells of a notebook run. Other clients may insert and delete cells meanwhile.
#[derive(Debug)]
struct BatchCells {
    document: Document,
    cells: Vec<CellId>,
    /// Cells that have begun.
    begun: usize,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, LedgerEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the ledger for a run of notebook cells.
    pub(crate) fn open(&self, document: Document, cells: &[CellId]) {
        let notebook = document.view().notebook.clone();
        let runs = |id: &&CellId| notebook.position(id).is_some_and(|at| is_run(&notebook.cells()[at]));
        let cells = cells.iter().filter(runs).cloned().collect();
        self.lock().batch = Some(BatchCells { document, cells, begun: 0 });
    }

    /// Records whether the code of the current cell is running. Until then the cell waits for the
    /// kernel.
    pub(crate) fn runs(&self, cell: usize, is_running: bool) {
        let mut entries = self.lock();
        if let Some((current, runs)) = &mut entries.current
            && *current == cell
        {
            *runs = is_running;
        }
    }

    /// Records the progress of a run of `count` pieces of code that stops at the first failure.
    /// `done` pieces have succeeded.
    pub(crate) fn pieces(&self, done: usize, is_running: bool, count: usize) {
        let mut ended = RunSummary::default();
        for piece in 1..=count.max(done) {
            let ending = match piece {
                _ if piece <= done => CellEnding::Ok,
                _ if piece == done + 1 && is_running => CellEnding::Running,
                _ => CellEnding::NotRun,
            };
            ended.add(ending, piece);
        }
        *self.lock() = LedgerEntries { ended, ..LedgerEntries::default() };
    }

    /// Summarises the cells, if there are several.
    pub(crate) fn summary(&self) -> Option<RunSummary> {
        let entries = self.lock();
        let mut summary = entries.ended.clone();
        if let Some((cell, is_running)) = entries.current {
            summary.add(if is_running { CellEnding::Running } else { CellEnding::NotRun }, cell);
        }
        if let Some(BatchCells { document, cells, begun }) = &entries.batch {
            let notebook = document.view().notebook.clone();
            let left = cells.iter().skip(*begun).filter_map(|id| notebook.position(id));
            left.for_each(|cell| summary.add(CellEnding::NotRun, cell));
        }
        Some(summary).filter(|summary| summary.count() > 1)
    }

    /// Clears the ledger after the run and releases its notebook.
    pub(crate) fn close(&self) {
        *self.lock() = LedgerEntries::default();
    }
}

impl Ledger {
    /// Records an event of a cell run.
    pub(crate) fn hear(&self, event: &RunEvent) {
        match event {
            RunEvent::Began(step) => self.started(step),
            RunEvent::Ended(report) => self.finished(report),
        }
    }

    fn started(&self, step: &CellStep) {
        let mut entries = self.lock();
        entries.current = Some((step.index, false));
        if let Some(batch) = &mut entries.batch {
            batch.begun = step.position + 1;
        }
    }

    fn finished(&self, report: &CellReport) {
        let mut entries = self.lock();
        entries.current = None;
        let is_expected = entries.batch.as_ref().is_some_and(|batch| {
            batch.document.view().notebook.cells().get(report.index).is_some_and(may_fail)
        });
        entries.ended.add(ending(report.report.status, is_expected), report.index);
    }
}
