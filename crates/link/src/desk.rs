//! Where requests are answered: owns kernel sessions and open notebooks, in whichever process that is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellist_session::execution::Cancel;
use cellist_session::sessions::{
    Call as SessionCall, OwnerId, SessionError, SessionKey, SessionState, Sessions,
};
use tokio::sync::watch;

use crate::call::{Call, Named, Ordered};
use crate::error::Failure;
use crate::request::{Event, Reply, Request};

/// Answers requests. Cheap to clone; all clones are one desk.
#[derive(Clone)]
pub struct Desk {
    sessions: Sessions,
    clients: Arc<AtomicU64>,
}

/// Someone who asks: a connection, or a front end in this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client(OwnerId);

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
    /// A desk that keeps these sessions.
    pub fn new(sessions: Sessions) -> Desk {
        Desk { sessions, clients: Arc::default() }
    }

    /// Someone new.
    pub fn client(&self) -> Client {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        let owner = OwnerId(format!("client-{}-{number}", std::process::id()));
        self.sessions.join(owner.clone());
        Client(owner)
    }

    /// Someone went away. What it asked for goes on.
    pub fn left(&self, client: &Client) {
        self.sessions.leave(&client.0);
    }

    /// What it keeps now.
    pub fn keeping(&self) -> Keeping {
        let sessions = self.sessions.list();
        let busy = sessions.iter().filter(|session| session.state == SessionState::Busy).count();
        Keeping { sessions: sessions.len(), busy, notebooks: 0 }
    }

    /// Carries a request out. Dropping the future gives up on the answer, not on what was begun.
    pub async fn answer(
        &self,
        client: &Client,
        request: Request,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Sessions => Ok(Reply::Sessions(self.sessions.list())),
            Request::Call(call) => self.call(client, *call, events, cancel).await,
            Request::Interrupt(named) => {
                Ok(Reply::Interrupted(self.sessions.interrupt(&self.find(&named)?)?))
            }
            Request::Restart(named) => {
                self.sessions.restart(&self.find(&named)?).await?;
                Ok(Reply::Done)
            }
            Request::End(named) => {
                self.sessions.stop(&self.find(&named)?).await?;
                Ok(Reply::Done)
            }
        }
    }

    /// Ends everything that it keeps, and waits for that.
    pub async fn close(&self) {
        self.sessions.close().await;
    }

    fn find(&self, named: &Named) -> Result<SessionKey, SessionError> {
        self.sessions.find(&named.id, named.cwd.as_deref())
    }

    async fn call(
        &self,
        client: &Client,
        call: Call,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let (key, known) = match self.find(&call.session) {
            Ok(key) => {
                let order = self.sessions.order(&key);
                (key, order)
            }
            Err(SessionError::NoSuchSession { .. }) => {
                let cwd = call.session.cwd.clone().unwrap_or_else(|| call.here.clone());
                (SessionKey::new(call.session.id.as_str(), cwd), None)
            }
            Err(error) => return Err(error.into()),
        };
        let order = match call.ordered(known) {
            Ordered::By(order) => *order,
            Ordered::Missing => return Ok(Reply::Unordered { cwd: key.cwd }),
            Ordered::Other(failure) => return Err(*failure),
        };
        let ticket = self.sessions.call(SessionCall {
            key,
            kind: call.kind,
            owner: call.is_owned.then(|| client.0.clone()),
            order,
            cells: call.cells,
            limit: call.limit,
            grace: call.grace,
            reset: call.reset,
            retry: call.retry,
            mode: call.mode,
            reading: call.reading,
            rights: call.rights,
            listener: None,
        });
        let (canceller, mut view) = (ticket.canceller(), ticket.watch());
        let mut is_watched = call.is_watched;
        let done = ticket.done();
        tokio::pin!(done);
        loop {
            tokio::select! {
                biased;
                report = &mut done => return Ok(Reply::Called(Box::new(report?))),
                () = cancel.asked() => canceller.cancel(),
                changed = view.changed(), if is_watched => match changed {
                    Ok(()) => drop(events.send_replace(Some(Event::Call(view.borrow_and_update().clone())))),
                    Err(_) => is_watched = false,
                },
            }
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}
