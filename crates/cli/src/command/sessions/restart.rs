//! `cellist sessions restart`: restarts the kernel of a session.

use cellist_host::{Reply, Request};
use clap::Args;
use serde_json::json;

use super::{SessionSelector, change};
use crate::error::CliError;
use crate::host;
use crate::output::CommandOutput;

/// Restart a session's kernel; running code is stopped and state is lost
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions restart work")]
pub(super) struct SessionsRestartArgs {
    #[command(flatten)]
    which: SessionSelector,
}

pub(super) fn restart_session(
    SessionsRestartArgs { which }: SessionsRestartArgs,
) -> Result<CommandOutput, CliError> {
    match change(&which, Request::Restart)? {
        Reply::Done => {
            let text = format!("Restarted session {}.\n", which.id);
            Ok(CommandOutput::new(text, json!({ "id": which.id, "restarted": true })))
        }
        other => Err(host::unexpected(&other)),
    }
}
