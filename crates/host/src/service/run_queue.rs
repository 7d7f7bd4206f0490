//! The queue of page runs: runs of one notebook follow each other, in the order of their requests.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_session::execution::{Cancel, Canceller};
use tokio::sync::Notify;

/// The unfinished runs of pages, by notebook. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(super) struct RunQueue(Arc<Mutex<HashMap<PathBuf, VecDeque<QueuedRun>>>>);

struct QueuedRun {
    number: u64,
    canceller: Canceller,
    turn: Arc<Notify>,
}

/// The slot of a run in the queue of its notebook. Dropping it starts the next run.
pub struct RunSlot {
    queue: RunQueue,
    path: PathBuf,
    number: u64,
    turn: Arc<Notify>,
    pub(super) cancel: Option<Cancel>,
}

impl RunQueue {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, VecDeque<QueuedRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run to the end of the notebook's queue.
    pub(super) fn enter(&self, path: PathBuf, number: u64) -> RunSlot {
        let (canceller, cancel) = Cancel::channel();
        let turn = Arc::new(Notify::new());
        let mut all = self.lock();
        let queue = all.entry(path.clone()).or_default();
        if queue.is_empty() {
            turn.notify_one();
        }
        queue.push_back(QueuedRun { number, canceller, turn: turn.clone() });
        drop(all);
        RunSlot { queue: self.clone(), path, number, turn, cancel: Some(cancel) }
    }

    /// Cancels the running and the queued runs of a notebook. Returns whether there were any.
    pub(super) fn cancel(&self, path: &Path) -> bool {
        let all = self.lock();
        let Some(queue) = all.get(path) else { return false };
        queue.iter().for_each(|queued| queued.canceller.cancel());
        true
    }
}

impl RunSlot {
    /// Waits for the turn of the run.
    pub(super) async fn turn(&self) {
        self.turn.notified().await;
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut all = self.queue.lock();
        let Some(queue) = all.get_mut(&self.path) else { return };
        let was_first = queue.front().is_some_and(|first| first.number == self.number);
        queue.retain(|queued| queued.number != self.number);
        match queue.front() {
            Some(next) if was_first => next.turn.notify_one(),
            Some(_) => {}
            None => drop(all.remove(&self.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::RunQueue;

    async fn has_turn(place: &super::RunSlot) -> bool {
        tokio::time::timeout(std::time::Duration::from_millis(20), place.turn()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn runs_of_a_notebook_take_turns_and_those_of_another_do_not_wait() {
        let queue = RunQueue::default();
        let [first, second, third] = [1, 2, 3].map(|number| queue.enter("/a".into(), number));
        let other = queue.enter("/b".into(), 4);
        assert!(has_turn(&first).await && has_turn(&other).await);
        assert!(!has_turn(&second).await);
        drop(second);
        assert!(!has_turn(&third).await, "the first one still runs");
        drop(first);
        assert!(has_turn(&third).await);
        assert!(queue.cancel(Path::new("/a")));
        drop(third);
        assert!(!queue.cancel(Path::new("/a")));
    }
}
