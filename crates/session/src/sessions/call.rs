//! What is asked of a session, and what came of it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::Order;
use cellist_settings::{KernelMode, RetryOnCrash};
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, OwnerId, SessionKey};
use crate::execution::{Limit, OnStuck, Reading, Report, RunOutputs, Status};

/// Code to be run in a session, one piece after the other, until one fails.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The session.
    pub key: SessionKey,
    /// What the session is there for, if the call is its first.
    pub kind: Kind,
    /// Who uses the session from now on. A session that somebody uses without a name is kept until it was idle for long.
    pub owner: Option<OwnerId>,
    /// The kernel, if one has to be started.
    pub order: Order,
    /// What to run.
    pub cells: Vec<Code>,
    /// How long all of it may take, from when it begins to run.
    pub limit: Limit,
    /// How long it may take to stop.
    pub grace: Duration,
    /// The rule for code that does not stop within the grace; without one, the purpose of the session decides.
    pub on_stuck: Option<OnStuck>,
    /// Whether the kernel is to be restarted before the first piece.
    pub reset: bool,
    /// What is done when the kernel dies.
    pub retry: RetryOnCrash,
    /// How long the kernel stays.
    pub mode: KernelMode,
    /// What a reader gets of each piece.
    pub reading: Reading,
    /// What the one who calls may do, in the word that tools have for it; code can look it up.
    pub rights: Option<String>,
    /// Who calls, for those who know what that is: code that calls tools acts for them.
    #[serde(skip)]
    pub caller: Option<Principal>,
    /// The outputs of the run of a notebook that the code is a cell of.
    #[serde(skip)]
    pub outputs: Option<RunOutputs>,
}

/// Someone for whom code acts, as only those know who let them in.
pub type Principal = Arc<dyn Any + Send + Sync>;

/// One piece of code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The code itself.
    pub code: String,
    /// What to call it.
    pub title: Option<String>,
    /// Whether the kernel is to be restarted before it.
    #[serde(default)]
    pub reset: bool,
    /// Whether it is no code of the user's: it gets no number, and the kernel is as fresh after it as before.
    #[serde(default)]
    pub hidden: bool,
    /// The name that late output of it carries.
    #[serde(skip)]
    pub tag: Option<Arc<str>>,
}

/// What a session is there for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// For tools: only so many of these are kept at a time.
    Tool,
    /// For a notebook that is open.
    Notebook {
        /// Its file.
        #[serde(with = "cellist_platform::portable_path")]
        path: PathBuf,
    },
    /// For one run of a notebook, which ends when whoever asked for it goes.
    Run {
        /// Its file.
        #[serde(with = "cellist_platform::portable_path")]
        path: PathBuf,
    },
    /// For someone at a terminal.
    Terminal,
    /// For one command of a shell, with which it ends.
    Command,
}

impl Kind {
    /// The notebook.
    pub fn notebook(&self) -> Option<&PathBuf> {
        match self {
            Kind::Notebook { path } | Kind::Run { path } => Some(path),
            Kind::Tool | Kind::Terminal | Kind::Command => None,
        }
    }
}

impl Call {
    /// The rule for code that does not stop. Where nothing outlives the call, nothing is lost by killing.
    pub(super) fn stuck_rule(&self) -> OnStuck {
        match (self.on_stuck, &self.kind, self.mode) {
            (_, Kind::Command, _) => OnStuck::Kill,
            (Some(rule), _, _) => rule,
            (None, Kind::Run { .. }, _) | (None, _, KernelMode::PerCall) => OnStuck::Kill,
            (None, Kind::Tool | Kind::Notebook { .. } | Kind::Terminal, KernelMode::Session) => OnStuck::Wait,
        }
    }

    /// Whether it restarts the kernel anywhere.
    pub(super) fn resets(&self) -> bool {
        self.reset || self.cells.iter().any(|cell| cell.reset)
    }
}

/// What came of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallReport {
    /// The call.
    pub execution: ExecutionId,
    /// The session that it ran in.
    pub session: SessionKey,
    /// How it ended: as its last piece did.
    pub status: Status,
    /// The pieces that ran, in order.
    pub cells: Vec<CodeReport>,
    /// Which piece failed. One that has no report never began, and the notices say why.
    pub failed: Option<usize>,
    /// How many pieces did not run.
    pub not_run: usize,
    /// What else its reader should know, and no text says.
    pub notices: Vec<String>,
}

impl CallReport {
    /// The report of a call while a piece of it runs on that was to stop.
    pub(super) fn with_unfinished(&self, index: usize, piece: CodeReport) -> CallReport {
        let mut report = self.clone();
        report.status = piece.report.status;
        report.failed = Some(index);
        report.not_run = report.not_run.saturating_sub(1);
        report.cells.push(piece);
        report
    }
}

/// What came of one piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CodeReport {
    /// What it is called.
    pub title: Option<String>,
    /// The kernel that ran it: another after each start.
    pub kernel_id: String,
    /// What a notebook keeps as `language_info`, as the kernel gave it.
    #[serde(default)]
    pub language_info: Option<serde_json::Value>,
    /// What came of it. Not flattened: serde would buffer its outputs, which do not survive that.
    pub report: Report,
}

#[cfg(test)]
mod tests {
    use cellist_output::{MimeBundle, Output, RawJson, StreamName};

    use super::*;
    use crate::execution::{KernelReport, KernelState};

    #[test]
    fn a_report_is_the_same_after_it_was_sent_whatever_its_outputs_are() {
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
