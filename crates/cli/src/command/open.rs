//! `cellist open`: a notebook in the browser, where people and agents work in it at once.

mod browser;

use std::path::{Path, PathBuf};

use cellist_assistant::Keys;
use cellist_host::{OpeningFile, PageAsk, PageLink, Reply, Request};
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

/// Open a notebook in the browser, beside agents that work in it
///
/// The page is served by the host, on this machine alone. The link works once, within five minutes; the browser stays
/// signed in after that, for as long as the host runs. The browser is started with a private file that leads to the link,
/// so that no other user sees it; a browser that cannot read the file needs the link itself. `cellist status --browsers`
/// lists the browsers, and `cellist revoke` ends one. A notebook that does not exist is made, without cells. Without a notebook the page lists those
/// of the folder. The settings of kernels, such as environment variables, and the keys of the assistant come from the
/// last terminal that opened the page. docs/assistant.md tells about the assistant.
///
/// Exit status: 0 done, 2 no such folder or no valid notebook, or the page is served at another port, 3 no host.
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
    /// Print the link and start no browser
    #[arg(long)]
    no_browser: bool,
    /// The port to serve the page at, if it is not served yet
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
    let ask = PageAsk { path, environment, redaction, keys, folder, port: arguments.port, file };
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
        Some(path) if is_new => format!("Made {}: an empty notebook of format 4.5\n", path.display()),
        _ => String::new(),
    };
    let text = match is_shown {
        true => format!("{made}Opened in the browser. If nothing shows, use this link once:\n{link}\n"),
        false => format!("{made}Open this link, which works once:\n{link}\n"),
    };
    Ok(CommandOutput::new(text, json!({ "link": link, "browser": is_shown, "made": is_new })))
}

/// The real path of a notebook, and whether it was made just now.
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

/// What decides on kernels, without what no kernel may get; what no model reads; and what the assistant's provider wants.
pub(crate) fn environment(
    flags: &KernelFlags,
    folder: &Path,
) -> Result<(ClientEnvironment, Redaction, Keys), CliError> {
    let settings = flags.settings(folder)?;
    let mut environment = flags.environment();
    let keys = Keys::among(&environment.variables());
    let mut redaction = Redaction::default();
    redaction.withhold_from(&mut environment, &settings.settings);
    Ok((environment, redaction, keys))
}
