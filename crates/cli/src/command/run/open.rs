//! A run of a notebook that the host has open: the cells run there, in a session of their own, and what they show is in
//! the notebook that everybody sees.

use std::path::PathBuf;

use cellist_host::{
    Call, Event, Named, NotebookAsk, NotebookEdit, NotebookReply, NotebookRun, OpenContent, OpenNotebook,
    Reply, Request, RunEvent,
};
use cellist_kernel::order::Order;
use cellist_notebook::CellId;
use cellist_platform::Variables;
use cellist_session::execution::Limit;
use cellist_session::orders::Wanted;
use cellist_session::run::{
    Cancel, CannotRun, Observer, Plan, RunReport, assignments, parameters_at, why_nothing,
};
use cellist_session::sessions::{CallReport, Code, KernelMode, Kind, RetryOnCrash};
use cellist_settings::Resolved;

use super::{Arguments, answer, on_stdout, print_aside_heading};
use crate::answer::{Answer, Format};
use crate::command::exec::on_what;
use crate::error::{CliError, Exit, FailureKind};
use crate::host::unexpected;
use crate::interrupts;
use crate::notebook_access::author;
use crate::paint::Paint;
use crate::progress::Progress;
use crate::startup::Stages;

/// What is to be run, and where.
pub(super) struct Run<'a> {
    pub(super) owner: &'a OpenNotebook,
    pub(super) arguments: &'a Arguments,
    pub(super) plan: &'a Plan,
    pub(super) settings: &'a Resolved,
    /// The folder of the notebook, in which its kernel starts.
    pub(super) cwd: PathBuf,
}

