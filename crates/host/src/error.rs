//! Why something could not be asked, or was not done.

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

/// The result of asking something.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong. The message names values; advice is in [`Error::hint`].
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum Error {
    #[error("no host is running")]
    NoHost,
    #[error("{}: the state folder cannot be used: {}", .folder.display(), without_number(.source))]
    NoState { folder: PathBuf, source: io::Error },
    #[error("the host does not start: {reason}")]
    CannotStart { reason: String, hint: Option<String> },
    #[error("a host is there (process {pid}), but does not answer: {reason}")]
    NoAnswer { pid: u32, reason: String },
    #[error("{} belongs to another user", .socket.display())]
    OtherUser { socket: PathBuf },
    #[error("the host that is running is cellist {}, this is cellist {ours}{}", .host.version, keeps(.host))]
    OtherVersion { ours: String, host: Box<HostState> },
    #[error("the host (process {}) has {} clients and takes no more", .host.pid, .host.clients)]
    Full { host: Box<HostState> },
    #[error("the host ended before it answered")]
    Lost,
    #[error("the host answered something else: {0:?}")]
    Unexpected(Box<Reply>),
    #[error("{}", .0.message)]
    Refused(Box<Failure>),
}

/// Why a request was not carried out, as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure it is.
    pub class: FailureClass,
    /// A word for programs.
    pub kind: FailureKind,
    /// What is wrong, with the values in it.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Cells that two sides changed, with both versions, for programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Value>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// What was asked for makes no sense here; nothing was changed.
    BadInput,
    /// There is nothing to run code with.
    NoKernel,
    /// It could not be saved, or somebody else's change stands against it.
    NotSaved,
    /// The client stopped it before anything ran.
    Interrupted,
}

impl Failure {
    /// What was asked for makes no sense here.
    pub fn bad_input(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure {
            class: FailureClass::BadInput,
            kind,
            message: message.into(),
            hint: None,
            conflicts: Vec::new(),
        }
    }

    /// There is nothing to run code with.
    pub fn no_kernel(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { class: FailureClass::NoKernel, ..Failure::bad_input(kind, message) }
    }

    /// The client stopped it before anything ran.
    pub fn interrupted() -> Failure {
        let failure = Failure::bad_input(FailureKind::Interrupted, "interrupted before anything ran");
        Failure { class: FailureClass::Interrupted, ..failure }
    }

    /// A fault of ours: what was asked for is not done, or not to its end.
    pub fn internal(message: impl std::fmt::Display) -> Failure {
        Failure::bad_input(FailureKind::InternalError, message.to_string())
            .with_hint("ask again; report the line `internal error` of the host's log")
    }

    /// A notebook is not as it was when a change of all of it was made.
    pub fn stale(base: Revision, current: Revision) -> Failure {
        let message = format!("has changed since revision {base}: it is at {current} now");
        Failure { class: FailureClass::NotSaved, ..Failure::bad_input(FailureKind::Stale, message) }
            .with_hint("read it again and make the change on its current content")
    }

    /// Says what to do about it.
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
    /// What kind of failure it is.
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

    /// A word for programs.
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

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::NoHost => Some("`cellist serve --background` starts one".into()),
            Error::NoState { source, .. } => Some(match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room there, or name another folder with CELLIST_HOME".into()
                }
                _ => "name a folder that can be written to with CELLIST_HOME, or use --standalone, which \
                      keeps nothing"
                    .into(),
            }),
            Error::CannotStart { hint, .. } => hint.clone(),
            Error::NoAnswer { .. } => Some("`cellist stop` ends it, with all that it keeps".into()),
            Error::OtherUser { .. } => {
                Some("a state folder is for one user: set CELLIST_HOME to one of your own".into())
            }
            Error::OtherVersion { .. } => {
                Some("`cellist stop` ends it, with all that it keeps; --standalone does without it".into())
            }
            Error::Full { .. } => Some(
                "end programs that use it, or raise the limit of open files (`ulimit -n`) of the host".into(),
            ),
            Error::Lost => Some("what its kernels knew is gone; ask again, and a new host starts".into()),
            Error::Unexpected(_) => Some("`cellist stop` ends it".into()),
            Error::Refused(failure) => failure.hint.clone(),
        }
    }
}

/// A cell that two sides changed, for programs.
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
