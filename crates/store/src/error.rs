//! Errors of reading and saving a notebook's file.

use std::io;
use std::path::{Path, PathBuf};

use cellist_notebook::Revision;
use cellist_platform::FailureKind;
use cellist_platform::in_words;

/// The result of an operation on a notebook's file.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a file could not be read, changed or saved. The message names the file.
/// [`Error::hint`] has the advice.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .path.display())]
pub struct Error {
    path: PathBuf,
    problem: Problem,
    notices: Vec<String>,
}

/// The class of an error, for callers that choose an exit code or a response by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The file, or its folder, does not exist.
    NotFound,
    /// The file exists and cannot be read.
    Unreadable,
    /// The file can be read, but it is not a notebook.
    NotANotebook,
    /// The request does not fit this notebook.
    BadInput,
    /// Another program changed the same lines. The file was left alone.
    Conflict,
    /// The file could not be written. Its content is unchanged.
    CannotSave,
}

impl ErrorKind {
    /// The same for programs outside.
    pub fn failure_kind(self) -> FailureKind {
        match self {
            ErrorKind::NotFound => FailureKind::NotFound,
            ErrorKind::Unreadable => FailureKind::Unreadable,
            ErrorKind::NotANotebook => FailureKind::InvalidNotebook,
            ErrorKind::BadInput => FailureKind::AlreadyExists,
            ErrorKind::Conflict => FailureKind::Stale,
            ErrorKind::CannotSave => FailureKind::CannotSave,
        }
    }
}

/// The fault of the file that an [`Error`] names.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message documents each variant")]
pub enum Problem {
    #[error("no such file")]
    NoSuchFile,
    #[error("the folder {} does not exist", .folder.display())]
    NoSuchFolder { folder: PathBuf },
    #[error("is a folder, not a file")]
    IsFolder,
    #[error("is not a regular file")]
    NotAFile,
    #[error("cannot be read: {}", in_words(.0))]
    Unreadable(io::Error),
    #[error("{0}")]
    NotANotebook(cellist_notebook::Error),

    #[error("{0}")]
    Refused(cellist_notebook::Error),
    #[error("already exists")]
    AlreadyExists,
    #[error("{0}")]
    OutOfReach(String),

    #[error("{0}")]
    Conflict(cellist_notebook::Error),
    #[error("has changed since revision {base}: it is at {current} now")]
    ChangedSince { base: Revision, current: Revision },
    #[error("has changed since it was last read: it was at revision {base} and is at {current} now")]
    ChangedSinceRead { base: Revision, current: Revision },
    #[error("revision {base} is unknown; the file is at {current}")]
    UnknownRevision { base: Revision, current: Revision },

    #[error("is read-only")]
    ReadOnly,
    #[error("cannot be saved: {}", in_words(.0))]
    CannotSave(io::Error),
    #[error("cannot be saved: another cellist process{} is changing it", by(*.pid))]
    Locked { pid: Option<u32> },
    #[error("cannot be saved: another program keeps changing it")]
    KeepsChanging,
    #[error("cannot be saved: the file was deleted or moved")]
    Gone,
    #[error("cannot be saved: the state folder {} cannot be used: {}", .folder.display(), in_words(.error))]
    NoState { folder: PathBuf, error: io::Error },
}

impl Error {
    /// Makes an error for the path that the caller gave.
    pub fn new(path: &Path, problem: impl Into<Problem>) -> Error {
        Error { path: path.to_owned(), problem: problem.into(), notices: Vec::new() }
    }

    /// Adds notices for the user.
    pub fn with_notices(mut self, notices: Vec<String>) -> Error {
        self.notices.extend(notices);
        self
    }

    /// The file, as the caller named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The fault of the file.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Notices for the user, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        match &self.problem {
            Problem::NoSuchFile | Problem::NoSuchFolder { .. } => ErrorKind::NotFound,
            Problem::IsFolder | Problem::NotAFile | Problem::Unreadable(_) => ErrorKind::Unreadable,
            Problem::NotANotebook(_) => ErrorKind::NotANotebook,
            Problem::Refused(_)
            | Problem::AlreadyExists
            | Problem::OutOfReach(_)
            | Problem::UnknownRevision { .. } => ErrorKind::BadInput,
            Problem::Conflict(_) | Problem::ChangedSince { .. } | Problem::ChangedSinceRead { .. } => {
                ErrorKind::Conflict
            }
            Problem::ReadOnly
            | Problem::CannotSave(_)
            | Problem::Locked { .. }
            | Problem::KeepsChanging
            | Problem::Gone
            | Problem::NoState { .. } => ErrorKind::CannotSave,
        }
    }

    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.problem {
            Problem::NoSuchFile => "check the name, or make a notebook with `cellist new`",
            Problem::NoSuchFolder { .. } => "make the folder first",
            Problem::IsFolder => "name a notebook inside it",
            Problem::NotAFile => "a notebook is a regular file",
            Problem::Unreadable(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "ask its owner for permission to read it"
            }
            Problem::Unreadable(_) | Problem::OutOfReach(_) => return None,
            Problem::NotANotebook(error) | Problem::Refused(error) | Problem::Conflict(error) => {
                return error.hint();
            }
            Problem::AlreadyExists => "choose another name, or delete the file first",
            Problem::ChangedSince { .. } => "read it again and make the change on its current content",
            Problem::ChangedSinceRead { base, .. } => {
                return Some(format!(
                    "read it again, or pass --base {base} to merge with the current content"
                ));
            }
            Problem::UnknownRevision { .. } => {
                "read the notebook again and make the change on its current content"
            }
            Problem::ReadOnly => {
                return Some(format!("make it writable first: chmod u+w {}", self.path.display()));
            }
            Problem::CannotSave(error) => return save_hint(error),
            Problem::Locked { .. } => "try again when it is done",
            Problem::KeepsChanging => "try again when the other program is done",
            Problem::Gone => "check where the file is and try again",
            Problem::NoState { .. } => "set CELLIST_HOME to a folder that you can write to",
        };
        Some(hint.into())
    }
}

impl From<cellist_notebook::Error> for Problem {
    fn from(error: cellist_notebook::Error) -> Problem {
        match error {
            cellist_notebook::Error::Conflicts(_) => Problem::Conflict(error),
            _ => Problem::Refused(error),
        }
    }
}

fn save_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "the file is unchanged; free some disk space and try again",
        io::ErrorKind::QuotaExceeded => "the file is unchanged; free some of your disk quota and try again",
        io::ErrorKind::FileTooLarge => {
            "the file is unchanged; raise the limit on the size of files (`ulimit -f`) and try again"
        }
        io::ErrorKind::PermissionDenied => {
            "ask for permission to write to the file or its folder, or save a copy elsewhere"
        }
        io::ErrorKind::ReadOnlyFilesystem => "copy the notebook to a writable folder",
        _ => return None,
    };
    Some(hint.into())
}

fn by(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}
