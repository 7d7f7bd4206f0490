//! `cellist run`: runs a notebook's cells in order and saves their outputs.

mod execution;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cellist_output::ranges;
use cellist_platform::Variables;
use cellist_session::cells::Selection;
use cellist_session::execution::{CellReport, RunReport, Status};
use cellist_session::orders::{KernelRequest, RunningKernel, WantedKernel};
use cellist_settings::Settings;
use cellist_store::Use;
use clap::Args;
use serde_json::{Value, json};

use crate::clock::{format_duration, some_seconds};
use crate::error::{CliError, Exit, FailureKind};
use crate::host;
use crate::kernel::{KernelChoiceFlags, KernelFlags};
use crate::notebook_access::{self, PathTarget, StandaloneFlag, files};
use crate::output::{CommandOutput, OutputFormat};
use crate::paint::{ColourMode, Ink, Paint};
use crate::parameters::{self, Assignment};
use crate::progress::{Progress, ProgressStyle};
use execution::PendingRun;

/// Run a notebook's cells in order and save their outputs
///
/// The run stops at the first cell that fails and saves the outputs so far. Cells tagged `raises-exception` may
/// fail; cells tagged `skip-execution` are skipped. Parameters are inserted as a new cell after the one tagged
/// `parameters`; a second run replaces it. The run starts a new kernel and ends it afterwards, except with
/// --existing, --kernel-id and --join.
///
/// If the notebook is open in a page, a terminal or an agent, the host runs it: everyone sees the cells run, and
/// their edits during the run are kept.
///
/// With --json, `status` is the status of the whole run. It is `ok` if only cells failed that may fail; `failed`
/// counts them, and each cell has its own status.
///
/// Exit status: 0 success, 1 a cell failed, 2 bad usage or input, 3 no Python or kernel, 4 failed save, 124
/// timeout, 130 interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist run nb.ipynb
  cellist run nb.ipynb -o out.ipynb -p alpha=0.5 -p name=test
  cellist run nb.ipynb --cells 0-3,plot --allow-errors
  cellist run nb.ipynb --backend runner --python ./venv --timeout 60")]
pub(crate) struct RunArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// Save to this file instead of the notebook
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Run only these cells: comma-separated indexes, ranges and ids
    #[arg(long, value_name = "CELLS", value_delimiter = ',', allow_hyphen_values = true)]
    cells: Vec<String>,
    /// Set a parameter; True, False, None and numbers are typed, anything else is text
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<Assignment>,
    /// Set a parameter as text, whatever its value
    #[arg(short, long = "raw-param", value_name = "NAME=TEXT")]
    raw_param: Vec<Assignment>,
    /// Read parameters from a YAML or JSON file
    #[arg(short = 'f', long = "param-file", visible_alias = "parameters-file", value_name = "FILE")]
    param_file: Vec<PathBuf>,
    /// Continue after a cell fails
    #[arg(long)]
    allow_errors: bool,
    /// Time limit for each cell in seconds [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
    /// Save all output of a cell, beyond notebook.max_output (10 MiB)
    #[arg(long)]
    full_outputs: bool,
    /// Use the kernel that a Jupyter Server has for this notebook; it keeps running afterwards
    #[arg(long, conflicts_with_all = ["kernel", "kernel_id", "existing"])]
    join: bool,
    #[command(flatten)]
    standalone: StandaloneFlag,
    #[command(flatten)]
    particular: KernelChoiceFlags,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn run_notebook(arguments: RunArgs, format: OutputFormat) -> Result<CommandOutput, CliError> {
    let paint = Paint::for_stdout(ColourMode::Auto);
    let parameters = parameters::collect(&arguments.param_file, &arguments.param, &arguments.raw_param)?;
    let settings = arguments.flags.settings(&folder_of(&arguments.notebook)?)?.settings;
    let store = files::store();
    store.check_use(&arguments.notebook, Use::Change)?;
    let copy = arguments.copy()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()))?;
    let open = match copy {
        None if !arguments.particular.is_elsewhere() => {
            notebook_access::open_notebook(&arguments.notebook, arguments.standalone)
        }
        _ => None,
    };
    let run = PendingRun {
        arguments: &arguments,
        settings: &settings,
        store,
        copy,
        is_open: open.is_some(),
        paint,
    };
    match open {
        Some(open) => {
            run.store.check_writable(&arguments.notebook)?;
            open.wait(async { open.client().set_environment(host::to_send(&settings, &arguments.flags)) });
            open.wait(run.carry_out(&open, parameters, format)).map(|report| answer(report, paint))
        }
        None => run.carry_out_here(runtime, parameters, format),
    }
}

