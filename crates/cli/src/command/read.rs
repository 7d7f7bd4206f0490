//! `cellist read`: prints a notebook as cell-marked text, a part of it, or any file or artifact.

mod oddities;
mod outputs;

use std::ffi::OsString;
use std::ops::Range;

use cellist_notebook::{Cell, CellRef, LineRange, Notebook, Selector, Snapshot, select_lines};
use cellist_store::{LoadedNotebook, Store};
use clap::Args;
use serde_json::{Value, json};

use crate::allocation;
use crate::command::artifact::read::{SCHEME, read_address};
use crate::error::{CliError, FailureKind};
use crate::notebook_access::{self, PathTarget, StandaloneFlag, files};
use crate::output::{CommandOutput, OutputFormat};
use oddities::oddities;

pub(crate) use outputs::MARKER as OUTPUT_MARKER;

/// Print a notebook as cell-marked text, or any other file
///
/// Each cell starts with a marker line such as `# %% [code] cell:3`, followed by its source. `cellist write`
/// accepts this text. The revision that was read is remembered, so a later write can be merged with changes made
/// in the meantime; --json prints the revision for --base.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist read nb.ipynb               all cells
  cellist read nb.ipynb:12-40         a range of lines
  cellist read nb.ipynb:5-9,30-       several ranges; the last is open
  cellist read nb.ipynb#1a2b3c4d      one cell, by id or index
  cellist read nb.ipynb:raw           the JSON of the file
  cellist read --outputs nb.ipynb     cells with their outputs
  cellist read artifact://4t7wq2zn    an artifact; :100-200 selects lines")]
pub(crate) struct ReadArgs {
    /// A file or an artifact; append :LINES, :raw or #CELL to select a part
    #[arg(value_name = "PATH[:SELECTOR|#CELL]")]
    path: OsString,
    /// Show outputs below their cells, truncated if long; `write` rejects this text
    #[arg(long)]
    outputs: bool,
    #[command(flatten)]
    standalone: StandaloneFlag,
}

pub(crate) fn read_path(arguments: ReadArgs, format: OutputFormat) -> Result<CommandOutput, CliError> {
    if let Some(address) = arguments.path.to_str().filter(|path| path.starts_with(SCHEME)) {
        return read_address(address, format);
    }
    read(arguments, format)
}

fn read(arguments: ReadArgs, format: OutputFormat) -> Result<CommandOutput, CliError> {
    let target = PathTarget::parse(&arguments.path)?;
    if !target.is_notebook() {
        return read_file(&files::store(), &target);
    }
    let notebook = notebook_access::notebook(&target.path, arguments.standalone);
    let store = notebook.store();
    let opened = match target.part {
        None | Some(Selector::Lines(_) | Selector::Cell(_)) => notebook.read()?,
        Some(Selector::Raw) => {
            // Show the file even if saving failed.
            let _ = notebook.save();
            match store.open(&target.path) {
                Ok(opened) => opened,
                // Show the bytes of a broken file, so that it can be repaired.
                Err(_) => return read_file(store, &target),
            }
        }
    };
    read_notebook(store, &target, opened, arguments.outputs, format)
}

fn read_notebook(
    store: &Store,
    target: &PathTarget,
    opened: LoadedNotebook,
    with_outputs: bool,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    let path = &target.path;
    let LoadedNotebook { notebook, mut notices, .. } = opened;
    let snapshot = notebook.snapshot();
    let ReadView { text, cells } = ReadView::of(&notebook, &snapshot, target, with_outputs)?;
    match target.part {
        None | Some(Selector::Raw) => store.remember(path, &snapshot),
        // A partial read must not advance the base for writing the whole notebook.
        Some(Selector::Lines(_) | Selector::Cell(_)) => store.keep(path, &snapshot),
    }
    notices.extend(oddities(&notebook));
    let json = match format {
        OutputFormat::Text => Value::Null,
        OutputFormat::Json => json!({
            "path": path.to_string_lossy(),
            "revision": notebook.revision().to_string(),
            "nbformat": notebook.version().major,
            "nbformat_minor": notebook.version().minor,
            "total_cells": notebook.cells().len(),
            "cells": cells
                .map(|index| cell_json(index, &notebook.cells()[index], with_outputs))
                .collect::<Vec<_>>(),
            "text": String::from_utf8_lossy(&text),
        }),
    };
    allocation::leak((notebook, snapshot));
    Ok(CommandOutput::new(text, json).with_notices(notices))
}

