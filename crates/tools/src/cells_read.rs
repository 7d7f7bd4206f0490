//! Events for clients that show users which cells an agent reads.

use std::path::PathBuf;

use cellist_live::Actor;
use cellist_notebook::CellId;

/// Capacity of the channel. A slow receiver loses old events, which are of no use by then.
pub(crate) const KEPT: usize = 64;

/// An agent has read cells of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellsRead {
    /// The notebook.
    pub path: PathBuf,
    /// The agent.
    pub actor: Actor,
    /// The cells.
    pub cells: Vec<CellId>,
}
