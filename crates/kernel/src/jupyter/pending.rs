//! Requests without a reply yet, with their callers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::message::Message;
use crate::event::Death;

/// Requests without a reply yet, with their callers.
#[derive(Default)]
pub(crate) struct Pending(Mutex<Waiters>);

#[derive(Default)]
struct Waiters {
    by_request: HashMap<String, oneshot::Sender<Message>>,
    /// Why nobody is answered any more.
    closed: Option<Death>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the answer to a request that is about to be sent.
    pub(crate) fn expect(self: &Arc<Self>, request: String) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let mut waiters = self.lock();
        if waiters.closed.is_none() {
            waiters.by_request.insert(request.clone(), sender);
        }
        Answer { pending: self.clone(), request, receiver }
    }

    /// Hands a reply to its caller; gives it back when there is none.
    pub(crate) fn answer(&self, message: Message) -> Option<Message> {
        let waiter = message.parent.as_deref().and_then(|parent| self.lock().by_request.remove(parent));
        match waiter {
            Some(waiter) => {
                let _ = waiter.send(message);
                None
            }
            None => Some(message),
        }
    }

    /// Nobody will be answered any more.
    pub(crate) fn close(&self) {
        self.close_with(Death::Unknown);
    }

    /// Nobody will be answered any more, since the kernel ended like this.
    pub(crate) fn close_with(&self, death: Death) {
        let mut waiters = self.lock();
        waiters.closed.get_or_insert(death);
        waiters.by_request.clear();
    }

    /// How the kernel ended, as far as it is known.
    pub(crate) fn death(&self) -> Death {
        self.lock().closed.clone().unwrap_or(Death::Unknown)
    }
}

/// An answer to come; forgotten when dropped.
pub(crate) struct Answer {
    pending: Arc<Pending>,
    request: String,
    receiver: oneshot::Receiver<Message>,
}

impl Answer {
    /// The answer, or none when the kernel is gone.
    pub(crate) async fn get(mut self) -> Option<Message> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.pending.lock().by_request.remove(&self.request);
    }
}
