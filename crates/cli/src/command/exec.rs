//! `cellist exec`: runs code on a new kernel or in a session.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_host::{
    CallRequest, Event, HostClient, PendingRequest, Reply, Request, SessionName, StartedKernel,
};
use cellist_output::Ansi;
use cellist_platform::Variables;
use cellist_session::execution::{Cancel, KernelReport, Limit, OnStuck, Reading, Report, Status};
use cellist_session::sessions::{
    CallReport, CallView, CellStep, Code, KernelMode, RetryOnCrash, RunRules, SessionKind, Stage,
};
use cellist_settings::{Images, Settings};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use crate::clock::seconds;
use crate::command::run::kernel_description;
use crate::error::{CliError, Exit, FailureKind};
use crate::host::{self, HostAccess};
use crate::input::InputSource;
use crate::kernel::{KernelChoiceFlags, KernelFlags};
use crate::output::{CommandOutput, OutputFormat, print_to_stderr};
use crate::paint::{ColourMode, Paint, own};
use crate::progress::{Progress, ProgressStyle};
use crate::settings::limits;
use crate::signals;
use crate::spinner::Spinner;

/// The bounds of `--timeout` and its default.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);
const USUAL: Duration = Duration::from_secs(30);

/// Run code on a new kernel or in a session
///
/// Output goes to standard output; long output is cut in the middle. A line on standard error names the kernel.
///
/// Without --session, the kernel ends with the command. A session keeps its state for later commands, from any
/// terminal, until it has been idle for five minutes. Code in a session keeps running when the command is killed
/// or its terminal closes. Ctrl-C interrupts the code; a second Ctrl-C kills its kernel.
///
/// Exit status: 0 success, 1 the code failed, 2 bad usage or input, 3 no Python or kernel, 124 timeout, 130
/// interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist exec 'import sys; sys.version'
  cellist exec -f script.py --cwd data --timeout 120
  cellist exec --session work 'x = 1'; cellist exec --session work 'print(x)'
  echo 'print(1)' | cellist exec -")]
pub(crate) struct ExecArgs {
    /// The code to run, or `-` for standard input. Put `--` before code that starts with `-`
    #[arg(value_name = "CODE", conflicts_with = "file")]
    code: Option<String>,
    /// Read the code from a file
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Run in this session; create it if it does not exist
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "existing")]
    session: Option<String>,
    /// Restart the session's kernel first
    #[arg(long, requires = "session")]
    reset: bool,
    /// The working folder [default: the current folder, or that of an existing session]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Time limit in seconds, 1 to 600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Do not use the host: a session ends with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    particular: KernelChoiceFlags,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn exec_code(arguments: ExecArgs, format: OutputFormat) -> Result<CommandOutput, CliError> {
    let code = arguments.code()?;
    let place = ExecSession::of(&arguments)?;
    let settings = arguments.flags.settings(&place.here)?.settings;
    let view = ExecView::new(&settings, format);
    let call = arguments.call(&settings, place, code, &view)?;
    let is_lone = arguments.session.is_none();
    let (started, report) = host::block_on(async {
        let (canceller, mut cancel) = Cancel::channel();
        match is_lone {
            true => signals::cancel_on_signals(&canceller),
            false => signals::cancel_on_stop_signals(&canceller),
        }
        let reach = match is_lone {
            true => HostAccess::for_run(&settings, &arguments.flags),
            false => tokio::select! {
                reach = HostAccess::open(arguments.standalone, &settings, &arguments.flags) => reach?,
                () = cancel.asked() => return Err(CliError::interrupted()),
            },
        };
        let ran = carry_out(reach.client(), call, is_lone, &mut cancel, &view).await;
        reach.close().await;
        ran
    })?;
    exec_output(report, started, format)
}

/// Runs the code. A kernel that ends with the command is started first, so that a line can name it.
async fn carry_out(
    client: &HostClient,
    call: CallRequest,
    is_lone: bool,
    cancel: &mut Cancel,
    view: &ExecView,
) -> Result<(Option<StartedKernel>, CallReport), CliError> {
    let started = match is_lone {
        true => Some(start(client, &call, cancel).await?),
        false => None,
    };
    let code = call.cells[0].code.clone();
    let mut progress = view.progress(&code);
    let waiting = view.waiting(&code);
    let pending = client.begin(Request::Call(Box::new(call)));
    let reply = follow(pending, cancel, |event| {
        if let Event::Call(view) = event {
            show(&mut progress, view);
        }
    })
    .await;
    progress.end();
    drop(waiting);
    match reply? {
        Reply::Called(report) => Ok((started, *report)),
        other => Err(host::unexpected(&other)),
    }
}

