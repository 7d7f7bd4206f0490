//! The requests of one client, whatever transport carries them. Each request is a task of its own, which writes its messages
//! itself: a task that waits for a client that reads slowly keeps no other client waiting.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cellist_host::wire::{Down, Up};
use cellist_host::{Client, Event, Failure, FailureKind, Reply, Request, RunPlace};
use cellist_platform::contained::contained;
use cellist_platform::fault;
use cellist_session::execution::{Cancel, Canceller, Wish};
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::host::Shared;

/// The least time between two events of one request: what happens in between nobody could read.
const PACE: Duration = Duration::from_millis(100);

/// A transport's way to a client.
pub(crate) trait Writer: Send + 'static {
    /// A message as the transport carries it.
    fn encode(down: &Down) -> io::Result<Vec<u8>>;

    /// Writes a message. The task that reads from the client notices that it is gone.
    fn write(&mut self, message: Vec<u8>) -> impl Future<Output = ()> + Send;
}

/// The requests of a client that are not answered yet. They are dropped with it; code that they started runs on.
pub(crate) struct Exchange<W> {
    connection: Connection<W>,
    requests: JoinSet<u64>,
    stops: HashMap<u64, Canceller>,
}

/// The service, and the way back to a client.
pub(crate) struct Connection<W> {
    shared: Arc<Shared>,
    client: Client,
    writing: Arc<Mutex<W>>,
}

impl<W> Clone for Connection<W> {
    fn clone(&self) -> Connection<W> {
        let Connection { shared, client, writing } = self;
        Connection { shared: shared.clone(), client: client.clone(), writing: writing.clone() }
    }
}

impl<W: Writer> Exchange<W> {
    pub(crate) fn new(shared: Arc<Shared>, client: Client, writing: W) -> Exchange<W> {
        let connection = Connection { shared, client, writing: Arc::new(Mutex::new(writing)) };
        Exchange { connection, requests: JoinSet::new(), stops: HashMap::new() }
    }

    pub(crate) fn connection(&self) -> &Connection<W> {
        &self.connection
    }

    /// Takes a message of the client in.
    pub(crate) fn take(&mut self, up: Up) {
        while let Some(done) = self.requests.try_join_next() {
            if let Ok(id) = done {
                self.stops.remove(&id);
            }
        }
        match up {
            Up::Ask { id, request } => {
                let (canceller, cancel) = Cancel::channel();
                self.stops.insert(id, canceller);
                let connection = self.connection.clone();
                let place = connection.shared.service.enter(&connection.client, &request);
                self.requests.spawn(async move {
                    connection.carry_out(id, *request, place, cancel).await;
                    id
                });
            }
            Up::Cancel { id, force } => {
                if let Some(stop) = self.stops.get(&id) {
                    stop.pass_on(if force { Wish::Force } else { Wish::Stop });
                }
            }
        }
    }
}

impl<W> Drop for Exchange<W> {
    fn drop(&mut self) {
        self.connection.shared.service.left(&self.connection.client);
    }
}

impl<W: Writer> Connection<W> {
    async fn carry_out(&self, id: u64, request: Request, place: Option<RunPlace>, cancel: Cancel) {
        let (events, mut newest) = watch::channel(None);
        let unsent = events.clone();
        let answering = self.answer(request, place, events, cancel);
        tokio::pin!(answering);
        // Most requests are answered before there is anything to tell.
        let mut next = Instant::now() + PACE;
        let result = loop {
            let news = async {
                sleep_until(next).await;
                // The sender is kept here.
                let _ = newest.changed().await;
            };
            tokio::select! {
                biased;
                result = &mut answering => break result,
                () = news => {
                    self.send_event(id, &unsent).await;
                    next = Instant::now() + PACE;
                }
            }
        };
        // The client hears all of a run before its end. Other events are worth nothing beside the answer.
        if matches!(&*unsent.borrow(), Some(Event::Run(_))) {
            self.send_event(id, &unsent).await;
        }
        self.send(&Down::Done { id, result }).await;
    }

    /// Sends the event that was not sent yet.
    async fn send_event(&self, id: u64, unsent: &watch::Sender<Option<Event>>) {
        let mut event = None;
        unsent.send_if_modified(|newest| {
            event = newest.take();
            false
        });
        if let Some(event) = event {
            self.send(&Down::Event { id, event }).await;
        }
    }

    async fn answer(
        &self,
        request: Request,
        place: Option<RunPlace>,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let shared = &self.shared;
        let answered = contained(async {
            fault::panic_point("request");
            match request {
                Request::Page(ask) => shared.page(&ask).await.map(Reply::Page),
                Request::Browsers => Ok(Reply::Browsers(shared.browsers())),
                Request::Revoke(id) => shared.revoke(id.as_deref()).map(Reply::Browsers),
                request => shared.service.answer(&self.client, request, place, events, cancel).await,
            }
        });
        answered.await.unwrap_or_else(|panicked| Err(Failure::internal(panicked)))
    }

    /// The way back, while no message is being written.
    pub(crate) async fn writer(&self) -> MutexGuard<'_, W> {
        self.writing.lock().await
    }

    pub(crate) async fn send(&self, down: &Down) {
        let encoded = W::encode(down).or_else(|error| match down {
            Down::Event { .. } => Err(error),
            Down::Done { id, .. } => {
                let failure =
                    Failure::bad_input(FailureKind::TooLarge, format!("the answer cannot be sent: {error}"));
                W::encode(&Down::Done { id: *id, result: Err(failure) })
            }
        });
        if let Ok(message) = encoded {
            self.writer().await.write(message).await;
        }
    }
}
