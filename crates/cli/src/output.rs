//! What a command has to say, and the one place that says it. Standard output carries the answer, standard
//! error everything else, and a reader that went away ends it quietly.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::error::{CliError, Exit};
use crate::paint::{for_pipe, for_terminal};
use crate::spinner;

/// Whom an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Text, with notices beside it.
    Text,
    /// One JSON object.
    Json,
}

/// The answer of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// For people: printed as it is, on a terminal without anyone else's control characters.
    pub(crate) text: Vec<u8>,
    /// For programs.
    pub(crate) json: Value,
    /// What to know besides; part of `json` already.
    pub(crate) notices: Vec<String>,
    /// The status to exit with.
    pub(crate) exit: Exit,
}

impl CommandOutput {
    pub(crate) fn new(text: impl Into<Vec<u8>>, json: Value) -> CommandOutput {
        CommandOutput { text: text.into(), json, notices: Vec::new(), exit: Exit::Done }
    }

    /// Adds what to know besides, for people and for programs.
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

/// Prints what came of a command and gives the status to exit with.
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
                // The status tells of the failure even where nobody reads the object.
                OutputFormat::Json => drop(print_json(&error.to_json())),
                OutputFormat::Text => print_to_stderr(&error.to_string()),
            }
            error.exit
        }
    }
}

/// Writes to standard output. On a terminal, names and texts of others cannot do anything to it.
pub(crate) fn print(text: &[u8]) -> io::Result<()> {
    match io::stdout().is_terminal() {
        true => print_raw(&for_terminal(text)),
        false => print_raw(&for_pipe(text)),
    }
}

/// Writes lines that were drawn for the terminal, pictures and moves of the cursor included.
pub(crate) fn print_drawn(text: &str) -> io::Result<()> {
    print_raw(&for_pipe(text.as_bytes()))
}

/// Writes to standard output. A reader that closed it has read enough.
fn print_raw(text: &[u8]) -> io::Result<()> {
    spinner::clear();
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes one or more lines to standard error; where that is closed, nobody is there to be told. On a terminal, names and texts
/// of others cannot do anything to it.
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
    // Control characters are escaped already, and must stay so.
    print_raw(&text)
}

fn unprintable(error: &io::Error) -> Exit {
    print_to_stderr(&format!("error: standard output: {}", crate::error::reason(error)));
    Exit::NotSaved
}
