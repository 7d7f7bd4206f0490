//! `cellist sessions interrupt`: stops what runs and keeps the state.

use cellist_link::{Reply, Request};
use clap::Args;
use serde_json::json;

use super::{Which, change};
use crate::answer::Answer;
use crate::error::CliError;
use crate::host;

/// Interrupt what a session runs; its state is kept
///
/// Code that goes on all the same is ended with its kernel after five seconds, or when it is interrupted again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist sessions interrupt work")]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(super) fn run(Arguments { which }: Arguments) -> Result<Answer, CliError> {
    match change(&which, Request::Interrupt)? {
        Reply::Interrupted(was_running) => {
            let text = match was_running {
                true => format!("Interrupted session {}.\n", which.id),
                false => format!("Nothing runs in session {}.\n", which.id),
            };
            Ok(Answer::new(text, json!({ "id": which.id, "interrupted": was_running })))
        }
        other => Err(host::unexpected(&other)),
    }
}
