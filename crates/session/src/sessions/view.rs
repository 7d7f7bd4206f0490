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
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Others are before it.
    Queued {
        /// How many were when it came.
        before: usize,
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
        let stage = Stage::Queued { before };
        CallView { execution, stage, text: String::new(), bar: None, elapsed_ms: 0 }
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
    #[serde(with = "cellist_kernel::order")]
    pub cwd: PathBuf,
    /// The notebook that it belongs to.
    #[serde(with = "cellist_kernel::order")]
    pub notebook: Option<PathBuf>,
    /// How its kernel is run.
    pub backend: Backend,
    /// The interpreter, where it is a local Python.
    #[serde(with = "cellist_kernel::order")]
    pub python: Option<PathBuf>,
    /// Its kernel: another after each start.
    pub kernel_id: Option<String>,
    /// Its process, where that is a local one.
    pub pid: Option<u32>,
    /// What it does.
    pub state: SessionState,
    /// How many calls wait.
    pub queued: usize,
    /// Who uses it.
    pub owners: Vec<OwnerId>,
    /// How often its kernel was replaced.
    pub restarts: u64,
    /// When it began, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last did something, in milliseconds since 1970.
    pub last_used_ms: u64,
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
