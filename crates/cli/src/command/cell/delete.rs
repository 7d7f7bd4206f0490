//! `cellist cell delete`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, Operation};
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Delete cells; indexes refer to the notebook before the deletion
///
/// With --json, one cell is printed as an object with its source in `cell_source`; several are listed in
/// `results`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell delete nb.ipynb 3 5
  cellist cell delete nb.ipynb -1                # the last cell")]
pub(super) struct CellDeleteArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cells, by index or id
    #[arg(required = true, value_name = "CELL", value_parser = super::cell, allow_negative_numbers = true)]
    cells: Vec<CellRef>,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn delete_cells(arguments: CellDeleteArgs) -> Result<CommandOutput, CliError> {
    let CellDeleteArgs { notebook, cells, base } = arguments;
    let told = if cells.len() == 1 { ResultShape::One } else { ResultShape::List };
    perform(notebook, base, told, |_, _| {
        Ok(cells.iter().map(|cell| Operation::Delete { cell: cell.clone() }).collect())
    })
}
