//! A front end's client of the host service, in this process or in the host.

mod connection;

use cellist_platform::contained::contained;
use cellist_session::execution::{Cancel, Canceller, Wish};
use cellist_session::orders::ClientEnvironment;
use tokio::sync::{oneshot, watch};

use crate::error::{Error, Failure, Result};
use crate::process::{Host, HostStarter};
use crate::protocol::request::{Event, Reply, Request};
use crate::service::{HostService, ServiceClient};
use connection::Connection;

/// A way to ask. Cheap to clone; all clones are one client, and what was asked goes on when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct HostClient(ClientTransport);

#[derive(Clone, Debug)]
enum ClientTransport {
    Here(Box<HostService>, ServiceClient),
    Socket(Connection),
}

/// A request that is being carried out. Dropping it lets it go on.
#[derive(Debug)]
pub struct PendingRequest {
    events: watch::Receiver<Option<Event>>,
    done: oneshot::Receiver<std::result::Result<Reply, Failure>>,
    stop: RequestCanceller,
}

/// A way to say that a request is not wanted any more.
#[derive(Clone, Debug)]
pub struct RequestCanceller(CancelTarget);

#[derive(Clone, Debug)]
enum CancelTarget {
    Here(Canceller),
    Socket(Connection, u64),
}

impl HostClient {
    /// To a service in this process.
    pub fn in_process(service: &HostService) -> HostClient {
        HostClient(ClientTransport::Here(Box::new(service.clone()), service.client()))
    }

    /// To the running host.
    pub async fn attach(host: &Host) -> Result<HostClient> {
        Ok(HostClient(ClientTransport::Socket(Connection::new(host.attach().await?))))
    }

    /// To the running host, or to one that is started.
    pub async fn attach_or_start(host: &Host, starter: &HostStarter) -> Result<HostClient> {
        Ok(HostClient(ClientTransport::Socket(Connection::new(host.attach_or_start(starter).await?))))
    }

    /// Whether whoever answers is still there, as far as is known.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            ClientTransport::Here(..) => true,
            ClientTransport::Socket(connection) => connection.is_open(),
        }
    }

    /// Begins a request. Needs a runtime.
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
                let place = service.enter(client, &request);
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

    /// Sends the environment that decides on the kernels of later requests. Needs a runtime.
    pub fn set_environment(&self, environment: ClientEnvironment) {
        drop(self.begin(Request::Environment(Box::new(environment))));
    }

    /// Asks and waits for the answer.
    pub async fn ask(&self, request: Request) -> Result<Reply> {
        self.begin(request).done().await
    }
}

impl PendingRequest {
    /// The newest about it, from now on.
    pub fn events(&self) -> watch::Receiver<Option<Event>> {
        self.events.clone()
    }

    /// A way to say that it is not wanted any more.
    pub fn stop(&self) -> RequestCanceller {
        self.stop.clone()
    }

    /// Waits for the answer.
    pub async fn done(self) -> Result<Reply> {
        match self.done.await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(failure)) => Err(Error::Refused(Box::new(failure))),
            Err(_) => Err(Error::Lost),
        }
    }
}

impl RequestCanceller {
    /// Interrupts the running code, again with each call. The answer still comes.
    pub fn stop(&self) {
        self.pass_on(Wish::Stop);
    }

    /// Passes a wish about the running code on. Over a socket, a wish that does not force is an interrupt.
    pub fn pass_on(&self, wish: Wish) {
        match &self.0 {
            CancelTarget::Here(canceller) => canceller.pass_on(wish),
            CancelTarget::Socket(connection, id) => connection.cancel(*id, wish == Wish::Force),
        }
    }
}
