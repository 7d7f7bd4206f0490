//! `cellist cell edit`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, Operation};
use clap::Args;

use super::{BaseFlags, ResultShape, SourceFlags, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Replace the source of a cell; its type, metadata, attachments and outputs stay
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell edit nb.ipynb 3 --source 'x = 2'
  cellist cell edit nb.ipynb 1a2b3c4d < cell.py")]
pub(super) struct CellEditArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cell, by index or id
    #[arg(value_parser = super::cell, allow_negative_numbers = true)]
    cell: CellRef,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn edit_cell(arguments: CellEditArgs) -> Result<CommandOutput, CliError> {
    let CellEditArgs { notebook, cell, source, base } = arguments;
    let source = source.text("edit")?;
    perform(notebook, base, ResultShape::One, |_, _| {
        Ok(vec![Operation::Edit { cell: cell.clone(), source: source.clone() }])
    })
}
