//! The configuration of an agent that calls tools.

use std::path::PathBuf;

use cellist_live::{Actor, ActorKind, Author};
use cellist_session::orders::ClientEnvironment;
use cellist_settings::ToolMode;
use serde::{Deserialize, Serialize};

use crate::editor::EditorState;
use crate::mode::Mode;
use crate::redaction::Redaction;

/// The configuration of an agent that calls tools.
///
/// The client that starts the agent fills it in from flags and settings; the host receives it once,
/// at the start of the connection. No call can change it: mode, folders and limits are the user's
/// decisions. Credentials never travel in it: `environment` has them removed and `redaction` has
/// only their fingerprints.
///
/// The struct is flat because the host protocol sends it as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// The name of the agent, such as `claude-code`.
    pub name: String,
    /// The default session, for calls that name none.
    pub session: String,
    /// The mode, which limits the agent's actions.
    pub mode: Mode,
    /// The set of tools.
    pub tools: ToolSet,
    /// The tools that run code.
    pub tool_mode: ToolMode,
    /// The working folder.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: PathBuf,
    /// More folders whose files the agent may use.
    #[serde(with = "cellist_platform::portable_path")]
    pub roots: Vec<PathBuf>,
    /// Whether tools accept only a notebook that is attached and in the active editor.
    pub requires_active: bool,
    /// Whether several conversations share this caller. None of them has then seen all replies.
    #[serde(default)]
    pub is_shared: bool,
    /// Notebooks attached at the start.
    #[serde(with = "cellist_platform::portable_path")]
    pub attached: Vec<PathBuf>,
    /// The variables and settings that decide which kernels the agent gets.
    pub environment: ClientEnvironment,
    /// Removes credentials from every text that the agent reads.
    #[serde(default)]
    pub redaction: Redaction,
    /// The editor state of this conversation, if it differs from the last report of an editor.
    #[serde(default)]
    pub front: Option<EditorState>,
    /// File patterns hidden from the agent, besides files that hold secrets.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Paths that the agent may change although other programs run them.
    #[serde(default)]
    pub allowed: Vec<String>,
}

/// A set of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSet {
    /// Tools for notebooks and for running code.
    #[default]
    Notebook,
    /// Also a shell and files of all kinds.
    All,
}

impl Caller {
    /// Creates a caller with the notebook tools and no further rights or restrictions.
    pub fn new(name: &str, session: &str, mode: Mode, cwd: impl Into<PathBuf>) -> Caller {
        Caller {
            name: name.to_owned(),
            session: session.to_owned(),
            mode,
            tools: ToolSet::Notebook,
            tool_mode: ToolMode::Both,
            cwd: cwd.into(),
            roots: Vec::new(),
            requires_active: false,
            is_shared: false,
            attached: Vec::new(),
            environment: ClientEnvironment::default(),
            redaction: Redaction::default(),
            front: None,
            excluded: Vec::new(),
            allowed: Vec::new(),
        }
    }

    /// Returns the author of the agent's changes.
    pub fn author(&self) -> Author {
        Actor { id: self.session.clone(), name: self.name.clone(), kind: ActorKind::Agent }.into()
    }
}
