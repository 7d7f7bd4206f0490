//! Where requests are answered: owns kernel sessions and open notebooks, in whichever process that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellist_session::run::Cancel;
use tokio::sync::watch;

use crate::error::Failure;
use crate::request::{Event, Reply, Request};

/// Answers requests. Cheap to clone; all clones are one desk.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    clients: Arc<AtomicU64>,
}

/// Someone who asks: a connection, or a front end in this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client(u64);

/// What a desk keeps for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Kernel sessions.
    pub sessions: usize,
    /// How many of them run code.
    pub busy: usize,
    /// Open notebooks.
    pub notebooks: usize,
}

impl Desk {
    /// Someone new.
    pub fn client(&self) -> Client {
        Client(self.clients.fetch_add(1, Ordering::Relaxed))
    }

    /// Someone went away. What it asked for goes on.
    pub fn left(&self, _client: &Client) {}

    /// What it keeps now.
    pub fn keeping(&self) -> Keeping {
        Keeping::default()
    }

    /// Carries a request out. Dropping the future gives up on the answer, not on what was begun.
    pub async fn answer(
        &self,
        _client: &Client,
        request: Request,
        _events: watch::Sender<Option<Event>>,
        _cancel: Cancel,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Sessions => Ok(Reply::Sessions(Vec::new())),
        }
    }

    /// Ends everything that it keeps, and waits for that.
    pub async fn close(&self) {}
}
