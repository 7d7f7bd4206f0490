//! `cellist cell`: changes of single cells. Each subcommand turns its arguments into operations; here they
//! are carried out.

mod batch;
mod clear;
mod delete;
mod edit;
mod insert;
mod r#move;
mod retype;

use std::path::PathBuf;

use cellist_host::{EditResult, NotebookEdit};
use cellist_notebook::{
    self as notebook, CellRef, CellType, Notebook, Operation, Outcome, Revision, Snapshot,
};
use cellist_store::{Changed, Missing};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::error::CliError;
use crate::input::{self, Content};
use crate::notebook_access::{self, Standalone};

/// Change cells: edit, insert, delete, move, retype, clear, batch
///
/// A cell is named by its index, counted from 0, or by its id; negative indexes count from the end. All else
/// in the file stays as it is, byte for byte.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
  cellist cell edit nb.ipynb 1a2b3c4d --file cell.py
  cellist cell delete nb.ipynb 3 -1              # the last cell, too")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Edit(edit::Arguments),
    Insert(insert::Arguments),
    Delete(delete::Arguments),
    Move(r#move::Arguments),
    Retype(retype::Arguments),
    Clear(clear::Arguments),
    Batch(batch::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    match arguments.command {
        Command::Edit(arguments) => edit::run(arguments),
        Command::Insert(arguments) => insert::run(arguments),
        Command::Delete(arguments) => delete::run(arguments),
        Command::Move(arguments) => r#move::run(arguments),
        Command::Retype(arguments) => retype::run(arguments),
        Command::Clear(arguments) => clear::run(arguments),
        Command::Batch(arguments) => batch::run(arguments),
    }
}

/// The revision that a change is based on.
#[derive(Args, Debug)]
struct Base {
    /// The revision that the change was made for; a file that changed since is merged with
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    standalone: Standalone,
}

/// The source that a cell is given.
#[derive(Args, Debug)]
struct Source {
    /// The source, exactly
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "file")]
    source: Option<String>,
    /// A file with the source, or - for standard input, which is read without --source and --file too; one newline
    /// at the very end is dropped
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Source {
    fn text(self, action: &'static str) -> Result<String, CliError> {
        let Source { source, file } = self;
        match (source, file) {
            (Some(source), _) => Ok(source),
            (None, Some(file)) => Content::of_file(Some(file)).text(action).map(without_last_newline),
            // Standard input that nobody cared for is often empty, and must not empty a cell.
            (None, None) => match without_last_newline(Content::Stdin.text(action)?) {
                source if source.is_empty() => Err(input::missing(action).with_hint(EMPTY_HINT)),
                source => Ok(source),
            },
        }
    }
}

const EMPTY_HINT: &str = "standard input was empty: for an empty cell, give --source ''";

/// Files and what `echo` prints end in a newline that the last line of a cell does not have.
fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// A cell as an argument.
fn cell(text: &str) -> Result<CellRef, String> {
    Ok(CellRef::from_argument(text))
}

/// An index as an argument. One that is too large to be counted to is beyond every notebook all the same.
fn index(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("an index is a whole number".into());
    }
    text.parse().map_err(|_| "the number is too large for an index".into())
}

/// A type as an argument.
fn cell_type(text: &str) -> Result<CellType, String> {
    text.parse()
}

/// How many results are told: one as an object of its own, or a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    One,
    List,
}

/// Carries out the operations that `build` makes for a notebook as it is, or as it was at the base.
fn perform(
    path: PathBuf,
    base: Base,
    told: Told,
    build: impl FnOnce(&Notebook, Option<&Snapshot>) -> notebook::Result<Vec<Operation>>,
) -> Result<Answer, CliError> {
    let notebook = notebook_access::notebook(&path, base.standalone);
    let changed = notebook.change(base.base.into(), Missing::Refuse, |notebook, since| {
        let count = since.map_or(notebook.cells().len(), |since| since.cells.len());
        let mut operations = build(notebook, since)?;
        operations.iter_mut().for_each(|operation| operation.count_from_start(count));
        Ok(NotebookEdit::Operations(operations))
    })?;
    notebook.keep(&changed.notebook);
    let Changed { value: EditResult { outcomes, .. }, notebook, revision, written, notices } = changed;
    let text: String = outcomes.iter().map(|outcome| outcome.sentence() + "\n").collect();
    let mut json = match (told, outcomes.as_slice()) {
        (Told::One, [outcome]) => outcome_json(outcome),
        (Told::One | Told::List, outcomes) => json!({
            "results": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
            "total_cells": notebook.cells().len(),
        }),
    };
    json["path"] = path.to_string_lossy().into();
    json["revision"] = revision.to_string().into();
    json["written"] = written.into();
    Ok(Answer::new(text, json).with_notices(notices))
}

fn outcome_json(outcome: &Outcome) -> Value {
    let mut json = json!({ "message": outcome.sentence() });
    if let (Value::Object(json), Ok(Value::Object(keys))) = (&mut json, serde_json::to_value(outcome)) {
        json.extend(keys);
    }
    json
}