/// Starts the kernel of a call.
pub(crate) async fn start(
    client: &HostClient,
    call: &CallRequest,
    cancel: &mut Cancel,
) -> Result<StartedKernel, CliError> {
    let waiting = Spinner::new("looking for Python");
    let pending = client.begin(Request::Start(Box::new(call.clone())));
    let show = |event: &Event| {
        if let Event::Starting(kernel) = event {
            waiting.now(format!("starting {kernel}"));
        }
    };
    match follow(pending, cancel, show).await? {
        Reply::Started(started) => Ok(*started),
        other => Err(host::unexpected(&other)),
    }
}

/// Waits for the reply to a request, forwards cancellation, and shows its events.
pub(crate) async fn follow(
    pending: PendingRequest,
    cancel: &mut Cancel,
    mut show: impl FnMut(&Event),
) -> cellist_host::Result<Reply> {
    let (stop, mut events) = (pending.stop(), pending.events());
    let done = pending.done();
    tokio::pin!(done);
    let mut is_open = true;
    let reply = loop {
        tokio::select! {
            biased;
            reply = &mut done => break reply,
            request = cancel.next_request() => stop.pass_on(request),
            changed = events.changed(), if is_open => {
                is_open = changed.is_ok();
                events.borrow_and_update().iter().for_each(&mut show);
            }
        }
    };
    // The last events may have arrived together with the reply.
    if is_open && events.has_changed().unwrap_or(true) {
        events.borrow().iter().for_each(&mut show);
    }
    reply
}

fn show(progress: &mut Progress, view: &CallView) {
    let text = match view.stage {
        Stage::Queued { before: 0, .. } | Stage::Ended => return,
        Stage::Queued { before: 1, .. } => "waiting for another call in this session".into(),
        Stage::Queued { before, .. } => format!("waiting for {before} other calls in this session"),
        Stage::Starting => "starting the kernel".into(),
        Stage::Running { .. } => view.text.clone(),
    };
    progress.shows(text, view.bar.as_ref());
}

/// Prints the name of the kernel and returns the output.
fn exec_output(
    mut report: CallReport,
    started: Option<StartedKernel>,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    if report.cells.is_empty() {
        let why = report.notices.pop().unwrap_or_else(|| "nothing ran".into());
        return Err(CliError::new(FailureKind::Interrupted, Exit::Interrupted, why));
    }
    let cell = report.cells.swap_remove(0).report;
    let kernel = match &started {
        Some(started) => kernel_description(&started.identity),
        None => format!("{} · session {}", kernel_of(&cell.kernel), report.session.id),
    };
    if format == OutputFormat::Text {
        print_to_stderr(&format!("[{kernel}]"));
    }
    let Some(started) = started else {
        let mut answer = answer(cell, report.notices);
        answer.json["session"] = json!({
            "id": report.session.id,
            "cwd": report.session.cwd.to_string_lossy(),
        });
        answer.json["execution"] = json!(report.execution);
        return Ok(answer);
    };
    Ok(answer(cell, [started.notices, report.notices].concat()))
}

fn kernel_of(kernel: &KernelReport) -> String {
    match &kernel.python {
        Some(python) => format!("{} · {}", kernel.backend, python.display()),
        None => kernel.backend.to_string(),
    }
}

/// The session to run in, and its folder if it is new.
struct ExecSession {
    session: SessionName,
    here: PathBuf,
}

impl ExecSession {
    fn of(arguments: &ExecArgs) -> Result<ExecSession, CliError> {
        let folder = working_folder(arguments.cwd.as_deref())?;
        Ok(match &arguments.session {
            None => {
                let id = format!("exec-{}", std::process::id());
                ExecSession { session: SessionName { id, cwd: Some(folder.clone()) }, here: folder }
            }
            Some(id) => {
                let cwd = arguments.cwd.is_some().then(|| real(&folder));
                let here = cwd.clone().unwrap_or(folder);
                ExecSession { session: SessionName { id: id.clone(), cwd }, here }
            }
        })
    }
}

/// How the result is shown, during and after the run.
struct ExecView {
    paint: Paint,
    /// Whether output is drawn while the code runs.
    is_live: bool,
    reading: Reading,
}

