//! Runs a notebook in the host if it is open there, else in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use cellist_host::{
    CallRequest, Event, HostClient, NotebookAction, NotebookEdit, NotebookError, NotebookReply,
    NotebookRunRequest, OpenNotebook, Reply, Request, RunEvent, SessionName, StartedKernel,
};
use cellist_notebook::{CellId, Notebook};
use cellist_output::Ansi;
use cellist_session::cells::why_nothing;
use cellist_session::execution::{Cancel, Limit, OnStuck, Reading, RunReport};
use cellist_session::orders::WantedKernel;
use cellist_session::parameters::{Literal, ParameterError, assignments, parameters_at};
use cellist_session::sessions::{KernelMode, RetryOnCrash, RunRules, SessionKind};
use cellist_settings::Settings;
use cellist_store::{LoadedNotebook, Store};
use tokio::runtime::Runtime;

use super::{RunArgs, answer, folder_of, heading, kernel_description, on_stdout};
use crate::command::exec::{follow, start};
use crate::error::{CliError, FailureKind};
use crate::host::{self, HostAccess};
use crate::notebook_access::author;
use crate::output::{CommandOutput, OutputFormat};
use crate::paint::Paint;
use crate::progress::Progress;
use crate::settings::limits;
use crate::signals;
use crate::spinner::Spinner;

/// A run that has not started.
pub(super) struct PendingRun<'a> {
    pub(super) arguments: &'a RunArgs,
    pub(super) settings: &'a Settings,
    pub(super) store: Store,
    /// The output file, if it differs from the notebook.
    pub(super) copy: Option<PathBuf>,
    /// Whether the host has the notebook open.
    pub(super) is_open: bool,
    pub(super) paint: Paint,
}

/// The notebook before the run, with the selected cells.
struct PreparedRun {
    notebook: Arc<Notebook>,
    chosen: Vec<CellId>,
    /// The source of the parameters cell.
    parameters: Option<String>,
    wanted: WantedKernel,
    notices: Vec<String>,
}

