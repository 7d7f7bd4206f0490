//! The requests of one client, over any transport. Each request is a task that writes its own
//! messages, so that a slow reader blocks no other client.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use cellist_host::wire::{ClientFrame, HostFrame};
use cellist_host::{Event, Failure, FailureKind, Reply, Request, RunSlot, ServiceClient};
use cellist_platform::contained::contained;
use cellist_platform::fault;
use cellist_session::execution::{Cancel, CancelRequest, Canceller};
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::host::HostShared;

/// Minimum time between two events of one request. Faster ones could not be read.
const PACE: Duration = Duration::from_millis(100);

/// The sending side of a transport.
pub(crate) trait ClientWriter: Send + 'static {
    /// Encodes a message for the transport.
    fn encode(down: &HostFrame) -> io::Result<Vec<u8>>;

    /// Writes a message. Errors are ignored here: the reading task notices that the client is gone.
    fn write(&mut self, message: Vec<u8>) -> impl Future<Output = ()> + Send;
}

/// The open requests of a client. Dropping it drops the requests and tells the service that the
/// client left; code that they started continues to run.
pub(crate) struct Exchange<W> {
    connection: ClientConnection<W>,
    requests: JoinSet<u64>,
    stops: HashMap<u64, Canceller>,
}

/// The service and the sending side of a client.
pub(crate) struct ClientConnection<W> {
    shared: Arc<HostShared>,
    client: ServiceClient,
    writing: Arc<Mutex<W>>,
}

impl<W> Clone for ClientConnection<W> {
    fn clone(&self) -> ClientConnection<W> {
        let ClientConnection { shared, client, writing } = self;
        ClientConnection { shared: shared.clone(), client: client.clone(), writing: writing.clone() }
    }
}

impl<W: ClientWriter> Exchange<W> {
    pub(crate) fn new(shared: Arc<HostShared>, client: ServiceClient, writing: W) -> Exchange<W> {
        let connection = ClientConnection { shared, client, writing: Arc::new(Mutex::new(writing)) };
        Exchange { connection, requests: JoinSet::new(), stops: HashMap::new() }
    }

    pub(crate) fn connection(&self) -> &ClientConnection<W> {
        &self.connection
    }

    /// Handles a message of the client.
    pub(crate) fn handle(&mut self, up: ClientFrame) {
        while let Some(done) = self.requests.try_join_next() {
            if let Ok(id) = done {
                self.stops.remove(&id);
            }
        }
        match up {
            ClientFrame::Ask { id, request } => {
                let (canceller, cancel) = Cancel::channel();
                self.stops.insert(id, canceller);
                let connection = self.connection.clone();
                let place = connection.shared.service.accept(&connection.client, &request);
                self.requests.spawn(async move {
                    connection.execute(id, *request, place, cancel).await;
                    id
                });
            }
            ClientFrame::Cancel { id, force } => {
                if let Some(stop) = self.stops.get(&id) {
                    stop.pass_on(if force { CancelRequest::Force } else { CancelRequest::Stop });
                }
            }
        }
    }
}

impl<W> Drop for Exchange<W> {
    fn drop(&mut self) {
        self.connection.shared.service.remove_client(&self.connection.client);
    }
}

impl<W: ClientWriter> ClientConnection<W> {
    async fn execute(&self, id: u64, request: Request, place: Option<RunSlot>, cancel: Cancel) {
        let (events, mut newest) = watch::channel(None);
        let unsent = events.clone();
        let answering = self.answer(request, place, events, cancel);
        tokio::pin!(answering);
        // Most requests are answered before their first event is due.
        let mut next = Instant::now() + PACE;
        let result = loop {
            let news = async {
                sleep_until(next).await;
                // Cannot fail: `unsent` keeps the channel open.
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
        // Run events must be complete before the reply. Other events are void once the reply is
        // there.
        if matches!(&*unsent.borrow(), Some(Event::Run(_))) {
            self.send_event(id, &unsent).await;
        }
        self.send(&HostFrame::Done { id, result }).await;
    }

    /// Sends the newest event, unless it was sent already.
    async fn send_event(&self, id: u64, unsent: &watch::Sender<Option<Event>>) {
        let mut event = None;
        unsent.send_if_modified(|newest| {
            event = newest.take();
            false
        });
        if let Some(event) = event {
            self.send(&HostFrame::Event { id, event }).await;
        }
    }

    async fn answer(
        &self,
        request: Request,
        place: Option<RunSlot>,
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

    /// The sending side, locked between two messages.
    pub(crate) async fn writer(&self) -> MutexGuard<'_, W> {
        self.writing.lock().await
    }

    pub(crate) async fn send(&self, down: &HostFrame) {
        let encoded = W::encode(down).or_else(|error| match down {
            HostFrame::Event { .. } => Err(error),
            HostFrame::Done { id, .. } => {
                let failure = Failure::bad_input(
                    FailureKind::TooLarge,
                    format!("the response cannot be sent: {error}"),
                );
                W::encode(&HostFrame::Done { id: *id, result: Err(failure) })
            }
        });
        if let Ok(message) = encoded {
            self.writer().await.write(message).await;
        }
    }
}
