//! `cellist sessions stop`: ends a session.

use cellist_host::{Reply, Request};
use clap::Args;
use serde_json::json;

use super::{Which, change};
use crate::answer::Answer;
use crate::error::CliError;
use crate::host;

/// End a session, with its kernel and all that runs and waits in it
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions stop work")]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(Arguments { which }: Arguments) -> Result<Answer, CliError> {
    match change(&which, Request::End)? {
        Reply::Done => {
            let text = format!("Stopped session {}.\n", which.id);
            Ok(Answer::new(text, json!({ "id": which.id, "stopped": true })))
        }
        other => Err(host::unexpected(&other)),
    }
}
