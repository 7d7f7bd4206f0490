//! `cellist sessions stop`: ends a session.

use cellist_host::{Reply, Request};
use clap::Args;
use serde_json::json;

use super::{SessionSelector, change};
use crate::error::CliError;
use crate::host;
use crate::output::CommandOutput;

/// End a session: its kernel, running code and queue
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions stop work")]
pub(super) struct SessionsStopArgs {
    #[command(flatten)]
    which: SessionSelector,
}

pub(super) fn stop_session(SessionsStopArgs { which }: SessionsStopArgs) -> Result<CommandOutput, CliError> {
    match change(&which, Request::End)? {
        Reply::Done => {
            let text = format!("Stopped session {}.\n", which.id);
            Ok(CommandOutput::new(text, json!({ "id": which.id, "stopped": true })))
        }
        other => Err(host::unexpected(&other)),
    }
}
