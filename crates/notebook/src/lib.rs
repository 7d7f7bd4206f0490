//! A notebook document that keeps every byte nobody edited.
//!
//! Bytes in, bytes out: this crate reads and edits nbformat 4 notebooks, shows them as cell-marked text and
//! takes that text back, compares and merges them. It knows no files, clocks, networks or kernels.

mod absorb;
mod align;
mod cell;
mod diff;
mod draft;
mod edit;
mod edits;
mod error;
mod id;
mod identity;
mod json;
mod lines;
mod merge;
mod metadata;
mod notebook;
mod operation;
mod outputs;
mod reinstate;
mod replace;
mod restore;
mod revision;
mod select;
mod text;
mod write;

pub use align::rising;
pub use cell::{Cell, CellType};
pub use diff::{CellChange, CellDiff, diff};
pub use draft::{Applied, Draft, Slot, Snapshot, SnapshotCell};
pub use error::{Candidate, Conflict, Error, GoneCell, Result};
pub use id::{CellId, CellRef, Ids};
pub use identity::{Tombstone, Tombstones};
pub use lines::{Hunk, hunks, merge_text, split};
pub use merge::{Merged, OnConflict, merge};
pub use notebook::{Notebook, Version, utf8};
pub use operation::{Action, Effect, Operation, Outcome};
pub use reinstate::Reinstated;
pub use replace::{replace_all, replace_all_in_cells, replace_once};
pub use revision::Revision;
pub use select::{LineRange, Selector, select_lines};
pub use text::{ParsedText, parse_text};
pub use write::Pieces;
