//! Runs cells of an open notebook in its kernel session, from their newest text. Writes their outputs into the
//! notebook while others edit it.

mod commands;
mod resting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_notebook::CellId;
use cellist_platform::FailureKind;
use cellist_platform::clock::{in_milliseconds, now_ms};
use cellist_session::cells::is_run;
use cellist_session::execution::{
    Cancel, CellReport, KernelState, RunOutputs, RunReport, Status, Unsaved, count_failed,
};
use cellist_session::sessions::{
    CallReport, CellStep, Code, CodeReport, RunEvent, RunFeed, SessionCall, SessionError, Sessions, Stage,
    Ticket,
};
use cellist_store::receipts::{Receipt, mark};

use super::actor::Author;
use super::condition::CellRun;
use super::document::{Document, DocumentError, DocumentView};
use super::state::{BegunCell, EndedCell};
use resting::Resting;

/// Interval of output updates; sessions use the same.
const TICK: Duration = Duration::from_millis(90);
/// Large outputs are updated less often, so updates take at most a tenth of the time.
const SHARE: u32 = 10;

/// A run of cells.
#[derive(Clone, Debug)]
pub struct CellBatch {
    /// The cells, in this order.
    pub cells: Vec<CellId>,
    /// Session, kernel and limits. The code comes from the cells.
    pub call: SessionCall,
    /// Whether to continue after a cell that fails.
    pub allow_errors: bool,
    /// Byte limit of a cell's outputs in the notebook; `None` keeps everything.
    pub max_output: Option<usize>,
    /// Whether to write execution times into the notebook.
    pub timing: bool,
    /// The event feed of the run.
    pub feed: RunFeed,
}

/// Why a run was aborted.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each wraps the error of a part")]
pub enum RunError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session refused `cell` after others had ended. The report covers those.
    #[error("{error}")]
    Stopped { error: SessionError, cell: CellId, report: Box<RunReport> },
}

impl Document {
    /// Runs cells one after the other, until one fails.
    ///
    /// - Order: each cell runs with the text it has when its turn comes. Deleted cells are skipped. Outputs go into
    ///   the notebook as they arrive, and to disk every five seconds and soon after a cell ends.
    /// - Cancellation: `cancel` interrupts the running cell and ends the run with a report. Dropping the future
    ///   leaves the running cell alone and starts no other.
    /// - Errors: code that fails is a report. [`RunError`] means that the session or the notebook failed;
    ///   [`RunError::Stopped`] carries the report so far.
    pub async fn run(
        &self,
        sessions: &Sessions,
        batch: CellBatch,
        author: Author,
        mut cancel: Cancel,
    ) -> Result<RunReport, RunError> {
        let begun = Instant::now();
        let DocumentView { notebook, noted, absorbed, .. } = DocumentView::clone(&self.view());
        let runs = |id: &&CellId| notebook.position(id).is_some_and(|at| is_run(&notebook.cells()[at]));
        let cells: Vec<CellId> = batch.cells.iter().filter(runs).cloned().collect();
        self.mark_waiting(cells.clone()).await?;
        // Includes cells that are not run, because the caller marked them as queued.
        let resting = Resting { document: self, cells: &batch.cells };
        let mut run = ActiveRun {
            document: self,
            sessions,
            batch: &batch,
            author,
            outputs: RunOutputs::new(batch.max_output),
            reset: batch.call.reset,
            kernel: None,
            written: 0,
            position: (0, 0),
        };
        let (mut reports, mut notices, mut status) = (Vec::new(), Vec::new(), Status::Ok);
        let mut refused = None;
        for (position, id) in cells.iter().enumerate() {
            if cancel.is_asked() {
                status = Status::Cancelled;
                break;
            }
            run.position = (position, cells.len());
            let report = match run.cell(id, &mut cancel, &mut notices).await {
                Ok(CellOutcome::Done(report)) => report,
                Err(RunError::Session(error)) if !reports.is_empty() => {
                    (refused, status) = (Some((error, id.clone())), Status::Error);
                    break;
                }
                Err(error) => return Err(error),
                Ok(CellOutcome::Gone) => {
                    notices.push(format!("cell {id} was deleted while the notebook ran, and was not run"));
                    continue;
                }
                Ok(CellOutcome::Unwanted) => {
                    status = Status::Cancelled;
                    break;
                }
            };
            let lost = report.report.kernel.state == KernelState::Lost;
            let ends = match report.report.status {
                Status::Ok => false,
                Status::Error => lost || !report.may_fail,
                Status::Timeout => lost || !batch.allow_errors,
                Status::Cancelled => true,
            };
            if ends || report.report.status == Status::Timeout {
                status = report.report.status;
            }
            batch.feed.tell(RunEvent::Ended(Arc::clone(&report)));
            reports.push(report);
            if ends {
                break;
            }
        }
        // Late output finds its cell in the newest view, so the end of the run must be published first.
        resting.done().await?;
        sessions.flush_late(&batch.call.key).await;
        let unsaved = self.save().await.err().map(unsaved);
        let view = self.view();
        notices.extend(view.notices_since(noted));
        if view.absorbed > absorbed {
            notices.push("the notebook was changed by another program meanwhile; both are kept".to_owned());
        }
        let report = RunReport {
            notebook: self.path().to_owned(),
            status,
            unsaved,
            output: self.path().to_owned(),
            duration_ms: in_milliseconds(begun.elapsed()),
            not_run: cells.len() - reports.len(),
            failed: count_failed(&reports),
            cells: reports,
            notices,
        };
        match refused {
            None => Ok(report),
            Some((error, cell)) => Err(RunError::Stopped { error, cell, report: Box::new(report) }),
        }
    }
}

