//! A kernel's published messages over ZeroMQ, as a source of the listener.

use std::sync::Arc;

use tokio::sync::Notify;

use super::faults::Faults;
use super::receiving::{ReceiveStep, Receiving};
use super::zmtp::Received;
use crate::jupyter::lane::Channel;
use crate::jupyter::listener::{Heard, Source};
use crate::jupyter::message::{Session, parse};
use crate::jupyter::trace::Tracer;

pub(super) struct Published {
    /// None behind a violation.
    pub(super) socket: Option<Receiving>,
    pub(super) session: Arc<Session>,
    pub(super) tracer: Tracer,
    /// Told when the connection ends.
    pub(super) lost: Arc<Notify>,
    pub(super) faults: Faults,
}

impl Source for Published {
    async fn next(&mut self, room: bool) -> Heard {
        let Some(socket) = self.socket.as_mut().filter(|_| room) else {
            return std::future::pending().await;
        };
        match socket.next().await {
            ReceiveStep::Received(Received::Message(parts)) => {
                let message = self.tracer.received(Channel::Iopub, parse(&parts, self.session.key()));
                message.map_or(Heard::Nothing, Heard::Message)
            }
            ReceiveStep::Received(Received::TooLarge(error)) => {
                self.tracer.failed(Channel::Iopub, &error);
                Heard::Refused(error.to_string())
            }
            ReceiveStep::HungUp(fault) => {
                self.tracer.failed(Channel::Iopub, &fault);
                self.lost.notify_one();
                Heard::HungUp
            }
            ReceiveStep::Back => Heard::Back,
            ReceiveStep::Violation(what) => {
                self.tracer.failed(Channel::Iopub, &what);
                self.socket = None;
                Heard::Gone(self.faults.end(what))
            }
        }
    }
}
