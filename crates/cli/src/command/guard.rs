//! `cellist guard`: a hidden command that cleans up after a killed owner.

use clap::Args;
use serde_json::Value;

use crate::error::CliError;
use crate::output::CommandOutput;

/// End the processes registered on standard input when it closes
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct GuardArgs {}

pub(crate) fn run_guard(_: GuardArgs) -> Result<CommandOutput, CliError> {
    cellist_kernel::guard::main();
    Ok(CommandOutput::new("", Value::Null))
}
