//! Runs cells of a notebook in its kernel and saves their outputs, on their own or after a change.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cellist_live::{CellBatch, Document, RunError};
use cellist_notebook::{CellId, Notebook};
use cellist_output::{CellEnding, ranges};
use cellist_session::cells::{is_run, may_fail, why_nothing};
use cellist_session::execution::{CellReport, Limit, RunReport, Status};
use cellist_session::orders::WantedKernel;
use cellist_session::sessions::{
    RunFeed, RunState, SessionCall, SessionError, SessionKey, SessionKind, Stage,
};
use cellist_settings::Settings;
use cellist_store::artifact::ArtifactOrigin;

use super::changes::PerformedChanges;
use super::listing::seconds;
use super::opened_notebook::OpenedNotebook;
use super::run_status::standing;
use super::runs::{Plan, not_within, session_call};
use super::{CallContext, Toolbox};
use crate::agent::Agent;
use crate::answer::{ToolAnswer, ToolRefusal};
use crate::executions::Inside;
use crate::input::Seconds;
use crate::known_outputs::OutputMark;
use crate::result::{Budget, CodeResult, ReplyDraft, ToolReply, compose, summary};

/// The limits of a run, as a call sets them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellRunOptions {
    pub(crate) budget: Budget,
    /// For each cell.
    pub(crate) timeout: Option<Seconds>,
    pub(crate) soft_wait: Option<Seconds>,
    /// Whether to go on after a cell that fails.
    pub(crate) allow_errors: bool,
}

impl CellRunOptions {
    /// Sets the limits of the run after a change, if the call asks for one.
    pub(crate) fn after_change(
        is_wanted: bool,
        budget: Budget,
        timeout: Option<Seconds>,
        soft_wait: Option<Seconds>,
    ) -> Option<CellRunOptions> {
        is_wanted.then_some(CellRunOptions { budget, timeout, soft_wait, allow_errors: false })
    }
}

/// A run of cells, and the agent that started it.
struct BatchRun {
    agent: Arc<Agent>,
    document: Document,
    /// The display name of the notebook.
    name: String,
    batch: CellBatch,
    /// Lines before the outputs.
    said: Vec<String>,
}

impl Toolbox {
    /// Runs cells of an open notebook. `said` precedes their outputs.
    pub(crate) async fn run_cells(
        &self,
        call: CallContext<'_>,
        open: &OpenedNotebook,
        cells: Vec<CellId>,
        said: Vec<String>,
        run: CellRunOptions,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let prepared = self.prepare(&call, open, cells, run).await;
        let (settings, batch) = prepared.map_err(|refusal| refusal.followed_by(&said))?;
        let name = open.name().to_owned();
        let plan = Plan {
            title: format!("cells of {name}"),
            session: batch.call.key.clone(),
            settings,
            budget: run.budget,
            soft_wait: run.soft_wait,
            said: said.clone(),
        };
        let work =
            BatchRun { agent: Arc::clone(call.agent), document: open.document.clone(), name, batch, said };
        let toolbox = self.clone();
        let run = |inside: Inside| {
            inside.ledger.open(work.document.clone(), &work.batch.cells);
            async move { toolbox.run_batch(work, inside).await }
        };
        self.begin(call, plan, run).await
    }

    async fn prepare(
        &self,
        call: &CallContext<'_>,
        open: &OpenedNotebook,
        cells: Vec<CellId>,
        run: CellRunOptions,
    ) -> Result<(Arc<Settings>, CellBatch), ToolRefusal> {
        let (path, before) = (open.path(), open.document.view().notebook.clone());
        if let Some(why) = why_nothing(&before, &cells) {
            return Err(open.refuse(format_args!("nothing to run: {why}"), None));
        }
        let key = not_within(call, SessionKey::of_notebook(path))?;
        let settings = self.settings(call.agent, &key.cwd).await?;
        let wanted = WantedKernel::of_metadata(&before.metadata());
        let order = self.order(call.caller(), &key, wanted, false).await;
        let order = order.map_err(|error| open.refuse(&error, error.hint()))?;
        let time = run.timeout.map(|time| Duration::from_secs_f64(time.0.max(0.1)));
        let mut work = session_call(call, key, order, Vec::new(), &settings, run.budget);
        work.rules.limit = Limit::from(time);
        let kind = SessionKind::Notebook { path: path.to_owned() };
        let batch = CellBatch {
            cells,
            call: SessionCall { kind, owner: None, ..work },
            allow_errors: run.allow_errors,
            max_output: settings
                .notebook
                .max_output
                .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            timing: settings.notebook.timing,
            feed: RunFeed::default(),
        };
        Ok((settings, batch))
    }

    /// Runs a changed cell, if the call asks for it.
    pub(crate) async fn then_run(
        &self,
        call: CallContext<'_>,
        open: &OpenedNotebook,
        done: PerformedChanges,
        run: Option<CellRunOptions>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let cell = done.outcomes.first().and_then(|outcome| outcome.cell_id.as_deref()).map(CellId::from);
        let told = done.answer()?.all_text();
        self.run_changed(call, open, told, done.without_revision(), Vec::from_iter(cell), run).await
    }

