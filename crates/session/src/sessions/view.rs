//! What can be seen of sessions and calls from outside, at one moment.

use std::path::PathBuf;

use cellist_kernel::Backend;
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, OwnerId};
use crate::execution::Bar;

/// A call as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    /// The call.
    pub execution: ExecutionId,
    /// How far it is.
    pub stage: Stage,
    /// What the piece that runs shows.
    pub text: String,
    /// Its progress bar.
    pub bar: Option<Bar>,
    /// How long the piece has been running.
    pub elapsed_ms: u64,
    /// The interrupt that it was sent and has not followed yet.
    #[serde(default)]
    pub stopping: Option<StopView>,
}

/// An interrupt that running code was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopView {
    /// The time limit that the code reached, in seconds, where that is why.
    pub timeout_s: Option<u64>,
    /// Whether the code has not stopped within the grace.
    pub is_overdue: bool,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Others are before it.
    Queued {
        /// How many were when it came.
        before: usize,
        /// The execution before it that was interrupted and has not stopped.
        #[serde(default)]
        behind: Option<ExecutionId>,
    },
    /// Its kernel is being started.
    Starting,
    /// A piece of it runs.
    Running {
        /// Which, counted from 0.
        cell: usize,
        /// How many there are.
        count: usize,
    },
    /// It has ended.
    Ended,
}

impl CallView {
    pub(super) fn new(execution: ExecutionId, before: usize) -> CallView {
        let stage = Stage::Queued { before, behind: None };
        CallView { execution, stage, text: String::new(), bar: None, elapsed_ms: 0, stopping: None }
    }

    /// The execution that it waits for and that does not stop.
    pub fn behind(&self) -> Option<&ExecutionId> {
        match &self.stage {
            Stage::Queued { behind, .. } => behind.as_ref(),
            Stage::Starting | Stage::Running { .. } | Stage::Ended => None,
        }
    }

    /// Whether it was interrupted and has not stopped within the grace.
    pub fn is_overdue(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_overdue)
    }

    /// Whether a piece of it runs, or has run.
    pub fn has_begun(&self) -> bool {
        match self.stage {
            Stage::Queued { .. } | Stage::Starting => false,
            Stage::Running { .. } | Stage::Ended => true,
        }
    }
}

/// A session as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// What its user calls it.
    pub id: String,
    /// The folder that it runs in.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
    /// The notebook that it belongs to.
    #[serde(with = "cellist_platform::portable_path")]
    pub notebook: Option<PathBuf>,
    /// How its kernel is run.
    pub backend: Backend,
    /// The interpreter, where it is a local Python.
    #[serde(with = "cellist_platform::portable_path")]
    pub python: Option<PathBuf>,
    /// Its kernel: another after each start.
    pub kernel_id: Option<String>,
    /// Its process, where that is a local one.
    pub pid: Option<u32>,
    /// What it does.
    pub state: SessionState,
    /// The call that it runs.
    #[serde(default)]
    pub execution: Option<ExecutionId>,
    /// Whether that call was interrupted and has not stopped within the grace.
    #[serde(default)]
    pub is_stuck: bool,
    /// How many calls wait.
    pub queued: usize,
    /// Who uses it.
    pub owners: Vec<OwnerId>,
    /// How often its kernel was replaced.
    pub restarts: u64,
    /// When it began, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last did something or its last user left, in milliseconds since 1970.
    pub last_used_ms: u64,
    /// How long it stays when it is idle and nobody uses it, in milliseconds.
    #[serde(default)]
    pub stays_ms: u64,
    /// When it ends if nobody uses it until then, in milliseconds since 1970; nothing while it is busy or used.
    #[serde(default)]
    pub ends_ms: Option<u64>,
}

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Its kernel is being started.
    Starting,
    /// Nothing.
    Idle,
    /// It runs code.
    Busy,
    /// Its kernel lives and is idle, but does not answer.
    Silent,
    /// Its kernel is gone; the next call gets another.
    Dead,
}
