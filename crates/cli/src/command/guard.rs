//! `cellist guard`: the role in which the binary outlives itself, to clean up after a killed owner. Hidden.

use clap::Args;
use serde_json::Value;

use crate::answer::Answer;
use crate::error::CliError;

/// Ends what is registered on standard input when that closes
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: Arguments) -> Result<Answer, CliError> {
    cellist_kernel::guard::main();
    Ok(Answer::new("", Value::Null))
}
