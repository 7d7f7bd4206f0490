//! What a client asks of an open notebook, and what it is told in return.

use std::sync::Arc;

use cellist_notebook::{CellId, CellType};
use serde::{Deserialize, Serialize};

use super::ChangeSet;
use super::actor::{Actor, Tag};
use super::change_set::BadChange;

/// One change of the cells. Cells are named, and places are told by the cell that stands before them, so that
/// it means the same whatever others did elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are named for what they are")]
pub enum Op {
    /// Put a new cell behind another, or first. It gets the name given, or a fresh one.
    /// Metadata, attachments, outputs and execution count are those of `content`.
    Insert {
        cell: Option<CellId>,
        after: Option<CellId>,
        kind: CellType,
        source: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
    },
    /// Take a cell out.
    Delete { cell: CellId },
    /// Let a cell stand behind another, or first.
    Move { cell: CellId, after: Option<CellId> },
    /// Change the type.
    Retype { cell: CellId, kind: CellType },
    /// Change the source here and there.
    Change { cell: CellId, change: ChangeSet },
    /// Replace the source.
    Write { cell: CellId, source: String },
    /// Take outputs and execution count off.
    Clear { cell: CellId },
    /// Add the metadata, attachments and outputs of other cells, which are or were in the notebook, to a cell that they
    /// are merged into.
    Absorb { cell: CellId, from: Vec<CellId> },
    /// Take back the last `Clear` or `Absorb` of a cell, or the loss of its outputs by the last `Retype`, that was not
    /// taken back yet. Values that changed since stay.
    Refit { cell: CellId },
}

/// Where an inserted cell gets all that is not its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Content {
    /// From a cell of this notebook, as it stands or as it was when it was deleted last. A cell that is inserted from
    /// its own tombstone comes back byte for byte.
    Cell { cell: CellId, outputs: bool },
    /// From the JSON of a whole cell. It is checked, and given the layout of this notebook.
    Json(String),
}

/// Several operations as one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The version that the client knew.
    pub base: u64,
    /// How the client knows it again.
    pub tag: Option<Tag>,
    /// What to do, in order: all of it or nothing.
    pub ops: Vec<Op>,
}

/// One thing that a change did, enough for a client to do the same to its copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named for what they are")]
pub enum Effect {
    /// There is a new cell behind another, or first.
    Inserted { cell: CellId, after: Option<CellId>, kind: CellType, source: String },
    /// A cell is gone.
    Deleted { cell: CellId },
    /// A cell stands behind another now, or first.
    Moved { cell: CellId, after: Option<CellId> },
    /// A cell is of another type.
    Retyped { cell: CellId, kind: CellType },
    /// The source of a cell is another.
    Changed { cell: CellId, change: ChangeSet },
    /// The outputs or the execution count of a cell are others; the newest view has them.
    Outputs { cell: CellId },
    /// Other values of a cell, or of the notebook, are others; the newest view has them.
    Metadata { cell: Option<CellId> },
}

/// One version of a notebook, told by what made it from the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The version that it made.
    pub version: u64,
    /// Who made it.
    pub actor: Actor,
    /// As part of which turn.
    pub turn: Option<String>,
    /// How the client that submitted it knows it again.
    pub tag: Option<Tag>,
    /// What it did, in order.
    pub effects: Vec<Effect>,
}

/// Why a submission was not taken. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Others changed what it is about.
    #[error("the notebook is at version {version}, and what the change is about has changed since")]
    Behind {
        /// The newest version.
        version: u64,
        /// All changes since the version that the client knew, to rebase on.
        changes: Vec<Arc<Change>>,
    },
    /// So much has happened since that it is not known any more, or the version is of another time.
    #[error("the notebook is at version {version}, and version {base} is not known any more")]
    TooFar {
        /// The version that the client knew.
        base: u64,
        /// The newest version. A client takes the whole view and goes on from there.
        version: u64,
    },
    /// A cell that it names does not exist.
    #[error("there is no cell `{cell}`")]
    NoSuchCell {
        /// The cell.
        cell: CellId,
    },
    /// A new cell cannot have this name.
    #[error("a new cell cannot be called `{cell}`: {why}")]
    BadName {
        /// The name.
        cell: CellId,
        /// Why not.
        why: &'static str,
    },
    /// The content of an inserted cell is not a cell.
    #[error("cell `{cell}` cannot be inserted whole: {problem}")]
    BadContent {
        /// The name that it was to get.
        cell: CellId,
        /// The problem of the content.
        problem: String,
    },
    /// The source cannot be edited by offsets.
    #[error("cell `{cell}` holds half a surrogate pair and cannot be edited in part")]
    ReadOnly {
        /// The cell.
        cell: CellId,
    },
    /// The change does not fit the text.
    #[error("cell `{cell}`: {problem}")]
    BadChange {
        /// The cell.
        cell: CellId,
        /// What is wrong.
        problem: BadChange,
    },
}