    /// Runs changed cells, if the call asks for it. `told` is the answer about the change alone.
    /// `said` is the same without the revision, which the run changes.
    pub(crate) async fn run_changed(
        &self,
        call: CallContext<'_>,
        open: &OpenedNotebook,
        told: String,
        said: String,
        cells: Vec<CellId>,
        run: Option<CellRunOptions>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let Some(run) = run else { return Ok(ToolAnswer::text(told)) };
        let nothing = match cells.is_empty() {
            true => Some("no cell has changed".to_owned()),
            false => why_nothing(&open.document.view().notebook, &cells),
        };
        if let Some(why) = nothing {
            return Ok(ToolAnswer::text(format!("{told}\nNothing to run: {why}.")));
        }
        self.run_cells(call, open, cells, vec![said], run).await
    }

    async fn run_batch(self, work: BatchRun, inside: Inside) -> ToolReply {
        let Inside { cancel, standing: told, ledger, .. } = inside;
        let (author, key) = (work.agent.caller().author(), work.batch.call.key.clone());
        let (document, mut states) = (work.document.clone(), work.batch.feed.watch());
        let running = document.run(&self.sessions, work.batch.clone(), author, cancel);
        tokio::pin!(running);
        let (mut is_attached, mut known) = (false, 0);
        let mut hear = |state: &RunState| {
            state.after(known).iter().for_each(|event| ledger.hear(event));
            known = state.count();
            let (Some(call), Some(step)) = (&state.call, state.running()) else { return false };
            ledger.runs(step.index, matches!(call.stage, Stage::Running { .. }));
            let label = match step.count {
                1 => format!("cell {}", step.index),
                count => format!("cell {} ({} of {count})", step.index, step.position + 1),
            };
            told.send_replace(standing(call, Some(&label)));
            true
        };
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut running => break outcome,
                Ok(()) = states.changed() => {
                    // The session exists once code runs, and stays attached as long as the agent.
                    if hear(&states.borrow_and_update()) && !std::mem::replace(&mut is_attached, true) {
                        let _ = self.sessions.attach(work.agent.owner(), &key);
                    }
                }
            }
        };
        hear(&states.borrow());
        if !is_attached {
            let _ = self.sessions.attach(work.agent.owner(), &key);
        }
        match outcome {
            Ok(report) => self.compose_run(work, report, None).await,
            Err(RunError::Stopped { error, cell, report }) => {
                self.compose_run(work, *report, Some((self.as_told(error), cell))).await
            }
            Err(RunError::Session(error)) => {
                let error = self.as_told(error);
                work.not_run(ToolRefusal::advised(format_args!("{}: {error}", work.name), error.hint()))
            }
            Err(RunError::Document(error)) => {
                let refusal = ToolRefusal::new(format_args!("{}: {error}", work.name));
                let mut composed = ReplyDraft::text(refusal.followed_by(&work.said).text(), true);
                composed.summary = ledger.summary();
                composed.into()
            }
        }
    }

    /// Composes the reply about a run. `refused` is the cell that the session rejected after others
    /// had run.
    async fn compose_run(
        &self,
        work: BatchRun,
        report: RunReport,
        refused: Option<(SessionError, CellId)>,
    ) -> ToolReply {
        if report.cells.is_empty() {
            let why = match report.status {
                Status::Ok => "nothing ran",
                Status::Error | Status::Timeout | Status::Cancelled => "cancelled before anything ran",
            };
            let notices = std::iter::once(why.to_owned()).chain(report.notices).collect::<Vec<_>>();
            return work.not_run(ToolRefusal::new(format_args!("{}: {}", work.name, notices.join("\n"))));
        }
        let BatchRun { agent, document, name, batch, mut said } = work;
        let revision = document.tell(agent.caller().author().actor).await.ok().map(|told| told.revision);
        let view = document.view();
        let key = &batch.call.key;
        let kernel = self.session_view(key);
        if let (Some(kernel), Some(cell)) = (kernel.and_then(|view| view.kernel_id), report.cells.first()) {
            said.extend(self.introduced.line(&kernel, &cell.report.kernel));
        }
        let RunReport { status, unsaved, cells, not_run, notices, .. } = report;
        let mut cells: Vec<CellReport> = cells.into_iter().map(Arc::unwrap_or_clone).collect();
        said.extend(notices);
        let mut done = Vec::with_capacity(cells.len());
        for cell in &mut cells {
            let id = cell.id.as_deref().map(CellId::from);
            // Other clients may have inserted cells above it meanwhile.
            cell.index = id.as_ref().and_then(|id| view.notebook.position(id)).unwrap_or(cell.index);
            done.extend(id);
        }
        let last = revision.map(|revision| format!("Revision {revision}."));
        let behind = stale_line(&view, &done).into_iter().chain(last).collect();
        let ran = results(cells, &name, document.path(), &view.notebook);
        let mut endings = summary(&ran);
        let stopped_at = refused.as_ref().and_then(|(_, cell)| view.notebook.position(cell));
        let left = if not_run > 0 { not_run_cells(&view.notebook, &batch.cells, &done) } else { Vec::new() };
        for index in left {
            // The session may have failed while the cell ran.
            let has_failed = matches!(refused, Some((SessionError::Failed { .. }, _)));
            let is_lost = has_failed && stopped_at == Some(index);
            endings.add(if is_lost { CellEnding::Failed } else { CellEnding::NotRun }, index);
        }
        let mut composed = compose(said, ran, behind);
        composed.is_in_notebook = true;
        composed.summary = Some(endings).filter(|endings| endings.count() > 1);
        if let Some((error, cell)) = refused {
            let place = stopped_at.map_or(format!("cell {cell}"), |index| format!("cell {index} ({cell})"));
            let hint = error.hint().map(|hint| format!("\n{hint}")).unwrap_or_default();
            composed.fail(&format!("{name}: {place}: {error}{hint}"));
        }
        if unsaved.is_some() {
            composed.fail(&format!("{name}: the cells ran, but their outputs are not saved yet"));
        } else if status == Status::Cancelled && !composed.is_failure {
            composed.fail(&format!("{name}: the run was interrupted"));
        }
        let origin = ArtifactOrigin {
            what: name,
            session: Some(key.id.clone()),
            notebook: Some(document.path().to_owned()),
        };
        self.gallery.reply(composed, &origin).await
    }
}

