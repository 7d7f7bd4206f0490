//! The caller's handle on a call, and its counterpart in the queue.

use std::sync::Arc;

use cellist_output::notices;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::call::{CallReport, SessionCall};
use super::error::SessionError;
use super::key::{ExecutionId, SessionKey};
use super::view::{CallView, Stage};
use crate::execution::{Cancel, CancelRequest, Canceller, KernelState, Status};

/// The report of a call, or its error.
pub(super) type Outcome = Result<CallReport, SessionError>;

/// The caller's handle on a call.
///
/// - Ownership: clones refer to the same call. Dropping them does not stop it.
/// - Order: [`Ticket::watch`] shows queued, starting, running, ended, in this order. The report is available once
///   the call has ended.
/// - Cancellation: [`Ticket::canceller`] stops the call. All waiting methods are cancel-safe.
/// - Errors: [`Ticket::done`] returns an error only if the call could not run. Code that fails is a report.
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
    /// The id of the call.
    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// The session of the call.
    pub fn session(&self) -> &SessionKey {
        &self.session
    }

    /// Returns a receiver of the call's progress. A late observer sees only the newest view.
    pub fn watch(&self) -> watch::Receiver<CallView> {
        self.view.clone()
    }

    /// Returns the means to stop the call. A queued call never runs. A running call is interrupted on each request.
    /// Its kernel is killed only by force, by its end, or if the rule for stuck code says so.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Whether the call has ended.
    pub fn is_done(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    /// Interrupts the call and waits until it stops or the grace period ends. With `force`, kills the kernel if the
    /// code does not stop. Cancel-safe.
    pub async fn interrupt(&self, force: bool) -> Interruption {
        let mut interim = self.interim.clone();
        interim.mark_unchanged();
        self.canceller.pass_on(if force { CancelRequest::Force } else { CancelRequest::Stop });
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

    /// Waits until the code was interrupted and did not stop within the grace period. Returns the report so far.
    /// Otherwise never returns. Cancel-safe.
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

    /// Waits for the end of the call. Cancel-safe, and can be called again.
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

/// The effect of an interrupt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    /// No code ran.
    NothingRan,
    /// The code stopped, and the kernel kept its state.
    Kept,
    /// The kernel ended, and its state was lost.
    Lost,
    /// The code was interrupted and still runs, as this execution.
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

/// A call in the queue: the counterpart of a ticket.
#[derive(Debug)]
pub(super) struct QueuedCall {
    pub(super) id: ExecutionId,
    pub(super) call: SessionCall,
    pub(super) cancel: Cancel,
    pub(super) canceller: Canceller,
    pub(super) view: watch::Sender<CallView>,
    /// The report of a call that did not stop within the grace period.
    pub(super) interim: watch::Sender<Option<Arc<CallReport>>>,
    outcome: watch::Sender<Option<Arc<Outcome>>>,
}

impl QueuedCall {
    pub(super) fn new(call: SessionCall) -> (QueuedCall, Ticket) {
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
        (QueuedCall { id, call, cancel, canceller, view, interim, outcome }, ticket)
    }

    pub(super) fn show(&self, stage: Stage) {
        self.view.send_modify(|view| *view = CallView { stage, ..CallView::new(self.id.clone(), 0) });
    }

    /// Notes the stuck execution that the call waits for.
    pub(super) fn set_behind(&self, execution: Option<ExecutionId>) {
        self.view.send_modify(|view| {
            if let Stage::Queued { behind, .. } = &mut view.stage {
                *behind = execution;
            }
        });
    }

    /// Delivers the report or the error.
    pub(super) fn deliver(self, outcome: Outcome) {
        self.view.send_modify(|view| view.stage = Stage::Ended);
        self.outcome.send_replace(Some(Arc::new(outcome)));
    }

    /// Returns the report of a call that ran no code.
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

    /// Rejects the call because the execution before it does not stop. If that has ended, withdraws the call.
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

    /// Reports that the call was cancelled before it ran.
    pub(super) fn withdraw(self) {
        let report = self.nothing_ran(notices::cancelled_in_queue());
        self.deliver(Ok(report));
    }
}
