//! Snapshots of sessions and calls for observers.

use std::path::PathBuf;

use cellist_kernel::Backend;
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, OwnerId};
use crate::execution::Bar;

/// A snapshot of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    /// Id of the call.
    pub execution: ExecutionId,
    /// Progress of the call.
    pub stage: Stage,
    /// Text shown by the running piece.
    pub text: String,
    /// Progress bar of the running piece.
    pub bar: Option<Bar>,
    /// How long the piece has been running.
    pub elapsed_ms: u64,
    /// The interrupt that the code has not followed yet.
    #[serde(default)]
    pub stopping: Option<StopView>,
}

/// An interrupt sent to running code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopView {
    /// The reached time limit in seconds, if that is the reason.
    pub timeout_s: Option<u64>,
    /// Whether the code did not stop within the grace period.
    pub is_overdue: bool,
}

/// Progress of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waiting in the queue.
    Queued {
        /// Number of jobs ahead when the call was queued.
        before: usize,
        /// The execution ahead that was interrupted and did not stop.
        #[serde(default)]
        behind: Option<ExecutionId>,
    },
    /// Its kernel is starting.
    Starting,
    /// A piece is running.
    Running {
        /// Index of the piece.
        cell: usize,
        /// Number of pieces.
        count: usize,
    },
    /// The call has ended.
    Ended,
}

impl CallView {
    pub(super) fn new(execution: ExecutionId, before: usize) -> CallView {
        let stage = Stage::Queued { before, behind: None };
        CallView { execution, stage, text: String::new(), bar: None, elapsed_ms: 0, stopping: None }
    }

    /// The stuck execution that the call waits for.
    pub fn behind(&self) -> Option<&ExecutionId> {
        match &self.stage {
            Stage::Queued { behind, .. } => behind.as_ref(),
            Stage::Starting | Stage::Running { .. } | Stage::Ended => None,
        }
    }

    /// Whether the call was interrupted and did not stop within the grace period.
    pub fn is_overdue(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_overdue)
    }

    /// Whether a piece runs or has run.
    pub fn has_begun(&self) -> bool {
        match self.stage {
            Stage::Queued { .. } | Stage::Starting => false,
            Stage::Running { .. } | Stage::Ended => true,
        }
    }
}

/// A snapshot of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Name chosen by the user.
    pub id: String,
    /// Working folder.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
    /// The notebook that it belongs to.
    #[serde(with = "cellist_platform::portable_path")]
    pub notebook: Option<PathBuf>,
    /// Backend of its kernel.
    pub backend: Backend,
    /// The interpreter, if it is a local Python.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// Id of its kernel. Each kernel start gets a new id.
    pub kernel_id: Option<String>,
    /// Process id, if the kernel is local.
    pub pid: Option<u32>,
    /// Activity of the session.
    pub state: SessionState,
    /// The running call.
    #[serde(default)]
    pub execution: Option<ExecutionId>,
    /// Whether that call was interrupted and did not stop within the grace period.
    #[serde(default)]
    pub is_stuck: bool,
    /// Number of queued calls.
    pub queued: usize,
    /// Owners of the session.
    pub owners: Vec<OwnerId>,
    /// Number of kernel restarts.
    pub restarts: u64,
    /// Creation time, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of its last activity, or when its last owner left, in milliseconds since 1970.
    pub last_used_ms: u64,
    /// How long it stays when idle and unused, in milliseconds.
    #[serde(default)]
    pub stays_ms: u64,
    /// When it ends if it stays unused, in milliseconds since 1970; `None` while busy or used.
    #[serde(default)]
    pub ends_ms: Option<u64>,
}

/// Activity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Its kernel is starting.
    Starting,
    /// It is idle.
    Idle,
    /// It runs code.
    Busy,
    /// Its kernel is idle but does not answer.
    Silent,
    /// Its kernel is gone; the next call starts another.
    Dead,
}
