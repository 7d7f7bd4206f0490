//! `run_notebook_cells`: cells of a notebook in its kernel, with their outputs in the file; also what `run` adds to a change.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cellist_notebook::{CellId, Notebook, Revision};
use cellist_output::{CellEnding, ranges};
use cellist_session::artifact::Origin;
use cellist_session::execution::{CellReport, Limit, RunReport, Status};
use cellist_session::live::{Batch, Document, RunError, Standing as RunStanding};
use cellist_session::orders::Wanted;
use cellist_session::run::why_nothing;
use cellist_session::sessions::{Call as SessionCall, Kind, SessionKey};
use tokio::sync::watch;

use super::changes::Done;
use super::listing::seconds;
use super::open::Open;
use super::runs::{Plan, failure, not_within, session_call, standing};
use super::{Call, Toolbox};
use crate::agent::Agent;
use crate::answer::{Answer, Block};
use crate::executions::Inside;
use crate::result::{Budget, Ran, Reply, compose, summary};
use crate::sent::OutputMark;

/// A cell that may fail without that being a failure.
const MAY_FAIL: &str = "raises-exception";

/// What is run, and for whom it is told.
struct Work {
    agent: Arc<Agent>,
    document: Document,
    /// What to call the notebook.
    name: String,
    batch: Batch,
    /// What is said before all else.
    said: Vec<String>,
    budget: Budget,
}

impl Toolbox {
    pub(super) async fn run_notebook_cells(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let notebook = open.document.view().notebook.clone();
        let mut at: Vec<usize> = match call.arguments.cells("cells") {
            Some(cells) => open.find_all(&notebook, cells)?,
            None => (0..notebook.cells().len()).collect(),
        };
        at.sort_unstable();
        let cells: Vec<CellId> = at.into_iter().map(|at| notebook.cells()[at].id().clone()).collect();
        // A call that has nothing to run leaves the kernel alone.
        if call.arguments.flag("restart") && why_nothing(&notebook, &cells).is_none() {
            let key = not_within(&call, SessionKey::of_notebook(open.path()))?;
            // The first result of the new kernel tells of the restart.
            self.restart_kernel(&key, open.name()).await?;
        }
        self.run_cells(call, &open, cells, Vec::new()).await
    }

    /// Runs cells of a notebook that is open. `said` stands before what they show.
    pub(super) async fn run_cells(
        &self,
        call: Call<'_>,
        open: &Open,
        cells: Vec<CellId>,
        said: Vec<String>,
    ) -> Result<Answer, Answer> {
        let (document, before) = (open.document.clone(), open.document.view().notebook.clone());
        if let Some(why) = why_nothing(&before, &cells) {
            return Err(open.failure(format_args!("there was nothing to run: {why}"), None));
        }
        let key = not_within(&call, SessionKey::of_notebook(document.path()))?;
        let settings = self.settings(call.caller(), &key.cwd).await?;
        let wanted = Wanted::of_metadata(&before.metadata());
        let order = self.order(call.caller(), &key, wanted, false).await;
        let order = order.map_err(|error| open.failure(&error, error.hint()))?;
        let time = call.arguments.seconds("timeout").map(|time| Duration::from_secs_f64(time.max(0.1)));
        let work = session_call(&call, key.clone(), order, Vec::new(), &settings);
        let kind = Kind::Notebook { path: document.path().to_owned() };
        let batch = Batch {
            cells,
            call: SessionCall { kind, owner: None, limit: Limit::from(time), ..work },
            allow_errors: call.arguments.flag("continue_on_error"),
            max_output: settings
                .notebook
                .max_output
                .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            timing: settings.notebook.timing,
            watcher: None,
        };
        let (budget, name) = (Budget::of(call.arguments), open.name().to_owned());
        let title = format!("cells of {name}");
        let plan = Plan { title, session: key, settings, budget, said: said.clone() };
        let agent = Arc::clone(call.agent);
        let work = Work { agent, document, name, batch, said, budget };
        let toolbox = self.clone();
        Ok(self.begin(call, plan, |inside| async move { toolbox.carry_out(work, inside).await }).await)
    }

    /// Runs a cell that was changed, where the call wants that.
    pub(super) async fn then_run(&self, call: Call<'_>, open: &Open, done: Done) -> Result<Answer, Answer> {
        let cell = done.outcomes.first().and_then(|outcome| outcome.cell_id.as_deref()).map(CellId::from);
        self.run_changed(call, open, done.answer(), done.without_revision(), Vec::from_iter(cell)).await
    }

    /// Runs cells whose text was changed, where the call wants that. `answer` tells of the change alone, `said` of the
    /// same without a revision, which the run makes another.
    pub(super) async fn run_changed(
        &self,
        call: Call<'_>,
        open: &Open,
        answer: Answer,
        said: String,
        cells: Vec<CellId>,
    ) -> Result<Answer, Answer> {
        if answer.is_failure || !call.arguments.flag("run") {
            return Ok(answer);
        }
        let nothing = match cells.is_empty() {
            true => Some("no cell has changed".to_owned()),
            false => why_nothing(&open.document.view().notebook, &cells),
        };
        if let Some(why) = nothing {
            return Ok(Answer::text(format!("{}\nThere was nothing to run: {why}.", answer.all_text())));
        }
        let run = self.run_cells(call, open, cells, vec![said.clone()]).await;
        run.map_err(|failure| with_said(failure, &[said]))
    }

