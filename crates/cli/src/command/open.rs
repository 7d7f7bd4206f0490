//! `cellist open`: a notebook in the browser, where people and agents work in it at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cellist_assistant::Keys;
use cellist_link::{PageAsk, Reply, Request};
use cellist_session::orders::Asker;
use clap::Args;
use serde_json::json;

use crate::answer::Answer;
use crate::error::CliError;
use crate::host::{self, unexpected};
use crate::kernel::KernelFlags;
use crate::load;
use crate::waiting::Waiting;

/// Open a notebook in the browser, beside agents that work in it
///
/// The page is served by the host, on this machine alone. The link works once, within five minutes; the browser stays
/// signed in after that. Without a notebook the page lists those of the folder. What decides on kernels, such as the
/// environment variables, and the keys of the assistant are taken from the last terminal that opened the page.
/// docs/assistant.md tells about the assistant.
///
/// Exit status: 0 done, 2 no such notebook, or the page is served at another port, 3 no host.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist open nb.ipynb
  cellist open --no-browser nb.ipynb
  cellist open --port 8080")]
pub(crate) struct Arguments {
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

pub(crate) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let path = match &arguments.notebook {
        Some(path) => Some(load::store().open(path)?.path),
        None => None,
    };
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let (asker, keys) = asker(&arguments.flags, &folder)?;
    let ask = PageAsk { path, asker, keys, folder, port: arguments.port };
    let link = host::wait(async {
        let link = host::attached().await?;
        let _waiting = Waiting::new("opening the notebook");
        match link.ask(Request::Page(Box::new(ask))).await? {
            Reply::Page(link) => Ok(link),
            other => Err(unexpected(&other)),
        }
    })?;
    let is_shown = !arguments.no_browser && browse(&link);
    let text = match is_shown {
        true => format!("Opened in the browser. If nothing shows, use this link once:\n{link}\n"),
        false => format!("Open this link, which works once:\n{link}\n"),
    };
    Ok(Answer::new(text, json!({ "link": link, "browser": is_shown })))
}

/// What decides on kernels, without what no kernel may get; and beside it what the assistant's provider wants.
pub(crate) fn asker(flags: &KernelFlags, folder: &Path) -> Result<(Asker, Keys), CliError> {
    let settings = flags.settings(folder)?;
    let mut asker = flags.asker();
    let keys = Keys::among(&asker.environment());
    asker.withhold(&settings.settings);
    Ok((asker, keys))
}

/// Starts the person's browser, if there is one to be started.
fn browse(link: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if !cfg!(target_os = "macos")
        && std::env::var_os("DISPLAY").is_none()
        && std::env::var_os("WAYLAND_DISPLAY").is_none()
    {
        return false;
    }
    let mut command = Command::new(program);
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
