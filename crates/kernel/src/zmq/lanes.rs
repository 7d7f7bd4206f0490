//! Sockets with a task each: requests go out, verified messages come in.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use zeromq::util::PeerIdentity;
use zeromq::{DealerSocket, Socket, SocketOptions, SocketRecv, SocketSend, ZmqError, ZmqMessage};

use super::connection::Place;
use super::receiving::Receiving;
use crate::jupyter::lane::{self, Channel, Lane, Outgoing};
use crate::jupyter::message::{Message, Session, parse};
use crate::jupyter::trace::Tracer;

/// How often to look whether a kernel has opened its sockets. `connect` itself would wait far longer between tries.
const LOOK: Duration = Duration::from_millis(3);

/// A breath after a socket failed, so that a lasting failure is not a busy loop.
const BREATH: Duration = Duration::from_millis(10);

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

/// A socket for requests, connected.
pub(super) async fn dealer(place: &Place, session: &Session) -> Result<DealerSocket, ZmqError> {
    let place = until_open(place).await;
    let mut options = SocketOptions::default();
    options.peer_identity(PeerIdentity::try_from(session.id().as_bytes())?);
    let mut socket = DealerSocket::with_options(options);
    socket.connect(&place.endpoint()).await?;
    Ok(socket)
}

/// A socket for what everyone gets, connected.
pub(super) async fn subscriber(place: &Place) -> Result<Receiving, ZmqError> {
    let place = until_open(place).await;
    let mut receiving = Receiving::new();
    receiving.connect(&place.endpoint()).await?;
    Ok(receiving)
}

/// Gives a socket its task. `deliver` gets every message that is what it says it is; the task waits for it.
pub(super) fn open<F>(
    mut socket: DealerSocket,
    channel: Channel,
    session: Arc<Session>,
    tracer: Tracer,
    mut deliver: impl FnMut(Message) -> F + Send + 'static,
) -> Lane
where
    F: Future<Output = ()> + Send,
{
    enum Step {
        Out(Outgoing),
        In(Result<ZmqMessage, ZmqError>),
    }
    let (lane, mut waiting) = lane::queue(channel);
    tokio::spawn(async move {
        loop {
            let step = tokio::select! {
                outgoing = waiting.recv() => match outgoing {
                    Some(outgoing) => Step::Out(outgoing),
                    None => break,
                },
                received = socket.recv() => Step::In(received),
            };
            match step {
                Step::Out(Outgoing { frames, .. }) => {
                    tracer.sent(channel, &frames);
                    let Ok(message) = ZmqMessage::try_from(frames) else { continue };
                    if let Err(error) = socket.send(message).await {
                        tracer.failed(channel, &error);
                    }
                }
                Step::In(Ok(frames)) => {
                    if let Some(message) = tracer.received(channel, parse(&frames.into_vec(), session.key()))
                    {
                        deliver(message).await;
                    }
                }
                Step::In(Err(error)) => {
                    tracer.failed(channel, &error);
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    });
    lane
}

/// A failure of sockets as one of input and output.
pub(super) fn as_io(error: ZmqError) -> io::Error {
    match error {
        ZmqError::Network(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
