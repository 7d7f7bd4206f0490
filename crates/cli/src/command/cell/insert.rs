//! `cellist cell insert`.

use std::path::PathBuf;

use cellist_notebook::{CellType, Operation};
use clap::Args;

use super::{BaseFlags, ResultShape, SourceFlags, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Insert a new cell before the one at INDEX
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell insert nb.ipynb 0 --type markdown --source '# Title'
  cellist cell insert nb.ipynb end < cell.py")]
pub(super) struct CellInsertArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The index of the new cell, or `end`
    #[arg(value_parser = position, allow_negative_numbers = true)]
    index: InsertPosition,
    /// The cell type: code, markdown or raw
    #[arg(long = "type", value_name = "TYPE", default_value = "code", value_parser = super::cell_type)]
    kind: CellType,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    base: BaseFlags,
}

#[derive(Clone, Copy, Debug)]
enum InsertPosition {
    At(i64),
    End,
}

fn position(text: &str) -> Result<InsertPosition, String> {
    match text {
        "end" => Ok(InsertPosition::End),
        _ => super::index(text).map(InsertPosition::At).map_err(|problem| format!("{problem} or `end`")),
    }
}

pub(super) fn insert_cell(arguments: CellInsertArgs) -> Result<CommandOutput, CliError> {
    let CellInsertArgs { notebook, index, kind, source, base } = arguments;
    let source = source.text("insert")?;
    perform(notebook, base, ResultShape::One, |notebook, snapshot| {
        let count = snapshot.map_or(notebook.cells().len(), |snapshot| snapshot.cells.len());
        let index = match index {
            InsertPosition::At(index) => index,
            InsertPosition::End => i64::try_from(count).unwrap_or(i64::MAX),
        };
        Ok(vec![Operation::Insert { index, kind, source: source.clone() }])
    })
}
