//! What a path argument means: a file, or a part of one that a selector behind the path names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cellist_notebook::Selector;

use crate::error::{CliError, FailureKind};

/// A file, and the part of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTarget {
    pub(crate) path: PathBuf,
    pub(crate) part: Option<Selector>,
}

impl PathTarget {
    /// Takes an argument apart. A file whose whole name exists wins over a selector.
    pub(crate) fn parse(argument: &OsStr) -> Result<PathTarget, CliError> {
        let whole = Path::new(argument);
        let split = match argument.to_str() {
            Some(text) if whole.symlink_metadata().is_err() => {
                Selector::split(text).map_err(|error| CliError::asked(&error))?
            }
            Some(_) | None => None,
        };
        Ok(match split {
            Some((path, part)) => PathTarget { path: path.into(), part: Some(part) },
            None => PathTarget { path: whole.to_owned(), part: None },
        })
    }

    /// Whether the name is a notebook's.
    pub(crate) fn is_notebook(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
    }

    /// Refuses to make a notebook under a name that no other program would take for one.
    pub(crate) fn check_name(&self) -> Result<(), CliError> {
        if self.is_notebook() || self.path.exists() {
            return Ok(());
        }
        let path = self.path.display();
        let message = if self.path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".ipynb")) {
            format!("{path}: missing file name before .ipynb")
        } else {
            format!("{path}: a notebook's name must end in .ipynb")
        };
        Err(CliError::input(FailureKind::InvalidName, message))
    }

    /// The error of a command that cannot work on some lines or on one cell.
    pub(crate) fn not_whole(&self, command: &str) -> CliError {
        let path = self.path.display();
        let message = format!("{path}: `{command}` works on the whole notebook or on {path}:raw");
        CliError::input(FailureKind::InvalidSelector, message)
            .with_hint("to change one cell, use `cellist cell edit`")
    }
}
