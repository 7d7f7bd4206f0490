//! `cellist cell move`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, Operation};
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Move a cell to INDEX
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell move nb.ipynb 4 0                 # to the top
  cellist cell move nb.ipynb 1a2b3c4d 7")]
pub(super) struct CellMoveArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cell, by index or id
    #[arg(value_parser = super::cell, allow_negative_numbers = true)]
    cell: CellRef,
    /// The index of the cell after the move
    #[arg(value_parser = super::index, allow_negative_numbers = true)]
    index: i64,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn move_cell(arguments: CellMoveArgs) -> Result<CommandOutput, CliError> {
    let CellMoveArgs { notebook, cell, index, base } = arguments;
    perform(notebook, base, ResultShape::One, |_, _| Ok(vec![Operation::Move { cell: cell.clone(), index }]))
}
