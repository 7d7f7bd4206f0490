//! `cellist run`: the cells of a notebook, in order, with their outputs saved.

mod open;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_host::OpenNotebook;
use cellist_output::{Ansi, ranges};
use cellist_platform::Variables;
use cellist_session::orders::{Job, Running, Wanted};
use cellist_session::run::{
    Cancel, CannotRun, CellReport, Document, Literal, OnStuck, Plan, Ran, Reading, RunReport, Selection,
    Status, prepare, run as run_cells,
};
use cellist_settings::{Home, Settings};
use cellist_store::receipts::Receipts;
use cellist_store::{Store, Use};
use clap::Args;
use serde_json::{Value, json};

use crate::answer::{Answer, Format, print_aside};
use crate::clock::{format_duration, some_seconds};
use crate::error::{CliError, Exit, FailureKind};
use crate::interrupts;
use crate::kernel::{KernelFlags, Particular};
use crate::notebook_access::{self, Standalone, Target, files};
use crate::paint::{Ink, Paint, When};
use crate::parameters::{self, Assignment};
use crate::progress::{Look, Progress};
use crate::settings::{artifacts, limits};
use crate::waiting::Waiting;

/// Run a notebook's cells in order and save their outputs
///
/// The first cell that fails ends the run, and the outputs up to there are saved. Cells tagged `raises-exception`
/// may fail; cells tagged `skip-execution` are left alone. Parameters go into a cell of their own behind the one
/// tagged `parameters`; a second run replaces it. The kernel is a new one that ends with the run, unless
/// one that runs already is joined with --existing.
///
/// A notebook that somebody has open, on the page, on a screen or by an agent, is run by the host: all of them see the
/// cells run, and what they type meanwhile stays.
///
/// With --json, `status` is how the run ended: a run that reaches its end is `ok`, also where cells failed that
/// may (`failed` counts them, and each cell has a status of its own).
///
/// Exit status: 0 done, 1 a cell failed, 2 bad usage or bad input, 3 no Python or kernel, 4 could not save,
/// 124 timed out, 130 interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist run nb.ipynb
  cellist run nb.ipynb -o out.ipynb -p alpha=0.5 -p name=test
  cellist run nb.ipynb --cells 0-3,plot --allow-errors
  cellist run nb.ipynb --backend runner --python ./venv --timeout 60")]
pub(crate) struct Arguments {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// Save to this file and leave the notebook as it is
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Run only these cells: indexes, ranges and ids, separated by commas
    #[arg(long, value_name = "CELLS", value_delimiter = ',', allow_hyphen_values = true)]
    cells: Vec<String>,
    /// A parameter: True, False, None and numbers are what they look like, all else is text
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<Assignment>,
    /// A parameter that is text, whatever it looks like
    #[arg(short, long = "raw-param", value_name = "NAME=TEXT")]
    raw_param: Vec<Assignment>,
    /// A YAML or JSON file of parameters
    #[arg(short = 'f', long = "param-file", visible_alias = "parameters-file", value_name = "FILE")]
    param_file: Vec<PathBuf>,
    /// Go on after a cell that failed
    #[arg(long)]
    allow_errors: bool,
    /// How many seconds a cell may take; without it there is no limit
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Save all output of a cell, where otherwise notebook.max_output is kept (10 MiB)
    #[arg(long)]
    full_outputs: bool,
    /// Run in the kernel that a Jupyter Server has for this notebook; it goes on when the command is done
    #[arg(long, conflicts_with_all = ["kernel", "kernel_id", "existing"])]
    join: bool,
    #[command(flatten)]
    standalone: Standalone,
    #[command(flatten)]
    particular: Particular,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn run(arguments: Arguments, format: Format) -> Result<Answer, CliError> {
    let target = Target { path: arguments.notebook.clone(), part: None };
    let paint = Paint::for_stdout(When::Auto);
    let parameters = parameters::collect(&arguments.param_file, &arguments.param, &arguments.raw_param)?;
    let cwd = folder_of(&target.path)?;
    let settings = arguments.flags.settings(&cwd)?;
    let plan = arguments.plan(&settings.settings, parameters, paint, format);
    let store = files::store();
    store.check_use(&target.path, Use::Change)?;
    if let Some(owner) = arguments.owner() {
        store.check_writable(&target.path)?;
        let run = open::Run { owner: &owner, arguments: &arguments, plan: &plan, settings: &settings, cwd };
        return owner.wait(run.carry_out(paint, format));
    }
    let mut document = open(&store, &target.path, arguments.output.as_deref())?;
    let wanted = Wanted::of_metadata(&document.notebook().metadata());
    let refused = |error| CliError::cannot_run(&target.path, &error);
    let cells = prepare(&mut document, &plan, &arguments.language(&wanted)).map_err(refused)?;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()))?;
    let (ran, notices) = runtime.block_on(async {
        let (canceller, mut cancel) = Cancel::channel();
        interrupts::hand_on(&canceller);
        let job = arguments.job(cwd.clone(), wanted);
        let starting = arguments.flags.start(&settings, &arguments.particular, job, Some(&target.path));
        let ready = tokio::select! {
            ready = starting => ready?,
            () = cancel.asked() => return Err(CliError::interrupted()),
        };
        let mut progress = match format {
            Format::Json => Progress::silent(),
            Format::People => {
                let identity = ready.kernel.identity();
                print_aside_heading(&target.path, &on_what(&identity), paint);
                on_stdout(paint, &settings.settings, identity.language)
            }
        };
        let ran = run_cells(
            &mut document,
            &*ready.kernel,
            &cells,
            &plan,
            &ready.around,
            &mut cancel,
            &mut progress,
        )
        .await;
        progress.end();
        let waiting = Waiting::new("the kernel ends");
        ready.kernel.shutdown().await;
        drop(waiting);
        Ok((ran, ready.notices))
    })?;
    let Ran { mut report, save_error } = ran;
    report.notices.splice(0..0, notices);
    if let Some(error) = &save_error {
        report.notices.push(error.to_string());
        report.notices.extend(error.hint());
    }
    Ok(answer(report, save_error.map(CliError::from), paint))
}

