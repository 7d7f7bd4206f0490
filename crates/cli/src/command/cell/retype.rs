//! `cellist cell retype`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, CellType, Operation};
use clap::Args;

use super::{Base, Told, perform};
use crate::answer::Answer;
use crate::error::CliError;

/// Change the type of a cell; what is no longer code loses its outputs
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell retype nb.ipynb 0 markdown")]
pub(super) struct Arguments {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cell, by index or id
    #[arg(value_parser = super::cell, allow_negative_numbers = true)]
    cell: CellRef,
    /// code, markdown or raw
    #[arg(value_name = "TYPE", value_parser = super::cell_type)]
    kind: CellType,
    #[command(flatten)]
    base: Base,
}

pub(super) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let Arguments { notebook, cell, kind, base } = arguments;
    perform(notebook, base, Told::One, |_, _| Ok(vec![Operation::Retype { cell: cell.clone(), kind }]))
}
