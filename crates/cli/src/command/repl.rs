//! `cellist repl`: an interactive prompt in a session.

use std::path::{Path, PathBuf};

use cellist_host::SessionName;
use cellist_notebook::{Ids, Notebook};
use cellist_session::orders::{KernelRequest, WantedKernel};
use cellist_session::sessions::{SessionKey, SessionKind};
use cellist_settings::Home;
use cellist_tui::{Repl, ReplStorage};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use super::exec::working_folder;
use super::view::{call, require_terminal};
use crate::error::{CliError, Exit, FailureKind};
use crate::host::{self, HostAccess};
use crate::kernel::KernelFlags;
use crate::line_history::LineHistory;
use crate::notebook_access::PathTarget;
use crate::notebook_access::files;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Paint, own};
use crate::progress::picturing_for;

/// Start an interactive prompt in a session
///
/// With a notebook, code runs on the notebook's kernel. With --session, it runs in that session, which agents and
/// other terminals can share. Otherwise the session ends with the command.
///
/// Enter runs complete code, Alt-Enter inserts a line break, Tab completes, `name?` shows help, Ctrl-O expands
/// the last output, Ctrl-C interrupts, Ctrl-D quits. `%notebook FILE` saves the code that was run as a notebook;
/// `%restart` restarts the kernel.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist repl
  cellist repl nb.ipynb
  cellist repl --session work")]
pub(crate) struct ReplArgs {
    /// Use this notebook's kernel
    #[arg(value_name = "NB", conflicts_with = "session")]
    notebook: Option<PathBuf>,
    /// Use this session; create it if it does not exist
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
    /// Do not use the host: the session ends with the command
    #[arg(long)]
    standalone: bool,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn start_repl(arguments: ReplArgs) -> Result<CommandOutput, CliError> {
    if let Some(notebook) = &arguments.notebook {
        files::check_look(notebook)?;
    }
    require_terminal("repl")?;
    let ReplSession { session, here, kind, wanted, is_owned } = arguments.place()?;
    let settings = arguments.flags.settings(&here)?.settings;
    let paint = Paint::for_stdout(ColourMode::Auto);
    let is_particular = arguments.flags.are_given();
    let kernel = KernelRequest { wanted, is_particular, ..KernelRequest::default() };
    let mut call = call(&settings, session, here, kind, kernel);
    call.is_owned = is_owned;
    let repl = Repl {
        call,
        storage: Box::new(ReplKeeper(LineHistory::code(&Home::from_env()))),
        images: picturing_for(settings.terminal.images, paint),
        has_colour: paint.is_on(),
    };
    let text = host::block_on(async {
        let reach = HostAccess::open(arguments.standalone, &settings, &arguments.flags).await?;
        let text = repl.run(reach.client()).await;
        reach.close().await;
        text.map_err(|error| {
            CliError::new(FailureKind::Terminal, Exit::NotSaved, format!("terminal error: {error}"))
        })
    })?;
    Ok(CommandOutput::new(own(&text), json!({})))
}

/// The session that runs the code.
struct ReplSession {
    session: SessionName,
    here: PathBuf,
    kind: SessionKind,
    wanted: WantedKernel,
    is_owned: bool,
}

impl ReplArgs {
    fn place(&self) -> Result<ReplSession, CliError> {
        if let Some(path) = &self.notebook {
            let target = PathTarget { path: path.clone(), part: None };
            target.check_name()?;
            let wanted = WantedKernel::of_metadata(&files::store().open(path)?.notebook.metadata());
            let path = path.canonicalize().map_err(|error| CliError::unreadable(path, &error))?;
            let SessionKey { id, cwd } = SessionKey::of_notebook(&path);
            let kind = SessionKind::Notebook { path };
            let session = SessionName { id, cwd: Some(cwd.clone()) };
            return Ok(ReplSession { session, here: cwd, kind, wanted, is_owned: false });
        }
        let here = working_folder(None)?;
        let is_owned = self.session.is_none();
        let id = self.session.clone().unwrap_or_else(|| format!("repl-{}", std::process::id()));
        let (session, kind) = (SessionName { id, cwd: None }, SessionKind::Terminal);
        Ok(ReplSession { session, here, kind, wanted: WantedKernel::default(), is_owned })
    }
}

/// Stores the history of the prompt, and saves it as a notebook on request.
struct ReplKeeper(LineHistory);

impl ReplStorage for ReplKeeper {
    fn history(&self) -> Vec<String> {
        self.0.list()
    }

    fn remember(&self, code: &str) {
        // A failure to store the code must not prevent running it.
        let _ = self.0.add(code);
    }

    fn save(&self, path: &str, bytes: &[u8]) -> Result<String, String> {
        let path = Path::new(path);
        let target = PathTarget { path: path.to_owned(), part: None };
        target.check_name().map_err(|error| error.to_string())?;
        let notebook = Notebook::parse(bytes.to_vec(), Ids::seeded(0)).map_err(|error| error.to_string())?;
        let count = notebook.cells().len();
        files::store().create(path, &notebook).map_err(|error| CliError::from(error).to_string())?;
        let cells = if count == 1 { "cell" } else { "cells" };
        Ok(format!("saved {count} {cells} as {}", path.display()))
    }
}
