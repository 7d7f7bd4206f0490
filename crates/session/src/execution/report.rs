//! Reports of executed code, as data. The JSON of [`Report`] is the interface of every command that runs code.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_kernel::{Backend, Identity};
use cellist_output::{Output, Status, Truncation};
use cellist_platform::FailureKind;
use serde::{Deserialize, Serialize};

use super::pace::Cause;

impl From<Cause> for Status {
    fn from(cause: Cause) -> Status {
        match cause {
            Cause::Timeout => Status::Timeout,
            Cause::Cancel | Cause::Ending(_) => Status::Cancelled,
        }
    }
}

/// An exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Type of the exception.
    pub ename: String,
    /// Message.
    pub evalue: String,
    /// Lines of the traceback.
    pub traceback: Vec<String>,
}

/// State of the variables and imports in a kernel after the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelState {
    /// The state is as the code left it.
    Kept,
    /// The code was interrupted and still runs, so the state is unknown.
    Unknown,
    /// The state was lost with the kernel.
    Lost,
}

/// The kernel that ran the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Backend of the kernel.
    pub backend: Backend,
    /// The interpreter, if it is a local Python.
    pub python: Option<PathBuf>,
    /// State of the kernel after the code.
    pub state: KernelState,
    /// Whether the kernel was restarted for this code.
    pub restarted: bool,
}

impl KernelReport {
    /// Describes a kernel whose state was kept.
    pub fn of(identity: &Identity) -> KernelReport {
        KernelReport {
            backend: identity.backend,
            python: identity.python.clone(),
            state: KernelState::Kept,
            restarted: false,
        }
    }
}

/// Pictures shown by code, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    /// The pictures that were kept.
    pub list: Vec<Picture>,
    /// Number of earlier pictures that were dropped.
    pub left_out: usize,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// MIME type, such as `image/png`.
    pub mime: String,
    /// Base64 data, or the text of an SVG.
    pub data: String,
}

/// The result of one piece of code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Final status.
    pub status: Status,
    /// 0 or 1; `None` if the code was stopped.
    pub exit_code: Option<i32>,
    /// The text for the reader, with notices at its end.
    pub text: String,
    /// The outputs, with their text within the same limits.
    pub outputs: Vec<Output>,
    /// The full pictures, for a model. Not serialized.
    #[serde(skip)]
    pub pictures: Pictures,
    /// The exception, if one was raised.
    pub error: Option<Raised>,
    /// Execution count of the kernel.
    pub execution_count: Option<u64>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Whether the code was stopped, for any reason.
    pub cancelled: bool,
    /// Whether the code was told to stop and still runs. The rest follows under the same execution id.
    #[serde(default)]
    pub still_running: bool,
    /// Whether the code asked for input, which is not supported.
    pub stdin_requested: bool,
    /// How much text was cut, if any.
    pub truncated: Option<Truncation>,
    /// Path of the artifact with the full output.
    pub artifact: Option<String>,
    /// The kernel that ran the code.
    pub kernel: KernelReport,
    /// Further facts for the reader; `text` already contains them.
    pub notices: Vec<String>,
}

impl Report {
    /// Adds a notice to the list and to the end of the text.
    pub(crate) fn say(&mut self, notice: String) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&notice);
        self.notices.push(notice);
    }
}

/// The result of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellReport {
    /// Index in the notebook.
    pub index: usize,
    /// Cell id, if the file stores one.
    pub id: Option<String>,
    /// Whether the cell may fail without ending the run.
    pub may_fail: bool,
    /// The result of the code. Not flattened: serde would buffer the outputs, and raw JSON does not survive that.
    pub report: Report,
}

/// Counts the failed cells, including those allowed to fail. An interrupted cell has not failed.
pub fn count_failed(cells: &[Arc<CellReport>]) -> usize {
    let failed = |status| matches!(status, Status::Error | Status::Timeout);
    cells.iter().filter(|cell| failed(cell.report.status)).count()
}

/// A failed save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaved {
    /// Kind of failure, for programs.
    pub kind: FailureKind,
    /// Error message.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

/// The result of a run of cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// Path of the notebook.
    #[serde(with = "cellist_platform::portable_path")]
    pub notebook: PathBuf,
    /// Status of the cell that ended the run. Failures that are allowed do not count.
    pub status: Status,
    /// Why the file lacks some outputs.
    pub unsaved: Option<Unsaved>,
    /// The file with the outputs.
    #[serde(with = "cellist_platform::portable_path")]
    pub output: PathBuf,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// The cells that ran, in order.
    pub cells: Vec<Arc<CellReport>>,
    /// Number of cells that did not run.
    pub not_run: usize,
    /// Number of failed cells, including those allowed to fail.
    pub failed: usize,
    /// Further facts for the reader.
    pub notices: Vec<String>,
}
