//! `cellist exec`: one piece of code, on a kernel of its own or in a session.

mod session;

pub(crate) use session::on_what;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_output::Ansi;
use cellist_platform::Variables;
use cellist_session::orders::Job;
use cellist_session::run::{
    Bar, Cancel, Observer, OnStuck, Once, Reading, Report, Status, Step, execute_once,
};
use cellist_settings::{Images, Settings};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use crate::answer::{Answer, Format};
use crate::clock::seconds;
use crate::command::run::name_kernel;
use crate::error::{CliError, Exit, FailureKind};
use crate::input::Content;
use crate::interrupts;
use crate::kernel::{KernelFlags, Particular};
use crate::paint::{Paint, When, own};
use crate::progress::{Look, Progress};
use crate::settings::{artifacts, limits};
use crate::waiting::Waiting;

/// The limits of a time limit, and what it is when nothing is said.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);
const USUAL: Duration = Duration::from_secs(30);

/// Run a piece of code, on a new kernel or in a session
///
/// What it prints and displays goes to standard output, cut in the middle where it is long; a line on standard
/// error names what ran it. The kernel ends with the command, unless it is that of a session: a session keeps its
/// state for the next command, from any terminal, until nobody has used it for five minutes. What runs in one goes
/// on when the command is killed or its terminal closed; Ctrl-C interrupts it, and a second one ends its kernel.
///
/// Exit status: 0 done, 1 the code failed, 2 bad usage or bad input, 3 no Python or kernel, 124 timed out,
/// 130 interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist exec 'import sys; sys.version'
  cellist exec -f script.py --cwd data --timeout 120
  cellist exec --session work 'x = 1'; cellist exec --session work 'print(x)'
  echo 'print(1)' | cellist exec -")]
pub(crate) struct Arguments {
    /// The code; `-` reads it from standard input. Code that begins with `-` stands behind `--`
    #[arg(value_name = "CODE", conflicts_with = "file")]
    code: Option<String>,
    /// A file with the code
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Run in the session of this name, which is made if it is not there
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "existing")]
    session: Option<String>,
    /// Start the session's kernel anew first
    #[arg(long, requires = "session")]
    reset: bool,
    /// The folder to run in; for a session, the current folder if there is none of its name elsewhere
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// How many seconds the code may take, 1 to 600; 30 when nothing is said
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Use no host: a session ends with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    particular: Particular,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn run(arguments: Arguments, format: Format) -> Result<Answer, CliError> {
    let code = arguments.code()?;
    match &arguments.session {
        Some(id) => session::run(&arguments, id, code, format),
        None => alone(&arguments, &code, format),
    }
}

/// Runs code on a kernel that ends with the command.
fn alone(arguments: &Arguments, code: &str, format: Format) -> Result<Answer, CliError> {
    let cwd = working_folder(arguments.cwd.as_deref())?;
    let settings = arguments.flags.settings(&cwd)?;
    let view = View::new(&settings.settings, format);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()))?;
    let (report, notices, identity) = runtime.block_on(async {
        let (canceller, mut cancel) = Cancel::channel();
        interrupts::hand_on(&canceller);
        let job = Job { cwd: cwd.clone(), folders: vec![cwd.clone()], ..Job::default() };
        let starting = arguments.flags.start(&settings, &arguments.particular, job, None);
        let ready = tokio::select! {
            ready = starting => ready?,
            () = cancel.asked() => return Err(CliError::interrupted()),
        };
        let artifacts = artifacts(&settings.settings);
        let (timeout, artifacts) = (Some(arguments.timeout()), Some(&artifacts));
        let grace = settings.settings.python.interrupt_grace;
        let on_stuck = settings.settings.python.on_stuck.unwrap_or(OnStuck::Kill);
        let once = Once { code, timeout, grace, on_stuck, reading: view.reading, artifacts };
        let mut progress = view.progress(code);
        let waiting = view.waiting(code);
        let shows = |text: String, bar: Option<&Bar>| progress.shows(text, bar);
        let report = execute_once(&*ready.kernel, &once, &ready.around, &mut cancel, shows).await;
        progress.end();
        drop(waiting);
        let identity = ready.kernel.identity();
        ready.kernel.shutdown().await;
        let report = report.map_err(|error| CliError::kernel(&error))?;
        Ok((report, ready.notices, identity))
    })?;
    if format == Format::People {
        name_kernel(&identity);
    }
    Ok(answer(report, notices))
}

/// How a result is shown, and what is seen of it before.
struct View {
    paint: Paint,
    /// Whether someone sees it while it runs.
    is_live: bool,
    reading: Reading,
}

impl View {
    fn new(settings: &Settings, format: Format) -> View {
        let paint = Paint::for_stdout(When::Auto);
        let is_traced = Variables::of_process().is_on("PI_PYTHON_IPC_TRACE");
        let is_live = format == Format::People && io::stdout().is_terminal() && !is_traced;
        let ansi = if is_live && paint.is_on() { Ansi::KeepColour } else { Ansi::Remove };
        View { paint, is_live, reading: Reading::new(limits(settings), ansi) }
    }

    /// Only while it runs: then its text is printed, and stays.
    fn look(&self) -> Look {
        Look { paint: self.paint, images: Images::Off, language: String::new() }
    }

    /// Says what runs where its output does not.
    fn waiting(&self, code: &str) -> Option<Waiting> {
        (!self.is_live).then(|| Waiting::new(title(code)))
    }

    /// Someone to show code to while it runs, if anyone is watching.
    fn progress(&self, code: &str) -> Progress {
        let mut progress =
            if self.is_live { Progress::on_stdout(self.look(), true) } else { Progress::silent() };
        let title = title(code);
        let (cell, source) = (String::new(), String::new());
        progress.started(&Step { index: 0, cell, position: 0, count: 1, title, source });
        progress
    }
}

impl Arguments {
    fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(USUAL).clamp(SHORTEST, LONGEST)
    }

    fn code(&self) -> Result<String, CliError> {
        match (&self.code, &self.file) {
            (Some(code), None) if code != "-" => Ok(code.clone()),
            (None, None) if io::stdin().is_terminal() => {
                Err(CliError::input(FailureKind::MissingContent, "there is no code to run")
                    .with_hint("give the code, or -f FILE, or pipe it in"))
            }
            (_, file) => Content::of_file(file.clone()).text("exec"),
        }
    }
}

/// What to call the code while it runs.
fn title(code: &str) -> String {
    code.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// The folder that code runs in, which must be there.
pub(crate) fn working_folder(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let Some(named) = named else {
        return std::env::current_dir().map_err(|_| {
            CliError::input(FailureKind::NoSuchFolder, "the current folder does not exist any more")
                .with_hint("change to a folder that exists, or name one with --cwd")
        });
    };
    let missing = |what: &str| {
        CliError::input(FailureKind::NoSuchFolder, format!("{}: {what}", named.display()))
            .with_hint("name a folder that exists with --cwd")
    };
    match std::fs::metadata(named) {
        Ok(found) if found.is_dir() => {
            std::path::absolute(named).map_err(|error| CliError::unreadable(named, &error))
        }
        Ok(_) => Err(missing("is not a folder")),
        Err(_) => Err(missing("no such folder")),
    }
}

/// The folder by its one real name, so that two ways there lead to one session.
pub(crate) fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// The answer of code that ran, with notices that are not its own.
fn answer(report: Report, notices: Vec<String>) -> Answer {
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
    let mut answer = Answer::new(own(&text), json).with_exit(exit);
    // Those of the code itself stand at the end of its text.
    answer.notices = notices;
    answer
}
