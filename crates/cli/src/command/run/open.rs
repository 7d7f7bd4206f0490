//! A run of a notebook that the host has open: the cells run there, in a session of their own, and what they show is in
//! the notebook that everybody sees.

use std::path::PathBuf;

use cellist_kernel::environment::Variables;
use cellist_link::{
    Call, Event, Named, NotebookAsk, NotebookEdit, NotebookReply, NotebookRun, Reply, Request, RunNews,
};
use cellist_notebook::CellId;
use cellist_session::execution::Limit;
use cellist_session::order::Order;
use cellist_session::orders::Wanted;
use cellist_session::run::{
    Cancel, CannotRun, Observer, Plan, RunReport, Step, assignments, parameters_at, title, why_nothing,
};
use cellist_session::sessions::{CallReport, Code, KernelMode, Kind, RetryOnCrash};
use cellist_session::settings::Resolved;

use super::{Arguments, answer, on_stdout, print_aside_heading};
use crate::answer::{Answer, Format};
use crate::author::author;
use crate::command::exec::on_what;
use crate::error::{CliError, Exit};
use crate::host::unexpected;
use crate::interrupts;
use crate::owner::{Owner, Whole};
use crate::paint::Paint;
use crate::progress::Progress;
use crate::startup::Stages;

/// What is to be run, and where.
pub(super) struct Run<'a> {
    pub(super) owner: &'a Owner,
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
                let _ = self.owner.link().ask(Request::End(session)).await;
                return Err(error);
            }
        };
        report.notices.splice(0..0, started.notices);
        report.notebook.clone_from(&self.arguments.notebook);
        report.output.clone_from(&self.arguments.notebook);
        let unsaved = (!report.saved).then(|| {
            let why = report.notices.last().cloned().unwrap_or_default();
            CliError::new("cannot_save", Exit::NotSaved, why)
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
        let pending = self.owner.link().begin(Request::Call(Box::new(call)));
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
        mut whole: Whole,
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
                NotebookReply::Edited(edited) => notices.extend(edited.notices),
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
        let name = call.session.id.clone();
        let run = NotebookRun {
            path: self.owner.file().to_owned(),
            cells,
            call,
            allow_errors: self.plan.allow_errors,
            max_output: self.plan.max_output,
            timing: self.plan.timing,
            author: author(),
            name: Some(name),
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
        let link = self.owner.link();
        let name = run.name.clone().unwrap_or_default();
        let pending = link.begin(Request::Run(Box::new(run)));
        let (stop, mut events) = (pending.stop(), pending.events());
        let done = pending.done();
        tokio::pin!(done);
        let (mut seen, mut is_heard) = (Seen::default(), true);
        let reply = loop {
            tokio::select! {
                biased;
                reply = &mut done => break reply,
                () = cancel.asked() => {
                    stop.stop();
                    continue;
                }
                changed = events.changed(), if is_heard => is_heard = changed.is_ok(),
            }
            let Some(Event::Run(view)) = events.borrow_and_update().clone() else { continue };
            if view.news > seen.news {
                let from = seen.news;
                // What is missed here is in the report.
                if let Ok(Reply::RunNews(news)) = link.ask(Request::RunNews { run: name.clone(), from }).await
                {
                    news.into_iter().for_each(|news| seen.show(news, progress));
                }
            } else if !view.text.is_empty() {
                progress.shows(view.text, view.bar.as_ref());
            }
        };
        let report = match reply {
            Ok(Reply::Ran(report)) => *report,
            Ok(other) => return Err(unexpected(&other)),
            Err(error) => return Err(self.gone(error.into())),
        };
        self.show_rest(&report, &seen, progress).await?;
        Ok(report)
    }

    /// Shows the cells that had ended before their news came.
    async fn show_rest(
        &self,
        report: &RunReport,
        seen: &Seen,
        progress: &mut Progress,
    ) -> Result<(), CliError> {
        let count = report.cells.len() + report.not_run;
        let whole = if seen.began < report.cells.len() { Some(self.owner.whole().await?) } else { None };
        for (position, cell) in report.cells.iter().enumerate().skip(seen.ended) {
            let notebook = whole.as_ref().map(|whole| &whole.notebook).filter(|_| position >= seen.began);
            if let Some(notebook) = notebook.filter(|notebook| cell.index < notebook.cells().len()) {
                let (title, source) = (title(notebook, cell.index), notebook.cells()[cell.index].source());
                let step = Step { index: cell.index, position, count, title, source: source.into_owned() };
                progress.started(&step);
            }
            progress.finished(cell);
        }
        Ok(())
    }

    fn refused(&self, error: CannotRun) -> CliError {
        CliError::cannot_run(&self.arguments.notebook, &error)
    }

    fn gone(&self, error: CliError) -> CliError {
        let error = error.about(&self.arguments.notebook.display().to_string());
        match error.kind.as_ref() {
            "host_lost" => error.with_hint(
                "the notebook has what was saved until then, and the kernel is gone; run it again",
            ),
            _ => error,
        }
    }
}

/// How much of a run was shown.
#[derive(Default)]
struct Seen {
    news: usize,
    began: usize,
    ended: usize,
}

impl Seen {
    fn show(&mut self, news: RunNews, progress: &mut Progress) {
        self.news += 1;
        match news {
            RunNews::Began(step) => {
                self.began += 1;
                progress.started(&step);
            }
            RunNews::Ended(report) => {
                self.ended += 1;
                progress.finished(&report);
            }
        }
    }
}