impl Arguments {
    /// The host, where it has the notebook open and the outputs are to go there.
    fn owner(&self) -> Option<OpenNotebook> {
        let real = |path: &Path| path.canonicalize().ok();
        let is_in_place = self.output.as_ref().is_none_or(|output| real(output) == real(&self.notebook));
        if !is_in_place || self.particular.is_elsewhere() {
            return None;
        }
        notebook_access::open_notebook(&self.notebook, self.standalone)
    }

    /// What a kernel is wanted for.
    fn job(&self, cwd: PathBuf, wanted: Wanted) -> Job {
        let mut folders = vec![cwd.clone()];
        folders.extend(std::env::current_dir().ok());
        let whole = || std::path::absolute(&self.notebook).unwrap_or(self.notebook.clone());
        let running = self.join.then(|| Running::OfNotebook(whole()));
        Job { cwd, folders, wanted, running, ..Job::default() }
    }

    /// The language of the notebook's code, as far as it is known before a kernel is there.
    fn language(&self, wanted: &Wanted) -> String {
        let said = wanted.language.clone().filter(|_| self.particular.kernel.is_none());
        said.unwrap_or_else(|| "python".to_owned())
    }

    fn plan(
        &self,
        settings: &Settings,
        parameters: Vec<(String, Literal)>,
        paint: Paint,
        format: Format,
    ) -> Plan {
        let max_output = settings.notebook.max_output.filter(|_| !self.full_outputs);
        let colour = paint.is_on() && format == Format::People;
        let ansi = if colour { Ansi::KeepColour } else { Ansi::Remove };
        Plan {
            cells: match self.cells.as_slice() {
                [] => Selection::All,
                cells => Selection::Named(cells.iter().map(|name| name.trim().to_owned()).collect()),
            },
            parameters,
            allow_errors: self.allow_errors,
            timeout: self.timeout,
            grace: settings.python.interrupt_grace,
            on_stuck: settings.python.on_stuck.unwrap_or(OnStuck::Kill),
            max_output: max_output.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            timing: settings.notebook.timing,
            reading: Reading::new(limits(settings), ansi),
            artifacts: Some(artifacts(settings)),
            receipts: Some(Receipts::new(&Home::from_env())),
        }
    }
}

fn open(store: &Store, path: &Path, output: Option<&Path>) -> Result<Document, CliError> {
    if let Some(output) = output {
        Target { path: output.to_owned(), part: None }.check_name()?;
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Better known before the run than after it.
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let message = format!("{}: the folder {} does not exist", output.display(), folder.display());
            return Err(CliError::input(FailureKind::NotFound, message).with_hint("make the folder first"));
        }
    }
    let document = Document::open(store, path, output)?;
    store.check_writable(document.output())?;
    Ok(document)
}

