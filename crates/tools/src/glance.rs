//! What agents look at, for whoever shows that to people.

use std::path::PathBuf;

use cellist_live::Actor;
use cellist_notebook::CellId;
use tokio::sync::broadcast;

/// How many are kept for someone who is slow to take them; older ones are not worth waiting for.
const KEPT: usize = 64;

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

/// Where glances are told.
#[derive(Clone, Debug)]
pub(crate) struct Glances(broadcast::Sender<Glance>);

impl Default for Glances {
    fn default() -> Glances {
        Glances(broadcast::Sender::new(KEPT))
    }
}

impl Glances {
    pub(crate) fn tell(&self, glance: Glance) {
        // Mostly nobody listens.
        drop(self.0.send(glance));
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Glance> {
        self.0.subscribe()
    }
}
