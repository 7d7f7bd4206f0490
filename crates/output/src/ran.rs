//! Two facts about code that ran, which receipts, reports and replies share: the backend that ran it, and how it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The way a kernel is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Our own runner, which needs nothing but Python.
    Runner,
    /// A Jupyter kernel over ZeroMQ.
    Jupyter,
    /// A Jupyter kernel behind a gateway.
    Gateway,
    /// A shell, whose commands are processes of their own.
    Shell,
    /// A recorded transcript.
    Scripted,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Runner => "runner",
            Backend::Jupyter => "jupyter",
            Backend::Gateway => "gateway",
            Backend::Shell => "shell",
            Backend::Scripted => "scripted",
        })
    }
}

/// How a piece of code ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It ran to its end.
    Ok,
    /// It raised something, or its kernel died.
    Error,
    /// It ran longer than it may.
    Timeout,
    /// The caller cancelled it.
    Cancelled,
}

impl Status {
    /// A word for readers.
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "failed",
            Status::Timeout => "timed out",
            Status::Cancelled => "interrupted",
        }
    }
}
