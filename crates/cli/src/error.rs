//! The error of a command: a kind for programs, a message, a hint and an exit status.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use cellist_host::NotebookError;
use cellist_notebook as notebook;
pub(crate) use cellist_platform::FailureKind;
use cellist_session::orders::CannotOrder;
use cellist_store::{ErrorKind, Problem};
use serde_json::{Value, json};

/// The exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Different,
    CodeFailed,
    /// Bad usage or bad input; nothing was changed.
    BadInput,
    /// No Python or kernel to run code.
    NoKernel,
    /// The result was not saved, or there is a conflict.
    NotSaved,
    /// The code reached its time limit.
    TimedOut,
    /// A signal stopped the command.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Different | Exit::CodeFailed => 1,
            Exit::BadInput => 2,
            Exit::NoKernel => 3,
            Exit::NotSaved => 4,
            Exit::TimedOut => 124,
            Exit::Interrupted => 130,
        })
    }
}

#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) exit: Exit,
    /// Further fields of the JSON object.
    details: Vec<(&'static str, Value)>,
}

impl CliError {
    pub(crate) fn new(kind: FailureKind, exit: Exit, message: impl Into<String>) -> CliError {
        CliError { kind, message: message.into(), hint: None, exit, details: Vec::new() }
    }

    /// Invalid input.
    pub(crate) fn input(kind: FailureKind, message: impl Into<String>) -> CliError {
        CliError::new(kind, Exit::BadInput, message)
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CliError {
        let kind = if error.kind() == io::ErrorKind::NotFound {
            FailureKind::NotFound
        } else {
            FailureKind::Unreadable
        };
        CliError::input(kind, format!("{}: {}", path.display(), reason(error)))
    }

    /// A file that cannot be written.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> CliError {
        let message = format!("{}: cannot write: {}", path.display(), reason(error));
        CliError::new(FailureKind::CannotSave, Exit::NotSaved, message)
    }

    /// An invalid notebook, or an invalid request about one.
    pub(crate) fn notebook(path: &Path, error: &notebook::Error) -> CliError {
        CliError::rejected(error).about(&path.display().to_string())
    }

    /// An invalid request that does not concern a file.
    pub(crate) fn rejected(error: &notebook::Error) -> CliError {
        let exit = match error {
            notebook::Error::Conflicts(_) => Exit::NotSaved,
            _ => Exit::BadInput,
        };
        let mut failure = CliError::new(kind_of(error), exit, error.to_string());
        failure.hint = error.hint();
        if let notebook::Error::Conflicts(conflicts) = error {
            let conflicts = conflicts.iter().map(cellist_host::conflict_json).collect();
            failure.details.push(("conflicts", Value::Array(conflicts)));
        }
        failure
    }

    /// A kernel that does not start or fails.
    pub(crate) fn kernel(error: &cellist_kernel::Error) -> CliError {
        let (kind, exit) = match error {
            cellist_kernel::Error::NoFolder { .. } => (FailureKind::NoSuchFolder, Exit::BadInput),
            cellist_kernel::Error::Gateway { .. } => (FailureKind::NoGateway, Exit::NoKernel),
            _ => (FailureKind::NoKernel, Exit::NoKernel),
        };
        let message = match error {
            cellist_kernel::Error::Io { what, source } => format!("{what}: {}", reason(source)),
            _ => error.to_string(),
        };
        let mut failure = CliError::new(kind, exit, message);
        failure.hint = error.hint();
        failure
    }

