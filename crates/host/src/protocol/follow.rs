//! What a client is told of a notebook that it follows: all of it at first, then what is new.

#![expect(missing_docs, reason = "the fields are named for what they are")]

use std::collections::BTreeMap;

use cellist_live::{Activity, Actor, CellText, Change, DocumentView, LastRun, Review};
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use super::outputs::CellOutputs;

/// All of a notebook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotebookWhole {
    /// Its file, with no link in its path.
    pub path: String,
    /// The name of the file.
    pub name: String,
    /// The language of its code.
    pub language: String,
    /// The version that this is.
    pub version: u64,
    /// The cells, in order.
    pub cells: Vec<CellText>,
    /// The outputs of cells that have any.
    pub outputs: BTreeMap<CellId, CellOutputs>,
    /// The conditions of code cells.
    pub conditions: BTreeMap<CellId, CellCondition>,
    /// The changes that wait for review.
    pub review: Review,
    pub status: NotebookStatus,
    pub kernel: NotebookKernel,
    /// Others who are at the notebook.
    pub participants: Vec<Participant>,
    /// The number of the last submission of each client that was asked about.
    pub heard: BTreeMap<String, u64>,
}

/// What is new of a notebook. Whatever is left out is as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NotebookNews {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<CellId, CellOutputs>,
    /// The conditions of cells that are another; nothing for a cell that has none any more.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<CellId, Option<CellCondition>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<NotebookStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<NotebookKernel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participants: Option<Vec<Participant>>,
    /// Changes are missing: the client has to follow the notebook anew.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_behind: bool,
}

impl NotebookNews {
    /// The news for a client that has to follow the notebook anew.
    pub(crate) fn behind() -> NotebookNews {
        NotebookNews { is_behind: true, ..NotebookNews::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let NotebookNews { changes, outputs, conditions, review, status, kernel, participants, is_behind } =
            self;
        changes.is_empty()
            && outputs.is_empty()
            && conditions.is_empty()
            && review.is_none()
            && status.is_none()
            && kernel.is_none()
            && participants.is_none()
            && !is_behind
    }
}

/// The condition of a code cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellCondition {
    pub activity: Activity,
    /// The result of its last run, as far as it is known.
    pub last: Option<LastRun>,
    /// Why its outputs do not hold any more, in words.
    pub stale: Vec<String>,
}

/// How far a notebook is saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotebookStatus {
    /// The newest version that is on disk.
    pub saved: u64,
    /// Why the last attempt to save it failed.
    pub problem: Option<String>,
    /// Notices for people, newest last.
    pub notices: Vec<String>,
}

impl From<&DocumentView> for NotebookStatus {
    fn from(view: &DocumentView) -> NotebookStatus {
        NotebookStatus { saved: view.saved, problem: view.problem.clone(), notices: view.notices.clone() }
    }
}

/// The kernel of a notebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotebookKernel {
    pub state: KernelState,
    pub name: String,
    /// Another after each start.
    pub id: Option<String>,
    /// Whether its code was interrupted and has not stopped.
    pub stuck: bool,
    /// How long it stays after the last page, agent or terminal has left, in milliseconds.
    pub stays: Option<u64>,
    /// Why the last one is gone, where there is none.
    pub gone: Option<String>,
}

/// What the kernel of a notebook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelState {
    /// There is no kernel.
    None,
    Starting,
    Idle,
    Busy,
    /// It is idle, but does not answer.
    Silent,
    Dead,
}

/// Someone who is at a notebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    pub actor: Actor,
    /// The cells that they are at; agents may read several at once.
    pub cells: Vec<CellId>,
    pub doing: Doing,
}

/// What a participant does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Looking,
    Editing,
    Reading,
    Running,
}

/// The cells that a person at a page has in front of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Focus {
    /// The active cell.
    pub cell: Option<CellId>,
    pub selected: Vec<CellId>,
    /// Whether the keyboard is in the active cell.
    pub editing: bool,
}

/// The changes of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    pub turn: String,
    pub actor: Actor,
    /// When it ended, in milliseconds since 1970.
    pub until: u64,
    /// The changes of cells, in words.
    pub deeds: Vec<String>,
    pub is_undone: bool,
}

/// Why a run ended before its last cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStop {
    /// The cell that ended it; none when it was stopped between cells.
    pub cell: Option<CellId>,
    /// The reason, in a line.
    pub error: String,
    /// How many cells were not run.
    pub not_run: usize,
}

/// The notebooks and folders of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FolderListing {
    pub path: String,
    pub parent: Option<String>,
    pub folders: Vec<String>,
    pub notebooks: Vec<String>,
}