impl ExecView {
    fn new(settings: &Settings, format: OutputFormat) -> ExecView {
        let paint = Paint::for_stdout(ColourMode::Auto);
        let is_traced = Variables::of_process().is_on("PI_PYTHON_IPC_TRACE");
        let is_live = format == OutputFormat::Text && io::stdout().is_terminal() && !is_traced;
        let ansi = if is_live && paint.is_on() { Ansi::KeepColour } else { Ansi::Remove };
        ExecView { paint, is_live, reading: Reading::new(limits(settings), ansi) }
    }

    /// Images are off: the final text is printed separately.
    fn look(&self) -> ProgressStyle {
        ProgressStyle { paint: self.paint, images: Images::Off, language: String::new() }
    }

    /// A spinner with the first line of the code, where output is not drawn live.
    fn waiting(&self, code: &str) -> Option<Spinner> {
        (!self.is_live).then(|| Spinner::new(title(code)))
    }

    /// The live display of the code, if output is drawn live.
    fn progress(&self, code: &str) -> Progress {
        let mut progress =
            if self.is_live { Progress::on_stdout(self.look(), true) } else { Progress::silent() };
        let title = title(code);
        let (cell, source) = (String::new(), String::new());
        progress.started(&CellStep { index: 0, cell, position: 0, count: 1, title, source });
        progress
    }
}

impl ExecArgs {
    fn call(
        &self,
        settings: &Settings,
        place: ExecSession,
        code: String,
        view: &ExecView,
    ) -> Result<CallRequest, CliError> {
        let mut kernel = self.particular.request()?;
        kernel.is_particular = self.particular.is_given() || self.flags.are_given();
        let is_lone = self.session.is_none();
        let mut rules = RunRules::new(settings, view.reading);
        rules.limit = match self.timeout {
            None if !is_lone => Limit::Usual(self.timeout()),
            _ => Limit::Given(self.timeout()),
        };
        // A kernel that ends with the command has no state to lose.
        if is_lone || self.standalone {
            rules.on_stuck = rules.on_stuck.or(Some(OnStuck::Kill));
        }
        if is_lone {
            (rules.retry, rules.mode) = (RetryOnCrash::Never, KernelMode::Session);
        }
        Ok(CallRequest {
            session: place.session,
            here: place.here,
            kernel,
            kind: if is_lone { SessionKind::Run { path: None } } else { SessionKind::Tool },
            is_owned: is_lone,
            cells: vec![Code { code, ..Code::default() }],
            soft_wait: settings.run.soft_wait,
            reset: self.reset,
            rules,
            is_watched: view.is_live,
        })
    }

    fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(USUAL).clamp(SHORTEST, LONGEST)
    }

    fn code(&self) -> Result<String, CliError> {
        match (&self.code, &self.file) {
            (Some(code), None) if code != "-" => Ok(code.clone()),
            (None, None) if io::stdin().is_terminal() => {
                Err(CliError::input(FailureKind::MissingContent, "no code to run")
                    .with_hint("pass the code, use -f FILE, or pipe it in"))
            }
            (_, file) => InputSource::of_file(file.clone()).text("exec"),
        }
    }
}

/// The first line of the code.
fn title(code: &str) -> String {
    code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// The working folder, which must exist.
pub(crate) fn working_folder(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let Some(named) = named else {
        return std::env::current_dir().map_err(|_| {
            CliError::input(FailureKind::NoSuchFolder, "the current folder no longer exists")
                .with_hint("change to an existing folder, or pass --cwd")
        });
    };
    let missing = |what: &str| {
        CliError::input(FailureKind::NoSuchFolder, format!("{}: {what}", named.display()))
            .with_hint("pass an existing folder to --cwd")
    };
    match std::fs::metadata(named) {
        Ok(found) if found.is_dir() => {
            std::path::absolute(named).map_err(|error| CliError::unreadable(named, &error))
        }
        Ok(_) => Err(missing("is not a folder")),
        Err(_) => Err(missing("no such folder")),
    }
}

/// The canonical path, so that two paths to one folder name one session.
pub(crate) fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// The output of code that ran, with further notices.
fn answer(report: Report, notices: Vec<String>) -> CommandOutput {
    let exit = match report.status {
        Status::Ok => Exit::Done,
        Status::Error => Exit::CodeFailed,
        Status::Timeout => Exit::TimedOut,
        Status::Cancelled => Exit::Interrupted,
    };
    let mut text = report.text.clone();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let mut json = serde_json::to_value(&report).unwrap_or_else(|_| json!({}));
    let mut all = notices.clone();
    all.extend(report.notices);
    json["notices"] = json!(all);
    let mut answer = CommandOutput::new(own(&text), json).with_exit(exit);
    // The code's own notices are part of its text.
    answer.notices = notices;
    answer
}