impl PendingRun<'_> {
    /// Runs the notebook in this process and ends the kernel.
    pub(super) fn carry_out_here(
        &self,
        runtime: Runtime,
        parameters: Vec<(String, Literal)>,
        format: OutputFormat,
    ) -> Result<CommandOutput, CliError> {
        let path = &self.arguments.notebook;
        let file = match &self.copy {
            None => self.store.real_path(path)?,
            Some(copy) => std::path::absolute(copy).map_err(|error| CliError::unreadable(copy, &error))?,
        };
        let reach = runtime.block_on(async { HostAccess::for_run(self.settings, &self.arguments.flags) });
        let open = OpenNotebook::new(reach.client().clone(), runtime, path, file, author());
        let ran = open.wait(self.carry_out(&open, parameters, format));
        let rescued = open.wait(async {
            let _waiting = Spinner::new("stopping the kernel");
            reach.close().await
        });
        let mut report = ran?;
        let kept = |path: PathBuf| format!("the notebook and its outputs were saved to {}", path.display());
        report.notices.extend(rescued.into_iter().map(kept));
        Ok(answer(report, self.paint))
    }

    /// Runs the notebook and shows each cell as it runs.
    pub(super) async fn carry_out(
        &self,
        open: &OpenNotebook,
        parameters: Vec<(String, Literal)>,
        format: OutputFormat,
    ) -> Result<RunReport, CliError> {
        let (canceller, mut cancel) = Cancel::channel();
        signals::cancel_on_signals(&canceller);
        let prepared = self.prepare(open, &parameters).await?;
        let call = self.call(open, prepared.wanted.clone())?;
        let session = call.session.clone();
        let StartedKernel { identity, notices } = start(open.client(), &call, &mut cancel).await?;
        let mut progress = match format {
            OutputFormat::Json => Progress::silent(),
            OutputFormat::Text => {
                let place = if self.is_open { " · open in the host" } else { "" };
                heading(
                    &self.arguments.notebook,
                    &format!("{}{place}", kernel_description(&identity)),
                    self.paint,
                );
                on_stdout(self.paint, self.settings, identity.language)
            }
        };
        let ran = self.cells(open, call, prepared, &mut cancel, &mut progress).await;
        progress.end();
        let mut report = match ran {
            Ok(report) => report,
            Err(error) => {
                // The sessions of a lost host are gone too.
                let _ = open.client().ask(Request::End(session)).await;
                return Err(error);
            }
        };
        report.notices.splice(0..0, notices);
        report.notebook.clone_from(&self.arguments.notebook);
        report.output.clone_from(self.copy.as_ref().unwrap_or(&self.arguments.notebook));
        if let Some(unsaved) = &report.unsaved {
            report.notices.push(unsaved.message.clone());
            report.notices.extend(unsaved.hint.clone());
        }
        Ok(report)
    }

    /// Reads the notebook and selects the cells. Changes nothing.
    async fn prepare(
        &self,
        open: &OpenNotebook,
        parameters: &[(String, Literal)],
    ) -> Result<PreparedRun, CliError> {
        let path = &self.arguments.notebook;
        let (notebook, notices) = match &self.copy {
            Some(copy) => {
                let LoadedNotebook { notebook, notices, .. } = self.store.open(path)?;
                self.store.check_writable(copy)?;
                (Arc::new(notebook), notices)
            }
            None => {
                self.store.check_writable(path)?;
                let state = open.whole(None).await.map_err(|error| self.unreadable(error))?;
                (state.content.0, if self.is_open { Vec::new() } else { state.notices })
            }
        };
        let refused = |error: cellist_notebook::Error| CliError::notebook(path, &error);
        let chosen = self.arguments.selection().resolve(&notebook).map_err(refused)?;
        let wanted = WantedKernel::of_metadata(&notebook.metadata());
        let parameters = match parameters {
            [] => None,
            given => Some(assignments(given, &self.arguments.language(&wanted)).map_err(CliError::from)?),
        };
        Ok(PreparedRun { notebook, chosen, parameters, wanted, notices })
    }

    /// The error of a file that cannot be opened, as other commands report it.
    fn unreadable(&self, error: NotebookError) -> CliError {
        match self.store.open(&self.arguments.notebook) {
            Err(precise) if !self.is_open => precise.into(),
            _ => error.into(),
        }
    }

    /// The call that runs the cells, in a session that ends with this command.
    fn call(&self, open: &OpenNotebook, wanted: WantedKernel) -> Result<CallRequest, CliError> {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
        let cwd = match self.is_open {
            true => open.file().parent().unwrap_or(Path::new("/")).to_owned(),
            false => folder_of(&self.arguments.notebook)?,
        };
        let notebook = match &self.copy {
            None => open.file().to_owned(),
            Some(_) => self.store.real_path(&self.arguments.notebook)?,
        };
        let colour = self.paint.is_on();
        let ansi = if colour { Ansi::KeepColour } else { Ansi::Remove };
        let rules = RunRules::new(self.settings, Reading::new(limits(self.settings), ansi));
        Ok(CallRequest {
            session: SessionName { id: format!("run-{}-{now}", std::process::id()), cwd: Some(cwd.clone()) },
            here: cwd,
            kernel: self.arguments.kernel(wanted)?,
            kind: SessionKind::Run { path: Some(notebook) },
            is_owned: true,
            cells: Vec::new(),
            soft_wait: self.settings.run.soft_wait,
            reset: false,
            rules: RunRules {
                limit: self.arguments.timeout.map_or(Limit::None, Limit::Given),
                on_stuck: rules.on_stuck.or(Some(OnStuck::Kill)),
                retry: RetryOnCrash::Never,
                mode: KernelMode::Session,
                ..rules
            },
            is_watched: true,
        })
    }

    /// Creates the output file, inserts the parameters and runs the cells.
    async fn cells(
        &self,
        open: &OpenNotebook,
        call: CallRequest,
        prepared: PreparedRun,
        cancel: &mut Cancel,
        progress: &mut Progress,
    ) -> Result<RunReport, CliError> {
        let PreparedRun { mut notebook, chosen: mut cells, parameters, mut notices, .. } = prepared;
        if let Some(copy) = &self.copy {
            let at: Vec<usize> = cells.iter().filter_map(|id| notebook.position(id)).collect();
            let written = self.store.replace_raw(copy, notebook.to_bytes(), None)?;
            notices.extend(written.notices);
            notebook = open.whole(None).await?.content.0;
            cells = at.iter().map(|at| notebook.cells()[*at].id().clone()).collect();
        }
        if let Some(source) = parameters {
            let edit = NotebookEdit::Parameters(source);
            let edited = open.asked(NotebookAction::Edit { edit, base: None, author: author() }).await?;
            match edited {
                NotebookReply::Edited(edited) => notices.extend(edited.result.notices),
                other => return Err(host::unexpected(&Reply::Notebook(other))),
            }
            notebook = open.whole(None).await?.content.0;
            let injected = parameters_at(&notebook).map(|index| notebook.cells()[index].id().clone());
            cells.extend(injected.filter(|id| !cells.contains(id)));
            cells.sort_by_key(|cell| notebook.position(cell));
        }
        if let Some(why) = why_nothing(&notebook, &cells) {
            notices.push(format!("nothing to run: {why}"));
        }
        let max_output = self.settings.notebook.max_output.filter(|_| !self.arguments.full_outputs);
        let run = NotebookRunRequest {
            path: open.file().to_owned(),
            cells,
            call,
            allow_errors: self.arguments.allow_errors,
            max_output: max_output.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            timing: self.settings.notebook.timing,
            author: author(),
        };
        let mut report = self.follow(open.client(), run, cancel, progress).await?;
        report.notices.splice(0..0, notices);
        Ok(report)
    }

    async fn follow(
        &self,
        client: &HostClient,
        run: NotebookRunRequest,
        cancel: &mut Cancel,
        progress: &mut Progress,
    ) -> Result<RunReport, CliError> {
        let mut shown = 0;
        let pending = client.begin(Request::Run(Box::new(run)));
        match follow(pending, cancel, |event| show(event, &mut shown, progress)).await {
            Ok(Reply::Ran(report)) => Ok(*report),
            Ok(other) => Err(host::unexpected(&other)),
            Err(error) => Err(self.gone(error.into())),
        }
    }

    fn gone(&self, error: CliError) -> CliError {
        let error = error.about(&self.arguments.notebook.display().to_string());
        match error.kind {
            FailureKind::HostLost => error
                .with_hint("the kernel is lost; the notebook has the outputs saved until then; run it again"),
            _ => error,
        }
    }
}

/// Shows the events of a run after the first `shown`.
fn show(event: &Event, shown: &mut usize, progress: &mut Progress) {
    let Event::Run(state) = event else { return };
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

impl From<ParameterError> for CliError {
    fn from(error: ParameterError) -> CliError {
        let failure = CliError::input(FailureKind::InvalidParameter, error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}
