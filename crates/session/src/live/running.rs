//! Runs cells of an open notebook in its kernel session, from their newest text, and writes what they show into the
//! notebook while others go on editing it.

mod resting;

use std::time::{Duration, Instant, SystemTime};

use cellist_kernel::Event;
use cellist_kernel::aside::aside;
use cellist_notebook::CellId;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::actor::Author;
use super::condition::CellRun;
use super::document::{Document, DocumentError, now};
use crate::execution::{Cancel, CellReport, Kept, KernelState, RunReport, Status, count_failed};
use crate::receipts::{Receipt, mark};
use crate::run::{LANGUAGE, Observer, Shown, Step, TIMING, Timing, is_run, may_fail, title};
use crate::sessions::{Call, CallView, Code, CodeReport, LateOutputs, SessionError, Sessions};
use resting::Resting;

/// How often those who watch are shown something new.
const TICK: Duration = Duration::from_millis(100);
/// Long outputs are shown so rarely that at most a tenth of the time goes into it.
const SHARE: u32 = 10;
/// Events that wait while outputs are written into the notebook.
const EVENTS: usize = 256;

/// Cells to run.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which, in this order.
    pub cells: Vec<CellId>,
    /// How: session, kernel, limits. Its code is that of the cells.
    pub call: Call,
    /// Whether a cell that fails ends the run.
    pub allow_errors: bool,
    /// How many bytes of a cell's outputs the notebook gets; all of them without a limit.
    pub max_output: Option<usize>,
    /// Whether the notebook gets the times at which cells ran.
    pub timing: bool,
    /// Who is told how far it is.
    pub watcher: Option<watch::Sender<Option<Standing>>>,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Where the cell stands in the notebook.
    pub index: usize,
    /// How many cells of the run are before it.
    pub position: usize,
    /// How many cells are to run.
    pub count: usize,
    /// How the cell itself stands.
    pub cell: CallView,
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is the error of a part and says what it is")]
pub enum RunError {
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session refused a cell after others of the run had ended. The report has those; `cell` is the refused one.
    #[error("{error}")]
    Stopped { error: SessionError, cell: CellId, report: Box<RunReport> },
}

impl Document {
    /// Runs cells one after the other, until one fails. Outputs are in the notebook as they come, and on disk every
    /// five seconds and when a cell ends. Dropping the future leaves the cell that runs alone, and runs no more.
    pub async fn run(
        &self,
        sessions: &Sessions,
        batch: Batch,
        author: Author,
        cancel: Cancel,
    ) -> Result<RunReport, RunError> {
        self.run_watched(sessions, batch, author, cancel, None).await
    }

