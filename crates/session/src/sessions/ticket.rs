//! What the one who calls holds: a look at the call, a way to stop it, and its end.

use std::sync::Arc;

use cellist_output::notices;
use tokio::sync::watch;

use super::call::{Call, CallReport};
use super::error::SessionError;
use super::key::{ExecutionId, SessionKey};
use super::view::{CallView, Stage};
use crate::execution::{Cancel, Canceller, Status};

/// What came of a call, or why it could not be carried out.
pub(super) type Outcome = Result<CallReport, SessionError>;

/// A call that was handed in. All clones are of the same call; dropping them does not stop it.
#[derive(Clone, Debug)]
pub struct Ticket {
    id: ExecutionId,
    session: SessionKey,
    view: watch::Receiver<CallView>,
    canceller: Canceller,
    outcome: watch::Receiver<Option<Arc<Outcome>>>,
}

impl Ticket {
    /// The name by which the call is found again.
    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// The session that it was handed in to.
    pub fn session(&self) -> &SessionKey {
        &self.session
    }

    /// How it stands, now and from now on. Who looks late sees only the newest.
    pub fn watch(&self) -> watch::Receiver<CallView> {
        self.view.clone()
    }

    /// What stops it. Waiting, it never runs; running, it is interrupted, and asked a second time its kernel is ended.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Whether it has come to its end.
    pub fn is_done(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Waits for its end. May be dropped at any time, and asked again.
    pub async fn done(&self) -> Result<CallReport, SessionError> {
        let mut outcome = self.outcome.clone();
        let told = match outcome.wait_for(Option::is_some).await {
            Ok(told) => told.clone(),
            Err(_) => None,
        };
        let lost = || Arc::new(Err(SessionError::Ended { id: self.session.id.clone() }));
        (*told.unwrap_or_else(lost)).clone()
    }
}

/// The other end of a ticket, with all that has to be done.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: ExecutionId,
    pub(super) call: Call,
    pub(super) cancel: Cancel,
    pub(super) canceller: Canceller,
    pub(super) view: watch::Sender<CallView>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
}

impl Queued {
    pub(super) fn new(call: Call) -> (Queued, Ticket) {
        let id = ExecutionId::random();
        let (canceller, cancel) = Cancel::channel();
        let (view, seen) = watch::channel(CallView::new(id.clone(), 0));
        let (outcome, told) = watch::channel(None);
        let ticket = Ticket {
            id: id.clone(),
            session: call.key.clone(),
            view: seen,
            canceller: canceller.clone(),
            outcome: told,
        };
        (Queued { id, call, cancel, canceller, view, outcome }, ticket)
    }

    pub(super) fn show(&self, stage: Stage) {
        self.view.send_modify(|view| *view = CallView { stage, ..CallView::new(self.id.clone(), 0) });
    }

    /// Tells what came of it.
    pub(super) fn deliver(self, outcome: Outcome) {
        self.view.send_modify(|view| view.stage = Stage::Ended);
        self.outcome.send_replace(Some(Arc::new(outcome)));
    }

    /// A report of a call of which nothing ran.
    pub(super) fn nothing_ran(&self, notice: String) -> CallReport {
        CallReport {
            execution: self.id.clone(),
            session: self.call.key.clone(),
            status: Status::Cancelled,
            cells: Vec::new(),
            failed: None,
            not_run: self.call.cells.len(),
            notices: vec![notice],
        }
    }

    /// Tells that nobody wanted it any more before it ran.
    pub(super) fn withdraw(self) {
        let report = self.nothing_ran(notices::cancelled_in_queue());
        self.deliver(Ok(report));
    }
}
