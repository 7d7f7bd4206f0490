//! Output of earlier executions that comes while no execution takes it: it waits here for [`Kernel::late`], or for the
//! next execution of its kind.
//!
//! [`Kernel::late`]: crate::kernel::Kernel::late

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_output::{StreamName, notices};
use tokio::sync::Notify;

use crate::event::Event;
use crate::waiting::Waiting;

/// How much may wait, in bytes and in events, where the kernel cannot be made to wait. Past it the oldest goes, and a notice
/// says how much.
const MOST_BYTES: usize = 1024 * 1024;
const MOST_EVENTS: usize = 1024;

/// The queue of one kernel process. All clones are one.
#[derive(Clone, Default)]
pub(crate) struct LateOutput(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
    taken: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: Waiting,
    /// The owner of the first output that had to go, and the bytes that went.
    dropped: Option<(Arc<str>, u64)>,
}

impl LateOutput {
    /// Adds an output with its owner.
    pub(crate) fn push(&self, event: Event) {
        self.queue().waiting.event(event);
        self.0.arrived.notify_one();
    }

    /// Lets the oldest go, past the limit: for code that must not wait for the reader.
    pub(crate) fn shorten(&self) {
        self.queue().shorten();
    }

    /// Whether a backend that can let its kernel wait should read more.
    pub(crate) fn has_room(&self) -> bool {
        self.queue().waiting.has_room()
    }

    /// Returns when there is room.
    pub(crate) async fn until_room(&self) {
        while !self.has_room() {
            self.0.taken.notified().await;
        }
    }

    /// Takes the oldest, when there is one. May be dropped at any time.
    pub(crate) async fn next(&self) -> Event {
        loop {
            let next = self.queue().pop();
            if let Some(event) = next {
                self.0.taken.notify_one();
                return event;
            }
            self.0.arrived.notified().await;
        }
    }

    /// Takes all of it, for an execution that begins.
    pub(crate) fn take(&self) -> Vec<Event> {
        let mut queue = self.queue();
        std::iter::from_fn(|| queue.pop()).collect()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn shorten(&mut self) {
        while self.waiting.bytes() > MOST_BYTES || self.waiting.len() > MOST_EVENTS {
            let Some(Event::Late { owner, event }) = self.waiting.next() else { break };
            let (_, bytes) = self.dropped.get_or_insert((owner, 0));
            *bytes += event.size() as u64;
        }
    }

    fn pop(&mut self) -> Option<Event> {
        let Some((owner, bytes)) = self.dropped.take() else { return self.waiting.next() };
        let notice = notices::left_out(bytes, None).into();
        let event = Box::new(Event::Stream { name: StreamName::Stderr, bytes: notice, late: true });
        Some(Event::Late { owner, event })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(owner: &str, text: &str) -> Event {
        let bytes = text.to_owned().into();
        let event = Box::new(Event::Stream { name: StreamName::Stdout, bytes, late: true });
        Event::Late { owner: owner.into(), event }
    }

    #[tokio::test]
    async fn text_of_one_owner_is_put_together_and_taken_in_order() {
        let queue = LateOutput::default();
        for (owner, text) in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4")] {
            queue.push(late(owner, text));
        }
        assert_eq!(queue.next().await, late("a", "12"));
        assert_eq!(queue.take(), [late("b", "3"), late("a", "4")]);
        assert!(queue.take().is_empty());
    }

    #[tokio::test]
    async fn a_flood_that_no_caller_takes_keeps_its_end_and_says_how_much_went() {
        let queue = LateOutput::default();
        let text = "x".repeat(1024);
        for _ in 0..3 * 1024 {
            queue.push(late("a", &text));
            queue.shorten();
        }
        assert!(!queue.has_room());
        let events = queue.take();
        let sizes: usize = events[1..].iter().map(Event::size).sum();
        assert!(sizes <= MOST_BYTES, "{sizes}");
        let Event::Late { event, .. } = &events[0] else { panic!("{:?}", events[0]) };
        let Event::Stream { bytes, .. } = &**event else { panic!("{event:?}") };
        let gone = notices::left_out((3 * 1024 * 1024 - sizes) as u64, None);
        assert_eq!(bytes, gone.as_bytes());
        queue.until_room().await;
    }
}
