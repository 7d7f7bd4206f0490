//! `cellist sessions interrupt`: stops the running code and, without --force, keeps the state.

use cellist_host::{Reply, Request};
use cellist_session::execution::KernelState;
use cellist_session::sessions::Interruption;
use clap::Args;
use serde_json::json;

use super::{SessionSelector, change};
use crate::error::{CliError, Exit};
use crate::host;
use crate::output::CommandOutput;

/// Interrupt the code that a session is running; its state is kept
///
/// If the code has not stopped after python.interrupt_grace (5 seconds), it is reported as still running, with
/// exit status 124. Interrupt it again, or use --force.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions interrupt work
  cellist sessions interrupt work --force")]
pub(super) struct SessionsInterruptArgs {
    #[command(flatten)]
    which: SessionSelector,
    /// Kill the kernel if the code does not stop; its state is lost
    #[arg(long)]
    force: bool,
}

pub(super) fn interrupt_session(
    SessionsInterruptArgs { which, force }: SessionsInterruptArgs,
) -> Result<CommandOutput, CliError> {
    let interruption = match change(&which, |session| Request::Interrupt { session, force })? {
        Reply::Interrupted(interruption) => interruption,
        other => return Err(host::unexpected(&other)),
    };
    let id = &which.id;
    let (text, state, execution) = match interruption {
        Interruption::NothingRan => (format!("Nothing is running in session {id}.\n"), None, None),
        Interruption::Kept => (format!("Interrupted session {id}.\n"), Some(KernelState::Kept), None),
        Interruption::Lost => {
            let text = format!("Session {id} did not stop: its kernel was killed and its state is lost.\n");
            (text, Some(KernelState::Lost), None)
        }
        Interruption::NotStopped(execution) => {
            let text =
                format!("Session {id} was interrupted but is still running as execution {execution}.\n");
            (text, Some(KernelState::Unknown), Some(execution))
        }
    };
    let exit = if execution.is_some() { Exit::TimedOut } else { Exit::Done };
    let json = json!({
        "id": id,
        "interrupted": state.is_some(),
        "stopped": execution.is_none(),
        "state": state,
        "execution": execution,
    });
    Ok(CommandOutput::new(text, json).with_exit(exit))
}
