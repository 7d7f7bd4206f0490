//! The frames after the greeting. The client numbers its requests, and each frame of the host names the request.
//!
//! Frames of one direction keep their order. For each request the host sends any number of events, then one `Done`. A
//! cancel for an unknown or finished request is ignored. When the connection closes, replies are lost and requests go on.

use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::protocol::request::{Event, Reply, Request};

/// A frame from a client to the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFrame {
    /// A request.
    Ask {
        /// Its number.
        id: u64,
        /// The request itself.
        request: Box<Request>,
    },
    /// Interrupts the code of a request, again with each cancel. The reply still comes.
    Cancel {
        /// The number of the request.
        id: u64,
        /// Whether the kernel is killed if the code does not stop.
        #[serde(default)]
        force: bool,
    },
}

/// A frame from the host to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostFrame {
    /// The newest progress of a request.
    Event {
        /// Its number.
        id: u64,
        /// The event itself.
        event: Event,
    },
    /// The reply, which is the last frame about a request.
    Done {
        /// Its number.
        id: u64,
        /// The reply or the failure.
        result: Result<Reply, Failure>,
    },
}
