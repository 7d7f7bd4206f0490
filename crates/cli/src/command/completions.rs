//! `cellist completions`: prints shell completion scripts.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use serde_json::json;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::CommandOutput;

/// Print a shell completion script
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist completions bash > ~/.local/share/bash-completion/completions/cellist
  cellist completions zsh > ~/.zfunc/_cellist
  cellist completions fish > ~/.config/fish/completions/cellist.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn print_completions(arguments: CompletionsArgs) -> Result<CommandOutput, CliError> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut Cli::command(), "cellist", &mut script);
    let json = json!({
        "shell": arguments.shell.to_string(),
        "script": String::from_utf8_lossy(&script),
    });
    Ok(CommandOutput::new(script, json))
}
