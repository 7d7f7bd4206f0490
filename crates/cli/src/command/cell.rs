//! `cellist cell`: changes to single cells. Each subcommand turns its arguments into operations, which
//! `perform` applies.

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

use crate::error::CliError;
use crate::input::{self, InputSource};
use crate::notebook_access::{self, StandaloneFlag};
use crate::output::CommandOutput;

/// Change cells: edit, insert, delete, move, retype, clear, batch
///
/// Name a cell by its index, counted from 0, or by its id; negative indexes count from the end. The rest of the
/// file stays unchanged, byte for byte.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
  cellist cell edit nb.ipynb 1a2b3c4d --file cell.py
  cellist cell delete nb.ipynb 3 -1              # cell 3 and the last cell")]
pub(crate) struct CellArgs {
    #[command(subcommand)]
    command: CellCommand,
}

#[derive(Subcommand, Debug)]
enum CellCommand {
    Edit(edit::CellEditArgs),
    Insert(insert::CellInsertArgs),
    Delete(delete::CellDeleteArgs),
    Move(r#move::CellMoveArgs),
    Retype(retype::CellRetypeArgs),
    Clear(clear::CellClearArgs),
    Batch(batch::CellBatchArgs),
}

pub(crate) fn run_cell_command(arguments: CellArgs) -> Result<CommandOutput, CliError> {
    match arguments.command {
        CellCommand::Edit(arguments) => edit::edit_cell(arguments),
        CellCommand::Insert(arguments) => insert::insert_cell(arguments),
        CellCommand::Delete(arguments) => delete::delete_cells(arguments),
        CellCommand::Move(arguments) => r#move::move_cell(arguments),
        CellCommand::Retype(arguments) => retype::retype_cell(arguments),
        CellCommand::Clear(arguments) => clear::clear_cells(arguments),
        CellCommand::Batch(arguments) => batch::apply_batch(arguments),
    }
}

/// The revision that a change is based on.
#[derive(Args, Debug)]
struct BaseFlags {
    /// The revision that the change is based on; later changes are merged
    #[arg(long, value_name = "REV")]
    base: Option<Revision>,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

/// The source that a cell is given.
#[derive(Args, Debug)]
struct SourceFlags {
    /// The source, verbatim
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "file")]
    source: Option<String>,
    /// A file with the source, or - for standard input (the default); one final newline is dropped
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl SourceFlags {
    fn text(self, action: &'static str) -> Result<String, CliError> {
        let SourceFlags { source, file } = self;
        match (source, file) {
            (Some(source), _) => Ok(source),
            (None, Some(file)) => InputSource::of_file(Some(file)).text(action).map(without_last_newline),
            // An unused standard input is often empty, and must not empty a cell.
            (None, None) => match without_last_newline(InputSource::Stdin.text(action)?) {
                source if source.is_empty() => Err(input::missing(action).with_hint(EMPTY_HINT)),
                source => Ok(source),
            },
        }
    }
}

const EMPTY_HINT: &str = "standard input was empty; for an empty cell, pass --source ''";

/// Drops the final newline of files and of `echo`, which the last line of a cell does not have.
fn without_last_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

/// Parses a cell reference.
fn cell(text: &str) -> Result<CellRef, String> {
    Ok(CellRef::from_argument(text))
}

/// Parses an index.
fn index(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number".into());
    }
    text.parse().map_err(|_| "the number is too large for an index".into())
}

/// Parses a cell type.
fn cell_type(text: &str) -> Result<CellType, String> {
    text.parse()
}

/// The shape of the JSON result: one object, or a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultShape {
    One,
    List,
}

/// Applies the operations that `build` makes for the current notebook, or for its state at the base revision.
fn perform(
    path: PathBuf,
    base: BaseFlags,
    told: ResultShape,
    build: impl FnOnce(&Notebook, Option<&Snapshot>) -> notebook::Result<Vec<Operation>>,
) -> Result<CommandOutput, CliError> {
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
        (ResultShape::One, [outcome]) => outcome_json(outcome),
        (ResultShape::One | ResultShape::List, outcomes) => json!({
            "results": outcomes.iter().map(outcome_json).collect::<Vec<_>>(),
            "total_cells": notebook.cells().len(),
        }),
    };
    json["path"] = path.to_string_lossy().into();
    json["revision"] = revision.to_string().into();
    json["written"] = written.into();
    Ok(CommandOutput::new(text, json).with_notices(notices))
}

fn outcome_json(outcome: &Outcome) -> Value {
    let mut json = json!({ "message": outcome.sentence() });
    if let (Value::Object(json), Ok(Value::Object(keys))) = (&mut json, serde_json::to_value(outcome)) {
        json.extend(keys);
    }
    json
}
