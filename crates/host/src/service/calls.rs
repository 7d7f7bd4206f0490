//! Calls: code in sessions, and the selection of their kernels.

use std::sync::{Arc, Mutex, PoisonError};

use cellist_kernel::order::Order;
use cellist_session::execution::{Cancel, Status};
use cellist_session::orders::{self, KernelRequest, StageLog, Stages};
use cellist_session::sessions::{CallView, SessionError, SessionKey, SessionKind, Ticket};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{HostService, ServiceClient};
use crate::error::Failure;
use crate::protocol::call::{CallRequest, SessionName};
use crate::protocol::request::{Event, Reply, StartedKernel};

/// The session of a call, and its kernel.
pub(super) struct CallPlacement {
    pub(super) key: SessionKey,
    pub(super) order: Arc<Order>,
    pub(super) stages: StageLines,
}

/// The stages of a kernel start, as notices for a client without a log.
#[derive(Clone, Default)]
pub(super) struct StageLines(Arc<Mutex<Vec<String>>>);

impl StageLines {
    fn log(&self) -> StageLog {
        let lines = self.clone();
        Arc::new(move |line| lines.lock().push(line.to_owned()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }
}

impl HostService {
    pub(super) fn find(&self, named: &SessionName) -> Result<SessionKey, SessionError> {
        self.sessions.find(&named.id, named.cwd.as_deref())
    }

    /// Finds the session of a call, and selects its kernel if it has none. `cancel` ends the search.
    pub(super) async fn place(
        &self,
        client: &ServiceClient,
        call: &CallRequest,
        cancel: &mut Cancel,
    ) -> Result<CallPlacement, Failure> {
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
        let stages = StageLines::default();
        if let Some(order) = known.as_ref().filter(|_| call.takes(&known)) {
            return Ok(CallPlacement { key, order: Arc::clone(order), stages });
        }
        let order = tokio::select! {
            order = self.order(client, &key, call.kernel.clone(), &stages) => order?,
            () = cancel.asked() => return Err(Failure::interrupted()),
        };
        call.check(&order, known.as_deref())?;
        Ok(CallPlacement { key, order: Arc::new(order), stages })
    }

    /// Selects the kernel of a session, by the environment of a client.
    pub(super) async fn order(
        &self,
        client: &ServiceClient,
        key: &SessionKey,
        request: KernelRequest,
        lines: &StageLines,
    ) -> Result<Order, Failure> {
        let (environment, home) = (client.environment(), self.documents.store().home());
        let stages =
            Stages::new(&environment.variables(), self.stage_log.clone().or_else(|| Some(lines.log())));
        Ok(orders::write(&environment, home, &key.cwd, request, stages).await?.order)
    }

    /// Starts the kernel of a session. Returns its identity.
    pub(super) async fn start(
        &self,
        client: &ServiceClient,
        mut call: CallRequest,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        call.cells = Vec::new();
        let CallPlacement { key, order, stages } = self.place(client, &call, &mut cancel).await?;
        events.send_replace(Some(Event::Starting(order.way.in_words().to_owned())));
        let mut clock =
            Stages::new(&client.environment().variables(), self.stage_log.clone().or(Some(stages.log())));
        let ticket = self.sessions.call(call.into_session_call(key.clone(), order, client.owner().clone()));
        let report = wait_or_cancel(&ticket, &mut cancel).await?;
        if report.status == Status::Cancelled {
            return Err(Failure::interrupted());
        }
        clock.done("the kernel is ready");
        let lost = || SessionError::Ended { id: key.id.clone() };
        let identity = self.sessions.identity(&key).ok_or_else(lost)?;
        let notices = [stages.take(), report.notices].concat();
        Ok(Reply::Started(Box::new(StartedKernel { identity, notices })))
    }

    pub(super) async fn call(
        &self,
        client: &ServiceClient,
        call: CallRequest,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let CallPlacement { key, order, stages } = self.place(client, &call, &mut cancel).await?;
        let (mut is_watched, is_notebook) =
            (call.is_watched, matches!(call.kind, SessionKind::Notebook { .. }));
        let patience = sleep(call.soft_wait);
        tokio::pin!(patience);
        let (mut is_patient, mut is_withdrawn) = (true, false);
        let ticket = self.sessions.call(call.into_session_call(key.clone(), order, client.owner().clone()));
        if is_notebook {
            // Keeps the kernel while the client is connected. Fails only for a session that has ended.
            let _ = self.sessions.attach(client.owner(), &key);
        }
        let (canceller, mut view) = (ticket.canceller(), ticket.watch());
        let mut waiting = ticket.watch();
        let (done, overdue) = (ticket.done(), ticket.overdue());
        tokio::pin!(done, overdue);
        let mut report = loop {
            tokio::select! {
                biased;
                report = &mut done => break report?,
                // The code goes on in the background.
                report = &mut overdue => break report,
                request = cancel.next_request() => canceller.pass_on(request),
                () = &mut patience, if is_patient => is_patient = false,
                true = wait_until_behind(&mut waiting), if !is_patient && !is_withdrawn => {
                    is_withdrawn = true;
                    canceller.withdraw();
                }
                changed = view.changed(), if is_watched => match changed {
                    Ok(()) => drop(events.send_replace(Some(Event::Call(view.borrow_and_update().clone())))),
                    Err(_) => is_watched = false,
                },
            }
        };
        report.notices.splice(0..0, stages.take());
        Ok(Reply::Called(Box::new(report)))
    }
}

/// Waits for the end of a call, and forwards cancels to it.
async fn wait_or_cancel(
    ticket: &Ticket,
    cancel: &mut Cancel,
) -> Result<cellist_session::sessions::CallReport, SessionError> {
    let done = ticket.done();
    tokio::pin!(done);
    loop {
        tokio::select! {
            biased;
            report = &mut done => return report,
            request = cancel.next_request() => ticket.canceller().pass_on(request),
        }
    }
}

/// Waits until a call is queued behind stuck code. Returns `false` if the call has ended.
async fn wait_until_behind(view: &mut watch::Receiver<CallView>) -> bool {
    view.wait_for(|view| view.behind().is_some()).await.is_ok()
}
