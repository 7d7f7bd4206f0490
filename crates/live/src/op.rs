//! Submissions of clients to an open notebook, and the replies.

use std::sync::Arc;

use cellist_notebook::{CellId, CellType};
use serde::{Deserialize, Serialize};

use super::ChangeSet;
use super::actor::{Actor, Tag};
use super::change_set::BadChange;

/// One operation on cells. Cells have ids, and positions refer to the cell before them. So an operation keeps its
/// meaning when others change the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Op {
    /// Insert a cell after another, or first. It gets the id given, or a new one. Metadata, attachments, outputs
    /// and execution count come from `content`.
    Insert {
        cell: Option<CellId>,
        after: Option<CellId>,
        kind: CellType,
        source: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
    },
    /// Delete a cell.
    Delete { cell: CellId },
    /// Move a cell behind another, or to the start.
    Move { cell: CellId, after: Option<CellId> },
    /// Change the type.
    Retype { cell: CellId, kind: CellType },
    /// Change parts of the source.
    Change { cell: CellId, change: ChangeSet },
    /// Replace the source.
    Write { cell: CellId, source: String },
    /// Clear outputs and execution count.
    Clear { cell: CellId },
    /// Merge the metadata, attachments and outputs of other cells, present or deleted, into a cell.
    Absorb { cell: CellId, from: Vec<CellId> },
    /// Undo the last `Clear`, `Absorb`, or loss of outputs by `Retype` of a cell. Values that changed since stay.
    Refit { cell: CellId },
}

/// Source of everything in an inserted cell except its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Content {
    /// A cell of this notebook, as it is or as it was when last deleted. A cell restored from its own tombstone has
    /// the same bytes.
    Cell { cell: CellId, outputs: bool },
    /// The JSON of a whole cell. It is validated and formatted like this notebook.
    Json(String),
}

/// Several operations as one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The version that the client knew.
    pub base: u64,
    /// Identifies the submission for its client.
    pub tag: Option<Tag>,
    /// Operations in order, applied all or none.
    pub ops: Vec<Op>,
}

/// An effect of a change, which a client can apply to its copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Effect {
    /// A new cell after another, or first.
    Inserted { cell: CellId, after: Option<CellId>, kind: CellType, source: String },
    /// A cell was deleted.
    Deleted { cell: CellId },
    /// A cell was moved behind another, or to the start.
    Moved { cell: CellId, after: Option<CellId> },
    /// The type of a cell changed.
    Retyped { cell: CellId, kind: CellType },
    /// The source of a cell changed.
    Changed { cell: CellId, change: ChangeSet },
    /// The outputs or the execution count of a cell changed; the newest view has them.
    Outputs { cell: CellId },
    /// Other values of a cell, or of the notebook, changed; the newest view has them.
    Metadata { cell: Option<CellId> },
}

/// A version of a notebook, as effects on the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The new version.
    pub version: u64,
    /// Author.
    pub actor: Actor,
    /// Turn.
    pub turn: Option<String>,
    /// Identifies the submission for its client.
    pub tag: Option<Tag>,
    /// Effects, in order.
    pub effects: Vec<Effect>,
}

/// Why a submission was refused. None of its operations was applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SubmissionRefusal {
    /// Others changed the same cells.
    #[error("the notebook is at version {version}, and the cells of the change have changed since")]
    Behind {
        /// The newest version.
        version: u64,
        /// All changes since the client's version, to rebase on.
        changes: Vec<Arc<Change>>,
    },
    /// The client's version is too old, or from another owner.
    #[error("the notebook is at version {version}, and version {base} is no longer known")]
    TooFar {
        /// The client's version.
        base: u64,
        /// The newest version. The client has to reload the whole view.
        version: u64,
    },
    /// A named cell does not exist.
    #[error("there is no cell `{cell}`")]
    NoSuchCell {
        /// Cell id.
        cell: CellId,
    },
    /// A new cell cannot have this id.
    #[error("a new cell cannot be called `{cell}`: {why}")]
    BadName {
        /// Cell id.
        cell: CellId,
        /// Reason.
        why: &'static str,
    },
    /// The content of an inserted cell is not a valid cell.
    #[error("cell `{cell}` cannot be inserted whole: {problem}")]
    BadContent {
        /// Id for the new cell.
        cell: CellId,
        /// Reason.
        problem: String,
    },
    /// The source cannot be edited by offsets.
    #[error("cell `{cell}` holds half a surrogate pair and cannot be edited in part")]
    ReadOnly {
        /// Cell id.
        cell: CellId,
    },
    /// The change does not fit the text.
    #[error("cell `{cell}`: {problem}")]
    BadChange {
        /// Cell id.
        cell: CellId,
        /// Reason.
        problem: BadChange,
    },
}