impl BatchRun {
    /// Composes the reply about a run in which no cell ran.
    fn not_run(&self, refusal: ToolRefusal) -> ToolReply {
        let cells = not_run_cells(&self.document.view().notebook, &self.batch.cells, &[]);
        ReplyDraft::not_run(&refusal.followed_by(&self.said), cells).into()
    }
}

/// Converts cell reports to results. Consecutive cells without output share one line.
fn results(cells: Vec<CellReport>, name: &str, path: &Path, now: &Notebook) -> Vec<CodeResult> {
    const IN_A_ROW: usize = 3;
    let is_single = cells.len() == 1;
    let mut ran = Vec::new();
    let mut silent: Vec<CodeResult> = Vec::new();
    let flush = |silent: &mut Vec<CodeResult>, ran: &mut Vec<CodeResult>| match silent.len() < IN_A_ROW {
        true => ran.append(silent),
        false => ran.extend(CodeResult::merged(std::mem::take(silent), |cells| {
            format!("cells {} · ok, no output", ranges(cells, 200))
        })),
    };
    for CellReport { index, id, report, .. } in cells {
        let cell = now.cells().get(index);
        let named = id.or_else(|| Some(cell?.id().to_string())).unwrap_or_default();
        let how = report.status.word();
        let heading = format!("[{index}] id={named} · {how} {}", seconds(report.duration_ms));
        let mut told = CodeResult::new(report)
            .with_heading(heading)
            .with_location(format!("{name}: cell {index} ({named})"))
            .with_number(index);
        if cell.is_some_and(may_fail) {
            told = told.allowed_to_fail();
        }
        if let Some(cell) = cell.filter(|cell| cell.has_outputs() && cell.id().as_str() == named) {
            told = told.with_outputs(OutputMark::new(path.to_owned(), cell.id().clone(), &cell.outputs()));
        }
        match told.is_silent() && !told.has_failed() && !is_single {
            true => silent.push(told),
            false => {
                flush(&mut silent, &mut ran);
                ran.push(told);
            }
        }
    }
    flush(&mut silent, &mut ran);
    ran
}

/// Lists the requested cells that did not run.
fn not_run_cells(notebook: &Notebook, wanted: &[CellId], done: &[CellId]) -> Vec<usize> {
    let done: HashSet<&CellId> = done.iter().collect();
    let left = wanted.iter().filter(|id| !done.contains(id)).filter_map(|id| notebook.position(id));
    left.filter(|at| is_run(&notebook.cells()[*at])).collect()
}

/// Lists other cells whose outputs are stale.
fn stale_line(view: &cellist_live::DocumentView, done: &[CellId]) -> Option<String> {
    let states = view.cells();
    let done: HashSet<&CellId> = done.iter().collect();
    let cells = view.notebook.cells().iter().enumerate();
    let stale: Vec<usize> = cells
        .filter(|(_, cell)| {
            !done.contains(cell.id()) && states.get(cell.id()).is_some_and(|it| !it.stale.is_empty())
        })
        .map(|(index, _)| index)
        .collect();
    match stale.as_slice() {
        [] => None,
        [one] => Some(format!("Cell {one} is stale.")),
        several => Some(format!("Cells {} are stale.", ranges(several, 200))),
    }
}
