//! Sockets with a task each: requests go out, verified messages come in. A request's answer finds whoever asked.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, oneshot};
use zeromq::util::PeerIdentity;
use zeromq::{DealerSocket, Socket, SocketOptions, SocketRecv, SocketSend, SubSocket, ZmqError, ZmqMessage};

use super::connection::{Channel, Place};
use super::trace::Tracer;
use super::wire::{Message, Session, parse};

/// Requests that wait to be written. One piece of code runs at a time and asks are few, so this is never full
/// unless the kernel has stopped reading.
const WAITING: usize = 64;

/// How often to look whether a kernel has opened its sockets. `connect` itself would wait far longer between tries.
const LOOK: Duration = Duration::from_millis(3);

/// A breath after a socket failed, so that a lasting failure is not a busy loop.
const BREATH: Duration = Duration::from_millis(10);

/// The way out to one socket. When the last clone is dropped the socket closes.
#[derive(Clone)]
pub(super) struct Lane(mpsc::Sender<Vec<Bytes>>);

impl Lane {
    /// Queues a message. That it went out is not known until it is answered.
    pub(super) async fn send(&self, frames: Vec<Bytes>) {
        let _ = self.0.send(frames).await;
    }
}

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
pub(super) async fn subscriber(place: &Place) -> Result<SubSocket, ZmqError> {
    let place = until_open(place).await;
    let mut socket = SubSocket::new();
    socket.subscribe("").await?;
    socket.connect(&place.endpoint()).await?;
    Ok(socket)
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
        Out(Vec<Bytes>),
        In(Result<ZmqMessage, ZmqError>),
    }
    let (sender, mut waiting) = mpsc::channel::<Vec<Bytes>>(WAITING);
    tokio::spawn(async move {
        loop {
            let step = tokio::select! {
                frames = waiting.recv() => match frames {
                    Some(frames) => Step::Out(frames),
                    None => break,
                },
                received = socket.recv() => Step::In(received),
            };
            match step {
                Step::Out(frames) => {
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
    Lane(sender)
}

/// Who waits for the answer to which request.
#[derive(Default)]
pub(super) struct Pending(Mutex<Waiters>);

#[derive(Default)]
struct Waiters {
    by_request: HashMap<String, oneshot::Sender<Message>>,
    closed: bool,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the answer to a request that is about to be sent.
    pub(super) fn expect(self: &Arc<Self>, request: String) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let mut waiters = self.lock();
        if !waiters.closed {
            waiters.by_request.insert(request.clone(), sender);
        }
        Answer { pending: self.clone(), request, receiver }
    }

    /// Hands an answer to whoever waits for it; gives it back when nobody does.
    pub(super) fn answer(&self, message: Message) -> Option<Message> {
        let waiter = message.parent.as_deref().and_then(|parent| self.lock().by_request.remove(parent));
        match waiter {
            Some(waiter) => {
                let _ = waiter.send(message);
                None
            }
            None => Some(message),
        }
    }

    /// Nobody will be answered any more.
    pub(super) fn close(&self) {
        let mut waiters = self.lock();
        waiters.closed = true;
        waiters.by_request.clear();
    }
}

/// An answer to come; forgotten when dropped.
pub(super) struct Answer {
    pending: Arc<Pending>,
    request: String,
    receiver: oneshot::Receiver<Message>,
}

impl Answer {
    /// The answer, or none when the kernel is gone.
    pub(super) async fn get(mut self) -> Option<Message> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.pending.lock().by_request.remove(&self.request);
    }
}

/// A failure of sockets as one of input and output.
pub(super) fn as_io(error: ZmqError) -> io::Error {
    match error {
        ZmqError::Network(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
