//! The errors of clients, and the failures of requests.

use std::io;
use std::path::PathBuf;

use cellist_assistant::RestoreError;
use cellist_live::{DocumentError, Unchanged};
use cellist_notebook::{self as notebook, Revision};
use cellist_platform::{FailureKind, without_number};
use cellist_session::orders::CannotOrder;
use cellist_session::sessions::SessionError;
use cellist_store::ErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::protocol::hello::HostState;
use crate::protocol::request::Reply;

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

/// The error of a client. [`Error::hint`] has the advice.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages explain the variants")]
pub enum Error {
    #[error("no host is running")]
    NoHost,
    #[error("{}: the state folder cannot be used: {}", .folder.display(), without_number(.source))]
    NoState { folder: PathBuf, source: io::Error },
    #[error("the host does not start: {reason}")]
    CannotStart { reason: String, hint: Option<String> },
    #[error("the host (process {pid}) does not respond: {reason}")]
    NoAnswer { pid: u32, reason: String },
    #[error("{} belongs to another user", .socket.display())]
    OtherUser { socket: PathBuf },
    #[error("the running host is cellist {}, this is cellist {ours}{}", .host.version, keeps(.host))]
    OtherVersion { ours: String, host: Box<HostState> },
    #[error("the host (process {}) has reached its limit of {} clients", .host.pid, .host.clients)]
    Full { host: Box<HostState> },
    #[error("the host exited before it replied")]
    Lost,
    #[error("unexpected reply from the host: {0:?}")]
    Unexpected(Box<Reply>),
    #[error("{}", .0.message)]
    Refused(Box<Failure>),
}

/// A failed request, as sent to clients. Programs match on `kind`, never on the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class, which decides on exit codes.
    pub class: FailureClass,
    /// The kind, for programs.
    pub kind: FailureKind,
    /// The fact, with its values.
    pub message: String,
    /// The advice.
    pub hint: Option<String>,
    /// The conflicting cells, with both versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Value>,
}

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The request is invalid. Nothing was changed.
    BadInput,
    /// There is no kernel to run the code.
    NoKernel,
    /// The change could not be saved, or conflicts with another change.
    NotSaved,
    /// The client cancelled the request before any code ran.
    Interrupted,
}

impl Failure {
    /// An invalid request.
    pub fn bad_input(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure {
            class: FailureClass::BadInput,
            kind,
            message: message.into(),
            hint: None,
            conflicts: Vec::new(),
        }
    }

    /// A missing kernel.
    pub fn no_kernel(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { class: FailureClass::NoKernel, ..Failure::bad_input(kind, message) }
    }

    /// A request that was cancelled before any code ran.
    pub fn interrupted() -> Failure {
        let failure = Failure::bad_input(FailureKind::Interrupted, "interrupted before anything ran");
        Failure { class: FailureClass::Interrupted, ..failure }
    }

    /// A bug in cellist. The request may be half done.
    pub fn internal(message: impl std::fmt::Display) -> Failure {
        Failure::bad_input(FailureKind::InternalError, message.to_string())
            .with_hint("try again; report the line `internal error` of the host's log")
    }

    /// A change whose base revision is outdated.
    pub fn stale(base: Revision, current: Revision) -> Failure {
        let message = format!("has changed since revision {base}: it is at {current} now");
        Failure { class: FailureClass::NotSaved, ..Failure::bad_input(FailureKind::Stale, message) }
            .with_hint("read it again and make the change on its current content")
    }

    /// Adds the advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        let class = match error {
            SessionError::ResetUnderWay { .. }
            | SessionError::NoSuchSession { .. }
            | SessionError::CannotStart { kind: FailureKind::NoSuchFolder, .. }
            | SessionError::Ambiguous { .. } => FailureClass::BadInput,
            SessionError::Full { .. }
            | SessionError::QueueFull { .. }
            | SessionError::Busy { .. }
            | SessionError::CannotStart { .. }
            | SessionError::Ended { .. }
            | SessionError::Failed { .. }
            | SessionError::Closed => FailureClass::NoKernel,
        };
        Failure { class, hint: error.hint(), ..Failure::bad_input(error.kind(), error.to_string()) }
    }
}

impl From<CannotOrder> for Failure {
    fn from(error: CannotOrder) -> Failure {
        let class = match error {
            CannotOrder::Settings(_) => FailureClass::BadInput,
            _ => FailureClass::NoKernel,
        };
        Failure { class, hint: error.hint(), ..Failure::bad_input(error.kind(), error.to_string()) }
    }
}

