//! The connection on which a kernel publishes. One that ends is made anew, with growing pauses.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::connection::Place;
use super::zmtp::{self, Fault, Reader, Received, SocketType, ZmtpWriter};

/// The first pause before a connection is made anew, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// A connection to a kernel's published messages.
pub(super) struct Receiving {
    place: Place,
    state: ReceiveState,
}

enum ReceiveState {
    /// The writer is kept: the kernel would take its end for ours.
    Open(Box<Reader>, #[expect(dead_code, reason = "held open")] ZmtpWriter),
    Connecting(JoinHandle<(Reader, ZmtpWriter)>),
}

/// An incoming item.
pub(super) enum ReceiveStep {
    Received(Received),
    /// The connection ended, for this reason, and is being made anew.
    HungUp(Fault),
    /// There is a connection again.
    Back,
    /// The kernel sent a malformed message. Nothing follows.
    Violation(String),
}

impl Receiving {
    pub(super) async fn connect(place: Place) -> Result<Receiving, Fault> {
        let (reader, writer) = zmtp::connect(&place, SocketType::Subscriber, "").await?;
        Ok(Receiving { place, state: ReceiveState::Open(Box::new(reader), writer) })
    }

    /// The next of it. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> ReceiveStep {
        match &mut self.state {
            ReceiveState::Open(reader, _) => match reader.next().await {
                Ok(received) => ReceiveStep::Received(received),
                Err(Fault::Violation(what)) => ReceiveStep::Violation(what),
                Err(fault) => {
                    self.state = ReceiveState::Connecting(tokio::spawn(again(self.place.clone())));
                    ReceiveStep::HungUp(fault)
                }
            },
            ReceiveState::Connecting(task) => match task.await {
                Ok((reader, writer)) => {
                    self.state = ReceiveState::Open(Box::new(reader), writer);
                    ReceiveStep::Back
                }
                Err(error) => ReceiveStep::Violation(error.to_string()),
            },
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if let ReceiveState::Connecting(task) = &self.state {
            task.abort();
        }
    }
}

async fn again(place: Place) -> (Reader, ZmtpWriter) {
    let mut pause = PAUSES.0;
    loop {
        tokio::time::sleep(pause).await;
        let connecting = zmtp::connect(&place, SocketType::Subscriber, "");
        if let Ok(Ok(connection)) = tokio::time::timeout(PAUSES.1, connecting).await {
            return connection;
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}
