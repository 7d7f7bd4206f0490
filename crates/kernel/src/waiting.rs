//! Events that wait for their listener: the bound on their size, and the size of the pieces handed on.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use cellist_output::StreamName;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::event::Event;

/// Events that a listener may be behind before they wait here.
pub(crate) const EVENTS: usize = 64;

/// Text of one stream is put together up to this size.
pub(crate) const CHUNK: usize = 64 * 1024;

/// The bytes that may wait here before reading stops.
const MOST: usize = 256 * 1024;

/// An event of this size is sent only to a listener that has taken all before it, so that few are in memory.
pub(crate) const LARGE: usize = 1024 * 1024;

/// Events that the listener has no room for yet. Text of one stream is put together.
#[derive(Default)]
pub(crate) struct Waiting {
    events: VecDeque<Unsent>,
    bytes: usize,
}

enum Unsent {
    Text { writer: EventWriter, bytes: Bytes, more: BytesMut },
    Event(Event, usize),
}

/// Where text comes from.
#[derive(PartialEq)]
struct EventWriter {
    name: StreamName,
    late: bool,
    /// The tag of the earlier execution that wrote it, where that is known.
    owner: Option<Arc<str>>,
}

impl Waiting {
    /// Whether more may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < MOST && self.events.len() < EVENTS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(crate) fn text(&mut self, name: StreamName, bytes: Bytes, late: bool) {
        self.text_of(EventWriter { name, late, owner: None }, bytes);
    }

    fn text_of(&mut self, writer: EventWriter, bytes: Bytes) {
        self.bytes += bytes.len();
        if let Some(Unsent::Text { writer: last, bytes: first, more }) = self.events.back_mut()
            && *last == writer
            && first.len() + more.len() + bytes.len() <= CHUNK
        {
            if more.is_empty() {
                more.extend_from_slice(first);
                first.clear();
            }
            more.extend_from_slice(&bytes);
            return;
        }
        self.events.push_back(Unsent::Text { writer, bytes, more: BytesMut::new() });
    }

    pub(crate) fn event(&mut self, event: Event) {
        let event = match event {
            Event::Late { owner, event } => match *event {
                Event::Stream { name, bytes, late } => {
                    return self.text_of(EventWriter { name, late, owner: Some(owner) }, bytes);
                }
                event => Event::Late { owner, event: Box::new(event) },
            },
            event => event,
        };
        let size = event.size();
        self.bytes += size;
        self.events.push_back(Unsent::Event(event, size));
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// How many bytes wait.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn next_is_large(&self) -> bool {
        matches!(self.events.front(), Some(Unsent::Event(_, size)) if *size >= LARGE)
    }

    pub(crate) fn next(&mut self) -> Option<Event> {
        let next = self.events.pop_front()?;
        self.bytes -= match &next {
            Unsent::Text { bytes, more, .. } => bytes.len() + more.len(),
            Unsent::Event(_, size) => *size,
        };
        Some(next.into())
    }

    /// Tells a listener all of it, beside whatever happens next when it takes its time.
    pub(crate) fn hand_over(self, events: mpsc::Sender<Event>) {
        let mut rest = self.events;
        while let Some(event) = rest.pop_front() {
            match events.try_send(event.into()) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(event)) => {
                    tokio::spawn(async move {
                        let mut next = Some(event);
                        while let Some(event) = next {
                            if events.send(event).await.is_err() {
                                break;
                            }
                            next = rest.pop_front().map(Event::from);
                        }
                    });
                    return;
                }
            }
        }
    }
}

impl From<Unsent> for Event {
    fn from(unsent: Unsent) -> Event {
        match unsent {
            Unsent::Text { writer: EventWriter { name, late, owner }, bytes, more } => {
                let bytes = if more.is_empty() { bytes } else { more.freeze() };
                let text = Event::Stream { name, bytes, late };
                match owner {
                    Some(owner) => Event::Late { owner, event: Box::new(text) },
                    None => text,
                }
            }
            Unsent::Event(event, _) => event,
        }
    }
}

/// Nobody listens any more.
pub(crate) struct Closed;

/// Waits until the listener has room for one more; for a large event, until it has taken all before it.
pub(crate) async fn room(
    events: Option<&mpsc::Sender<Event>>,
    large: bool,
) -> std::result::Result<mpsc::OwnedPermit<Event>, Closed> {
    let Some(events) = events else { return std::future::pending().await };
    if large {
        drop(events.reserve_many(events.max_capacity()).await.map_err(|_| Closed)?);
    }
    events.clone().reserve_owned().await.map_err(|_| Closed)
}
