//! `cellist undo`: undoes recorded changes to a notebook.

use std::path::PathBuf;

use cellist_live::Undo;
use cellist_store::Changed;
use clap::Args;
use serde_json::json;

use crate::command::history::{entry_json, entry_summary};
use crate::error::{CliError, FailureKind};
use crate::notebook_access::{self, StandaloneFlag};
use crate::output::CommandOutput;

/// Undo the last change to a notebook, or a whole turn
///
/// Later changes by others are kept. If the same lines were changed since, nothing is written, both versions are
/// shown, and the exit status is 4. Undoing an undo restores the change.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist undo nb.ipynb
  cellist undo nb.ipynb --turn t3                # as `cellist history nb.ipynb` names it
  cellist undo nb.ipynb --entry 7")]
pub(crate) struct UndoArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// Undo all changes of this turn
    #[arg(long, value_name = "ID", conflicts_with = "entry")]
    turn: Option<String>,
    /// Undo the history entry with this number
    #[arg(long, value_name = "NUMBER")]
    entry: Option<u64>,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

pub(crate) fn undo_changes(arguments: UndoArgs) -> Result<CommandOutput, CliError> {
    let UndoArgs { notebook: path, turn, entry, standalone } = arguments;
    let wanted = match (turn, entry) {
        (Some(turn), _) => Undo::Turn(turn),
        (None, Some(number)) => Undo::Entry(number),
        (None, None) => Undo::Last,
    };
    let handle = notebook_access::notebook(&path, standalone);
    let Changed { value: entries, notebook, revision, written, notices } =
        handle.undo(wanted).map_err(|error| {
            let error = CliError::from(error);
            if error.kind == FailureKind::NothingToUndo {
                error.with_hint(format!("run `cellist history {}` to list the entries", path.display()))
            } else {
                error
            }
        })?;
    handle.keep(&notebook);
    let mut text = String::new();
    for entry in &entries {
        text.push_str(&format!("Undid {} ({}): {}\n", entry.number, entry.actor.name, entry_summary(entry)));
    }
    let json = json!({
        "path": path.to_string_lossy(),
        "undone": entries.iter().map(entry_json).collect::<Vec<_>>(),
        "revision": revision.to_string(),
        "written": written,
        "total_cells": notebook.cells().len(),
    });
    Ok(CommandOutput::new(text, json).with_notices(notices))
}
