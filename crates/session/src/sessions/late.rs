//! Late output of a session between runs: gathered, and handed to the open notebook in portions.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::{Event, Future};
use tokio::time::Instant;

use super::task::Task;

/// How long output is gathered before the notebook gets it.
const TICK: Duration = Duration::from_millis(100);
/// Long outputs are written so rarely that at most a tenth of the time goes into it.
const SHARE: u32 = 10;
/// How many bytes are gathered before the kernel has to wait.
const MOST_BYTES: usize = 1024 * 1024;
/// How many outputs are gathered before the kernel has to wait.
const MOST_EVENTS: usize = 1024;

/// How often a kernel that is given up is asked for more: a kernel keeps less than this.
const ROUNDS: usize = 4;

/// Open notebooks, as the sessions of their kernels see them.
pub trait Notebooks: Send + Sync {
    /// Takes output that came after the end of its execution, while no cell of the notebook ran. A notebook that is not
    /// open has no place for it.
    fn put_late(&self, late: Vec<LateOutputs>) -> Future<'_, ()>;

    /// Hears that a session has lost this kernel, with all that ran on it.
    fn lose_kernel<'a>(&'a self, kernel: &'a str) -> Future<'a, ()>;
}

/// Outputs that came after the end of their execution, in order.
#[derive(Clone, Debug)]
pub struct LateOutputs {
    /// The tag of the execution.
    pub tag: Arc<str>,
    /// The outputs.
    pub events: Vec<Event>,
}

impl LateOutputs {
    /// Puts outputs with their tags in order by execution.
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

/// Late output that the notebook has not got yet.
#[derive(Default)]
pub(super) struct Gathered {
    events: Vec<(Arc<str>, Event)>,
    bytes: usize,
    due: Option<Instant>,
    /// Not before this the notebook is given more.
    rests: Option<Instant>,
}

impl Gathered {
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

    /// When the notebook should get it.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    fn take(&mut self) -> Vec<LateOutputs> {
        (self.bytes, self.due) = (0, None);
        LateOutputs::by_tag(std::mem::take(&mut self.events))
    }
}

impl Task {
    /// Gives the notebook the late output that was gathered.
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

    /// Gives the notebook all late output that has come, as far as it comes to an end.
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
