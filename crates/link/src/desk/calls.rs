//! Code in sessions.

use cellist_session::execution::Cancel;
use cellist_session::order::Order;
use cellist_session::sessions::{SessionError, SessionKey};
use tokio::sync::watch;

use super::{Client, Desk};
use crate::call::{Call, Named, Ordered};
use crate::error::Failure;
use crate::request::{Event, Reply};

impl Desk {
    pub(super) fn find(&self, named: &Named) -> Result<SessionKey, SessionError> {
        self.sessions.find(&named.id, named.cwd.as_deref())
    }

    /// The session of a call, with the order that its kernel was started by, if it is there.
    pub(super) fn session_for(&self, call: &Call) -> Result<(SessionKey, Option<Order>), SessionError> {
        match self.find(&call.session) {
            Ok(key) => {
                let order = self.sessions.order(&key);
                Ok((key, order))
            }
            Err(SessionError::NoSuchSession { .. }) => {
                let cwd = call.session.cwd.clone().unwrap_or_else(|| call.here.clone());
                Ok((SessionKey::new(call.session.id.as_str(), cwd), None))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn call(
        &self,
        client: &Client,
        call: Call,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let (key, known) = self.session_for(&call)?;
        let order = match call.ordered(known) {
            Ordered::By(order) => *order,
            Ordered::Missing => return Ok(Reply::Unordered { cwd: key.cwd }),
            Ordered::Other(failure) => return Err(*failure),
        };
        let mut is_watched = call.is_watched;
        let ticket = self.sessions.call(call.into_session_call(key, order, client.0.clone()));
        let (canceller, mut view) = (ticket.canceller(), ticket.watch());
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
