//! A front end's client of the host service, in this process or in the host.

mod connection;

use cellist_platform::contained::contained;
use cellist_session::execution::{Cancel, CancelRequest, Canceller};
use cellist_session::orders::ClientEnvironment;
use tokio::sync::{oneshot, watch};

use crate::error::{Error, Failure, Result};
use crate::process::{Host, HostStarter};
use crate::protocol::request::{Event, Reply, Request};
use crate::service::{HostService, ServiceClient};
use connection::Connection;

/// A client of the host service. Cheap to clone; all clones are one client.
///
/// - **Order**: requests are accepted in the order of [`begin`](HostClient::begin). Replies come in any order.
/// - **Cancellation**: dropping a future or a [`PendingRequest`] only gives up the reply. A [`RequestCanceller`] interrupts
///   the code of a request.
/// - **Ownership**: when the last clone is dropped, the service removes the client and ends the sessions that it owns.
///   Its other runs go on.
/// - **Errors**: a failure of the service is [`Error::Refused`]. If the connection is lost, all pending requests end with
///   [`Error::Lost`]; the client does not reconnect.
#[derive(Clone, Debug)]
pub struct HostClient(ClientTransport);

#[derive(Clone, Debug)]
enum ClientTransport {
    Here(Box<HostService>, ServiceClient),
    Socket(Connection),
}

/// A request without a reply yet. Dropping it does not stop the request.
#[derive(Debug)]
pub struct PendingRequest {
    events: watch::Receiver<Option<Event>>,
    done: oneshot::Receiver<std::result::Result<Reply, Failure>>,
    stop: RequestCanceller,
}

/// Cancels a request. Remains usable after the [`PendingRequest`] is gone.
#[derive(Clone, Debug)]
pub struct RequestCanceller(CancelTarget);

#[derive(Clone, Debug)]
enum CancelTarget {
    Here(Canceller),
    Socket(Connection, u64),
}

impl HostClient {
    /// Creates a client of a service in this process.
    pub fn in_process(service: &HostService) -> HostClient {
        HostClient(ClientTransport::Here(Box::new(service.clone()), service.client()))
    }

    /// Connects to the running host.
    pub async fn attach(host: &Host) -> Result<HostClient> {
        Ok(HostClient(ClientTransport::Socket(Connection::new(host.attach().await?))))
    }

    /// Connects to the running host. Starts one if there is none.
    pub async fn attach_or_start(host: &Host, starter: &HostStarter) -> Result<HostClient> {
        Ok(HostClient(ClientTransport::Socket(Connection::new(host.attach_or_start(starter).await?))))
    }

    /// Whether the connection is open, as far as is known.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            ClientTransport::Here(..) => true,
            ClientTransport::Socket(connection) => connection.is_open(),
        }
    }

    /// Sends a request without waiting for its reply. Needs a runtime.
    pub fn begin(&self, request: Request) -> PendingRequest {
        match &self.0 {
            ClientTransport::Socket(connection) => {
                let hearing = connection.ask(request);
                let stop = RequestCanceller(CancelTarget::Socket(connection.clone(), hearing.id));
                PendingRequest { events: hearing.events, done: hearing.done, stop }
            }
            ClientTransport::Here(service, client) => {
                let (canceller, cancel) = Cancel::channel();
                let (events, newest) = watch::channel(None);
                let (done, answer) = oneshot::channel();
                let place = service.accept(client, &request);
                let (service, client) = (service.clone(), client.clone());
                tokio::spawn(async move {
                    let answered = contained(service.answer(&client, request, place, events, cancel)).await;
                    let _ = done.send(answered.unwrap_or_else(|panicked| Err(Failure::internal(panicked))));
                });
                PendingRequest {
                    events: newest,
                    done: answer,
                    stop: RequestCanceller(CancelTarget::Here(canceller)),
                }
            }
        }
    }

    /// Sends the environment that selects the kernels of later requests. Needs a runtime.
    pub fn set_environment(&self, environment: ClientEnvironment) {
        drop(self.begin(Request::Environment(Box::new(environment))));
    }

    /// Sends a request and waits for its reply.
    pub async fn ask(&self, request: Request) -> Result<Reply> {
        self.begin(request).done().await
    }
}

impl PendingRequest {
    /// Returns a receiver of the newest event.
    pub fn events(&self) -> watch::Receiver<Option<Event>> {
        self.events.clone()
    }

    /// Returns the canceller of the request.
    pub fn stop(&self) -> RequestCanceller {
        self.stop.clone()
    }

    /// Waits for the reply.
    pub async fn done(self) -> Result<Reply> {
        match self.done.await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(failure)) => Err(Error::Refused(Box::new(failure))),
            Err(_) => Err(Error::Lost),
        }
    }
}

impl RequestCanceller {
    /// Interrupts the running code, again with each call. The reply still comes.
    pub fn stop(&self) {
        self.pass_on(CancelRequest::Stop);
    }

    /// Interrupts or ends the running code. Over a socket, every wish but `Force` is an interrupt.
    pub fn pass_on(&self, wish: CancelRequest) {
        match &self.0 {
            CancelTarget::Here(canceller) => canceller.pass_on(wish),
            CancelTarget::Socket(connection, id) => connection.cancel(*id, wish == CancelRequest::Force),
        }
    }
}
