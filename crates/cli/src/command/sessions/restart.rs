//! `cellist sessions restart`: a new kernel for a session.

use cellist_host::{Reply, Request};
use clap::Args;
use serde_json::json;

use super::{Which, change};
use crate::answer::Answer;
use crate::error::CliError;
use crate::host;

/// Give a session a new kernel; its state is lost, and what runs in it is ended
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions restart work")]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(Arguments { which }: Arguments) -> Result<Answer, CliError> {
    match change(&which, Request::Restart)? {
        Reply::Done => {
            let text = format!("Restarted session {}.\n", which.id);
            Ok(Answer::new(text, json!({ "id": which.id, "restarted": true })))
        }
        other => Err(host::unexpected(&other)),
    }
}
