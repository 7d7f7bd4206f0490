//! Open notebooks. One task owns each notebook, orders all changes, saves them and publishes them to observers.

#![doc = include_str!("../README.md")]

mod act;
mod actor;
mod cell_text;
mod change_set;
mod condition;
mod document;
mod documents;
mod history;
mod journal;
mod log;
mod op;
#[cfg(test)]
#[path = "../tests/it/replica.rs"]
mod replica;
mod review;
mod running;
mod schedule;
#[cfg(test)]
mod simulation;
mod state;
mod task;
mod tombstones;
mod undo;
mod watcher;

// The replica of a client is shared with the integration tests.
#[cfg(test)]
extern crate self as cellist_live;

pub use actor::{Actor, ActorKind, Author, Tag};
pub use cell_text::{CellText, cells_of, follow, position};
pub use change_set::{BadChange, ChangeSet, Order, units};
pub use condition::{Activity, CellState, LastRun};
pub use document::{Document, DocumentError, DocumentView, NotebookReading};
pub use documents::Documents;
pub use history::{CannotUndo, history, record, undo};
pub use journal::{Entry, NothingToUndo, Undo};
pub use op::{Change, Content, Effect, Op, Submission, SubmissionRefusal};
pub use review::{Review, Scope, Stood, Unreviewed, Verdict, Was};
pub use running::{CellBatch, RunError};
pub use state::{Edited, PartlyUndone, Unchanged};
