//! A client's end of the socket: many requests at once over one stream. The reader never waits for whoever asked: an
//! event that nobody looked at gives way to the next.

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

/// How many frames may wait to be written: more than one asks at once, and no more than is soon written.
const OUTGOING: usize = 64;

/// An open connection. All clones are one; it closes with the last.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Vec<u8>>,
    open: Arc<Mutex<PendingReplies>>,
    next: Arc<AtomicU64>,
}

/// Requests that were not answered yet, or nothing once the host is gone.
type PendingReplies = Option<HashMap<u64, PendingReply>>;

#[derive(Debug)]
struct PendingReply {
    events: watch::Sender<Option<Event>>,
    done: oneshot::Sender<Result<Reply, Failure>>,
}

/// What is heard of a request. When the host goes away, `done` ends without an answer.
pub(crate) struct SentRequest {
    pub(crate) id: u64,
    pub(crate) events: watch::Receiver<Option<Event>>,
    pub(crate) done: oneshot::Receiver<Result<Reply, Failure>>,
}

impl Connection {
    /// Takes over a stream on which both sides have greeted. Needs a runtime.
    pub(crate) fn new(stream: UnixStream) -> Connection {
        let (reading, mut writing) = stream.into_split();
        let (outgoing, mut frames) = mpsc::channel::<Vec<u8>>(OUTGOING);
        let open = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(listen(reading, open.clone()));
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                // A host that is gone is noticed by the one who listens.
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
            // Nothing that can be asked fails to be written, but for its size.
            Err(error) => self.fail(&up, &error),
        }
    }

    fn fail(&self, up: &ClientFrame, error: &std::io::Error) {
        let (ClientFrame::Ask { id, .. } | ClientFrame::Cancel { id, .. }) = up;
        let failure =
            Failure::bad_input(FailureKind::TooLarge, format!("the request cannot be sent: {error}"));
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
    // Whoever waits learns that nothing will come.
    let open = lock().take().unwrap_or_default();
    if let Some(error) = unreadable {
        let failure = Failure::no_kernel(
            FailureKind::UnreadableAnswer,
            format!("the host's answer is unreadable: {error}"),
        );
        open.into_values().for_each(|asked| drop(asked.done.send(Err(failure.clone()))));
    }
}
