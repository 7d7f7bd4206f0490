//! Late output of a session between runs: collected, and delivered to the open notebook in batches.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::{Event, Future};
use tokio::time::Instant;

use super::task::SessionTask;

/// How long output is collected before delivery.
const TICK: Duration = Duration::from_millis(100);
/// Large deliveries are spaced out, so they take at most a tenth of the time.
const SHARE: u32 = 10;
/// Byte limit of undelivered output. Past it, the kernel has to wait.
const MOST_BYTES: usize = 1024 * 1024;
/// Limit of undelivered outputs. Past it, the kernel has to wait.
const MOST_EVENTS: usize = 1024;

/// How often a kernel that is being ended is asked for more output. A kernel buffers less than this.
const ROUNDS: usize = 4;

/// The open notebooks, as their sessions see them.
pub trait Notebooks: Send + Sync {
    /// Accepts output that came after the end of its execution, while no cell ran. Output for a closed notebook is
    /// dropped.
    fn put_late(&self, late: Vec<LateOutputs>) -> Future<'_, ()>;

    /// Reports that a session has lost this kernel with its state.
    fn lose_kernel<'a>(&'a self, kernel: &'a str) -> Future<'a, ()>;
}

/// Outputs that came after the end of their execution, in order.
#[derive(Clone, Debug)]
pub struct LateOutputs {
    /// Tag of the execution.
    pub tag: Arc<str>,
    /// The outputs.
    pub events: Vec<Event>,
}

impl LateOutputs {
    /// Groups outputs by execution. Keeps their order.
    pub fn by_tag(late: impl IntoIterator<Item = (Arc<str>, Event)>) -> Vec<LateOutputs> {
        let mut all: Vec<LateOutputs> = Vec::new();
        for (tag, event) in late {
            match all.iter_mut().find(|known| known.tag == tag) {
                Some(known) => known.events.push(event),
                None => all.push(LateOutputs { tag, events: vec![event] }),
            }
        }
        all
    }
}

/// Late output that was not delivered yet.
#[derive(Default)]
pub(super) struct LateQueue {
    events: Vec<(Arc<str>, Event)>,
    bytes: usize,
    due: Option<Instant>,
    /// Earliest time of the next delivery.
    rests: Option<Instant>,
}

impl LateQueue {
    pub(super) fn hear(&mut self, event: Event) {
        let Event::Late { owner, event } = event else { return };
        self.bytes += event.size();
        self.events.push((owner, *event));
        let soon = Instant::now() + TICK;
        self.due.get_or_insert(self.rests.map_or(soon, |rests| rests.max(soon)));
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES && self.events.len() < MOST_EVENTS
    }

    /// Returns the time of the next delivery.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    fn take(&mut self) -> Vec<LateOutputs> {
        (self.bytes, self.due) = (0, None);
        LateOutputs::by_tag(std::mem::take(&mut self.events))
    }
}

impl SessionTask {
    /// Delivers the collected late output.
    pub(super) async fn put_late(&mut self) {
        let late = self.late.take();
        if late.is_empty() {
            return;
        }
        if let Some(notebooks) = self.inner.notebooks.get() {
            let begun = Instant::now();
            notebooks.put_late(late).await;
            self.late.rests = Some(Instant::now() + begun.elapsed() * SHARE);
        }
    }

    /// Collects and delivers all pending late output, in a limited number of rounds.
    pub(super) async fn drain_late(&mut self) {
        for _ in 0..ROUNDS {
            let Some(live) = &self.live else { return };
            while self.late.has_room() {
                tokio::select! {
                    biased;
                    event = live.kernel.late() => self.late.hear(event),
                    () = std::future::ready(()) => break,
                }
            }
            let is_all = self.late.has_room();
            self.put_late().await;
            if is_all {
                return;
            }
        }
    }
}
