//! `cellist read`: a notebook as cell-marked text, or a part of it, or any file.

use std::ffi::OsString;
use std::ops::Range;

use cellist_notebook::{Cell, CellRef, LineRange, Notebook, Selector, select_lines};
use cellist_session::{Opened, Store};
use clap::Args;
use serde_json::{Value, json};

use crate::answer::{Answer, Format};
use crate::basis;
use crate::error::CliError;
use crate::load;
use crate::target::Target;

/// Print a notebook as cell-marked text, or a part of it, or any other file
///
/// Each cell begins with a marker line such as `# %% [code] cell:3`, which is followed by its source. `cellist
/// write` takes this text back. What was read is remembered, so that a later change can be merged with what
/// others did to the file meanwhile: --json shows the revision to name with --base.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist read nb.ipynb               all cells
  cellist read nb.ipynb:12-40         some lines of that text
  cellist read nb.ipynb:5-9,30-       several ranges, the last to the end
  cellist read nb.ipynb#1a2b3c4d      one cell, by id or index
  cellist read nb.ipynb:raw           the JSON of the file")]
pub(crate) struct Arguments {
    /// A file, with a selector behind it if only a part is wanted: :LINES, :raw or #CELL
    #[arg(value_name = "PATH[:SELECTOR|#CELL]")]
    path: OsString,
}

pub(crate) fn run(arguments: Arguments, format: Format) -> Result<Answer, CliError> {
    let target = Target::parse(&arguments.path)?;
    let store = load::store();
    if target.is_notebook() { read_notebook(&store, &target, format) } else { read_file(&store, &target) }
}

fn read_notebook(store: &Store, target: &Target, format: Format) -> Result<Answer, CliError> {
    let path = &target.path;
    let Opened { notebook, mut notices, .. } = match (store.open(path), &target.part) {
        // What is wrong with a file can only be mended by someone who sees it.
        (Err(_), Some(Selector::Raw)) => return read_file(store, target),
        (opened, _) => opened?,
    };
    let refused = |error| CliError::notebook(path, &error);
    let mut cells = 0..notebook.cells().len();
    let text = match &target.part {
        None => notebook.to_text().into_bytes(),
        Some(Selector::Raw) => {
            cells = 0..0;
            notebook.original().to_vec()
        }
        Some(Selector::Lines(ranges)) => {
            cells = touched(&notebook, ranges);
            select_lines(&notebook.to_text(), ranges).map_err(refused)?.into_bytes()
        }
        Some(Selector::Cell(name)) => {
            let index = notebook.find(&CellRef::from_argument(name)).map_err(refused)?;
            cells = index..index + 1;
            notebook.cell_text(index).into_bytes()
        }
    };
    match target.part {
        // Whoever saw a part has not thereby seen what else changed since the last time.
        Some(Selector::Lines(_) | Selector::Cell(_)) if store.last_read(path).is_some() => {
            basis::keep(store, path, &notebook);
        }
        Some(_) | None => store.remember(path, &notebook.snapshot()),
    }
    notices.extend(oddities(&notebook));
    let json = match format {
        Format::People => Value::Null,
        Format::Json => {
            let mut json = json!({
                "path": path.to_string_lossy(),
                "revision": notebook.revision().to_string(),
                "nbformat": notebook.version().major,
                "nbformat_minor": notebook.version().minor,
                "total_cells": notebook.cells().len(),
            });
            if target.part != Some(Selector::Raw) {
                json["cells"] = cells.map(|index| cell_json(index, &notebook.cells()[index])).collect();
            }
            json["text"] = String::from_utf8_lossy(&text).into();
            json
        }
    };
    Ok(Answer::new(text, json).with_notices(notices))
}

fn read_file(store: &Store, target: &Target) -> Result<Answer, CliError> {
    let path = &target.path;
    let bytes = store.read_file(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let notices = match text {
        std::borrow::Cow::Borrowed(_) => Vec::new(),
        std::borrow::Cow::Owned(_) => {
            vec!["the file is not UTF-8; `text` shows what is not as U+FFFD".into()]
        }
    };
    let part = match &target.part {
        None | Some(Selector::Raw) => None,
        Some(Selector::Lines(ranges)) => {
            Some(select_lines(&text, ranges).map_err(|error| CliError::notebook(path, &error))?)
        }
        Some(Selector::Cell(name)) => {
            let message = format!("{}: has no cells, so there is no #{name}", path.display());
            return Err(CliError::input("invalid_selector", message));
        }
    };
    let json = json!({ "path": path.to_string_lossy(), "text": part.as_deref().unwrap_or(&text) });
    let mut answer = Answer::new(Vec::new(), json);
    if !notices.is_empty() {
        // People are shown the bytes as they are, so there is nothing to note for them.
        answer = answer.with_notices(notices);
        answer.notices.clear();
    }
    answer.text = part.map_or(bytes, String::into_bytes);
    Ok(answer)
}

fn cell_json(index: usize, cell: &Cell) -> Value {
    json!({
        "index": index,
        "id": cell.stored_id(),
        "type": cell.cell_type(),
        "source": cell.source(),
        "execution_count": cell.execution_count(),
        "has_output": cell.has_outputs(),
    })
}

/// The cells that some lines of the text belong to, from the first to the last of them.
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

/// What is unusual about a notebook that can be read all the same.
fn oddities(notebook: &Notebook) -> Vec<String> {
    let mut oddities = Vec::new();
    let version = notebook.version();
    if version.minor > 5 {
        oddities.push(format!("nbformat 4.{} is read as 4.5 and kept as it is", version.minor));
    }
    for (id, indexes) in notebook.shared_ids() {
        oddities.push(format!("cells {} have the same id `{id}`: name them by index", listed(&indexes)));
    }
    let those = |is_odd: &dyn Fn(&Cell) -> bool| -> Vec<usize> {
        let cells = notebook.cells().iter().enumerate();
        cells.filter(|(_, cell)| is_odd(cell)).map(|(index, _)| index).collect()
    };
    let nameless = those(&|cell| version.has_ids() && cell.stored_id().is_none());
    if !nameless.is_empty() {
        oddities.push(format!("{} no id: name {} by index", has(&nameless), it(&nameless)));
    }
    let halved = those(&Cell::has_lone_surrogate);
    if !halved.is_empty() {
        oddities.push(format!("{} half a surrogate pair, shown as U+FFFD", has(&halved)));
    }
    oddities
}

fn has(indexes: &[usize]) -> String {
    match indexes {
        [index] => format!("cell {index} has"),
        _ => format!("cells {} have", listed(indexes)),
    }
}

fn it(indexes: &[usize]) -> &'static str {
    if indexes.len() == 1 { "it" } else { "them" }
}

/// `3`, `3 and 5`, `3, 5 and 9`; of many, only the first.
fn listed(indexes: &[usize]) -> String {
    const NAMED: usize = 8;
    let words: Vec<String> = indexes.iter().map(usize::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many if many.len() > NAMED => {
            format!("{} and {} more", many[..NAMED].join(", "), many.len() - NAMED)
        }
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