    /// Prefixes the message with its subject.
    pub(crate) fn about(mut self, what: &str) -> CliError {
        self.message = format!("{what}: {}", self.message);
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_detail(mut self, key: &'static str, value: impl Into<Value>) -> CliError {
        self.details.push((key, value.into()));
        self
    }

    /// The error as the object that `--json` prints.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({ "kind": self.kind, "message": self.message, "hint": self.hint });
        for (key, value) in &self.details {
            error[key] = value.clone();
        }
        json!({ "error": error })
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<cellist_host::Error> for CliError {
    fn from(error: cellist_host::Error) -> CliError {
        let exit = match error.class() {
            cellist_host::FailureClass::BadInput => Exit::BadInput,
            cellist_host::FailureClass::NoKernel => Exit::NoKernel,
            cellist_host::FailureClass::NotSaved => Exit::NotSaved,
            cellist_host::FailureClass::Interrupted => Exit::Interrupted,
        };
        let mut failure = CliError::new(error.kind(), exit, error.to_string());
        failure.hint = error.hint();
        match error {
            cellist_host::Error::Refused(refused) if !refused.conflicts.is_empty() => {
                failure.with_detail("conflicts", refused.conflicts)
            }
            _ => failure,
        }
    }
}

impl From<NotebookError> for CliError {
    fn from(error: NotebookError) -> CliError {
        match error {
            NotebookError::File(error) => error.into(),
            NotebookError::Host { path, error } => CliError::from(error).about(&path.display().to_string()),
        }
    }
}

impl From<CannotOrder> for CliError {
    fn from(error: CannotOrder) -> CliError {
        match error {
            CannotOrder::Settings(faults) => faults.into(),
            error => {
                let mut failure = CliError::new(error.kind(), Exit::NoKernel, error.to_string());
                failure.hint = error.hint();
                failure
            }
        }
    }
}

impl From<cellist_store::Error> for CliError {
    fn from(error: cellist_store::Error) -> CliError {
        let about = |problem| CliError::notebook(error.path(), problem);
        match (error.kind(), error.problem()) {
            (_, Problem::NotANotebook(problem) | Problem::Refused(problem) | Problem::Conflict(problem)) => {
                about(problem)
            }
            (kind, _) => {
                let (kind, exit) = match kind {
                    ErrorKind::NotFound => (FailureKind::NotFound, Exit::BadInput),
                    ErrorKind::Unreadable => (FailureKind::Unreadable, Exit::BadInput),
                    ErrorKind::NotANotebook => (FailureKind::InvalidNotebook, Exit::BadInput),
                    ErrorKind::BadInput => match error.problem() {
                        Problem::UnknownRevision { .. } => (FailureKind::UnknownRevision, Exit::BadInput),
                        _ => (FailureKind::AlreadyExists, Exit::BadInput),
                    },
                    ErrorKind::Conflict => (FailureKind::Stale, Exit::NotSaved),
                    ErrorKind::CannotSave => (FailureKind::CannotSave, Exit::NotSaved),
                };
                let mut failure = CliError::new(kind, exit, error.to_string());
                failure.hint = error.hint();
                match error.problem() {
                    Problem::ChangedSince { base, current }
                    | Problem::ChangedSinceRead { base, current }
                    | Problem::UnknownRevision { base, current } => failure
                        .with_detail("base", base.to_string())
                        .with_detail("current", current.to_string()),
                    _ => failure,
                }
            }
        }
    }
}

/// The operating system's reason in plain words.
pub(crate) fn reason(error: &io::Error) -> String {
    cellist_platform::in_words(error)
}

fn kind_of(error: &notebook::Error) -> FailureKind {
    use notebook::Error as E;
    match error {
        E::NotUtf8 { .. }
        | E::InvalidJson { .. }
        | E::NotAnObject { .. }
        | E::NoVersion
        | E::BadVersion { .. }
        | E::TooOld { .. }
        | E::TooNew { .. }
        | E::NoCells
        | E::CellsNotArray { .. }
        | E::CellNotObject { .. }
        | E::NoCellType { .. }
        | E::UnknownCellType { .. }
        | E::NoSource { .. }
        | E::BadSource { .. }
        | E::BadSourceLine { .. }
        | E::NotACell { .. } => FailureKind::InvalidNotebook,
        E::NoSuchCell { .. }
        | E::NoSuchPosition { .. }
        | E::NoSuchTarget { .. }
        | E::NoSuchId { .. }
        | E::AmbiguousId { .. }
        | E::CellGone { .. } => FailureKind::NoSuchCell,
        E::MissingContent { .. } => FailureKind::MissingContent,
        E::NotOperations { .. }
        | E::BadOperation { .. }
        | E::AlreadyDeleted { .. }
        | E::SameTarget { .. } => FailureKind::InvalidOperation,
        E::TextBeforeMarker { .. } | E::BadMarker { .. } | E::EmptyText { .. } => FailureKind::InvalidText,
        E::BadSelector { .. } | E::OutOfRange { .. } => FailureKind::InvalidSelector,
        E::EmptyOld | E::OldNotFound { .. } => FailureKind::NoMatch,
        E::OldNotUnique { .. } => FailureKind::SeveralMatches,
        E::Conflicts(_) => FailureKind::Conflict,
    }
}
