//! One connection to the host's socket: checks the user, reads the greeting and serves requests.
//! Work that a client started continues after it disconnects.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use cellist_host::frame;
use cellist_host::hello::{ConnectAnswer, ConnectPurpose, Greeting, Welcome};
use cellist_host::wire::{ClientFrame, HostFrame};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::exchange::{ClientWriter, Exchange};
use crate::host::{AttachedClient, HostShared};
use crate::listen::{Closing, ConnectionSlot};
use crate::log::note;

/// Time limit for the greeting.
const GREETING: Duration = Duration::from_secs(10);

/// Serves a connection until the client disconnects or the host stops.
pub(crate) async fn serve_connection(mut stream: UnixStream, slot: ConnectionSlot, shared: Arc<HostShared>) {
    match stream.peer_cred() {
        Ok(peer) if is_welcome(peer.uid(), rustix::process::geteuid().as_raw()) => {}
        Ok(peer) => return note(format_args!("refused a process of user {}", peer.uid())),
        Err(error) => return note(format_args!("refused a client of an unknown user: {error}")),
    }
    let mut orders = slot.orders();
    let greeted = tokio::select! {
        greeted = timeout(GREETING, frame::read_short::<Greeting>(&mut stream)) => greeted,
        // The limit of connections is reached, and this one has sent no greeting.
        Closing::Now | Closing::AfterResponse = orders.next() => return,
    };
    let greeting = match greeted {
        Ok(Ok(Some(greeting))) => greeting,
        Ok(Ok(None)) | Err(_) => return,
        Ok(Err(error)) => return note(format_args!("malformed greeting from a client: {error}")),
    };
    // A stopping host closes the connection without an answer. The client retries and finds the
    // next host.
    let Some((answer, attached)) = decide(&greeting, &shared) else { return };
    let mut host = shared.state();
    host.clients -= usize::from(attached.is_some());
    let told = frame::write(&mut stream, &Welcome { answer, host }).await;
    match answer {
        // Only after the answer: the host may be gone a moment later.
        ConnectAnswer::Leaving => shared.stop("requested by a client"),
        ConnectAnswer::Staying | ConnectAnswer::Full => {}
        ConnectAnswer::Attached => {
            slot.handle().mark_authenticated();
            if let (Ok(()), Some(attached)) = (told, attached) {
                serve(stream, &shared, attached).await;
            }
        }
    }
}

/// Only processes of the same user are accepted. Root has its own host.
fn is_welcome(visitor: u32, ours: u32) -> bool {
    visitor == ours
}

fn decide(greeting: &Greeting, shared: &Arc<HostShared>) -> Option<(ConnectAnswer, Option<AttachedClient>)> {
    match greeting.wish {
        ConnectPurpose::Attach if greeting.cellist == shared.version() && shared.is_full() => {
            Some((ConnectAnswer::Full, None))
        }
        ConnectPurpose::Attach if greeting.cellist == shared.version() => {
            shared.attach().map(|attached| (ConnectAnswer::Attached, Some(attached)))
        }
        ConnectPurpose::Replace if shared.close_if_unneeded() => Some((ConnectAnswer::Leaving, None)),
        ConnectPurpose::Stop => {
            shared.close();
            Some((ConnectAnswer::Leaving, None))
        }
        ConnectPurpose::Attach | ConnectPurpose::Replace | ConnectPurpose::Look => {
            Some((ConnectAnswer::Staying, None))
        }
    }
}

/// Serves a client until it disconnects or the host stops.
async fn serve(stream: UnixStream, shared: &Arc<HostShared>, _attached: AttachedClient) {
    let (reading, writing) = stream.into_split();
    let mut exchange = Exchange::new(shared.clone(), shared.service.client(), writing);
    tokio::select! {
        () = read(reading, &mut exchange) => {}
        () = shared.stopped() => {}
    }
}

/// Reads and starts requests until the client disconnects.
async fn read(mut from: OwnedReadHalf, exchange: &mut Exchange<OwnedWriteHalf>) {
    loop {
        match frame::read::<ClientFrame>(&mut from).await {
            Ok(Some(up)) => exchange.handle(up),
            Ok(None) => return,
            Err(error) => return note(format_args!("closed the connection of a client: {error}")),
        }
    }
}

impl ClientWriter for OwnedWriteHalf {
    fn encode(down: &HostFrame) -> io::Result<Vec<u8>> {
        frame::encode(down)
    }

    async fn write(&mut self, message: Vec<u8>) {
        let _ = self.write_all(&message).await;
    }
}
