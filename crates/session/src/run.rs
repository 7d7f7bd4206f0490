//! Running code: the cells of a notebook in order, or one piece of code alone. What to do is decided by small
//! pure parts; this file carries it out.

mod cells;
mod document;
mod parameters;
mod rhythm;

use std::time::{Duration, Instant, SystemTime};

use cellist_kernel::{Event, Kernel, Request};
use cellist_notebook::CellId;
use cellist_platform::clock::{in_milliseconds, milliseconds};
use cellist_platform::{in_words, names};
use cellist_store::Error;
use cellist_store::artifact::{ArtifactOrigin, Artifacts, first_line};
use cellist_store::receipts::{self, Receipt, Receipts};

use crate::execution::{Moment, Pace, Record, RunOutputs, TIMING, Told, Work, count_failed, drive};
use document::{Looked, Saving};
use rhythm::Rhythm;

pub use crate::execution::{
    Bar, Cancel, Canceller, CellReport, KernelReport, KernelState, MAX_OUTPUT, OnStuck, Raised, Reading,
    Report, RunReport, Status, Surroundings,
};
pub use crate::sessions::Step;
pub use cellist_settings::GRACE;
pub use cells::{Selection, is_run, may_fail, title, why_nothing};
pub use document::Document;
pub use parameters::{Literal, ParameterError, assignments, parameters_at, put_parameters};

/// Where a notebook keeps what its kernel said of its language.
pub const LANGUAGE: &str = "language_info";

/// How many late outputs are taken after the last cell, before the kernel ends.
const MOST_LATE: usize = 1024;

/// How a notebook is to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which cells.
    pub cells: Selection,
    /// Values given from outside.
    pub parameters: Vec<(String, Literal)>,
    /// Whether a cell that fails ends the run.
    pub allow_errors: bool,
    /// How long one cell may take.
    pub timeout: Option<Duration>,
    /// How long a cell may take to stop.
    pub grace: Duration,
    /// The rule for a cell that does not stop within the grace.
    pub on_stuck: OnStuck,
    /// How many bytes of a cell's outputs the file gets; all of them without a limit.
    pub max_output: Option<usize>,
    /// Whether the file gets the times at which cells ran.
    pub timing: bool,
    /// What a reader gets of each cell.
    pub reading: Reading,
    /// Where outputs go that are cut.
    pub artifacts: Option<Artifacts>,
    /// Where it is written down what ran.
    pub receipts: Option<Receipts>,
}

/// Someone who watches a run. What it is told must not make it wait.
pub trait Observer {
    /// A cell begins.
    fn started(&mut self, step: &Step);
    /// What the cell that runs shows at this moment, if that changed.
    fn shows(&mut self, text: String, bar: Option<&Bar>);
    /// A cell has ended.
    fn finished(&mut self, report: &CellReport);
}

