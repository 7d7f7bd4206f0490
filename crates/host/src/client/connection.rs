//! The client's side of the socket: many requests at once over one stream. The reader never waits for a caller: a newer
//! event replaces an unread one.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cellist_platform::FailureKind;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::Failure;
use crate::protocol::frame;
use crate::protocol::request::{Event, Reply, Request};
use crate::protocol::wire::{ClientFrame, HostFrame};

/// The capacity of the write queue: enough for a burst of requests, and little memory.
const OUTGOING: usize = 64;

/// An open connection. All clones share it; it closes with the last one.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Vec<u8>>,
    open: Arc<Mutex<PendingReplies>>,
    next: Arc<AtomicU64>,
}

/// The requests without a reply; `None` after the connection is lost.
type PendingReplies = Option<HashMap<u64, PendingReply>>;

#[derive(Debug)]
struct PendingReply {
    events: watch::Sender<Option<Event>>,
    done: oneshot::Sender<Result<Reply, Failure>>,
}

/// A request that was sent. If the connection is lost, `done` ends without a value.
pub(crate) struct SentRequest {
    pub(crate) id: u64,
    pub(crate) events: watch::Receiver<Option<Event>>,
    pub(crate) done: oneshot::Receiver<Result<Reply, Failure>>,
}

impl Connection {
    /// Takes over a stream after the greeting. Needs a runtime.
    pub(crate) fn new(stream: UnixStream) -> Connection {
        let (reading, mut writing) = stream.into_split();
        let (outgoing, mut frames) = mpsc::channel::<Vec<u8>>(OUTGOING);
        let open = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(listen(reading, open.clone()));
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                // The reader notices a lost host.
                if writing.write_all(&frame).await.is_err() {
                    return;
                }
            }
        });
        Connection { outgoing, open, next: Arc::default() }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn ask(&self, request: Request) -> SentRequest {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (events, newest) = watch::channel(None);
        let (done, answer) = oneshot::channel();
        if let Some(open) = &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner) {
            open.insert(id, PendingReply { events, done });
        }
        self.send(ClientFrame::Ask { id, request: Box::new(request) });
        SentRequest { id, events: newest, done: answer }
    }

    pub(crate) fn cancel(&self, id: u64, force: bool) {
        self.send(ClientFrame::Cancel { id, force });
    }

    fn send(&self, up: ClientFrame) {
        match frame::encode(&up) {
            Ok(bytes) => {
                if let Err(mpsc::error::TrySendError::Full(bytes)) = self.outgoing.try_send(bytes) {
                    let outgoing = self.outgoing.clone();
                    tokio::spawn(async move { drop(outgoing.send(bytes).await) });
                }
            }
            // Encoding fails only for a request that is too large.
            Err(error) => self.fail(&up, &error),
        }
    }

    fn fail(&self, up: &ClientFrame, error: &std::io::Error) {
        let (ClientFrame::Ask { id, .. } | ClientFrame::Cancel { id, .. }) = up;
        let failure = Failure::bad_input(FailureKind::TooLarge, format!("cannot send the request: {error}"));
        if let Some(open) = &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner)
            && let Some(asked) = open.remove(id)
        {
            let _ = asked.done.send(Err(failure));
        }
    }
}

async fn listen(mut reading: OwnedReadHalf, open: Arc<Mutex<PendingReplies>>) {
    let lock = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let unreadable = loop {
        let down = match frame::read::<HostFrame>(&mut reading).await {
            Ok(Some(down)) => down,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => break Some(error),
            Ok(None) | Err(_) => break None,
        };
        match (down, &mut *lock()) {
            (HostFrame::Event { id, event }, Some(open)) => {
                if let Some(asked) = open.get(&id) {
                    asked.events.send_modify(|last| event.follow(last));
                }
            }
            (HostFrame::Done { id, result }, Some(open)) => {
                if let Some(asked) = open.remove(&id) {
                    let _ = asked.done.send(result);
                }
            }
            (_, None) => {}
        }
    };
    // Dropping the senders ends all pending requests.
    let open = lock().take().unwrap_or_default();
    if let Some(error) = unreadable {
        let failure = Failure::no_kernel(
            FailureKind::UnreadableAnswer,
            format!("unexpected message from the host: {error}"),
        );
        open.into_values().for_each(|asked| drop(asked.done.send(Err(failure.clone()))));
    }
}
