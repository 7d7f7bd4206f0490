//! `cellist cell retype`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, CellType, Operation};
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Change the type of a cell; a code cell that becomes another type loses its outputs
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell retype nb.ipynb 0 markdown")]
pub(super) struct CellRetypeArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cell, by index or id
    #[arg(value_parser = super::cell, allow_negative_numbers = true)]
    cell: CellRef,
    /// The cell type: code, markdown or raw
    #[arg(value_name = "TYPE", value_parser = super::cell_type)]
    kind: CellType,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn retype_cell(arguments: CellRetypeArgs) -> Result<CommandOutput, CliError> {
    let CellRetypeArgs { notebook, cell, kind, base } = arguments;
    perform(notebook, base, ResultShape::One, |_, _| Ok(vec![Operation::Retype { cell: cell.clone(), kind }]))
}
