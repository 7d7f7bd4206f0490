//! Calls of a session and their reports.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::Order;
use cellist_settings::{KernelMode, RetryOnCrash, Settings};
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, OwnerId, SessionKey};
use crate::execution::{Limit, OnStuck, Reading, Report, RunOutputs, Status};

/// Code to run in a session, one piece after the other, until one fails.
///
/// Every front end builds it with [`SessionCall::new`] and sets the fields that differ.
/// [`crate::sessions::Sessions::call`] takes ownership and returns a [`crate::sessions::Ticket`]. The pieces run in
/// order on one kernel, without another call between them. The kernel is started, or restarted with `reset`, before
/// the first piece. The time limit covers all pieces, without the time in the queue. A call without pieces only
/// starts the kernel.
#[derive(Clone, Debug)]
pub struct SessionCall {
    /// The session; created if it does not exist.
    pub key: SessionKey,
    /// Purpose of the session, if this call creates it.
    pub kind: SessionKind,
    /// The client that uses the session from now on. A session without an owner ends after its idle time.
    pub owner: Option<OwnerId>,
    /// Launch order, if a kernel has to be started.
    pub order: Arc<Order>,
    /// The code.
    pub cells: Vec<Code>,
    /// Whether to restart the kernel before the first piece.
    pub reset: bool,
    /// Limits of time and output.
    pub rules: RunRules,
    /// Rights of the caller, by the names that tools use; code can look them up.
    pub rights: Option<String>,
    /// The caller on whose behalf the code calls tools.
    pub caller: Option<Principal>,
    /// Outputs of the notebook run that the code belongs to.
    pub outputs: Option<RunOutputs>,
}

/// The limits of a call, and how much of its output a reader gets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RunRules {
    /// Time limit of all pieces together.
    pub limit: Limit,
    /// How long interrupted code may take to stop.
    pub grace: Duration,
    /// Rule for code that does not stop within the grace period. `None` lets the kind of session decide.
    pub on_stuck: Option<OnStuck>,
    /// Whether to rerun the code when its kernel dies.
    pub retry: RetryOnCrash,
    /// Lifetime of the kernel.
    pub mode: KernelMode,
    /// How much output of each piece the reader gets.
    pub reading: Reading,
}

impl RunRules {
    /// Returns the rules from the settings, without a time limit.
    pub fn new(settings: &Settings, reading: Reading) -> RunRules {
        RunRules {
            limit: Limit::None,
            grace: settings.python.interrupt_grace,
            on_stuck: settings.python.on_stuck,
            retry: settings.python.retry_on_crash,
            mode: settings.python.kernel_mode,
            reading,
        }
    }
}

impl SessionCall {
    /// Creates a call without code, owner or rights.
    pub fn new(key: SessionKey, kind: SessionKind, order: Arc<Order>, rules: RunRules) -> SessionCall {
        SessionCall {
            key,
            kind,
            owner: None,
            order,
            cells: Vec::new(),
            reset: false,
            rules,
            rights: None,
            caller: None,
            outputs: None,
        }
    }
}

/// The identity on whose behalf code acts. Only the layer that authenticated it knows its type.
pub type Principal = Arc<dyn Any + Send + Sync>;

/// One piece of code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Source code.
    pub code: String,
    /// Title for display.
    pub title: Option<String>,
    /// Whether to restart the kernel before this piece.
    #[serde(default)]
    pub reset: bool,
    /// Whether the code is not the user's. It gets no execution count, and the kernel still counts as fresh.
    #[serde(default)]
    pub hidden: bool,
    /// Tag that late output of this code carries.
    #[serde(skip)]
    pub tag: Option<Arc<str>>,
}

/// The purpose of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// For tools. The number of these sessions is limited.
    Tool,
    /// For an open notebook.
    Notebook {
        /// Path of the notebook.
        #[serde(with = "cellist_platform::portable_path")]
        path: PathBuf,
    },
    /// For one run of a notebook or of code. It ends with its client, and other calls cannot use it.
    Run {
        /// Path of the notebook.
        #[serde(with = "cellist_platform::portable_path")]
        path: Option<PathBuf>,
    },
    /// For a user at a terminal.
    Terminal,
    /// For one shell command, with which it ends.
    Command,
}

