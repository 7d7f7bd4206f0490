//! The reason that a command failed, and a hint.

use std::fmt;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: Option<String>,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None }
    }

    /// A failure that the command has told already.
    pub(crate) fn told() -> Self {
        Self { message: None, hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.iter().try_for_each(|message| writeln!(f, "error: {message}"))?;
        self.hint.iter().try_for_each(|hint| writeln!(f, "hint: {hint}"))
    }
}
