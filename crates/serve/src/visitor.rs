//! One connection to the host: who it is, what it wants, and its requests until it goes. A client that goes away is let
//! go of, and what it asked for goes on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use cellist_host::frame;
use cellist_host::hello::{Answer, Greeting, Welcome, Wish};
use cellist_host::wire::{Down, Up};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::exchange::{Exchange, Writer};
use crate::host::{Attached, Shared};
use crate::listen::{Closing, Seat};
use crate::log::note;

/// How long a visitor may take to say what it wants.
const GREETING: Duration = Duration::from_secs(10);

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
        Ok(Err(error)) => return note(format_args!("malformed greeting from a client: {error}")),
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
    let mut exchange = Exchange::new(shared.clone(), shared.service.client(), writing);
    tokio::select! {
        () = read(reading, &mut exchange) => {}
        () = shared.left() => {}
    }
}

/// Begins requests as they come, until the client goes.
async fn read(mut from: OwnedReadHalf, exchange: &mut Exchange<OwnedWriteHalf>) {
    loop {
        match frame::read::<Up>(&mut from).await {
            Ok(Some(up)) => exchange.take(up),
            Ok(None) => return,
            Err(error) => return note(format_args!("a client was let go: {error}")),
        }
    }
}

impl Writer for OwnedWriteHalf {
    fn encode(down: &Down) -> io::Result<Vec<u8>> {
        frame::encode(down)
    }

    async fn write(&mut self, message: Vec<u8>) {
        let _ = self.write_all(&message).await;
    }
}