/// The text to print and the range of its cells.
struct ReadView {
    text: Vec<u8>,
    cells: Range<usize>,
}

impl ReadView {
    fn of(
        notebook: &Notebook,
        snapshot: &Snapshot,
        target: &PathTarget,
        with_outputs: bool,
    ) -> Result<ReadView, CliError> {
        let refused = |error| CliError::notebook(&target.path, &error);
        let all = 0..notebook.cells().len();
        let (text, cells) = match &target.part {
            Some(Selector::Raw | Selector::Lines(_)) if with_outputs => {
                let message = "--outputs cannot be combined with :raw or :LINES";
                return Err(CliError::input(FailureKind::InvalidSelector, message)
                    .with_hint("omit the selector, or name a cell: #ID"));
            }
            None if with_outputs => {
                (all.clone().map(|index| outputs::cell_text(notebook, index)).collect(), all)
            }
            None => (snapshot.to_text(), all),
            Some(Selector::Raw) => return Ok(ReadView { text: notebook.original().to_vec(), cells: all }),
            Some(Selector::Lines(ranges)) => {
                let text = select_lines(&snapshot.to_text(), ranges).map_err(refused)?;
                (text, touched(notebook, ranges))
            }
            Some(Selector::Cell(name)) => {
                let index = notebook.find(&CellRef::from_argument(name)).map_err(refused)?;
                let text = match with_outputs {
                    true => outputs::cell_text(notebook, index),
                    false => notebook.cell_text(index),
                };
                (text, index..index + 1)
            }
        };
        Ok(ReadView { text: text.into_bytes(), cells })
    }
}

fn read_file(store: &Store, target: &PathTarget) -> Result<CommandOutput, CliError> {
    let path = &target.path;
    let bytes = store.read_file(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let notices = match text {
        std::borrow::Cow::Borrowed(_) => Vec::new(),
        std::borrow::Cow::Owned(_) => {
            vec!["the file is not UTF-8; invalid bytes are shown as U+FFFD in `text`".into()]
        }
    };
    let part = match &target.part {
        None | Some(Selector::Raw) => None,
        Some(Selector::Lines(ranges)) => {
            Some(select_lines(&text, ranges).map_err(|error| CliError::notebook(path, &error))?)
        }
        Some(Selector::Cell(name)) => {
            let message = format!("{}: no cell #{name}: the file is not a notebook", path.display());
            return Err(CliError::input(FailureKind::InvalidSelector, message));
        }
    };
    let json = json!({ "path": path.to_string_lossy(), "text": part.as_deref().unwrap_or(&text) });
    let mut answer = CommandOutput::new(Vec::new(), json);
    if !notices.is_empty() {
        // The printed text is the original bytes, so the notice is for JSON only.
        answer = answer.with_notices(notices);
        answer.notices.clear();
    }
    answer.text = part.map_or(bytes, String::into_bytes);
    Ok(answer)
}

fn cell_json(index: usize, cell: &Cell, with_outputs: bool) -> Value {
    let mut json = json!({
        "index": index,
        "id": cell.id(),
        "type": cell.cell_type(),
        "source": cell.source(),
        "execution_count": cell.execution_count(),
        "has_output": cell.has_outputs(),
    });
    if with_outputs {
        let shown = outputs::shown(cell);
        json["output"] = shown.text.into();
        json["output_truncated"] = json!(shown.truncated);
    }
    json
}

/// The range of cells that contain the given lines.
fn touched(notebook: &Notebook, ranges: &[LineRange]) -> Range<usize> {
    let first = ranges.iter().map(|range| range.first).min().unwrap_or(1);
    let last = ranges.iter().map(|range| range.last.unwrap_or(usize::MAX)).max().unwrap_or(1);
    let mut line = 0;
    let mut cells = Vec::new();
    for index in 0..notebook.cells().len() {
        let begins = line + 1;
        line += notebook.cell_text(index).matches('\n').count();
        if begins <= last && line >= first {
            cells.push(index);
        }
    }
    cells.first().map_or(0..0, |&start| start..cells.last().map_or(start, |&end| end + 1))
}