impl SessionKind {
    /// Path of the notebook.
    pub fn notebook(&self) -> Option<&PathBuf> {
        match self {
            SessionKind::Notebook { path } => Some(path),
            SessionKind::Run { path } => path.as_ref(),
            SessionKind::Tool | SessionKind::Terminal | SessionKind::Command => None,
        }
    }
}

impl SessionCall {
    /// The rule for code that does not stop. If the kernel ends with the call, killing it loses nothing.
    pub(super) fn stuck_rule(&self) -> OnStuck {
        match (self.rules.on_stuck, &self.kind, self.rules.mode) {
            (_, SessionKind::Command, _) => OnStuck::Kill,
            (Some(rule), _, _) => rule,
            (None, SessionKind::Run { .. }, _) | (None, _, KernelMode::PerCall) => OnStuck::Kill,
            (
                None,
                SessionKind::Tool | SessionKind::Notebook { .. } | SessionKind::Terminal,
                KernelMode::Session,
            ) => OnStuck::Wait,
        }
    }

    /// Whether the call restarts the kernel.
    pub(super) fn resets(&self) -> bool {
        self.reset || self.cells.iter().any(|cell| cell.reset)
    }
}

/// The result of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// Id of the call.
    pub execution: ExecutionId,
    /// The session that it ran in.
    pub session: SessionKey,
    /// Status of the last piece.
    pub status: Status,
    /// The pieces that ran, in order.
    pub cells: Vec<CodeReport>,
    /// Index of the failed piece. If it has no report, it never began, and the notices say why.
    pub failed: Option<usize>,
    /// Number of pieces that did not run.
    pub not_run: usize,
    /// Further facts for the reader, not included in any text.
    pub notices: Vec<String>,
}

impl CallReport {
    /// Returns the report of a call whose last piece was told to stop and still runs.
    pub(super) fn with_unfinished(&self, index: usize, piece: CodeReport) -> CallReport {
        let mut report = self.clone();
        report.status = piece.report.status;
        report.failed = Some(index);
        report.not_run = report.not_run.saturating_sub(1);
        report.cells.push(piece);
        report
    }
}

/// The result of one piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CodeReport {
    /// Title for display.
    pub title: Option<String>,
    /// Id of the kernel that ran it. Each kernel start gets a new id.
    pub kernel_id: String,
    /// The kernel's `language_info`, for the notebook metadata.
    #[serde(default)]
    pub language_info: Option<serde_json::Value>,
    /// The result of the code. Not flattened: serde would buffer the outputs, and raw JSON does not survive that.
    pub report: Report,
}

#[cfg(test)]
mod tests {
    use cellist_output::{MimeBundle, Output, RawJson, StreamName};

    use super::*;
    use crate::execution::{KernelReport, KernelState};

    #[test]
    fn a_report_with_any_outputs_survives_serialization() {
        let data = MimeBundle::text("text/plain", "1.0").with("image/png", "AAAA");
        let report = Report {
            status: Status::Ok,
            exit_code: Some(0),
            text: "1.0\n".into(),
            outputs: vec![
                Output::stream(StreamName::Stdout, "a\n"),
                Output::Result {
                    execution_count: Some(3),
                    data,
                    metadata: RawJson::empty_object(),
                    display_id: None,
                },
            ],
            pictures: Default::default(),
            error: None,
            execution_count: Some(3),
            duration_ms: 5,
            cancelled: false,
            still_running: false,
            stdin_requested: false,
            truncated: None,
            artifact: None,
            kernel: KernelReport {
                backend: cellist_kernel::Backend::Runner,
                python: Some("/py".into()),
                state: KernelState::Kept,
                restarted: false,
            },
            notices: Vec::new(),
        };
        let report = CodeReport { title: None, kernel_id: "k".into(), language_info: None, report };
        let sent = serde_json::to_string(&report).unwrap();
        let received: CodeReport = serde_json::from_str(&sent).unwrap();
        assert_eq!(received.report.outputs, report.report.outputs);
        assert_eq!(serde_json::to_string(&received).unwrap(), sent);
    }
}
