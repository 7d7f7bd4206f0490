//! What agents look at, for whoever shows that to people.

use std::path::PathBuf;

use cellist_live::Actor;
use cellist_notebook::CellId;

/// How many glances the channel keeps for a slow receiver; older ones are not worth waiting for.
pub(crate) const KEPT: usize = 64;

/// An agent read cells of a notebook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// The notebook.
    pub path: PathBuf,
    /// Who read.
    pub actor: Actor,
    /// What was read.
    pub cells: Vec<CellId>,
}
