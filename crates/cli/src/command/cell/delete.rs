//! `cellist cell delete`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, Operation};
use clap::Args;

use super::{Base, Told, perform};
use crate::answer::Answer;
use crate::error::CliError;

/// Take cells out; indexes are those before any is gone
///
/// With --json, one cell is told as an object that holds its source in `cell_source`, several as a list in
/// `results`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell delete nb.ipynb 3 5
  cellist cell delete nb.ipynb -1                # the last cell")]
pub(super) struct Arguments {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cells, by index or id
    #[arg(required = true, value_name = "CELL", value_parser = super::cell, allow_negative_numbers = true)]
    cells: Vec<CellRef>,
    #[command(flatten)]
    base: Base,
}

pub(super) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let Arguments { notebook, cells, base } = arguments;
    let told = if cells.len() == 1 { Told::One } else { Told::List };
    perform(notebook, base, told, |_, _| {
        Ok(cells.iter().map(|cell| Operation::Delete { cell: cell.clone() }).collect())
    })
}