fn unsaved(error: DocumentError) -> Unsaved {
    match error {
        DocumentError::NotSaved(error) => {
            let kind = error.kind().failure_kind();
            Unsaved { kind, message: error.to_string(), hint: error.hint() }
        }
        error => Unsaved { kind: FailureKind::CannotSave, message: error.to_string(), hint: None },
    }
}

/// The outcome of one cell.
enum CellOutcome {
    /// The cell ran.
    Done(Arc<CellReport>),
    /// The cell was deleted.
    Gone,
    /// The run was cancelled before the cell began.
    Unwanted,
}

/// A run in progress.
struct ActiveRun<'a> {
    document: &'a Document,
    sessions: &'a Sessions,
    batch: &'a CellBatch,
    author: Author,
    outputs: RunOutputs,
    /// Whether to restart the kernel before the next cell.
    reset: bool,
    /// The kernel whose language is recorded in the notebook.
    kernel: Option<String>,
    /// Bytes of text shown so far.
    written: usize,
    /// Number of cells before the current one, and in total.
    position: (usize, usize),
}

/// A running cell.
struct RunningCell {
    id: CellId,
    index: usize,
    may_fail: bool,
    /// Hash of the source that runs.
    source: String,
    started_ms: u64,
    ticket: Ticket,
}