impl RunArgs {
    /// The output file, if it differs from the notebook.
    fn copy(&self) -> Result<Option<PathBuf>, CliError> {
        let real = |path: &Path| path.canonicalize().ok();
        let is_other = |output: &&PathBuf| real(output).is_none() || real(output) != real(&self.notebook);
        let Some(output) = self.output.as_ref().filter(is_other) else { return Ok(None) };
        PathTarget { path: output.clone(), part: None }.check_name()?;
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Fail before the run rather than after it.
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let message = format!("{}: the folder {} does not exist", output.display(), folder.display());
            return Err(CliError::input(FailureKind::NotFound, message).with_hint("make the folder first"));
        }
        Ok(Some(output.clone()))
    }

    /// The kernel to run on.
    fn kernel(&self, wanted: WantedKernel) -> Result<KernelRequest, CliError> {
        let request = self.particular.request()?;
        let whole = || std::path::absolute(&self.notebook).unwrap_or(self.notebook.clone());
        let joined = self.join.then(|| RunningKernel::OfNotebook(whole()));
        let folders = std::env::current_dir().into_iter().collect();
        Ok(KernelRequest { folders, wanted, running: request.running.or(joined), ..request })
    }

    /// The language of the notebook's code, as far as known before the kernel starts.
    fn language(&self, wanted: &WantedKernel) -> String {
        let said = wanted.language.clone().filter(|_| self.particular.kernel.is_none());
        said.unwrap_or_else(|| "python".to_owned())
    }

    fn selection(&self) -> Selection {
        match self.cells.as_slice() {
            [] => Selection::All,
            cells => Selection::Named(cells.iter().map(|name| name.trim().to_owned()).collect()),
        }
    }
}

/// The folder of a notebook, in which its kernel starts.
fn folder_of(path: &Path) -> Result<PathBuf, CliError> {
    let whole = std::path::absolute(path).map_err(|error| CliError::unreadable(path, &error))?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Shows the run on standard output.
fn on_stdout(paint: Paint, settings: &Settings, language: String) -> Progress {
    let look = ProgressStyle { paint, images: settings.terminal.images, language };
    Progress::on_stdout(look, !Variables::of_process().is_on("PI_PYTHON_IPC_TRACE"))
}

fn heading(path: &Path, kernel_description: &str, paint: Paint) {
    if io::stdout().is_terminal() {
        let heading = format!("{} · {kernel_description}", path.display());
        let _ = crate::output::print(format!("{}\n\n", paint.line(Ink::Aside, &heading)).as_bytes());
    }
}

/// The kernel in a few words.
pub(crate) fn kernel_description(identity: &cellist_kernel::Identity) -> String {
    let language = match &identity.version {
        Some(version) => format!("{} {version}", identity.language),
        None => identity.language.clone(),
    };
    match &identity.python {
        Some(python) => format!("{} · {} ({language})", identity.backend, python.display()),
        None => format!("{} · {} ({language})", identity.backend, identity.name),
    }
}

fn answer(mut report: RunReport, paint: Paint) -> CommandOutput {
    let unsaved = report.unsaved.clone().map(|unsaved| {
        let mut error = CliError::new(unsaved.kind, Exit::NotSaved, unsaved.message);
        error.hint = unsaved.hint;
        error
    });
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
    CommandOutput::new(text, json).with_notices(notices).with_exit(exit)
}

/// The report for `--json`: each cell is one object with the report of its code.
fn to_json(report: &RunReport) -> Value {
    let cell = |cell: &Arc<CellReport>| {
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
        "saved": report.unsaved.is_none(),
        "output": report.output,
        "duration_ms": report.duration_ms,
        "cells": report.cells.iter().map(cell).collect::<Vec<Value>>(),
        "not_run": report.not_run,
        "failed": report.failed,
        "notices": report.notices,
    })
}

/// The maximum length of the list of failed cells, in characters.
const LIST: usize = 200;

/// The last line of the output.
fn summary(report: &RunReport, paint: Paint) -> String {
    let counted = |count: usize| if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
    let time = format_duration(Duration::from_millis(report.duration_ms));
    let failed = |cell: &&Arc<CellReport>| cell.report.status != Status::Ok;
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
    match report.unsaved.is_none() {
        true => line.push_str(&format!(" · saved {}", report.output.display())),
        false => line.push_str(" · NOT SAVED"),
    }
    line.push_str(&python.unwrap_or_default());
    let ink = if report.status == Status::Ok && report.unsaved.is_none() { Ink::Added } else { Ink::Removed };
    format!("{}\n", paint.line(ink, &line))
}

impl CliError {
    pub(crate) fn interrupted() -> CliError {
        CliError::new(FailureKind::Interrupted, Exit::Interrupted, "interrupted before anything ran")
    }
}