    /// Runs cells, and tells someone of each when it begins, what it shows, and when it has ended.
    pub async fn run_watched(
        &self,
        sessions: &Sessions,
        batch: Batch,
        author: Author,
        mut cancel: Cancel,
        observer: Option<&mut (dyn Observer + Send + Sync)>,
    ) -> Result<RunReport, RunError> {
        let begun = Instant::now();
        let notebook = self.view().notebook.clone();
        let runs = |id: &&CellId| notebook.position(id).is_some_and(|at| is_run(&notebook.cells()[at]));
        let cells: Vec<CellId> = batch.cells.iter().filter(runs).cloned().collect();
        self.mark_waiting(cells.clone()).await?;
        // Also cells that are not run: the caller that queued them has marked them as waiting.
        let resting = Resting { document: self, cells: &batch.cells };
        let reset = batch.call.reset;
        let (shown, written, position) = (Shown::default(), 0, (0, 0));
        let mut run = Run {
            document: self,
            sessions,
            batch: &batch,
            author,
            reset,
            shown,
            written,
            position,
            observer,
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
                Ok(Ran::Done(report)) => *report,
                Err(RunError::Session(error)) if !reports.is_empty() => {
                    (refused, status) = (Some((error, id.clone())), Status::Error);
                    break;
                }
                Err(error) => return Err(error),
                Ok(Ran::Gone) => {
                    notices.push(format!("cell {id} was deleted while the notebook ran, and was not run"));
                    continue;
                }
                Ok(Ran::Unwanted) => {
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
            if let Some(observer) = &mut run.observer {
                observer.finished(&report);
            }
            reports.push(report);
            if ends {
                break;
            }
        }
        resting.done().await?;
        let saved = self.save().await;
        if let Err(error) = &saved {
            notices.push(error.to_string());
        }
        let report = RunReport {
            notebook: self.path().to_owned(),
            status,
            saved: saved.is_ok(),
            output: self.path().to_owned(),
            duration_ms: milliseconds(begun.elapsed()),
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

/// What came of a cell.
enum Ran {
    /// It has run.
    Done(Box<CellReport>),
    /// It is not in the notebook any more.
    Gone,
    /// Nobody wanted it any more before it began.
    Unwanted,
}

/// A run that is going on.
struct Run<'a, 'o> {
    document: &'a Document,
    sessions: &'a Sessions,
    batch: &'a Batch,
    author: Author,
    /// Whether the kernel is still to be restarted, which is done before the first cell.
    reset: bool,
    shown: Shown,
    /// How many bytes of text were shown so far.
    written: usize,
    /// How many cells are before the one that runs, and how many there are.
    position: (usize, usize),
    observer: Option<&'o mut (dyn Observer + Send + Sync)>,
}

impl Run<'_, '_> {
    /// Runs one cell. What is to be said about its kernel goes to the notices.
    async fn cell(
        &mut self,
        id: &CellId,
        cancel: &mut Cancel,
        notices: &mut Vec<String>,
    ) -> Result<Ran, RunError> {
        // Late output finds its cell by this, unless the cell has run again since.
        let tag = CellRun::new_tag(id);
        let (author, max_output) = (self.author.clone(), self.batch.max_output);
        let run = CellRun { tag: tag.clone(), author, max_output };
        let begun = self.document.begin_cell(id.clone(), run).await?;
        let Some(source) = begun else { return Ok(Ran::Gone) };
        let notebook = self.document.view().notebook.clone();
        let Some(index) = notebook.position(id) else { return Ok(Ran::Gone) };
        let cell = &notebook.cells()[index];
        let may_fail = self.batch.allow_errors || may_fail(cell);
        let (listener, mut events) = mpsc::channel(EVENTS);
        let title = title(&notebook, index);
        let ran = mark(&source);
        let (position, count) = self.position;
        if let Some(observer) = &mut self.observer {
            let (title, source) = (title.clone(), source.clone());
            observer.started(&Step { index, position, count, title, source });
        }
        let code = Code { code: source, title: Some(title), tag: Some(tag), ..Code::default() };
        let reset = std::mem::take(&mut self.reset);
        let reading = self.batch.call.reading.next(self.written, position + 1 == count);
        let (cells, listener) = (vec![code], Some(listener));
        let call = Call { cells, listener, reset, reading, ..self.batch.call.clone() };
        let (started, started_ms) = (Instant::now(), now());
        let ticket = self.sessions.call(call);
        let (watcher, mut view) = (self.batch.watcher.as_ref(), ticket.watch());
        let mut is_watched = watcher.is_some() || self.observer.is_some();
        let mut kept = Kept::new(self.batch.max_output);
        let mut timing = Timing::default();
        let mut number = None;
        let mut shown_at = started;
        let mut is_new = false;
        loop {
            let next = tokio::select! {
                biased;
                wish = cancel.wish() => {
                    ticket.canceller().pass_on(wish);
                    continue;
                }
                () = sleep_until((shown_at + TICK).into()), if is_new => None,
                changed = view.changed(), if is_watched => {
                    is_watched = changed.is_ok();
                    let cell = view.borrow_and_update().clone();
                    if let Some(observer) = self.observer.as_mut().filter(|_| !cell.text.is_empty()) {
                        observer.shows(cell.text.clone(), cell.bar.as_ref());
                    }
                    if let Some(watcher) = watcher {
                        watcher.send_replace(Some(Standing { index, position, count, cell }));
                    }
                    continue;
                }
                event = events.recv() => match event {
                    Some(event) => Some(event),
                    // Whoever ran it has nothing more to say.
                    None => break,
                },
            };
            match next {
                Some(event) => {
                    timing.heard(&event, SystemTime::now());
                    if let Event::Started { execution_count } = &event {
                        number = execution_count.or(number);
                    }
                    if let Event::Done(outcome) = &event {
                        number = outcome.execution_count.or(number);
                    }
                    is_new = true;
                    let mut elsewhere = Vec::new();
                    let mine = self.shown.hear(event, |cell, outputs, count| {
                        elsewhere.push((cell.clone(), outputs.to_vec(), count));
                    });
                    if let Some(event) = mine {
                        kept.apply(event);
                    }
                    for (cell, outputs, count) in elsewhere {
                        self.document.set_outputs(cell, outputs, count, false, self.author.clone()).await?;
                    }
                }
                None => {
                    let before = Instant::now();
                    self.put_late().await?;
                    if !kept.is_large() {
                        self.show(id, &kept, number, false).await?;
                    }
                    is_new = false;
                    shown_at = Instant::now() + before.elapsed() * SHARE;
                }
            }
        }
        self.put_late().await?;
        kept.finish();
        let outcome = ticket.done().await;
        let mut outcome = outcome?;
        notices.append(&mut outcome.notices);
        let Some(CodeReport { language_info, report, kernel_id, .. }) = outcome.cells.pop() else {
            return Ok(Ran::Unwanted);
        };
        self.written += report.text.len();
        kept.artifact.clone_from(&report.artifact);
        let number = report.execution_count.or(number);
        let author = || self.author.clone();
        if let Some(language) = language_info {
            self.document.set_metadata(None, LANGUAGE, language, author()).await?;
        }
        if self.batch.timing {
            self.document.set_metadata(Some(id.clone()), TIMING, timing.to_json(), author()).await?;
        }
        self.show(id, &kept, number, true).await?;
        let receipt = Receipt {
            cell: id.to_string(),
            source: ran,
            execution_count: number,
            kernel: kernel_id,
            backend: report.kernel.backend,
            python: report.kernel.python.clone(),
            started_ms,
            duration_ms: report.duration_ms,
            status: report.status,
            artifact: report.artifact.clone(),
        };
        self.write_down(receipt.clone()).await;
        let is_lost = report.kernel.state == KernelState::Lost;
        self.document.end_cell(id.clone(), receipt, is_lost).await?;
        self.shown.keep(id, number, kept);
        Ok(Ran::Done(Box::new(CellReport { index, id: Some(id.to_string()), may_fail, report })))
    }

    /// Puts late output into the cells that it belongs to.
    async fn put_late(&mut self) -> Result<(), RunError> {
        let mut late = self.document.take_late().await?;
        late.extend(LateOutputs::by_tag(self.shown.take_late()));
        for LateOutputs { tag, events } in late {
            let Some(id) = CellRun::cell_of(&tag) else { continue };
            // One that has run again since, or is gone, has no place for it.
            let Some((known, count)) = self.document.late_outputs(id.clone(), tag.clone()).await? else {
                continue;
            };
            let outputs = self.shown.add_late(&id, events, self.batch.max_output, || known);
            self.document.set_outputs(id, outputs, count, true, self.author.clone()).await?;
        }
        Ok(())
    }

    async fn write_down(&self, receipt: Receipt) {
        let (receipts, path) = (self.document.receipts(), self.document.path().to_owned());
        // A disk that cannot take it is met again when the notebook is saved, and told then.
        let _ = aside(move || receipts.add(&path, &receipt)).await;
    }

    async fn show(
        &self,
        id: &CellId,
        kept: &Kept,
        count: Option<u64>,
        has_ended: bool,
    ) -> Result<(), RunError> {
        let outputs = kept.saved().into_owned();
        self.document.set_outputs(id.clone(), outputs, count, has_ended, self.author.clone()).await?;
        Ok(())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
