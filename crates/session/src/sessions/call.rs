//! What is asked of a session, and what came of it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::Order;
use cellist_settings::{KernelMode, RetryOnCrash, Settings};
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, OwnerId, SessionKey};
use crate::execution::{Limit, OnStuck, Reading, Report, RunOutputs, Status};

/// Code to run in a session, one piece after the other, until one fails. Every front end builds it by
/// [`SessionCall::new`] and changes the fields that differ.
#[derive(Clone, Debug)]
pub struct SessionCall {
    /// The session.
    pub key: SessionKey,
    /// The purpose of the session, if the call is its first.
    pub kind: Kind,
    /// The client that uses the session from now on. A session without one stays until it was idle for long.
    pub owner: Option<OwnerId>,
    /// The kernel, if one has to be started.
    pub order: Arc<Order>,
    /// The code.
    pub cells: Vec<Code>,
    /// Whether the kernel is restarted before the first piece.
    pub reset: bool,
    /// Limits and what a reader gets.
    pub rules: RunRules,
    /// The rights of the caller, as tools name them; code can look them up.
    pub rights: Option<String>,
    /// The caller on whose behalf the code calls tools.
    pub caller: Option<Principal>,
    /// The outputs of the run of a notebook that the code is a cell of.
    pub outputs: Option<RunOutputs>,
}

/// The limits of a call, and the share of its output that a reader gets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RunRules {
    /// How long all pieces may take, from the start of the first.
    pub limit: Limit,
    /// How long interrupted code may take to stop.
    pub grace: Duration,
    /// The rule for code that does not stop within the grace; without one, the purpose of the session decides.
    pub on_stuck: Option<OnStuck>,
    /// The answer to a kernel that dies.
    pub retry: RetryOnCrash,
    /// How long the kernel stays.
    pub mode: KernelMode,
    /// The share of the output of each piece that a reader gets.
    pub reading: Reading,
}

impl RunRules {
    /// The rules of the settings, without a time limit.
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
    /// A call without code, owner or rights.
    pub fn new(key: SessionKey, kind: Kind, order: Arc<Order>, rules: RunRules) -> SessionCall {
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
    /// For one run, of a notebook or of code alone. It ends with its client and has no name for others.
    Run {
        /// The file of the notebook.
        #[serde(with = "cellist_platform::portable_path")]
        path: Option<PathBuf>,
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
            Kind::Notebook { path } => Some(path),
            Kind::Run { path } => path.as_ref(),
            Kind::Tool | Kind::Terminal | Kind::Command => None,
        }
    }
}

impl SessionCall {
    /// The rule for code that does not stop. Where nothing outlives the call, nothing is lost by killing.
    pub(super) fn stuck_rule(&self) -> OnStuck {
        match (self.rules.on_stuck, &self.kind, self.rules.mode) {
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
