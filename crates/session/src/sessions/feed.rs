//! The event feed of a run: cells that began and ended, and the progress of the running code. Any number of
//! observers read it; a late observer reads it from the beginning.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::view::CallView;
use crate::execution::CellReport;

/// A cell that is about to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellStep {
    /// Index in the notebook.
    pub index: usize,
    /// Cell id.
    pub cell: String,
    /// Number of cells of this run before it.
    pub position: usize,
    /// Number of cells of this run.
    pub count: usize,
    /// Title for display.
    pub title: String,
    /// Source code.
    pub source: String,
}

/// An event of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// A cell begins.
    Began(CellStep),
    /// A cell has ended.
    Ended(Arc<CellReport>),
}

/// A run as its observers see it: the events from some point on, and the progress of the running code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunState {
    /// Number of events before the first one here.
    pub skipped: usize,
    /// Events, in order.
    pub events: Vec<RunEvent>,
    /// The running code, or the last one.
    pub call: Option<CallView>,
}

impl RunState {
    /// Total number of events so far.
    pub fn count(&self) -> usize {
        self.skipped + self.events.len()
    }

    /// Returns the events after the first `known`.
    pub fn after(&self, known: usize) -> &[RunEvent] {
        self.events.get(known.saturating_sub(self.skipped)..).unwrap_or_default()
    }

    /// Returns the state without the first `known` events.
    #[must_use]
    pub fn since(&self, known: usize) -> RunState {
        let events = self.after(known).to_vec();
        RunState { skipped: self.count() - events.len(), events, call: self.call.clone() }
    }

    /// Adds the events and the progress of a newer state.
    pub fn merge(&mut self, newer: RunState) {
        self.events.extend_from_slice(newer.after(self.count()));
        self.call = newer.call;
    }

    /// Returns the running cell.
    pub fn running(&self) -> Option<&CellStep> {
        match self.events.last()? {
            RunEvent::Began(step) => Some(step),
            RunEvent::Ended(_) => None,
        }
    }
}

/// The event feed of one run.
///
/// - Ownership: the run writes; clones write to the same feed. Observers hold receivers, and the feed ends when all
///   clones are dropped.
/// - Order: events are kept in the order of [`RunFeed::tell`] and are never dropped.
/// - Slow observers: a receiver skips to the newest state, which contains all events. The writer never waits.
/// - Errors: a feed without observers is no error.
#[derive(Clone, Debug, Default)]
pub struct RunFeed(watch::Sender<RunState>);

impl RunFeed {
    /// Adds an event.
    pub fn tell(&self, event: RunEvent) {
        self.0.send_modify(|state| {
            // The next cell has no progress yet.
            if matches!(event, RunEvent::Began(_)) {
                state.call = None;
            }
            state.events.push(event);
        });
    }

    /// Sets the progress of the running code.
    pub fn show(&self, call: CallView) {
        self.0.send_modify(|state| state.call = Some(call));
    }

    /// Returns a receiver of the current and later states.
    pub fn watch(&self) -> watch::Receiver<RunState> {
        self.0.subscribe()
    }
}
