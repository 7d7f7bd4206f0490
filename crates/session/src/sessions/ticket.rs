//! What the one who calls holds: a look at the call, a way to stop it, and its end.

use std::sync::Arc;

use cellist_output::notices;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::call::{CallReport, SessionCall};
use super::error::SessionError;
use super::key::{ExecutionId, SessionKey};
use super::view::{CallView, Stage};
use crate::execution::{Cancel, Canceller, KernelState, Status, Wish};

/// What came of a call, or why it could not be carried out.
pub(super) type Outcome = Result<CallReport, SessionError>;

/// A call that was handed in. All clones are of the same call; dropping them does not stop it.
#[derive(Clone, Debug)]
pub struct Ticket {
    id: ExecutionId,
    session: SessionKey,
    view: watch::Receiver<CallView>,
    canceller: Canceller,
    interim: watch::Receiver<Option<Arc<CallReport>>>,
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

    /// Stops it. A call that waits never runs; one that runs is interrupted, each time it is asked. Its kernel is killed
    /// only by force, by its end, or where the call's rule for stuck code says so.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Whether it has come to its end.
    pub fn is_done(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Interrupts it, and waits until it has stopped or the grace has passed. With force, its kernel is killed if the code
    /// does not stop. May be dropped at any time.
    pub async fn interrupt(&self, force: bool) -> Interruption {
        let mut interim = self.interim.clone();
        interim.mark_unchanged();
        self.canceller.pass_on(if force { Wish::Force } else { Wish::Stop });
        loop {
            tokio::select! {
                biased;
                outcome = self.done() => return Interruption::stopped(outcome),
                changed = interim.changed() => {
                    if changed.is_err() {
                        return Interruption::stopped(self.done().await);
                    }
                    if interim.borrow_and_update().is_some() {
                        return Interruption::NotStopped(self.id.clone());
                    }
                }
            }
        }
    }

    /// Waits until its code was interrupted and has not stopped within the grace, and returns the report of that moment.
    /// Never returns where that does not happen. May be dropped at any time.
    pub async fn overdue(&self) -> CallReport {
        let mut interim = self.interim.clone();
        let report = match interim.wait_for(Option::is_some).await {
            Ok(report) => report.clone(),
            Err(_) => None,
        };
        match report {
            Some(report) => CallReport::clone(&report),
            None => std::future::pending().await,
        }
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

/// How running code took an interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    /// Nothing ran.
    NothingRan,
    /// It has stopped; the kernel's state was kept.
    Kept,
    /// It has ended with its kernel; the state was lost.
    Lost,
    /// It was interrupted and still runs, as this execution.
    NotStopped(ExecutionId),
}

impl Interruption {
    fn stopped(outcome: Outcome) -> Interruption {
        let state = outcome.ok().and_then(|report| Some(report.cells.last()?.report.kernel.state));
        match state {
            Some(KernelState::Lost) => Interruption::Lost,
            Some(KernelState::Kept | KernelState::Unknown) | None => Interruption::Kept,
        }
    }
}

/// The other end of a ticket, with all that has to be done.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) id: ExecutionId,
    pub(super) call: SessionCall,
    pub(super) cancel: Cancel,
    pub(super) canceller: Canceller,
    pub(super) view: watch::Sender<CallView>,
    /// The report of the moment at which its code had not stopped within the grace.
    pub(super) interim: watch::Sender<Option<Arc<CallReport>>>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
}

impl Queued {
    pub(super) fn new(call: SessionCall) -> (Queued, Ticket) {
        let id = ExecutionId::random();
        let (canceller, cancel) = Cancel::channel();
        let (view, seen) = watch::channel(CallView::new(id.clone(), 0));
        let (outcome, told) = watch::channel(None);
        let (interim, overdue) = watch::channel(None);
        let ticket = Ticket {
            id: id.clone(),
            session: call.key.clone(),
            view: seen,
            canceller: canceller.clone(),
            interim: overdue,
            outcome: told,
        };
        (Queued { id, call, cancel, canceller, view, interim, outcome }, ticket)
    }

    pub(super) fn show(&self, stage: Stage) {
        self.view.send_modify(|view| *view = CallView { stage, ..CallView::new(self.id.clone(), 0) });
    }

    /// Notes which execution it waits for that does not stop.
    pub(super) fn set_behind(&self, execution: Option<ExecutionId>) {
        self.view.send_modify(|view| {
            if let Stage::Queued { behind, .. } = &mut view.stage {
                *behind = execution;
            }
        });
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

    /// Refuses the call because the execution before it does not stop. If it has ended, withdraws the call.
    pub(super) fn give_up(self) {
        let behind = self.view.borrow().behind().cloned();
        match behind {
            Some(execution) => {
                let id = self.call.key.id.clone();
                self.deliver(Err(SessionError::Busy { id, execution }));
            }
            None => self.withdraw(),
        }
    }

    /// Tells that nobody wanted it any more before it ran.
    pub(super) fn withdraw(self) {
        let report = self.nothing_ran(notices::cancelled_in_queue());
        self.deliver(Ok(report));
    }
}