/// What came of a run, and what kept its outputs out of the file, if anything did.
#[derive(Debug)]
pub struct Ran {
    /// What came of it.
    pub report: RunReport,
    /// Why the outputs could not be saved.
    pub save_error: Option<Error>,
}

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is the error of a part and says what it is")]
pub enum CannotRun {
    #[error(transparent)]
    Cells(#[from] cellist_notebook::Error),
    #[error(transparent)]
    Parameters(#[from] ParameterError),
}

/// Makes a notebook ready to be run: puts the parameters in and finds the cells. Nothing is saved yet.
pub fn prepare(document: &mut Document, plan: &Plan, language: &str) -> Result<Vec<CellId>, CannotRun> {
    let mut cells = plan.cells.resolve(document.notebook())?;
    if plan.parameters.is_empty() {
        return Ok(cells);
    }
    let source = assignments(&plan.parameters, language)?;
    let said = document.change(|notebook| put_parameters(notebook, &source));
    said.into_iter().for_each(|said| document.note(said));
    let injected = parameters_at(document.notebook()).map(|index| document.notebook().cells()[index].id());
    if let Some(id) = injected.filter(|id| !cells.contains(id)) {
        cells.push(id.clone());
    }
    let order: Vec<CellId> = document.notebook().cells().iter().map(|cell| cell.id().clone()).collect();
    cells.sort_by_key(|cell| order.iter().position(|known| known == cell));
    Ok(cells)
}

/// Runs cells in order and saves their outputs: at the end, on an error, when it is cancelled, and now and then in
/// between.
pub async fn run(
    document: &mut Document,
    kernel: &dyn Kernel,
    cells: &[CellId],
    plan: &Plan,
    around: &Surroundings,
    cancel: &mut Cancel,
    observer: &mut dyn Observer,
) -> Ran {
    let begun = Instant::now();
    let (identity, kernel_id) = (kernel.identity(), names::random());
    if let Some(language) = &identity.language_info
        && document.notebook().metadata().get(LANGUAGE) != Some(language)
    {
        document.change(|notebook| notebook.set_metadata(LANGUAGE, language));
    }
    let runs = |id: &&CellId| {
        let cell = document.find(id).map(|index| &document.notebook().cells()[index]);
        cell.is_some_and(cells::is_run)
    };
    let chosen = cells;
    let cells: Vec<CellId> = chosen.iter().filter(runs).cloned().collect();
    if let Some(why) = why_nothing(document.notebook(), chosen) {
        document.note(&format!("there was nothing to run: {why}"));
    }
    let mut run = Running {
        document,
        outputs: RunOutputs::new(plan.max_output),
        saving: None,
        rhythm: Rhythm::new(Instant::now()),
        notices: Vec::new(),
    };
    let mut reports: Vec<CellReport> = Vec::new();
    let mut status = Status::Ok;
    let mut written_down: Option<receipts::OpenReceipts> = None;
    for (position, id) in cells.iter().enumerate() {
        // Cancelled while nothing ran: the next cell does not begin.
        if cancel.is_asked() {
            status = Status::Cancelled;
            break;
        }
        let Some(index) = run.document.find(id) else {
            run.notices.push(format!("cell {id} was deleted while the notebook ran, and was not run"));
            continue;
        };
        let notebook = run.document.notebook();
        let cell = &notebook.cells()[index];
        let step = Step {
            index,
            cell: id.to_string(),
            position,
            count: cells.len(),
            title: title(notebook, index),
            source: cell.source().into_owned(),
        };
        let may_fail = plan.allow_errors || cells::may_fail(cell);
        observer.started(&step);
        let (started, started_ms) = (Instant::now(), milliseconds(SystemTime::now()));
        let source = receipts::mark(&step.source);
        let mut record = Record::into_buffer(plan.reading, run.outputs.begin());
        if let Some(artifacts) = &plan.artifacts {
            let notebook = Some(run.document.path().to_owned());
            let origin = ArtifactOrigin { what: first_line(&step.title), session: None, notebook };
            record = record.keep_in(artifacts, origin);
        }
        let mut pace = Pace::new(started, plan.timeout, plan.grace, plan.on_stuck);
        let request = Request { tag: Some(id.as_str().into()), ..Request::new(step.source) };
        let work = Work { kernel, request, record: &mut record, pace: &mut pace, cancel };
        let driven = drive(work, |record, moment| match moment {
            Moment::Event(event) => run.heard(event),
            Moment::Tick => {
                if std::mem::take(&mut record.is_new) {
                    observer.shows(record.text(), record.bar.as_ref());
                    run.rhythm.shown();
                }
                run.save_in_between(Some(id));
            }
            Moment::Stopping(_) => {}
        });
        if let Err(error) = driven.await {
            run.notices.push(error.to_string());
            record.abandoned();
        }
        let told = Told::new(started.elapsed(), &pace, plan.timeout, &identity, around);
        let report = record.report(told).await;
        let shown = run.outputs.end(id.as_str(), record.execution_count);
        run.document.set_outputs(id, &shown.outputs, shown.execution_count);
        if plan.timing {
            run.document.set_metadata(id, TIMING, &shown.timing.to_json());
        }
        if let Some(receipts) = &plan.receipts {
            let receipt = Receipt {
                cell: id.to_string(),
                source,
                execution_count: report.execution_count,
                kernel: kernel_id.clone(),
                backend: identity.backend,
                python: identity.python.clone(),
                started_ms,
                duration_ms: report.duration_ms,
                status: report.status,
                artifact: report.artifact.clone(),
            };
            let added = match &mut written_down {
                Some(opened) => opened.add(&receipt),
                None => receipts
                    .open(run.document.path())
                    .and_then(|opened| written_down.insert(opened).add(&receipt)),
            };
            if let Err(error) = added {
                let notice = format!("what ran could not be written down: {}", in_words(&error));
                if !run.notices.contains(&notice) {
                    run.notices.push(notice);
                }
            }
        }
        let lost = report.kernel.state == KernelState::Lost;
        let ends = match report.status {
            Status::Ok => false,
            Status::Error => lost || !may_fail,
            Status::Timeout => lost || !plan.allow_errors,
            Status::Cancelled => true,
        };
        if ends || report.status == Status::Timeout {
            status = report.status;
        }
        let report = CellReport { index, id: Some(id.to_string()), may_fail, report };
        observer.finished(&report);
        reports.push(report);
        if ends {
            break;
        }
        run.rhythm.ended();
        run.save_in_between(None);
    }
    run.drain_late(kernel).await;
    let save_error = run.save().await.err();
    let Running { document, mut notices, .. } = run;
    if save_error.is_some()
        && let Some(path) = document.rescue()
    {
        notices.push(format!("the notebook with its outputs is kept in {}", path.display()));
    }
    notices.extend(document.take_notices());
    let report = RunReport {
        notebook: document.path().to_owned(),
        status,
        saved: save_error.is_none(),
        output: document.output().to_owned(),
        duration_ms: in_milliseconds(begun.elapsed()),
        not_run: cells.len() - reports.len(),
        failed: count_failed(&reports),
        cells: reports,
        notices,
    };
    Ran { report, save_error }
}

/// A run that is going on.
struct Running<'a> {
    document: &'a mut Document,
    outputs: RunOutputs,
    saving: Option<Saving>,
    rhythm: Rhythm,
    notices: Vec<String>,
}

impl Running<'_> {
    /// Gives an event to whatever cell it belongs to.
    fn heard(&mut self, event: Event) {
        self.outputs.hear(event);
        for (cell, shown) in self.outputs.take_changed() {
            self.document.set_outputs(&cell.as_str().into(), &shown.outputs, shown.execution_count);
        }
        self.put_late();
    }

