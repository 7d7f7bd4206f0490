//! `cellist sessions`: lists and controls the kernel sessions of the host.

mod interrupt;
mod list;
mod restart;
mod stop;

use std::path::PathBuf;

use cellist_host::{Error, HostClient, Reply, Request, SessionName};
use clap::{Args, Subcommand};

use crate::command::exec::{real, working_folder};
use crate::error::{CliError, FailureKind};
use crate::host;
use crate::output::CommandOutput;
use crate::spinner::Spinner;

/// List, interrupt, restart or stop the host's kernel sessions
///
/// `cellist exec --session NAME` creates a session, which ends after five idle minutes. A notebook's session ends
/// an hour after its last page, agent or terminal has disconnected (session.idle).
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions
  cellist sessions interrupt work
  cellist sessions stop work --cwd data")]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Subcommand, Debug)]
enum SessionsCommand {
    List(list::SessionsListArgs),
    Interrupt(interrupt::SessionsInterruptArgs),
    Restart(restart::SessionsRestartArgs),
    Stop(stop::SessionsStopArgs),
}

#[derive(Args, Debug)]
struct SessionSelector {
    /// The session's name
    #[arg(value_name = "ID")]
    id: String,
    /// The session's folder, if several sessions have this name
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

pub(crate) fn run_sessions_command(arguments: SessionsArgs) -> Result<CommandOutput, CliError> {
    match arguments.command {
        None => list::list_sessions(list::SessionsListArgs {}),
        Some(SessionsCommand::List(arguments)) => list::list_sessions(arguments),
        Some(SessionsCommand::Interrupt(arguments)) => interrupt::interrupt_session(arguments),
        Some(SessionsCommand::Restart(arguments)) => restart::restart_session(arguments),
        Some(SessionsCommand::Stop(arguments)) => stop::stop_session(arguments),
    }
}

impl SessionSelector {
    fn named(&self) -> SessionName {
        // The folder of a session may no longer exist.
        let folder = |cwd: &PathBuf| working_folder(Some(cwd)).map_or_else(|_| cwd.clone(), |cwd| real(&cwd));
        SessionName { id: self.id.clone(), cwd: self.cwd.as_ref().map(folder) }
    }
}

/// Sends a request to the running host. Without a host there are no sessions.
fn ask(request: Request) -> Result<Option<Reply>, CliError> {
    let _waiting = Spinner::new(match &request {
        Request::Restart(_) => "restarting the kernel",
        Request::End(_) => "ending the session",
        _ => "asking the host",
    });
    host::block_on(async {
        match HostClient::attach(&host::user_host()).await {
            Ok(client) => Ok(Some(client.ask(request).await?)),
            Err(Error::NoHost) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

/// Sends a request about a session, which must exist.
fn change(which: &SessionSelector, request: impl FnOnce(SessionName) -> Request) -> Result<Reply, CliError> {
    ask(request(which.named()))?.ok_or_else(|| {
        CliError::input(
            FailureKind::NoSuchSession,
            format!("there is no session {}: no host is running", which.id),
        )
        .with_hint("run `cellist exec --session NAME` to start one")
    })
}
