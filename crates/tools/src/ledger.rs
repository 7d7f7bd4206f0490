//! How the cells of a run stand while it goes on, for replies that are made before its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_live::Document;
use cellist_notebook::CellId;
use cellist_output::{CellEnding, RunSummary};
use cellist_session::cells::{is_run, may_fail};
use cellist_session::execution::CellReport;
use cellist_session::sessions::{RunEvent, Step};

use crate::result::ending;

/// The cells of a run. Cheap to clone; all clones are one. An empty one is of a run that has no cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    ended: RunSummary,
    /// The cell whose turn it is, and whether its code runs.
    current: Option<(usize, bool)>,
    batch: Option<BatchCells>,
}

/// The cells of a notebook that run, in which others may insert and delete meanwhile.
#[derive(Debug)]
struct BatchCells {
    document: Document,
    cells: Vec<CellId>,
    /// How many have begun.
    begun: usize,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run of these cells of a notebook, which the ledger is told of.
    pub(crate) fn open(&self, document: Document, cells: &[CellId]) {
        let notebook = document.view().notebook.clone();
        let runs = |id: &&CellId| notebook.position(id).is_some_and(|at| is_run(&notebook.cells()[at]));
        let cells = cells.iter().filter(runs).cloned().collect();
        self.lock().batch = Some(BatchCells { document, cells, begun: 0 });
    }

    /// Notes whether the code of a cell runs. Until then it waits for the kernel.
    pub(crate) fn runs(&self, cell: usize, is_running: bool) {
        let mut entries = self.lock();
        if let Some((current, runs)) = &mut entries.current
            && *current == cell
        {
            *runs = is_running;
        }
    }

    /// Notes how far a run of `count` pieces of code is, which ends at the first that fails. `done` have ended well.
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
        *self.lock() = Entries { ended, ..Entries::default() };
    }

    /// How the cells stand now, where there are several.
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

    /// Forgets the run, which has ended, and lets go of its notebook.
    pub(crate) fn close(&self) {
        *self.lock() = Entries::default();
    }
}

impl Ledger {
    /// Notes something that happened in a run of cells.
    pub(crate) fn hear(&self, event: &RunEvent) {
        match event {
            RunEvent::Began(step) => self.started(step),
            RunEvent::Ended(report) => self.finished(report),
        }
    }

    fn started(&self, step: &Step) {
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
