//! `cellist guard`: the role in which the binary outlives itself, to clean up after a killed owner. Hidden.

use clap::Args;
use serde_json::Value;

use crate::error::CliError;
use crate::output::CommandOutput;

/// Ends what is registered on standard input when that closes
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct GuardArgs {}

pub(crate) fn run_guard(_: GuardArgs) -> Result<CommandOutput, CliError> {
    cellist_kernel::guard::main();
    Ok(CommandOutput::new("", Value::Null))
}
