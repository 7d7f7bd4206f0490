//! A request to run cells of a notebook.

use std::path::PathBuf;

use cellist_live::Author;
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use crate::protocol::call::CallRequest;

/// Cells of a notebook to run, from their newest text. The run goes on when the client disconnects, except in a session
/// of kind `Run`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookRunRequest {
    /// The notebook's file, by an absolute path. It is opened for the run if it is not open.
    #[serde(with = "cellist_platform::portable_path")]
    pub path: PathBuf,
    /// The cells, in the order of the run.
    pub cells: Vec<CellId>,
    /// The session and its rules. The code is taken from the cells.
    pub call: CallRequest,
    /// Whether the run continues after a failed cell.
    pub allow_errors: bool,
    /// Maximum bytes of a cell's outputs in the notebook.
    pub max_output: Option<usize>,
    /// Whether the notebook records the times of cells.
    pub timing: bool,
    /// The author of the run.
    pub author: Author,
}