impl ActiveRun<'_> {
    /// Runs one cell. Adds notices about its kernel to `notices`.
    async fn cell(
        &mut self,
        id: &CellId,
        cancel: &mut Cancel,
        notices: &mut Vec<String>,
    ) -> Result<CellOutcome, RunError> {
        let Some(cell) = self.begin(id).await? else { return Ok(CellOutcome::Gone) };
        let outcome = self.follow(&cell, cancel).await?;
        self.finish(cell, outcome, notices).await
    }

    /// Submits the newest text of a cell to its session. Returns `None` if the cell is deleted or not a code cell.
    async fn begin(&mut self, id: &CellId) -> Result<Option<RunningCell>, RunError> {
        // Late output finds its cell by this tag, unless the cell has run again.
        let tag = CellRun::new_tag(id);
        let (author, max_output) = (self.author.clone(), self.batch.max_output);
        let run = CellRun { tag: tag.clone(), author, max_output };
        let Some(begun) = self.document.begin_cell(id.clone(), run).await? else { return Ok(None) };
        let BegunCell { index, title, source, may_fail } = begun;
        let (position, count) = self.position;
        let mark = mark(&source);
        self.batch.feed.tell(RunEvent::Began(CellStep {
            index,
            cell: id.to_string(),
            position,
            count,
            title: title.clone(),
            source: source.clone(),
        }));
        let code = Code { code: source, title: Some(title), tag: Some(tag), ..Code::default() };
        let mut call = SessionCall {
            cells: vec![code],
            outputs: Some(self.outputs.clone()),
            reset: std::mem::take(&mut self.reset),
            ..self.batch.call.clone()
        };
        call.rules.reading = call.rules.reading.next(self.written, position + 1 == count);
        Ok(Some(RunningCell {
            id: id.clone(),
            index,
            may_fail: self.batch.allow_errors || may_fail,
            source: mark,
            started_ms: now_ms(),
            ticket: self.sessions.call(call),
        }))
    }

    /// Writes the outputs of a cell into the notebook until the cell ends.
    async fn follow(&mut self, cell: &RunningCell, cancel: &mut Cancel) -> Result<CallReport, RunError> {
        let (mut view, done) = (cell.ticket.watch(), cell.ticket.done());
        tokio::pin!(done);
        let (mut is_open, mut shown_at) = (true, Instant::now());
        loop {
            tokio::select! {
                biased;
                request = cancel.next_request() => cell.ticket.canceller().pass_on(request),
                outcome = &mut done => return Ok(outcome?),
                changed = view.changed(), if is_open => {
                    is_open = changed.is_ok();
                    let newest = view.borrow_and_update().clone();
                    let is_running = matches!(newest.stage, Stage::Running { .. });
                    self.batch.feed.show(newest);
                    let before = Instant::now();
                    if is_running && before >= shown_at + TICK {
                        self.document.show_run(&cell.id, &self.outputs, &self.author).await?;
                        shown_at = Instant::now() + before.elapsed() * SHARE;
                    }
                }
            }
        }
    }

    /// Writes the end of a cell into the notebook.
    async fn finish(
        &mut self,
        cell: RunningCell,
        mut outcome: CallReport,
        notices: &mut Vec<String>,
    ) -> Result<CellOutcome, RunError> {
        notices.append(&mut outcome.notices);
        let Some(CodeReport { language_info, report, kernel_id, .. }) = outcome.cells.pop() else {
            return Ok(CellOutcome::Unwanted);
        };
        self.written += report.text.len();
        let outputs = self.outputs.end(cell.id.as_str(), report.execution_count);
        let is_new_kernel = self.kernel.as_ref() != Some(&kernel_id);
        self.kernel = Some(kernel_id.clone());
        let receipt = Receipt {
            cell: cell.id.to_string(),
            source: cell.source,
            execution_count: outputs.execution_count,
            kernel: kernel_id,
            backend: report.kernel.backend,
            python: report.kernel.python.clone(),
            started_ms: cell.started_ms,
            duration_ms: report.duration_ms,
            status: report.status,
            artifact: report.artifact.clone(),
        };
        let ended = EndedCell {
            cell: cell.id.clone(),
            outputs,
            has_timing: self.batch.timing,
            language: language_info.filter(|_| is_new_kernel),
            receipt,
            is_lost: report.kernel.state == KernelState::Lost,
        };
        self.document.end_cell(ended, &self.outputs, &self.author).await?;
        let id = Some(cell.id.to_string());
        Ok(CellOutcome::Done(Arc::new(CellReport { index: cell.index, id, may_fail: cell.may_fail, report })))
    }
}

#[cfg(test)]
mod tests;
