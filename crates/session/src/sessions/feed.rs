//! The one feed of a run: the cells that began and ended, and how the code that runs stands. Any number of observers read
//! it, and one that comes late reads it from the beginning.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::view::CallView;
use crate::execution::CellReport;

/// A cell that is about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its place in the notebook.
    pub index: usize,
    /// Its id.
    pub cell: String,
    /// How many of the cells to run are before it.
    pub position: usize,
    /// How many cells are to run in all.
    pub count: usize,
    /// What to call it.
    pub title: String,
    /// Its code.
    pub source: String,
}

/// Something that happened in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// A cell begins.
    Began(Step),
    /// A cell has ended.
    Ended(Arc<CellReport>),
}

/// A run as its observers see it: all that happened from some event on, and how its code stands now.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunState {
    /// How many events came before the first one here.
    pub skipped: usize,
    /// What happened, in order.
    pub events: Vec<RunEvent>,
    /// The code that runs, or ran last.
    pub call: Option<CallView>,
}

impl RunState {
    /// How many events there were.
    pub fn count(&self) -> usize {
        self.skipped + self.events.len()
    }

    /// The events that come after the first `known`.
    pub fn after(&self, known: usize) -> &[RunEvent] {
        self.events.get(known.saturating_sub(self.skipped)..).unwrap_or_default()
    }

    /// The state without the first `known` events.
    #[must_use]
    pub fn since(&self, known: usize) -> RunState {
        let events = self.after(known).to_vec();
        RunState { skipped: self.count() - events.len(), events, call: self.call.clone() }
    }

    /// Goes on with a newer state of the same run.
    pub fn merge(&mut self, newer: RunState) {
        self.events.extend_from_slice(newer.after(self.count()));
        self.call = newer.call;
    }

    /// The cell that runs.
    pub fn running(&self) -> Option<&Step> {
        match self.events.last()? {
            RunEvent::Began(step) => Some(step),
            RunEvent::Ended(_) => None,
        }
    }
}

/// The feed of a run, for the run to write. Clones are one feed.
#[derive(Clone, Debug, Default)]
pub struct RunFeed(watch::Sender<RunState>);

impl RunFeed {
    /// Tells of something that happened.
    pub fn tell(&self, event: RunEvent) {
        self.0.send_modify(|state| {
            // The next cell has shown nothing yet.
            if matches!(event, RunEvent::Began(_)) {
                state.call = None;
            }
            state.events.push(event);
        });
    }

    /// Shows how the code that runs stands.
    pub fn show(&self, call: CallView) {
        self.0.send_modify(|state| state.call = Some(call));
    }

    /// The run, now and from now on. A slow observer skips to the newest state, which has all events.
    pub fn watch(&self) -> watch::Receiver<RunState> {
        self.0.subscribe()
    }
}
