//! Errors of sessions.

use cellist_kernel::Order;
use cellist_kernel::order::Way;
use cellist_platform::FailureKind;
use cellist_platform::contained::Panicked;
use serde::{Deserialize, Serialize};

use super::key::{ExecutionId, SessionKey};

/// Why a session could not do a request. The message names values; advice is in [`SessionError::hint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum SessionError {
    #[error("no room for session {id}: {max} sessions are kept at most, and all of them are busy ({})", .busy.join(", "))]
    Full { id: String, max: usize, busy: Vec<String> },
    #[error("session {id} has {waiting} calls waiting already")]
    QueueFull { id: String, waiting: usize },
    #[error(
        "busy: session {id} runs {execution}, which was interrupted and has not stopped; this code did not run"
    )]
    Busy { id: String, execution: ExecutionId },
    #[error("session {id} is being reset already")]
    ResetUnderWay { id: String },
    #[error("there is no session {id}")]
    NoSuchSession { id: String },
    #[error("there are {} sessions {id}: {}", .keys.len(), in_words(.keys))]
    Ambiguous { id: String, keys: Vec<SessionKey> },
    #[error("{message}")]
    CannotStart { kind: FailureKind, message: String, hint: Option<String> },
    #[error("session {id} was ended before the code ran")]
    Ended { id: String },
    #[error("session {id} was ended: {what}")]
    Failed { id: String, what: String },
    #[error("the host is shutting down; no code can run")]
    Closed,
}

impl SessionError {
    pub(super) fn start(error: &cellist_kernel::Error, order: &Order) -> SessionError {
        use cellist_kernel::Error;
        let kind = match error {
            Error::NoFolder { .. } => FailureKind::NoSuchFolder,
            Error::Gateway { .. } => FailureKind::NoGateway,
            _ => FailureKind::NoKernel,
        };
        let message = match error {
            Error::Io { what, source } => format!("{what}: {}", cellist_platform::in_words(source)),
            _ => error.to_string(),
        };
        let is_joined = matches!((error, &order.way), (Error::Io { .. }, Way::Existing { .. }));
        let joined = "name the connection file of a kernel that runs: they are in `jupyter --runtime-dir`";
        let hint = if is_joined { Some(joined.to_owned()) } else { error.hint() };
        SessionError::CannotStart { kind, message, hint }
    }

    pub(super) fn failed(id: String, panicked: &Panicked) -> SessionError {
        SessionError::Failed { id, what: panicked.to_string() }
    }

    /// Returns the kind of failure, for programs.
    pub fn kind(&self) -> FailureKind {
        match self {
            SessionError::Full { .. } => FailureKind::SessionsBusy,
            SessionError::QueueFull { .. } => FailureKind::QueueFull,
            SessionError::Busy { .. } => FailureKind::SessionBusy,
            SessionError::ResetUnderWay { .. } => FailureKind::ResetUnderWay,
            SessionError::NoSuchSession { .. } => FailureKind::NoSuchSession,
            SessionError::Ambiguous { .. } => FailureKind::SeveralSessions,
            SessionError::CannotStart { kind, .. } => *kind,
            SessionError::Ended { .. } => FailureKind::SessionEnded,
            SessionError::Failed { .. } => FailureKind::InternalError,
            SessionError::Closed => FailureKind::HostEnds,
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            SessionError::Full { .. } => {
                "wait for one of them, end one with `cellist sessions stop ID`, or raise python.max_sessions"
            }
            SessionError::QueueFull { .. } => "wait for some of them, or use another session",
            SessionError::Busy { .. } => {
                "wait for it or interrupt it again; a restart or a forced interrupt kills its kernel, and its state is lost"
            }
            SessionError::ResetUnderWay { .. } => "wait for it; one reset is enough",
            SessionError::NoSuchSession { .. } => "`cellist sessions` lists the existing ones",
            SessionError::Ambiguous { .. } => "name the folder too, with --cwd",
            SessionError::CannotStart { hint, .. } => return hint.clone(),
            SessionError::Ended { .. } => "try again; a new kernel starts",
            SessionError::Failed { .. } => {
                "try again; a new kernel starts; report the line `internal error` of the host's log"
            }
            SessionError::Closed => "try again; a new host starts",
        };
        Some(hint.into())
    }
}

fn in_words(keys: &[SessionKey]) -> String {
    let words: Vec<String> = keys.iter().map(|key| format!("in {}", key.cwd.display())).collect();
    words.join(", ")
}
