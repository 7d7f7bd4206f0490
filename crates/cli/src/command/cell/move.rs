//! `cellist cell move`.

use std::path::PathBuf;

use cellist_notebook::{CellRef, Operation};
use clap::Args;

use super::{Base, Told, perform};
use crate::answer::Answer;
use crate::error::CliError;

/// Let a cell stand at INDEX afterwards
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell move nb.ipynb 4 0                 # to the top
  cellist cell move nb.ipynb 1a2b3c4d 7")]
pub(super) struct Arguments {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cell, by index or id
    #[arg(value_parser = super::cell, allow_negative_numbers = true)]
    cell: CellRef,
    /// Its index afterwards
    #[arg(value_parser = super::index, allow_negative_numbers = true)]
    index: i64,
    #[command(flatten)]
    base: Base,
}

pub(super) fn run(arguments: Arguments) -> Result<Answer, CliError> {
    let Arguments { notebook, cell, index, base } = arguments;
    perform(notebook, base, Told::One, |_, _| Ok(vec![Operation::Move { cell: cell.clone(), index }]))
}
