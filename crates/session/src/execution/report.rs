//! What came of code that ran, as data. The JSON of [`Report`] is the interface of every command that runs code.

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
    /// Its type.
    pub ename: String,
    /// Its message.
    pub evalue: String,
    /// The lines of its traceback.
    pub traceback: Vec<String>,
}

/// What became of the variables and imports in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelState {
    /// They are as the code left them.
    Kept,
    /// The code was interrupted and still runs, so nobody knows yet.
    Unknown,
    /// They are gone with the kernel.
    Lost,
}

/// The kernel that ran the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// How it was run.
    pub backend: Backend,
    /// The interpreter, where it is a local Python.
    pub python: Option<PathBuf>,
    /// What became of its state.
    pub state: KernelState,
    /// Whether it was started anew for this code.
    pub restarted: bool,
}

impl KernelReport {
    /// Of a kernel whose state is kept.
    pub fn of(identity: &Identity) -> KernelReport {
        KernelReport {
            backend: identity.backend,
            python: identity.python.clone(),
            state: KernelState::Kept,
            restarted: false,
        }
    }
}

/// Pictures that code has shown, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    /// Those that are there.
    pub list: Vec<Picture>,
    /// How many came before them and are not kept.
    pub left_out: usize,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it is, such as `image/png`.
    pub mime: String,
    /// Its bytes in base64, or the text of a drawing.
    pub data: String,
}

/// What came of one piece of code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// 0, 1, or nothing where it was stopped.
    pub exit_code: Option<i32>,
    /// What a reader gets, with notices at its end.
    pub text: String,
    /// The outputs, their text within the same limits.
    pub outputs: Vec<Output>,
    /// The pictures among them, whole, where a model reads it. They do not travel.
    #[serde(skip)]
    pub pictures: Pictures,
    /// What was raised.
    pub error: Option<Raised>,
    /// The number of the execution.
    pub execution_count: Option<u64>,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether it was stopped, for whatever reason.
    pub cancelled: bool,
    /// Whether it was to stop and still runs: this is no end, and the rest comes under the same execution.
    #[serde(default)]
    pub still_running: bool,
    /// Whether it asked for input, which it did not get.
    pub stdin_requested: bool,
    /// How much was cut off the text.
    pub truncated: Option<Truncation>,
    /// Where all of the output is kept.
    pub artifact: Option<String>,
    /// What ran it.
    pub kernel: KernelReport,
    /// What else its reader should know; part of `text` already.
    pub notices: Vec<String>,
}

impl Report {
    /// Adds a notice, also at the end of the text.
    pub(crate) fn say(&mut self, notice: String) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&notice);
        self.notices.push(notice);
    }
}

/// What came of one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellReport {
    /// Where it stands in the notebook.
    pub index: usize,
    /// Its id, where the file stores one.
    pub id: Option<String>,
    /// Whether it may fail without ending the run.
    pub may_fail: bool,
    /// What came of its code. Not flattened: serde would buffer its outputs, which do not survive that.
    pub report: Report,
}

/// How many cells failed, whether they may or not. One that was interrupted has not failed.
pub fn count_failed(cells: &[Arc<CellReport>]) -> usize {
    let failed = |status| matches!(status, Status::Error | Status::Timeout);
    cells.iter().filter(|cell| failed(cell.report.status)).count()
}

/// A save that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsaved {
    /// A word for programs.
    pub kind: FailureKind,
    /// The error.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The result of a run of cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// The notebook.
    #[serde(with = "cellist_platform::portable_path")]
    pub notebook: PathBuf,
    /// How the run ended: as the cell that ended it did, or well, also where cells failed that may.
    pub status: Status,
    /// Why the file does not have all outputs.
    pub unsaved: Option<Unsaved>,
    /// The file that has the outputs.
    #[serde(with = "cellist_platform::portable_path")]
    pub output: PathBuf,
    /// How long it took.
    pub duration_ms: u64,
    /// The cells that were run, in order.
    pub cells: Vec<Arc<CellReport>>,
    /// How many cells were to run and did not.
    pub not_run: usize,
    /// How many of those that ran failed, whether they may or not.
    pub failed: usize,
    /// What else its reader should know.
    pub notices: Vec<String>,
}
