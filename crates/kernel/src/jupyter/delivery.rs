//! The channel to one execution's reader, and the events that wait for it.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::reading::OutputItem;
use crate::event::Event;
use crate::kernel::ExecutionId;

/// The channel to one execution's reader, and the events that wait for it.
pub(super) struct Delivery {
    pub(super) id: ExecutionId,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) backlog: VecDeque<(OutputItem, usize)>,
    pub(super) held: usize,
}

impl Delivery {
    pub(super) fn new(id: ExecutionId, events: mpsc::Sender<Event>) -> Delivery {
        Delivery { id, events, backlog: VecDeque::new(), held: 0 }
    }

    pub(super) fn push(&mut self, item: OutputItem, size: usize) {
        if self.events.is_closed() {
            return;
        }
        self.backlog.push_back((item, size));
        self.held += size;
        while let Ok(permit) = self.events.clone().try_reserve_owned() {
            match self.next() {
                Some(event) => drop(permit.send(event)),
                None => break,
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Event> {
        loop {
            let event = match &mut self.backlog.front_mut()?.0 {
                OutputItem::Text { name, text, late } => {
                    text.next_piece().map(|bytes| Event::Stream { name: *name, bytes, late: *late })
                }
                OutputItem::Event(_) => None,
            };
            if event.is_some() {
                return event;
            }
            let (item, size) = self.backlog.pop_front()?;
            self.held -= size;
            if let OutputItem::Event(event) = item {
                return Some(event);
            }
        }
    }

    pub(super) fn waits_for(&self) -> Option<mpsc::Sender<Event>> {
        (!self.backlog.is_empty()).then(|| self.events.clone())
    }

    pub(super) fn clear(&mut self) {
        self.backlog.clear();
        self.held = 0;
    }
}

type Room = Result<mpsc::OwnedPermit<Event>, mpsc::error::SendError<()>>;

pub(super) async fn until_room(events: Option<mpsc::Sender<Event>>) -> Room {
    match events {
        Some(events) => events.reserve_owned().await,
        None => std::future::pending().await,
    }
}
