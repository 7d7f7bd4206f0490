//! `cellist history`: the recorded changes to a notebook.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cellist_live::Entry;
use clap::Args;
use serde_json::{Value, json};

use crate::clock;
use crate::error::CliError;
use crate::notebook_access::{self, StandaloneFlag};
use crate::output::CommandOutput;

/// Show the recorded changes to a notebook and their authors, newest first
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist history nb.ipynb
  cellist undo nb.ipynb --turn t3")]
pub(crate) struct HistoryArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

pub(crate) fn show_history(arguments: HistoryArgs) -> Result<CommandOutput, CliError> {
    let path = &arguments.notebook;
    let mut entries = notebook_access::notebook(path, arguments.standalone).history()?;
    entries.reverse();
    let mut text = String::new();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let width = entries.iter().map(|entry| entry.turn.len()).max().unwrap_or_default();
    for entry in &entries {
        let Entry { number, turn, .. } = entry;
        let when = clock::ago(now.saturating_sub(Duration::from_millis(entry.until)));
        let (who, what) = (&entry.actor.name, entry_summary(entry));
        let undone = entry.undone_by.map_or_else(String::new, |by| format!(" (undone by {by})"));
        let _ = writeln!(text, "{number:>4}  {when:<14}  {who:<12}  {turn:<width$}  {what}{undone}");
    }
    if entries.is_empty() {
        text = format!("No recorded changes to {}.\n", path.display());
    }
    let json = json!({
        "path": path.to_string_lossy(),
        "entries": entries.iter().map(entry_json).collect::<Vec<_>>(),
    });
    Ok(CommandOutput::new(text, json))
}

/// The changes of an entry, in one line.
pub(super) fn entry_summary(entry: &Entry) -> String {
    let deeds = entry.deeds().join(", ");
    match entry.undoes.as_slice() {
        [] => deeds,
        undone => {
            let undone: Vec<String> = undone.iter().map(u64::to_string).collect();
            format!("undid {}: {deeds}", undone.join(", "))
        }
    }
}

pub(super) fn entry_json(entry: &Entry) -> Value {
    json!({
        "number": entry.number,
        "turn": entry.turn,
        "actor": entry.actor,
        "at": entry.at,
        "until": entry.until,
        "deeds": entry.deeds(),
        "cells": entry.cells(),
        "undoes": entry.undoes,
        "undone_by": entry.undone_by,
    })
}
