//! A request to run cells of a notebook.

use std::path::PathBuf;

use cellist_live::Author;
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use crate::protocol::call::CallRequest;

/// Cells of a notebook to run, from their newest text. They run on when whoever asked goes away.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookRunRequest {
    /// The notebook's file, by an absolute path. It is opened for the run if it is not open.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: PathBuf,
    /// Which cells, in this order.
    pub cells: Vec<CellId>,
    /// In which session, and how. Its code is that of the cells.
    pub call: CallRequest,
    /// Whether a cell that fails does not end the run.
    pub allow_errors: bool,
    /// How many bytes of a cell's outputs the notebook gets; all of them without a limit.
    pub max_output: Option<usize>,
    /// Whether the notebook gets the times at which cells ran.
    pub timing: bool,
    /// Who runs them.
    pub author: Author,
}