impl From<cellist_store::Error> for Failure {
    fn from(error: cellist_store::Error) -> Failure {
        let (class, kind) = match error.kind() {
            ErrorKind::Conflict => (FailureClass::NotSaved, FailureKind::Conflict),
            ErrorKind::CannotSave => (FailureClass::NotSaved, FailureKind::CannotSave),
            kind => (FailureClass::BadInput, kind.failure_kind()),
        };
        Failure { class, hint: error.hint(), ..Failure::bad_input(kind, error.to_string()) }
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Failure {
        let message = error.to_string();
        match error {
            DocumentError::Unchanged(unchanged) => match &*unchanged {
                Unchanged::Refused(refused) => {
                    let (class, kind, conflicts) = match refused {
                        notebook::Error::Conflicts(conflicts) => (
                            FailureClass::NotSaved,
                            FailureKind::Conflict,
                            conflicts.iter().map(conflict_json).collect(),
                        ),
                        _ => (FailureClass::BadInput, FailureKind::Refused, Vec::new()),
                    };
                    Failure { class, hint: refused.hint(), conflicts, ..Failure::bad_input(kind, message) }
                }
                Unchanged::UnknownRevision { .. } => {
                    Failure::bad_input(FailureKind::UnknownRevision, message)
                        .with_hint("read the notebook again and make the change on its current content")
                }
                Unchanged::Nothing(_) => Failure::bad_input(FailureKind::NothingToUndo, message),
                Unchanged::NoSuchHunk { .. } => Failure::bad_input(FailureKind::NoSuchChange, message),
            },
            DocumentError::Refused(_) => Failure::bad_input(FailureKind::Refused, message),
            DocumentError::NotSaved(_) => Failure {
                class: FailureClass::NotSaved,
                ..Failure::bad_input(FailureKind::CannotSave, message)
            },
            DocumentError::Closed => Failure::bad_input(FailureKind::Closed, message),
            DocumentError::Failed(_) => Failure::internal(message),
        }
    }
}

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Failure {
        match error {
            RestoreError::Answering => {
                Failure::bad_input(FailureKind::Answering, error.to_string()).with_hint("stop it first")
            }
            RestoreError::NoSuchTurn(_) => Failure::bad_input(FailureKind::NoSuchTurn, error.to_string()),
            RestoreError::Session(error) => error.into(),
            RestoreError::Document(error) => error.into(),
        }
    }
}

impl Error {
    /// The class, which decides on exit codes.
    pub fn class(&self) -> FailureClass {
        match self {
            Error::Refused(failure) => failure.class,
            Error::NoState { .. } => FailureClass::NotSaved,
            Error::NoHost
            | Error::CannotStart { .. }
            | Error::NoAnswer { .. }
            | Error::OtherUser { .. }
            | Error::OtherVersion { .. }
            | Error::Full { .. }
            | Error::Lost
            | Error::Unexpected(_) => FailureClass::NoKernel,
        }
    }

    /// The kind, for programs.
    pub fn kind(&self) -> FailureKind {
        match self {
            Error::NoHost => FailureKind::NoHost,
            Error::NoState { .. } => FailureKind::NoState,
            Error::CannotStart { .. } => FailureKind::HostDoesNotStart,
            Error::NoAnswer { .. } => FailureKind::HostDoesNotAnswer,
            Error::OtherUser { .. } => FailureKind::OtherUser,
            Error::OtherVersion { .. } => FailureKind::OtherVersion,
            Error::Full { .. } => FailureKind::HostFull,
            Error::Lost => FailureKind::HostLost,
            Error::Unexpected(_) => FailureKind::HostConfused,
            Error::Refused(failure) => failure.kind,
        }
    }

    /// The advice.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::NoHost => Some("`cellist serve --background` starts one".into()),
            Error::NoState { source, .. } => Some(match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space, or set CELLIST_HOME to another folder".into()
                }
                _ => "set CELLIST_HOME to a writable folder, or use --standalone, which stores \
                      nothing"
                    .into(),
            }),
            Error::CannotStart { hint, .. } => hint.clone(),
            Error::NoAnswer { .. } => Some("`cellist stop` ends it, with its sessions and open notebooks".into()),
            Error::OtherUser { .. } => {
                Some("a state folder is for one user: set CELLIST_HOME to one of your own".into())
            }
            Error::OtherVersion { .. } => {
                Some("`cellist stop` ends it, with its sessions and open notebooks; --standalone works without a host".into())
            }
            Error::Full { .. } => Some(
                "close programs that use it, or raise the host's limit of open files (`ulimit -n`)".into(),
            ),
            Error::Lost => Some("the state of its kernels is lost; try again, and a new host starts".into()),
            Error::Unexpected(_) => Some("`cellist stop` ends it".into()),
            Error::Refused(failure) => failure.hint.clone(),
        }
    }
}

/// A conflicting cell as JSON.
pub fn conflict_json(conflict: &notebook::Conflict) -> Value {
    let side = |version: &Option<(notebook::CellType, String)>| {
        version.as_ref().map(|(kind, source)| json!({ "cell_type": kind, "source": source }))
    };
    json!({
        "cell_index": conflict.index,
        "cell_id": conflict.id,
        "ours": side(&conflict.ours),
        "theirs": side(&conflict.theirs),
    })
}

fn keeps(host: &HostState) -> String {
    let counted = |count: usize, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {more}")),
    };
    let kept: Vec<String> = [
        counted(host.sessions, "session", "sessions"),
        counted(host.notebooks, "open notebook", "open notebooks"),
        counted(host.clients, "other client", "other clients"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if kept.is_empty() { String::new() } else { format!("; it has {}", kept.join(" and ")) }
}
