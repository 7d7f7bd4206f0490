//! Events that wait for their listener: how much of them there may be, and in what size they are handed on.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use cellist_output::{MimeData, StreamName};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::EVENTS;
use super::pipes::CHUNK;
use crate::event::Event;

/// What may wait here, in bytes, before nothing more is read.
const MOST: usize = 256 * 1024;

/// An event of this size is sent only to a listener that has taken all before it, so that few are in memory.
pub(super) const LARGE: usize = 1024 * 1024;

/// Events that the listener has no room for yet. Text of one stream is put together.
#[derive(Default)]
pub(super) struct Waiting {
    events: VecDeque<Unsent>,
    bytes: usize,
}

enum Unsent {
    Text { name: StreamName, late: bool, bytes: Bytes, more: BytesMut },
    Event(Event, usize),
}

impl Waiting {
    /// Whether more may be read.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < MOST && self.events.len() < EVENTS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn text(&mut self, name: StreamName, bytes: Bytes, late: bool) {
        self.bytes += bytes.len();
        if let Some(Unsent::Text { name: last, late: last_late, bytes: first, more }) = self.events.back_mut()
            && (*last, *last_late) == (name, late)
            && first.len() + more.len() + bytes.len() <= CHUNK
        {
            if more.is_empty() {
                more.extend_from_slice(first);
                first.clear();
            }
            more.extend_from_slice(&bytes);
            return;
        }
        self.events.push_back(Unsent::Text { name, late, bytes, more: BytesMut::new() });
    }

    pub(super) fn event(&mut self, event: Event) {
        let size = size(&event);
        self.bytes += size;
        self.events.push_back(Unsent::Event(event, size));
    }

    pub(super) fn next_is_large(&self) -> bool {
        matches!(self.events.front(), Some(Unsent::Event(_, size)) if *size >= LARGE)
    }

    pub(super) fn next(&mut self) -> Option<Event> {
        let next = self.events.pop_front()?;
        self.bytes -= match &next {
            Unsent::Text { bytes, more, .. } => bytes.len() + more.len(),
            Unsent::Event(_, size) => *size,
        };
        Some(next.into())
    }

    /// Tells a listener all of it, beside whatever happens next when it takes its time.
    pub(super) fn hand_over(self, events: mpsc::Sender<Event>) {
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
            Unsent::Text { name, late, bytes, more } => {
                let bytes = if more.is_empty() { bytes } else { more.freeze() };
                Event::Stream { name, bytes, late }
            }
            Unsent::Event(event, _) => event,
        }
    }
}

/// About how much memory an event takes.
fn size(event: &Event) -> usize {
    match event {
        Event::Display { data, .. } | Event::UpdateDisplay { data, .. } | Event::Result { data, .. } => data
            .iter()
            .map(|(_, data)| match data {
                MimeData::Text(text) => text.len(),
                MimeData::Json(json) => json.get().len(),
            })
            .sum(),
        Event::Error { message, traceback, .. } => {
            message.len() + traceback.iter().map(String::len).sum::<usize>()
        }
        Event::Stream { bytes, .. } => bytes.len(),
        Event::Late { event, .. } => size(event),
        Event::Started { .. }
        | Event::ClearOutput { .. }
        | Event::InputRequested
        | Event::Progress { .. }
        | Event::WidgetText { .. }
        | Event::OutputLost
        | Event::OutputRefused { .. }
        | Event::Done(_)
        | Event::Died(_) => 0,
    }
}

/// Nobody listens any more.
pub(super) struct Closed;

/// Waits until the listener has room for one more; for a large event, until it has taken all before it.
pub(super) async fn room(
    events: Option<&mpsc::Sender<Event>>,
    large: bool,
) -> std::result::Result<mpsc::OwnedPermit<Event>, Closed> {
    let Some(events) = events else { return std::future::pending().await };
    if large {
        drop(events.reserve_many(events.max_capacity()).await.map_err(|_| Closed)?);
    }
    events.clone().reserve_owned().await.map_err(|_| Closed)
}
