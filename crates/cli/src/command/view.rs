//! `cellist view`: shows a notebook in the terminal.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use cellist_host::{CallRequest, SessionName};
use cellist_output::Ansi;
use cellist_session::execution::Reading;
use cellist_session::orders::{KernelRequest, WantedKernel};
use cellist_session::sessions::{RunRules, SessionKey, SessionKind};
use cellist_settings::Settings;
use cellist_tui::NotebookViewer;
use clap::Args;
use serde_json::json;

use crate::error::{CliError, Exit, FailureKind};
use crate::host::{self, HostAccess};
use crate::kernel::KernelFlags;
use crate::notebook_access::PathTarget;
use crate::notebook_access::author;
use crate::notebook_access::files;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Paint};
use crate::progress::picturing_for;
use crate::settings::limits;

/// Show a notebook in the terminal and follow changes live
///
/// Changes and runs by other clients appear as they happen. Cells run on the kernel that all clients of the
/// notebook share. The keys are those of Jupyter's command mode and of vi; press `?` to list them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist view nb.ipynb
  cellist view nb.ipynb --standalone")]
pub(crate) struct ViewArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// Do not use the host: follow the file only, and end the kernel with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn view_notebook(arguments: ViewArgs) -> Result<CommandOutput, CliError> {
    // The viewer can edit the notebook, and the host that saves it does not apply this agent's file policy.
    files::check_change(&arguments.notebook)?;
    require_terminal("view")?;
    let target = PathTarget { path: arguments.notebook.clone(), part: None };
    target.check_name()?;
    let wanted = WantedKernel::of_metadata(&files::store().open(&target.path)?.notebook.metadata());
    let path = target.path.canonicalize().map_err(|error| CliError::unreadable(&target.path, &error))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let settings = arguments.flags.settings(&folder)?.settings;
    let paint = Paint::for_stdout(ColourMode::Auto);
    let key = SessionKey::of_notebook(&path);
    let kind = SessionKind::Notebook { path: path.clone() };
    let viewing = NotebookViewer {
        call: call(
            &settings,
            SessionName { id: key.id, cwd: Some(key.cwd) },
            folder,
            kind,
            KernelRequest { wanted, is_particular: arguments.flags.are_given(), ..KernelRequest::default() },
        ),
        max_output: settings.notebook.max_output.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        timing: settings.notebook.timing,
        author: author(),
        images: picturing_for(settings.terminal.images, paint),
        has_colour: paint.is_on(),
        path,
    };
    host::block_on(async {
        let reach = HostAccess::open(arguments.standalone, &settings, &arguments.flags).await?;
        let shown = viewing.show(reach.client()).await;
        reach.close().await;
        shown?.map_err(|error| {
            CliError::new(FailureKind::Terminal, Exit::NotSaved, format!("terminal error: {error}"))
        })
    })?;
    Ok(CommandOutput::new("", json!({})))
}

/// Fails unless standard input and output are a terminal.
pub(crate) fn require_terminal(command: &str) -> Result<(), CliError> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    Err(CliError::input(FailureKind::NoTerminal, format!("`cellist {command}` needs a terminal"))
        .with_hint("use `cellist read` to print a notebook, or `cellist exec --session` to run code"))
}

/// A call for interactive use, without a time limit.
pub(crate) fn call(
    settings: &Settings,
    session: SessionName,
    here: PathBuf,
    kind: SessionKind,
    kernel: KernelRequest,
) -> CallRequest {
    CallRequest {
        session,
        here,
        kernel,
        kind,
        is_owned: false,
        cells: Vec::new(),
        soft_wait: settings.run.soft_wait,
        reset: false,
        rules: RunRules::new(settings, Reading::new(limits(settings), Ansi::KeepColour)),
        is_watched: true,
    }
}
