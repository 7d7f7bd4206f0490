//! A notebook document that keeps every byte nobody edited.
//!
//! Bytes in, bytes out: this crate reads and edits nbformat 4 notebooks, shows them as cell-marked text and
//! takes that text back, compares and merges them. It knows no files, clocks, networks or kernels.
//!
//! # Bytes
//!
//! A notebook that is parsed into values and written back comes out different: `1e0` becomes `1.0`, a 30-digit integer
//! a float, `\u00e9` becomes `é`, unknown keys vanish. So the file's bytes are kept. One iterative pass checks the whole
//! text and records the spans of cells and keys.
//!
//! - A cell is a span of bytes plus the values changed since. A new cell is laid out like its neighbour.
//! - Writing is a list of pieces: runs of the old bytes with the changed values spliced in. An unchanged notebook is one
//!   piece; saving 52 MB after a one-line edit needs no second buffer.
//! - A changed source keeps the bytes of unchanged lines. Indent, newline, spaces and escapes follow the existing text.
//!
//! # Drafts
//!
//! Every change of sources is a draft: the wanted cells in order, each a cell of the base or a new one. Cell-marked text
//! and batches of operations become drafts. A draft made on an older revision is merged with the changes since. A
//! revision is a hash of the file's content.
//!
//! # Identity
//!
//! A cell is named by its stored id. A cell without one has a handle: letters of the file's revision and a number at load,
//! random letters on insertion. Handles never follow from a position. When another program has written the file, a cell
//! keeps its handle if its content is unique, if equal cells between the same neighbours are as many as before, or if it
//! is alike beyond doubt. Every other handle is retired: a tombstone records the fate of the cell, and a call on it is
//! refused with the most similar cells.
//!
//! # Merging
//!
//! Cells are paired first by proven identity, then by content, likeness and place; the latter share text and never a name.
//! The newer file is the ground for our changes, so bytes that only the other side touched stay. Sources merge by line,
//! other values by key. A conflict is refused with both versions.

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