    async fn carry_out(self, mut work: Work, inside: Inside) -> Reply {
        let Inside { cancel, standing: told, .. } = inside;
        let (watcher, mut seen) = watch::channel(None::<RunStanding>);
        work.batch.watcher = Some(watcher);
        let (author, key) = (work.agent.caller().author(), work.batch.call.key.clone());
        let document = work.document.clone();
        let running = document.run(&self.sessions, work.batch.clone(), author, cancel);
        tokio::pin!(running);
        let mut is_attached = false;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut running => break outcome,
                Ok(()) = seen.changed() => {
                    let Some(RunStanding { index, position, count, cell }) = seen.borrow_and_update().clone()
                    else { continue };
                    let label = match count {
                        1 => format!("cell {index}"),
                        _ => format!("cell {index} ({} of {count})", position + 1),
                    };
                    told.send_replace(standing(&cell, Some(&label)));
                    // The session is there by now, and stays as long as the agent does.
                    if !std::mem::replace(&mut is_attached, true) {
                        let _ = self.sessions.attach(work.agent.owner(), &key);
                    }
                }
            }
        };
        match outcome {
            Ok(report) => self.ran(work, report).await,
            Err(RunError::Session(error)) => {
                let failed = failure(&format_args!("{}: {error}", work.name), error.hint());
                with_said(failed, &work.said).into()
            }
            Err(RunError::Document(error)) => {
                let failed = Answer::failure(format_args!("{}: {error}", work.name));
                with_said(failed, &work.said).into()
            }
        }
    }

    /// What is told of a run.
    async fn ran(&self, work: Work, report: RunReport) -> Reply {
        let Work { agent, document, name, batch, mut said, budget } = work;
        let revision = document.tell(agent.caller().author().actor).await.ok().map(|told| told.revision);
        let view = document.view();
        let key = &batch.call.key;
        let kernel = self.sessions.list().into_iter().find(|view| view.id == key.id && view.cwd == key.cwd);
        if let (Some(kernel), Some(cell)) = (kernel.and_then(|view| view.kernel_id), report.cells.first()) {
            said.extend(self.introduced.line(&kernel, &cell.report.kernel));
        }
        let RunReport { status, saved, cells, not_run, notices, .. } = report;
        said.extend(notices);
        if cells.is_empty() {
            let why =
                if status == Status::Ok { "nothing ran" } else { "it was cancelled before anything ran" };
            return Answer::failure(format_args!("{name}: {why}\n{}", said.join("\n"))).into();
        }
        let done: Vec<CellId> = cells
            .iter()
            .filter_map(|cell| Some(view.notebook.cells().get(cell.index)?.id().clone()))
            .collect();
        let behind = stale_line(&view, &done).into_iter().chain(last_line(revision)).collect();
        let ran = told(cells, &name, document.path(), &view.notebook);
        let mut endings = summary(&ran);
        if not_run > 0 {
            let left = not_run_cells(&view.notebook, &batch.cells, &done);
            left.into_iter().for_each(|index| endings.add(CellEnding::NotRun, index));
        }
        let mut composed = compose(said, ran, behind);
        composed.is_in_notebook = true;
        composed.summary = Some(endings).filter(|endings| endings.count() > 1);
        if !saved {
            composed.fail(&format!("{name}: the cells ran, but their outputs are not on disk yet"));
        } else if status == Status::Cancelled && !composed.is_failure {
            composed.fail(&format!("{name}: the run was interrupted"));
        }
        let origin =
            Origin { what: name, session: Some(key.id.clone()), notebook: Some(document.path().to_owned()) };
        self.gallery.reply(composed, budget, &origin).await
    }
}

/// A failure with what was said before it.
fn with_said(mut failure: Answer, said: &[String]) -> Answer {
    if let Some(Block::Text(text)) = failure.blocks.first_mut() {
        for line in said {
            text.push('\n');
            text.push_str(line);
        }
    }
    failure
}

/// The cells that ran; those in a row that showed nothing are told in one line.
fn told(cells: Vec<CellReport>, name: &str, path: &Path, now: &Notebook) -> Vec<Ran> {
    const IN_A_ROW: usize = 3;
    let is_single = cells.len() == 1;
    let mut ran = Vec::new();
    let mut silent: Vec<Ran> = Vec::new();
    let flush = |silent: &mut Vec<Ran>, ran: &mut Vec<Ran>| match silent.len() < IN_A_ROW {
        true => ran.append(silent),
        false => ran.extend(Ran::together(std::mem::take(silent), |cells| {
            format!("cells {} · ok, no output", ranges(cells, 200))
        })),
    };
    for CellReport { index, id, report, .. } in cells {
        let cell = now.cells().get(index);
        let named = id.or_else(|| Some(cell?.id().to_string())).unwrap_or_default();
        let how = report.status.word();
        let heading = format!("[{index}] id={named} · {how} {}", seconds(report.duration_ms));
        let mut told =
            Ran::new(report).under(heading).at(format!("{name}: cell {index} ({named})")).numbered(index);
        if cell.is_some_and(|cell| cell.has_tag(MAY_FAIL)) {
            told = told.expected();
        }
        if let Some(cell) = cell.filter(|cell| cell.has_outputs() && cell.id().as_str() == named) {
            told = told.marked(OutputMark::new(path.to_owned(), cell.id().clone(), &cell.outputs()));
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

/// The cells that were to run and did not.
fn not_run_cells(notebook: &Notebook, wanted: &[CellId], done: &[CellId]) -> Vec<usize> {
    let done: HashSet<&CellId> = done.iter().collect();
    let left = wanted.iter().filter(|id| !done.contains(id)).filter_map(|id| notebook.position(id));
    left.filter(|at| why_nothing(notebook, &[notebook.cells()[*at].id().clone()]).is_none()).collect()
}

/// Which other cells show something that is not up to date any more.
fn stale_line(view: &cellist_session::live::View, done: &[CellId]) -> Option<String> {
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

fn last_line(revision: Option<Revision>) -> Option<String> {
    revision.map(|revision| format!("Revision {revision}."))
}
