//! The messages for a client that follows a notebook: first all of it, then the changes.

#![expect(missing_docs, reason = "the names of the fields explain them")]

use std::collections::BTreeMap;

use cellist_live::{Activity, Actor, CellText, Change, DocumentView, LastRun, Review};
use cellist_notebook::CellId;
use serde::{Deserialize, Serialize};

use super::outputs::SentCellOutputs;

/// A whole notebook, with its outputs, kernel and participants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FullNotebook {
    /// The real path of its file.
    pub path: String,
    /// The name of the file.
    pub name: String,
    /// The language of its code.
    pub language: String,
    /// Its version. Updates continue from it.
    pub version: u64,
    /// The cells, in order.
    pub cells: Vec<CellText>,
    /// The outputs of cells that have any.
    pub outputs: BTreeMap<CellId, SentCellOutputs>,
    /// The conditions of code cells.
    pub conditions: BTreeMap<CellId, CellCondition>,
    /// The changes that wait for review.
    pub review: Review,
    pub status: NotebookStatus,
    pub kernel: NotebookKernel,
    /// The other participants.
    pub participants: Vec<Participant>,
    /// The number of the last submission of each requested client.
    pub heard: BTreeMap<String, u64>,
}

/// The changes of a notebook since the last update. A missing field is unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NotebookUpdate {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<CellId, SentCellOutputs>,
    /// The conditions that changed; `null` for a cell that has none any more.
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
    /// Whether changes are missing, so that the client must follow the notebook again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_behind: bool,
}

impl NotebookUpdate {
    /// The update for a client that must follow the notebook again.
    pub(crate) fn behind() -> NotebookUpdate {
        NotebookUpdate { is_behind: true, ..NotebookUpdate::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let NotebookUpdate { changes, outputs, conditions, review, status, kernel, participants, is_behind } =
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
    /// The result of its last run, if it is known.
    pub last: Option<LastRun>,
    /// The reasons why its outputs are outdated.
    pub stale: Vec<String>,
}

/// The save state of a notebook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NotebookStatus {
    /// The newest version that is on disk.
    pub saved: u64,
    /// The error of the last attempt to save, if it failed.
    pub problem: Option<String>,
    /// The notices for users, newest last.
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
    pub state: NotebookKernelState,
    pub name: String,
    /// A new one after each start.
    pub id: Option<String>,
    /// Whether its code continues after an interrupt.
    pub stuck: bool,
    /// The time until it ends after the last client has left, in milliseconds.
    pub stays: Option<u64>,
    /// The reason why the last kernel ended, if there is none now.
    pub gone: Option<String>,
}

/// The state of a notebook's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotebookKernelState {
    /// There is no kernel.
    None,
    Starting,
    Idle,
    Busy,
    /// It is idle, but does not respond.
    Silent,
    Dead,
}

/// A user or an agent at a notebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    pub actor: Actor,
    /// The current cells. An agent may read several at once.
    pub cells: Vec<CellId>,
    pub doing: ParticipantActivity,
}

/// The activity of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParticipantActivity {
    Looking,
    Editing,
    Reading,
    Running,
}

/// The active and selected cells of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PageFocus {
    /// The active cell.
    pub cell: Option<CellId>,
    pub selected: Vec<CellId>,
    /// Whether the keyboard is in the active cell.
    pub editing: bool,
}

/// The changes of one turn, for the history view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSummary {
    pub turn: String,
    pub actor: Actor,
    /// When it ended, in milliseconds since 1970.
    pub until: u64,
    /// The changes of cells, one line each.
    pub deeds: Vec<String>,
    pub is_undone: bool,
}

/// The reason why a run ended before its last cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStop {
    /// The cell that ended it; none if it was stopped between cells.
    pub cell: Option<CellId>,
    /// The reason, in a line.
    pub error: String,
    /// The number of cells that did not run.
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
