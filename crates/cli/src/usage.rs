//! Invalid arguments, and the two cases that are no errors: help and version.

use std::env;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::{CliError, Exit, FailureKind};
use crate::output::{self, OutputFormat};

/// Prints help, the version, or the error in the arguments.
pub(crate) fn print_result(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = output::print(text.as_bytes());
            Exit::Done
        }
        _ if wants_json() => output::print_result(Err(in_words(error, &text)), OutputFormat::Json),
        _ => {
            output::print_to_stderr(text.trim_end());
            Exit::BadInput
        }
    }
}

/// Parsing failed, so this searches for the flag itself.
fn wants_json() -> bool {
    env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

fn in_words(error: &clap::Error, text: &str) -> CliError {
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "missing command",
        _ => text.lines().next().unwrap_or_default().trim_start_matches("error: "),
    };
    // A list of missing arguments follows on lines of its own.
    let mut message = message.to_owned();
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
        && message.ends_with(':')
    {
        message = format!("{message} {}", missing.join(" "));
    }
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    CliError::input(FailureKind::Usage, message).with_hint(tip.unwrap_or("see --help"))
}
