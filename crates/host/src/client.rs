//! A front end's client of the host service, in this process or in the host.

mod connection;

use cellist_platform::contained::contained;
use cellist_session::execution::{Cancel, CancelRequest, Canceller};
use cellist_session::orders::ClientEnvironment;
use tokio::sync::{oneshot, watch};

use crate::error::{Error, Failure, Result};
use crate::process::{Host, Starter};
use crate::protocol::request::{Event, Reply, Request};
use crate::service::{Client, HostService};
use connection::Connection;

/// A way to ask. Cheap to clone; all clones are one client, and what was asked goes on when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct HostClient(Carrier);

#[derive(Clone, Debug)]
enum Carrier {
    Here(Box<HostService>, Client),
    Socket(Connection),
}

/// A request that is being carried out. Dropping it lets it go on.
#[derive(Debug)]
pub struct Pending {
    events: watch::Receiver<Option<Event>>,
    done: oneshot::Receiver<std::result::Result<Reply, Failure>>,
    stop: Stop,
}

/// A way to say that a request is not wanted any more.
#[derive(Clone, Debug)]
pub struct Stop(Means);

#[derive(Clone, Debug)]
enum Means {
    Here(Canceller),
    Socket(Connection, u64),
}

impl HostClient {
    /// To a service in this process.
    pub fn in_process(service: &HostService) -> HostClient {
        HostClient(Carrier::Here(Box::new(service.clone()), service.client()))
    }

    /// To the running host.
    pub async fn attach(host: &Host) -> Result<HostClient> {
        Ok(HostClient(Carrier::Socket(Connection::new(host.attach().await?))))
    }

    /// To the running host, or to one that is started.
    pub async fn attach_or_start(host: &Host, starter: &Starter) -> Result<HostClient> {
        Ok(HostClient(Carrier::Socket(Connection::new(host.attach_or_start(starter).await?))))
    }

    /// Whether whoever answers is still there, as far as is known.
    pub fn is_open(&self) -> bool {
        match &self.0 {
            Carrier::Here(..) => true,
            Carrier::Socket(connection) => connection.is_open(),
        }
    }

    /// Begins a request. Needs a runtime.
    pub fn begin(&self, request: Request) -> Pending {
        match &self.0 {
            Carrier::Socket(connection) => {
                let hearing = connection.ask(request);
                let stop = Stop(Means::Socket(connection.clone(), hearing.id));
                Pending { events: hearing.events, done: hearing.done, stop }
            }
            Carrier::Here(service, client) => {
                let (canceller, cancel) = Cancel::channel();
                let (events, newest) = watch::channel(None);
                let (done, answer) = oneshot::channel();
                let place = service.enter(client, &request);
                let (service, client) = (service.clone(), client.clone());
                tokio::spawn(async move {
                    let answered = contained(service.answer(&client, request, place, events, cancel)).await;
                    let _ = done.send(answered.unwrap_or_else(|panicked| Err(Failure::internal(panicked))));
                });
                Pending { events: newest, done: answer, stop: Stop(Means::Here(canceller)) }
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

impl Pending {
    /// The newest about it, from now on.
    pub fn events(&self) -> watch::Receiver<Option<Event>> {
        self.events.clone()
    }

    /// A way to say that it is not wanted any more.
    pub fn stop(&self) -> Stop {
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

impl Stop {
    /// Interrupts the running code, again with each call. The answer still comes.
    pub fn stop(&self) {
        self.pass_on(CancelRequest::Stop);
    }

    /// Passes a wish about the running code on. Over a socket, a wish that does not force is an interrupt.
    pub fn pass_on(&self, wish: CancelRequest) {
        match &self.0 {
            Means::Here(canceller) => canceller.pass_on(wish),
            Means::Socket(connection, id) => connection.cancel(*id, wish == CancelRequest::Force),
        }
    }
}
