//! The output of a command, and the functions that print it. Results go to standard output, everything else to
//! standard error. A closed pipe is no error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::error::{CliError, Exit};
use crate::paint::{for_pipe, for_terminal};
use crate::spinner;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Text on standard output, notices on standard error.
    Text,
    /// One JSON object.
    Json,
}

/// The result of a command in both formats.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// Text for people. On a terminal, control characters of others are removed.
    pub(crate) text: Vec<u8>,
    pub(crate) json: Value,
    /// Notices for people; `json` contains them too.
    pub(crate) notices: Vec<String>,
    pub(crate) exit: Exit,
}

impl CommandOutput {
    pub(crate) fn new(text: impl Into<Vec<u8>>, json: Value) -> CommandOutput {
        CommandOutput { text: text.into(), json, notices: Vec::new(), exit: Exit::Done }
    }

    /// Adds notices to both formats.
    pub(crate) fn with_notices(mut self, notices: Vec<String>) -> CommandOutput {
        if let Value::Object(object) = &mut self.json {
            object.insert("notices".into(), notices.clone().into());
        }
        self.notices = notices;
        self
    }

    pub(crate) fn with_exit(mut self, exit: Exit) -> CommandOutput {
        self.exit = exit;
        self
    }
}

/// Prints the result of a command and returns the exit status.
pub(crate) fn print_result(result: Result<CommandOutput, CliError>, format: OutputFormat) -> Exit {
    match result {
        Ok(answer) => {
            let printed = match format {
                OutputFormat::Json => print_json(&answer.json),
                OutputFormat::Text => {
                    answer.notices.iter().for_each(|notice| print_to_stderr(&format!("note: {notice}")));
                    print(&answer.text)
                }
            };
            printed.map_or_else(|error| unprintable(&error), |()| answer.exit)
        }
        Err(error) => {
            match format {
                // The exit status reports the failure even if printing fails.
                OutputFormat::Json => drop(print_json(&error.to_json())),
                OutputFormat::Text => print_to_stderr(&error.to_string()),
            }
            error.exit
        }
    }
}

/// Writes to standard output. On a terminal, control characters of others are removed.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => print_raw(&for_terminal(text)),
        false => print_raw(&for_pipe(text)),
    }
}

/// Writes text drawn for the terminal, including images and cursor movements.
pub(crate) fn print_drawn(text: &str) -> io::Result<()> {
    print_raw(&for_pipe(text.as_bytes()))
}

/// Writes to standard output, ignoring a closed pipe.
fn print_raw(text: &[u8]) -> io::Result<()> {
    spinner::clear();
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes lines to standard error, ignoring failures. On a terminal, control characters of others are removed.
pub(crate) fn print_to_stderr(line: &str) {
    spinner::clear();
    let mut err = io::stderr().lock();
    let line = format!("{line}\n");
    let _ = match err.is_terminal() {
        true => err.write_all(&for_terminal(line.as_bytes())),
        false => err.write_all(&for_pipe(line.as_bytes())),
    };
}

fn print_json(value: &Value) -> io::Result<()> {
    let mut text = serde_json::to_vec(value).map_err(io::Error::other)?;
    text.push(b'\n');
    // Control characters are already escaped, and must stay so.
    print_raw(&text)
}

fn unprintable(error: &io::Error) -> Exit {
    print_to_stderr(&format!("error: standard output: {}", crate::error::reason(error)));
    Exit::NotSaved
}
