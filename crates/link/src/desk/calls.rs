//! Code in sessions.

use cellist_session::execution::Cancel;
use cellist_session::sessions::{Call as SessionCall, SessionError, SessionKey};
use tokio::sync::watch;

use super::{Client, Desk};
use crate::call::{Call, Named, Ordered};
use crate::error::Failure;
use crate::request::{Event, Reply};

impl Desk {
    pub(super) fn find(&self, named: &Named) -> Result<SessionKey, SessionError> {
        self.sessions.find(&named.id, named.cwd.as_deref())
    }

    pub(super) async fn call(
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
