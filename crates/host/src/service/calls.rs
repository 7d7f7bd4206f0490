//! Code in sessions.

use cellist_kernel::order::Order;
use cellist_session::execution::Cancel;
use cellist_session::sessions::{CallView, Kind, SessionError, SessionKey};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Client, HostService};
use crate::error::Failure;
use crate::protocol::call::{Call, Named, Ordered};
use crate::protocol::request::{Event, Reply};

impl HostService {
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
        let (mut is_watched, is_notebook) = (call.is_watched, matches!(call.kind, Kind::Notebook { .. }));
        let patience = sleep(call.soft_wait);
        tokio::pin!(patience);
        let (mut is_patient, mut is_withdrawn) = (true, false);
        let ticket = self.sessions.call(call.into_session_call(key.clone(), order, client.owner().clone()));
        if is_notebook {
            // The kernel stays as long as its clients. A session that has ended meanwhile needs no client.
            let _ = self.sessions.attach(client.owner(), &key);
        }
        let (canceller, mut view) = (ticket.canceller(), ticket.watch());
        let mut waiting = ticket.watch();
        let (done, overdue) = (ticket.done(), ticket.overdue());
        tokio::pin!(done, overdue);
        loop {
            tokio::select! {
                biased;
                report = &mut done => return Ok(Reply::Called(Box::new(report?))),
                // It runs on, and nobody is kept waiting for it.
                report = &mut overdue => return Ok(Reply::Called(Box::new(report))),
                wish = cancel.wish() => canceller.pass_on(wish),
                () = &mut patience, if is_patient => is_patient = false,
                true = until_behind(&mut waiting), if !is_patient && !is_withdrawn => {
                    is_withdrawn = true;
                    canceller.withdraw();
                }
                changed = view.changed(), if is_watched => match changed {
                    Ok(()) => drop(events.send_replace(Some(Event::Call(view.borrow_and_update().clone())))),
                    Err(_) => is_watched = false,
                },
            }
        }
    }
}

/// Waits until a call stands behind code that does not stop. `false` when it never will.
async fn until_behind(view: &mut watch::Receiver<CallView>) -> bool {
    view.wait_for(|view| view.behind().is_some()).await.is_ok()
}
