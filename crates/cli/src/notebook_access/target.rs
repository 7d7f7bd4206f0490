//! A path argument: a file, optionally with a selector for a part of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cellist_notebook::Selector;

use crate::error::{CliError, FailureKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTarget {
    pub(crate) path: PathBuf,
    pub(crate) part: Option<Selector>,
}

impl PathTarget {
    /// Parses an argument. An existing file of the whole name takes precedence over a selector.
    pub(crate) fn parse(argument: &OsStr) -> Result<PathTarget, CliError> {
        let whole = Path::new(argument);
        let split = match argument.to_str() {
            Some(text) if whole.symlink_metadata().is_err() => {
                Selector::split(text).map_err(|error| CliError::rejected(&error))?
            }
            Some(_) | None => None,
        };
        Ok(match split {
            Some((path, part)) => PathTarget { path: path.into(), part: Some(part) },
            None => PathTarget { path: whole.to_owned(), part: None },
        })
    }

    pub(crate) fn is_notebook(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
    }

    /// Rejects the name of a new notebook that does not end in .ipynb.
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

    /// The error of a command that cannot work on lines or a single cell.
    pub(crate) fn not_whole(&self, command: &str) -> CliError {
        let path = self.path.display();
        let message = format!("{path}: `{command}` works on the whole notebook or on {path}:raw");
        CliError::input(FailureKind::InvalidSelector, message)
            .with_hint("to change one cell, use `cellist cell edit`")
    }
}
