//! Connections with a task each: requests go out, verified messages come in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

use super::connection::Place;
use super::faults::Faults;
use super::receiving::Receiving;
use super::zmtp::{self, Fault, Reader, Received, SocketType, ZmtpWriter};
use crate::jupyter::lane::{self, Channel, Lane, Outgoing};
use crate::jupyter::listener::ListenerCommand;
use crate::jupyter::message::{Message, Session, parse};
use crate::jupyter::trace::Tracer;

/// How often to look whether a kernel has opened its sockets.
const LOOK: Duration = Duration::from_millis(3);

/// Waits until a kernel listens at the place, however it spells it, for as long as the caller lets it.
async fn until_open(place: &Place) -> Place {
    let spellings: Vec<Place> = std::iter::once(place.clone()).chain(place.other_spelling()).collect();
    loop {
        for place in &spellings {
            if is_open(place).await {
                return place.clone();
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether anyone listens at the place.
pub(super) async fn is_open(place: &Place) -> bool {
    match place {
        Place::File(path) => UnixStream::connect(path).await.is_ok(),
        Place::Port(ip, port) => match ip.parse() {
            Ok(ip) => TcpStream::connect(SocketAddr::new(ip, *port)).await.is_ok(),
            Err(_) => TcpStream::connect((ip.as_str(), *port)).await.is_ok(),
        },
    }
}

/// A connection for requests.
pub(super) async fn dealer(place: &Place, session: &Session) -> Result<(Reader, ZmtpWriter), Fault> {
    zmtp::connect(&until_open(place).await, SocketType::Dealer, session.id()).await
}

/// A connection to the published messages.
pub(super) async fn subscriber(place: &Place) -> Result<Receiving, Fault> {
    Receiving::connect(until_open(place).await).await
}

/// The inputs of a connection's task.
pub(super) struct LaneOpening {
    pub(super) channel: Channel,
    pub(super) session: Arc<Session>,
    pub(super) tracer: Tracer,
    pub(super) faults: Faults,
    pub(super) commands: mpsc::WeakSender<ListenerCommand>,
}

impl LaneOpening {
    /// Gives a connection its task. `deliver` gets every valid message; the task waits for it.
    pub(super) fn open<F>(
        self,
        (mut reader, mut writer): (Reader, ZmtpWriter),
        mut deliver: impl FnMut(Message) -> F + Send + 'static,
    ) -> Lane
    where
        F: Future<Output = ()> + Send,
    {
        let LaneOpening { channel, session, tracer, faults, commands } = self;
        let (lane, mut waiting) = lane::queue(channel);
        let written = tracer.clone();
        let write = async move {
            while let Some(Outgoing { frames, .. }) = waiting.recv().await {
                written.sent(channel, &frames);
                if let Err(error) = writer.send(&frames).await {
                    written.failed(channel, &error);
                }
            }
        };
        let read = async move {
            let fault = loop {
                match reader.next().await {
                    Ok(Received::Message(parts)) => {
                        if let Some(message) = tracer.received(channel, parse(&parts, session.key())) {
                            deliver(message).await;
                        }
                    }
                    Ok(Received::TooLarge(error)) => break Fault::from(error),
                    Err(fault) => break fault,
                }
            };
            tracer.failed(channel, &fault);
            if let Fault::Violation(what) = fault {
                let death = faults.end(what);
                if let Some(commands) = commands.upgrade() {
                    let _ = commands.send(ListenerCommand::Gone(death)).await;
                }
            }
            // Requests that follow are lost with the connection; other signs tell that the kernel is gone.
            std::future::pending::<()>().await;
        };
        tokio::spawn(async move {
            tokio::select! {
                () = write => {}
                () = read => {}
            }
        });
        lane
    }
}