/// The folder of a notebook, in which its kernel starts.
fn folder_of(path: &Path) -> Result<PathBuf, CliError> {
    let whole = std::path::absolute(path).map_err(|error| CliError::unreadable(path, &error))?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Someone who shows the run on standard output.
fn on_stdout(paint: Paint, settings: &Settings, language: String) -> Progress {
    let look = Look { paint, images: settings.terminal.images, language };
    Progress::on_stdout(look, !Variables::of_process().is_on("PI_PYTHON_IPC_TRACE"))
}

fn print_aside_heading(path: &Path, on_what: &str, paint: Paint) {
    if io::stdout().is_terminal() {
        let heading = format!("{} · {on_what}", path.display());
        let _ = crate::answer::print(format!("{}\n\n", paint.line(Ink::Aside, &heading)).as_bytes());
    }
}

/// What runs the code, in a few words.
pub(crate) fn on_what(identity: &cellist_kernel::Identity) -> String {
    let language = match &identity.version {
        Some(version) => format!("{} {version}", identity.language),
        None => identity.language.clone(),
    };
    match &identity.python {
        Some(python) => format!("{} · {} ({language})", identity.backend, python.display()),
        None => format!("{} · {} ({language})", identity.backend, identity.name),
    }
}

fn answer(mut report: RunReport, unsaved: Option<CliError>, paint: Paint) -> Answer {
    let mut exit = match report.status {
        Status::Ok => Exit::Done,
        Status::Error => Exit::CodeFailed,
        Status::Timeout => Exit::TimedOut,
        Status::Cancelled => Exit::Interrupted,
    };
    if unsaved.is_some() {
        exit = Exit::NotSaved;
    }
    let unsaved = unsaved.map(|error| error.to_json()["error"].take());
    let notices = std::mem::take(&mut report.notices);
    let text = summary(&report, paint);
    let mut json = to_json(&report);
    if let Some(unsaved) = unsaved {
        json["error"] = unsaved;
    }
    Answer::new(text, json).with_notices(notices).with_exit(exit)
}

/// The report as `--json` prints it: each cell is one object with the report of its code.
fn to_json(report: &RunReport) -> Value {
    let cell = |cell: &CellReport| {
        let mut json = json!({ "index": cell.index, "id": cell.id });
        if let (Some(json), Ok(Value::Object(report))) =
            (json.as_object_mut(), serde_json::to_value(&cell.report))
        {
            json.extend(report);
        }
        json
    };
    json!({
        "notebook": report.notebook,
        "status": report.status,
        "saved": report.saved,
        "output": report.output,
        "duration_ms": report.duration_ms,
        "cells": report.cells.iter().map(cell).collect::<Vec<Value>>(),
        "not_run": report.not_run,
        "failed": report.failed,
        "notices": report.notices,
    })
}

/// How long the list of cells in that line may be.
const LIST: usize = 200;

/// One line at the end of it all.
fn summary(report: &RunReport, paint: Paint) -> String {
    let counted = |count: usize| if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
    let time = format_duration(Duration::from_millis(report.duration_ms));
    let failed = |cell: &&CellReport| cell.report.status != Status::Ok;
    let python = report.cells.first().map(|cell| match &cell.report.kernel.python {
        Some(python) => format!(" · {} {}", cell.report.kernel.backend, python.display()),
        None => format!(" · {}", cell.report.kernel.backend),
    });
    let mut line = format!("ran {} in {time}", counted(report.cells.len()));
    let bad = report.failed;
    match (report.status, report.cells.iter().rfind(failed)) {
        (Status::Ok, Some(_)) => {
            let cells: Vec<usize> = report.cells.iter().filter(failed).map(|cell| cell.index).collect();
            line.push_str(&format!(", {bad} failed (allowed): {}", ranges(&cells, LIST)));
        }
        (Status::Ok, None) => {}
        (Status::Error, Some(cell)) => line.push_str(&format!(", cell {} failed", cell.index)),
        (Status::Timeout, Some(cell)) => line.push_str(&format!(", cell {} timed out", cell.index)),
        (Status::Error | Status::Timeout, None) => {}
        (Status::Cancelled, _) => line.push_str(", interrupted"),
    }
    if report.not_run > 0 {
        line.push_str(&format!(", {} not run", report.not_run));
    }
    match report.saved {
        true => line.push_str(&format!(" · saved {}", report.output.display())),
        false => line.push_str(" · NOT SAVED"),
    }
    line.push_str(&python.unwrap_or_default());
    let ink = if report.status == Status::Ok && report.saved { Ink::Added } else { Ink::Removed };
    format!("{}\n", paint.line(ink, &line))
}

impl CliError {
    fn cannot_run(path: &Path, error: &CannotRun) -> CliError {
        match error {
            CannotRun::Cells(error) => CliError::notebook(path, error),
            CannotRun::Parameters(error) => {
                let failure = CliError::input(FailureKind::InvalidParameter, error.to_string());
                match error.hint() {
                    Some(hint) => failure.with_hint(hint),
                    None => failure,
                }
            }
        }
    }

    pub(crate) fn interrupted() -> CliError {
        CliError::new(FailureKind::Interrupted, Exit::Interrupted, "interrupted before anything ran")
    }
}

/// Tells on standard error what a result was made by.
pub(crate) fn name_kernel(identity: &cellist_kernel::Identity) {
    print_aside(&format!("[{}]", on_what(identity)));
}
