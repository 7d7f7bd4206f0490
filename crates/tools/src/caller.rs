//! Who calls tools: an agent, as the person who started it has set it up. None of it can be changed by a call.

use std::path::PathBuf;

use cellist_live::{Actor, ActorKind, Author};
use cellist_session::orders::ClientEnvironment;
use cellist_settings::ToolMode;
use serde::{Deserialize, Serialize};

use crate::editor::Editor;
use crate::mode::Mode;
use crate::redaction::Redaction;

/// An agent that calls tools.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// What it calls itself, as `claude-code`.
    pub name: String,
    /// Its own session, for calls that name none.
    pub session: String,
    /// How far it may go.
    pub mode: Mode,
    /// Which tools it has.
    pub tools: ToolSet,
    /// Which of those that run code.
    pub tool_mode: ToolMode,
    /// The folder that it works in.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
    /// Other folders whose files it may use.
    #[serde(with = "cellist_platform::portable_path")]
    pub roots: Vec<PathBuf>,
    /// Whether a notebook counts only when it is attached and in the active editor.
    pub requires_active: bool,
    /// Whether conversations that cannot be told apart call as this one, so that none of them has seen all replies.
    #[serde(default)]
    pub is_shared: bool,
    /// Notebooks that were attached when it was started.
    #[serde(with = "cellist_platform::portable_path")]
    pub attached: Vec<PathBuf>,
    /// What decides which kernels it gets.
    pub environment: ClientEnvironment,
    /// What is taken out of all that it reads. It knows what was withheld, and does not have it.
    #[serde(default)]
    pub redaction: Redaction,
    /// What is in front of the person whom it answers, where that is not what an editor has reported.
    #[serde(default)]
    pub front: Option<Editor>,
    /// Names of files that are kept from it, besides those that hold secrets.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Paths that it may change although other programs run what is there.
    #[serde(default)]
    pub allowed: Vec<String>,
}

/// Which tools a caller has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// Those for notebooks and for running code.
    #[default]
    Notebook,
    /// Also a shell, and files of every kind.
    All,
}

impl Caller {
    /// As the one who changes a notebook.
    pub fn author(&self) -> Author {
        Actor { id: self.session.clone(), name: self.name.clone(), kind: ActorKind::Agent }.into()
    }
}