impl Run<'_> {
    pub(super) async fn carry_out(&self, paint: Paint, format: Format) -> Result<Answer, CliError> {
        let (canceller, mut cancel) = Cancel::channel();
        interrupts::hand_on(&canceller);
        let whole = self.owner.whole().await?;
        let chosen = self.plan.cells.resolve(&whole.notebook).map_err(|error| self.refused(error.into()))?;
        let wanted = Wanted::of_metadata(&whole.notebook.metadata());
        let language = self.arguments.language(&wanted);
        let parameters = match self.plan.parameters.as_slice() {
            [] => None,
            given => Some(assignments(given, &language).map_err(|error| self.refused(error.into()))?),
        };
        let order = tokio::select! {
            order = self.order(wanted) => order?,
            () = cancel.asked() => return Err(CliError::interrupted()),
        };
        let call = self.call(order);
        let session = call.session.clone();
        let mut started = self.start(call.clone(), &mut cancel).await?;
        let mut progress = match format {
            Format::Json => Progress::silent(),
            Format::People => {
                let kernel = started.cells.pop().map(|cell| on_what(&cell.report.kernel));
                let on_what = format!("{} · open in the host", kernel.unwrap_or_default());
                print_aside_heading(&self.arguments.notebook, &on_what, paint);
                on_stdout(paint, &self.settings.settings, language)
            }
        };
        let ran = self.cells(call, whole, &chosen, parameters, &mut cancel, &mut progress).await;
        progress.end();
        let mut report = match ran {
            Ok(report) => report,
            Err(error) => {
                // A host that is gone has no sessions any more.
                let _ = self.owner.client().ask(Request::End(session)).await;
                return Err(error);
            }
        };
        report.notices.splice(0..0, started.notices);
        report.notebook.clone_from(&self.arguments.notebook);
        report.output.clone_from(&self.arguments.notebook);
        let unsaved = (!report.saved).then(|| {
            let why = report.notices.last().cloned().unwrap_or_default();
            CliError::new(FailureKind::CannotSave, Exit::NotSaved, why)
        });
        Ok(answer(report, unsaved, paint))
    }

    async fn order(&self, wanted: Wanted) -> Result<Order, CliError> {
        let Arguments { flags, particular, .. } = self.arguments;
        let mut job = self.arguments.job(self.cwd.clone(), wanted);
        job.kernel.clone_from(&particular.kernel);
        job.running = particular.running().or(job.running);
        flags.order(self.settings, job, &mut Stages::new(&Variables::of_process())).await
    }

    /// How cells are run: in a session that nobody else uses, and that goes with this command.
    fn call(&self, order: Order) -> Call {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let cwd = self.owner.file().parent().unwrap_or(&self.cwd).to_owned();
        Call {
            session: Named { id: format!("run-{}-{now}", std::process::id()), cwd: Some(cwd.clone()) },
            here: cwd,
            order: Some(order),
            is_particular: false,
            kind: Kind::Run { path: self.owner.file().to_owned() },
            is_owned: true,
            cells: Vec::new(),
            limit: self.plan.timeout.map_or(Limit::None, Limit::Given),
            grace: self.plan.grace,
            on_stuck: Some(self.plan.on_stuck),
            soft_wait: self.settings.settings.run.soft_wait,
            reset: false,
            retry: RetryOnCrash::Never,
            mode: KernelMode::Session,
            reading: self.plan.reading,
            rights: None,
            is_watched: true,
        }
    }

    /// Starts the kernel: nothing is changed in the notebook before it is there.
    async fn start(&self, call: Call, cancel: &mut Cancel) -> Result<CallReport, CliError> {
        let nothing = Code { hidden: true, ..Code::default() };
        let call = Call { cells: vec![nothing], limit: Limit::None, is_watched: false, ..call };
        let pending = self.owner.client().begin(Request::Call(Box::new(call)));
        let stop = pending.stop();
        let done = pending.done();
        tokio::pin!(done);
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut done => break reply?,
                () = cancel.asked() => stop.stop(),
            }
        };
        match reply {
            Reply::Called(report) if report.cells.is_empty() => Err(CliError::interrupted()),
            Reply::Called(report) => Ok(*report),
            other => Err(unexpected(&other)),
        }
    }

    /// Puts the parameters in and runs the cells.
    async fn cells(
        &self,
        call: Call,
        mut whole: OpenContent,
        chosen: &[CellId],
        parameters: Option<String>,
        cancel: &mut Cancel,
        progress: &mut Progress,
    ) -> Result<RunReport, CliError> {
        let position = |id: &CellId| whole.notebook.position(id);
        let mut cells: Vec<CellId> =
            chosen.iter().filter_map(|id| Some(whole.names[position(id)?].clone())).collect();
        let mut notices = Vec::new();
        if let Some(source) = parameters {
            let edit = NotebookEdit::Parameters(source);
            let edited = self.owner.asked(NotebookAsk::Edit { edit, base: None, author: author() }).await?;
            match edited {
                NotebookReply::Edited(edited) => notices.extend(edited.result.notices),
                other => return Err(unexpected(&Reply::Notebook(other))),
            }
            whole = self.owner.whole().await?;
            let injected = parameters_at(&whole.notebook).map(|index| whole.names[index].clone());
            cells.extend(injected.filter(|id| !cells.contains(id)));
            cells.sort_by_key(|cell| whole.names.iter().position(|known| known == cell));
        }
        let here: Vec<CellId> = (whole.notebook.cells().iter().zip(&whole.names))
            .filter(|(_, name)| cells.contains(name))
            .map(|(cell, _)| cell.id().clone())
            .collect();
        if let Some(why) = why_nothing(&whole.notebook, &here) {
            notices.push(format!("there was nothing to run: {why}"));
        }
        let run = NotebookRun {
            path: self.owner.file().to_owned(),
            cells,
            call,
            allow_errors: self.plan.allow_errors,
            max_output: self.plan.max_output,
            timing: self.plan.timing,
            author: author(),
        };
        let mut report = self.follow(run, cancel, progress).await?;
        report.notices.splice(0..0, notices);
        Ok(report)
    }

    /// Has the cells run, and shows each as it goes.
    async fn follow(
        &self,
        run: NotebookRun,
        cancel: &mut Cancel,
        progress: &mut Progress,
    ) -> Result<RunReport, CliError> {
        let pending = self.owner.client().begin(Request::Run(Box::new(run)));
        let (stop, mut events) = (pending.stop(), pending.events());
        let done = pending.done();
        tokio::pin!(done);
        let (mut shown, mut is_open) = (0, true);
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut done => break reply,
                () = cancel.asked() => stop.stop(),
                changed = events.changed(), if is_open => {
                    is_open = changed.is_ok();
                    show(events.borrow_and_update().as_ref(), &mut shown, progress);
                }
            }
        };
        show(events.borrow().as_ref(), &mut shown, progress);
        match reply {
            Ok(Reply::Ran(report)) => Ok(*report),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => Err(self.gone(error.into())),
        }
    }

    fn refused(&self, error: CannotRun) -> CliError {
        CliError::cannot_run(&self.arguments.notebook, &error)
    }

    fn gone(&self, error: CliError) -> CliError {
        let error = error.about(&self.arguments.notebook.display().to_string());
        match error.kind {
            FailureKind::HostLost => error.with_hint(
                "the notebook has what was saved until then, and the kernel is gone; run it again",
            ),
            _ => error,
        }
    }
}

/// Shows what happened in a run since the first `shown` events.
fn show(event: Option<&Event>, shown: &mut usize, progress: &mut Progress) {
    let Some(Event::Run(state)) = event else { return };
    for event in state.after(*shown) {
        match event {
            RunEvent::Began(step) => progress.started(step),
            RunEvent::Ended(report) => progress.finished(report),
        }
    }
    *shown = state.count();
    if let Some(call) = state.call.as_ref().filter(|call| state.running().is_some() && !call.text.is_empty())
    {
        progress.shows(call.text.clone(), call.bar.as_ref());
    }
}
