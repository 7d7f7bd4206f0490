//! The command line as a whole: which commands there are, and what holds for all of them.

use clap::{Parser, Subcommand};

use crate::answer::{Answer, Format};
use crate::command::{cell, completions, diff, edit, git_setup, merge, new, read, write};
use crate::error::CliError;

/// Notebooks on the command line: read, change, compare and merge them, and lose nothing
///
/// A change touches only the bytes of what was edited. Files that other programs change at the same time are
/// merged by cell. Exit status: 0 done, 1 differences, 2 bad usage or bad input (nothing changed), 4 could not
/// save, or a conflict.
#[derive(Parser, Debug)]
#[command(
    name = "cellist",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  cellist read nb.ipynb                          a notebook as text
  cellist read nb.ipynb > t; cellist write nb.ipynb t
  cellist cell insert nb.ipynb end --source 'print(1)'
  cellist diff old.ipynb new.ipynb

State is kept in ~/.cellist, or where CELLIST_HOME says."
)]
pub(crate) struct Cli {
    /// Print one JSON object, for errors too
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Read(read::Arguments),
    Write(write::Arguments),
    Edit(edit::Arguments),
    New(new::Arguments),
    Cell(cell::Arguments),
    Diff(diff::Arguments),
    Merge(merge::Arguments),
    GitSetup(git_setup::Arguments),
    Completions(completions::Arguments),
}

impl Cli {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::People }
    }

    pub(crate) fn run(self) -> Result<Answer, CliError> {
        let format = self.format();
        match self.command {
            Command::Read(arguments) => read::run(arguments, format),
            Command::Write(arguments) => write::run(arguments),
            Command::Edit(arguments) => edit::run(arguments),
            Command::New(arguments) => new::run(arguments),
            Command::Cell(arguments) => cell::run(arguments),
            Command::Diff(arguments) => diff::run(arguments),
            Command::Merge(arguments) => merge::run(arguments),
            Command::GitSetup(arguments) => git_setup::run(arguments),
            Command::Completions(arguments) => completions::run(arguments),
        }
    }
}
