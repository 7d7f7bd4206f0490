//! One connection to the host: who it is, what it wants, and its requests until it goes. A client that goes away is let
//! go of, and what it asked for goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cellist_link::hello::{Answer, Greeting, Welcome, Wish};
use cellist_link::wire::{Down, Up};
use cellist_link::{Client, Failure, Reply, Request, frame};
use cellist_session::contained::contained;
use cellist_session::fault;
use cellist_session::run::{Cancel, Canceller};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::host::{Attached, Shared};
use crate::listen::{Closing, Seat};
use crate::log::note;

/// How long a visitor may take to say what it wants.
const GREETING: Duration = Duration::from_secs(10);

/// How many requests may wait to be begun, and how many frames to be written: a client that reads slowly makes those
/// wait that answer it, and no one else.
const INCOMING: usize = 16;
const OUTGOING: usize = 16;

/// The least time between two events of one request: what happens in between nobody could read.
const PACE: Duration = Duration::from_millis(100);

/// Receives a visitor and serves it until it goes or the host leaves.
pub(crate) async fn receive(mut stream: UnixStream, seat: Seat, shared: Arc<Shared>) {
    match stream.peer_cred() {
        Ok(peer) if is_welcome(peer.uid(), rustix::process::geteuid().as_raw()) => {}
        Ok(peer) => return note(format_args!("refused a process of user {}", peer.uid())),
        Err(error) => return note(format_args!("refused someone who cannot be known: {error}")),
    }
    let mut orders = seat.orders();
    let greeted = tokio::select! {
        greeted = timeout(GREETING, frame::read_short::<Greeting>(&mut stream)) => greeted,
        // Others came since, and it has said nothing.
        Closing::Now | Closing::AfterResponse = orders.next() => return,
    };
    let greeting = match greeted {
        Ok(Ok(Some(greeting))) => greeting,
        Ok(Ok(None)) | Err(_) => return,
        Ok(Err(error)) => return note(format_args!("a visitor said what cannot be understood: {error}")),
    };
    // Whom a host that is about to leave does not let in looks again, and finds the next one.
    let Some((answer, attached)) = decide(&greeting, &shared) else { return };
    let mut host = shared.state();
    host.clients -= usize::from(attached.is_some());
    let told = frame::write(&mut stream, &Welcome { answer, host }).await;
    match answer {
        // Only after it was told: the host may be gone a moment later.
        Answer::Leaving => shared.leave("it was asked to"),
        Answer::Staying | Answer::Full => {}
        Answer::Attached => {
            seat.visit().known();
            if let (Ok(()), Some(attached)) = (told, attached) {
                serve(stream, &shared, attached).await;
            }
        }
    }
}

/// Only processes of the same user are, and root has a host of its own.
fn is_welcome(visitor: u32, ours: u32) -> bool {
    visitor == ours
}

fn decide(greeting: &Greeting, shared: &Arc<Shared>) -> Option<(Answer, Option<Attached>)> {
    match greeting.wish {
        Wish::Attach if greeting.cellist == shared.version() && shared.is_full() => {
            Some((Answer::Full, None))
        }
        Wish::Attach if greeting.cellist == shared.version() => {
            shared.attached().map(|attached| (Answer::Attached, Some(attached)))
        }
        Wish::Replace if shared.close_if_unneeded() => Some((Answer::Leaving, None)),
        Wish::Stop => {
            shared.close();
            Some((Answer::Leaving, None))
        }
        Wish::Attach | Wish::Replace | Wish::Look => Some((Answer::Staying, None)),
    }
}

/// Serves a client until it goes or the host leaves.
async fn serve(stream: UnixStream, shared: &Arc<Shared>, _attached: Attached) {
    let (reading, writing) = stream.into_split();
    let (outgoing, frames) = mpsc::channel(OUTGOING);
    let (incoming, mut asked) = mpsc::channel(INCOMING);
    // Half-read and half-written frames stay with tasks of their own.
    let mut ends = JoinSet::new();
    ends.spawn(read(reading, incoming));
    ends.spawn(write(writing, frames));
    let client = shared.desk.client();
    let mut stops: HashMap<u64, Canceller> = HashMap::new();
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            up = asked.recv() => match up {
                Some(Up::Ask { id, request }) => {
                    let (canceller, cancel) = Cancel::channel();
                    stops.insert(id, canceller);
                    let (shared, client, outgoing) = (shared.clone(), client.clone(), outgoing.clone());
                    requests.spawn(async move {
                        carry_out(&shared, &client, id, *request, cancel, &outgoing).await;
                        id
                    });
                }
                Some(Up::Cancel { id }) => {
                    if let Some(stop) = stops.get(&id) {
                        stop.cancel();
                    }
                }
                None => break,
            },
            Some(done) = requests.join_next() => {
                if let Ok(id) = done {
                    stops.remove(&id);
                }
            }
            () = shared.left() => break,
        }
    }
    shared.desk.left(&client);
}

async fn carry_out(
    shared: &Arc<Shared>,
    client: &Client,
    id: u64,
    request: Request,
    cancel: Cancel,
    outgoing: &mpsc::Sender<Vec<u8>>,
) {
    let (events, mut newest) = watch::channel(None);
    let answering = async {
        let answered = contained(async {
            fault::panic_point("request");
            match request {
                Request::Page(ask) => shared.page(&ask).await.map(Reply::Page),
                Request::Browsers => Ok(Reply::Browsers(shared.browsers())),
                Request::Revoke(id) => shared.revoke(id.as_deref()).map(Reply::Browsers),
                request => shared.desk.answer(client, request, events, cancel).await,
            }
        });
        answered.await.unwrap_or_else(|panicked| Err(Failure::internal(panicked)))
    };
    tokio::pin!(answering);
    let mut next = Instant::now();
    let result = loop {
        let news = async {
            sleep_until(next).await;
            // Nothing more comes once the sender is gone, but the answer.
            if newest.changed().await.is_err() {
                std::future::pending().await
            }
        };
        tokio::select! {
            biased;
            result = &mut answering => break result,
            () = news => {
                let event = newest.borrow_and_update().clone();
                if let Some(event) = event {
                    send(outgoing, &Down::Event { id, event }).await;
                }
                next = Instant::now() + PACE;
            }
        }
    };
    send(outgoing, &Down::Done { id, result }).await;
}

async fn send(outgoing: &mpsc::Sender<Vec<u8>>, down: &Down) {
    let encoded = frame::encode(down).or_else(|error| match down {
        Down::Event { .. } => Err(error),
        Down::Done { id, .. } => {
            let failure = Failure::bad_input("too_large", format!("the answer cannot be sent: {error}"));
            frame::encode(&Down::Done { id: *id, result: Err(failure) })
        }
    });
    if let Ok(bytes) = encoded {
        // A client that is gone is noticed by the one who reads.
        let _ = outgoing.send(bytes).await;
    }
}

async fn read(mut from: OwnedReadHalf, incoming: mpsc::Sender<Up>) {
    loop {
        match frame::read::<Up>(&mut from).await {
            Ok(Some(up)) => {
                if incoming.send(up).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => return note(format_args!("a client was let go: {error}")),
        }
    }
}

async fn write(mut to: OwnedWriteHalf, mut frames: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if to.write_all(&frame).await.is_err() {
            return;
        }
    }
}
