//! `cellist open`: opens a notebook in the browser.

mod browser;

use std::path::{Path, PathBuf};

use cellist_assistant::ApiKeys;
use cellist_host::{OpeningFile, PageLink, PageLinkRequest, Reply, Request};
use cellist_notebook::{Ids, Notebook};
use cellist_session::orders::ClientEnvironment;
use cellist_store::ErrorKind;
use cellist_tools::redaction::Redaction;
use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::host::{self, unexpected};
use crate::kernel::KernelFlags;
use crate::notebook_access::PathTarget;
use crate::notebook_access::files;
use crate::notebook_access::require_person;
use crate::output::CommandOutput;
use crate::spinner::Spinner;

/// Open a notebook in the browser
///
/// The host serves the page on this machine only. The link works once, within five minutes; the browser then
/// stays signed in while the host runs. `cellist status --browsers` lists signed-in browsers, and `cellist
/// revoke` signs one out.
///
/// The browser is started with a private file that redirects to the link, so other users cannot see it. A browser
/// that cannot read the file needs the link itself.
///
/// If the notebook does not exist, an empty one is created. Without a notebook, the page lists the notebooks in
/// the current folder. Environment variables for kernels and API keys for the assistant come from the terminal
/// that last ran this command. See docs/assistant.md for the assistant.
///
/// Exit status: 0 success, 2 no such folder, invalid notebook, or the page is already served at another port, 3
/// no host.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist open nb.ipynb
  cellist open new.ipynb
  cellist open --no-browser nb.ipynb
  cellist open --port 8080")]
pub(crate) struct OpenArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: Option<PathBuf>,
    /// Print the link without starting a browser
    #[arg(long)]
    no_browser: bool,
    /// Port for the page, if it is not being served yet
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(flatten)]
    flags: KernelFlags,
}

pub(crate) fn open_page(arguments: OpenArgs) -> Result<CommandOutput, CliError> {
    require_person("the page")?;
    let (path, is_new) = match &arguments.notebook {
        Some(path) => open_or_create(path).map(|(path, is_new)| (Some(path), is_new))?,
        None => (None, false),
    };
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let (environment, redaction, keys) = environment(&arguments.flags, &folder)?;
    let browses = !arguments.no_browser && browser::can_start();
    let file = if browses { browser::file() } else { OpeningFile::None };
    let ask = PageLinkRequest { path, environment, redaction, keys, folder, port: arguments.port, file };
    let PageLink { link, file } = host::block_on(async {
        let link = host::attach_or_start().await?;
        let _waiting = Spinner::new("opening the notebook");
        match link.ask(Request::Page(Box::new(ask))).await? {
            Reply::Page(link) => Ok(link),
            other => Err(unexpected(&other)),
        }
    })?;
    let is_shown = file.is_some_and(|file| browser::start(&file));
    let made = match &arguments.notebook {
        Some(path) if is_new => format!("Created {}: an empty notebook of format 4.5\n", path.display()),
        _ => String::new(),
    };
    let text = match is_shown {
        true => format!("{made}Opened in the browser. If nothing shows, use this link once:\n{link}\n"),
        false => format!("{made}Open this link, which works once:\n{link}\n"),
    };
    Ok(CommandOutput::new(text, json!({ "link": link, "browser": is_shown, "made": is_new })))
}

/// The canonical path of a notebook, and whether it was created now.
fn open_or_create(path: &Path) -> Result<(PathBuf, bool), CliError> {
    let store = files::store();
    match store.open(path) {
        Ok(opened) => Ok((opened.path, false)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            PathTarget { path: path.to_owned(), part: None }.check_name()?;
            store.create(path, &Notebook::empty(Ids::seeded(0)))?;
            Ok((store.real_path(path)?, true))
        }
        Err(error) => Err(error.into()),
    }
}

/// The environment for kernels without secrets, the redaction for models, and the assistant's keys.
pub(crate) fn environment(
    flags: &KernelFlags,
    folder: &Path,
) -> Result<(ClientEnvironment, Redaction, ApiKeys), CliError> {
    let settings = flags.settings(folder)?;
    let mut environment = flags.environment();
    let keys = ApiKeys::from_variables(&environment.variables());
    let mut redaction = Redaction::default();
    redaction.withhold_from(&mut environment, &settings.settings);
    Ok((environment, redaction, keys))
}
