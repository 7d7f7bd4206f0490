//! What a kernel publishes over ZeroMQ, as the listener hears it.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use tokio::sync::Notify;
use zeromq::SocketEvent;

use super::receiving::Receiving;
use crate::jupyter::lane::Channel;
use crate::jupyter::listener::{Heard, Source};
use crate::jupyter::message::{Session, parse};
use crate::jupyter::trace::Tracer;

pub(super) struct Published {
    socket: Receiving,
    monitor: Pin<Box<dyn Stream<Item = SocketEvent> + Send>>,
    session: Arc<Session>,
    tracer: Tracer,
    /// Told when the connection ends.
    lost: Arc<Notify>,
}

impl Published {
    pub(super) fn new(
        mut socket: Receiving,
        session: Arc<Session>,
        tracer: Tracer,
        lost: Arc<Notify>,
    ) -> Published {
        let monitor = Box::pin(socket.monitor());
        Published { socket, monitor, session, tracer, lost }
    }
}

impl Source for Published {
    async fn next(&mut self, room: bool) -> Heard {
        tokio::select! {
            biased;
            received = self.socket.next(), if room => match received {
                Ok(frames) => {
                    let message = self.tracer.received(Channel::Iopub, parse(&frames, self.session.key()));
                    message.map_or(Heard::Nothing, Heard::Message)
                }
                Err(error) => {
                    self.tracer.failed(Channel::Iopub, &error);
                    Heard::Nothing
                }
            },
            Some(event) = self.monitor.next() => match event {
                SocketEvent::Disconnected(_) => {
                    self.lost.notify_one();
                    Heard::HungUp
                }
                SocketEvent::Connected(..) => Heard::Back,
                _ => Heard::Nothing,
            },
            else => std::future::pending().await,
        }
    }
}
