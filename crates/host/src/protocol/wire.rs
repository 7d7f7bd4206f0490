//! What travels on the socket after the greeting. Requests are numbered by the client; what comes back carries the number.

use serde::{Deserialize, Serialize};

use crate::error::Failure;
use crate::protocol::request::{Event, Reply, Request};

/// From a client to the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFrame {
    /// A request.
    Ask {
        /// Its number.
        id: u64,
        /// What is asked.
        request: Box<Request>,
    },
    /// Interrupts the code of a request. The answer still comes.
    Cancel {
        /// The number of the request.
        id: u64,
        /// Whether the kernel is killed if the code does not stop.
        #[serde(default)]
        force: bool,
    },
}

/// From the host to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostFrame {
    /// The newest about a request that is being carried out.
    Event {
        /// Its number.
        id: u64,
        /// What is new.
        event: Event,
    },
    /// The answer, which is the last that is said about a request.
    Done {
        /// Its number.
        id: u64,
        /// What came of it.
        result: Result<Reply, Failure>,
    },
}
