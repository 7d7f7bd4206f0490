//! The ways out to a kernel: one for each of its channels.

use bytes::Bytes;
use tokio::sync::mpsc;

/// Requests that wait to be written. One piece of code runs at a time and asks are few, so this is never full
/// unless the kernel has stopped reading.
const WAITING: usize = 64;

/// One of a kernel's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Shell,
    Iopub,
    Stdin,
    Control,
    Heartbeat,
}

impl Channel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Channel::Shell => "shell",
            Channel::Iopub => "iopub",
            Channel::Stdin => "stdin",
            Channel::Control => "control",
            Channel::Heartbeat => "heartbeat",
        }
    }
}

/// A message on its way to a kernel.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) channel: Channel,
    pub(crate) frames: Vec<Bytes>,
}

/// The way out on one channel. When the last lane into a queue is dropped its reader ends.
#[derive(Clone)]
pub(crate) struct Lane {
    channel: Channel,
    sender: mpsc::Sender<Outgoing>,
}

/// A queue with one lane into it.
pub(crate) fn queue(channel: Channel) -> (Lane, mpsc::Receiver<Outgoing>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Lane { channel, sender }, receiver)
}

impl Lane {
    /// Another lane into the same queue.
    pub(crate) fn on(&self, channel: Channel) -> Lane {
        Lane { channel, sender: self.sender.clone() }
    }

    /// Queues a message. That it went out is not known until it is answered.
    pub(crate) async fn send(&self, frames: Vec<Bytes>) {
        let _ = self.sender.send(Outgoing { channel: self.channel, frames }).await;
    }
}
