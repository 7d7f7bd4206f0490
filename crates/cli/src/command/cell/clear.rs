//! `cellist cell clear`.

use std::path::PathBuf;

use cellist_notebook::{Cell, CellRef, CellType, Operation, SnapshotCell};
use clap::Args;

use super::{BaseFlags, ResultShape, perform};
use crate::error::CliError;
use crate::output::CommandOutput;

/// Clear the outputs and execution counts of cells, by default of all
///
/// With --json, one named cell is printed as an object; otherwise `results` lists the cleared cells.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist cell clear nb.ipynb                    # all cells
  cellist cell clear nb.ipynb 3 1a2b3c4d")]
pub(super) struct CellClearArgs {
    /// The notebook
    #[arg(value_name = "NB")]
    notebook: PathBuf,
    /// The cells, by index or id; by default, all
    #[arg(value_name = "CELL", value_parser = super::cell, allow_negative_numbers = true)]
    cells: Vec<CellRef>,
    #[command(flatten)]
    base: BaseFlags,
}

pub(super) fn clear_cells(arguments: CellClearArgs) -> Result<CommandOutput, CliError> {
    let CellClearArgs { notebook, cells, base } = arguments;
    let told = if cells.len() == 1 { ResultShape::One } else { ResultShape::List };
    let mut answer = perform(notebook, base, told, |notebook, snapshot| {
        let cells = match (cells.is_empty(), snapshot) {
            (false, _) => cells.clone(),
            (true, None) => matching_cells(notebook.cells(), Cell::has_run),
            // A snapshot does not record outputs.
            (true, Some(base)) => {
                matching_cells(&base.cells, |cell: &SnapshotCell| cell.kind == CellType::Code)
            }
        };
        Ok(cells.into_iter().map(|cell| Operation::Clear { cell }).collect())
    })?;
    if answer.text.is_empty() {
        answer.text = b"No cell has outputs.\n".to_vec();
    }
    Ok(answer)
}

fn matching_cells<T>(cells: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<CellRef> {
    let meant = cells.iter().enumerate().filter(|(_, cell)| is_meant(cell));
    meant.filter_map(|(index, _)| i64::try_from(index).ok().map(CellRef::Index)).collect()
}