    /// Puts late output into the cells that it belongs to.
    fn put_late(&mut self) {
        let Running { document, outputs, .. } = self;
        for (owner, event) in outputs.take_late() {
            let id = CellId::from(&*owner);
            let Some(index) = document.find(&id) else { continue };
            let cell = &document.notebook().cells()[index];
            let count = cell.execution_count().and_then(|count| u64::try_from(count).ok());
            let shown = outputs.add_late(id.as_str(), vec![event], cell.outputs());
            document.set_outputs(&id, &shown, count);
        }
    }

    /// Puts late output into its cells that has come since the last cell ended.
    async fn drain_late(&mut self, kernel: &dyn Kernel) {
        for _ in 0..MOST_LATE {
            tokio::select! {
                biased;
                event = kernel.late() => self.outputs.hear(event),
                () = std::future::ready(()) => break,
            }
        }
        self.put_late();
    }

    /// Saves beside what runs, if it is time to. Of the cell that runs it has what that showed so far.
    fn save_in_between(&mut self, running: Option<&CellId>) {
        if let Some(saving) = self.saving.take() {
            match self.document.look(saving) {
                Looked::Going(saving) => {
                    self.saving = Some(saving);
                    return;
                }
                Looked::Over(took) => self.rhythm.took(took),
            }
        }
        let now = Instant::now();
        if self.rhythm.is_time(now) {
            self.rhythm.saved(now);
            if let (Some(id), Some(shown)) = (running, self.outputs.newest()) {
                self.document.set_outputs(id, &shown.outputs, shown.execution_count);
            }
            self.saving = self.document.begin_save();
        }
    }

    async fn save(&mut self) -> Result<(), Error> {
        if let Some(saving) = self.saving.take() {
            // What could not be saved then may be saved now.
            let _ = self.document.finish(saving).await;
        }
        match self.document.begin_save() {
            Some(saving) => self.document.finish(saving).await,
            None => Ok(()),
        }
    }
}

/// One piece of code to run.
#[derive(Clone, Debug)]
pub struct Once<'a> {
    /// The code.
    pub code: &'a str,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How long it may take to stop.
    pub grace: Duration,
    /// The rule for code that does not stop within the grace.
    pub on_stuck: OnStuck,
    /// What a reader gets.
    pub reading: Reading,
    /// Where output goes that is cut.
    pub artifacts: Option<&'a Artifacts>,
}

/// Runs one piece of code. `shows` is told what it shows while it runs, if that changed, and must not wait.
pub async fn execute_once(
    kernel: &dyn Kernel,
    once: &Once<'_>,
    around: &Surroundings,
    cancel: &mut Cancel,
    mut shows: impl FnMut(String, Option<&Bar>),
) -> cellist_kernel::Result<Report> {
    let started = Instant::now();
    let mut record = Record::new(once.reading);
    if let Some(artifacts) = once.artifacts {
        let origin = ArtifactOrigin { what: first_line(once.code), ..ArtifactOrigin::default() };
        record = record.keep_in(artifacts, origin);
    }
    let mut pace = Pace::new(started, once.timeout, once.grace, once.on_stuck);
    let request = Request::new(once.code);
    let work = Work { kernel, request, record: &mut record, pace: &mut pace, cancel };
    let driven = drive(work, |record, moment| match moment {
        Moment::Event(event) => record.buffer.lock().apply(event),
        Moment::Tick => {
            if std::mem::take(&mut record.is_new) {
                shows(record.text(), record.bar.as_ref());
            }
        }
        Moment::Stopping(_) => {}
    });
    driven.await?;
    let identity = kernel.identity();
    let told = Told::new(started.elapsed(), &pace, once.timeout, &identity, around);
    Ok(record.report(told).await)
}

#[cfg(test)]
mod tests;
