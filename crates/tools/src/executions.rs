//! The registry of runs. Each run is a task of its own: it goes on when its caller stops waiting,
//! and its reply can be read for some time after its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_output::RunSummary;
use cellist_platform::contained::contained;
use cellist_session::execution::{Cancel, Canceller};
use cellist_session::sessions::{ExecutionId, SessionKey, StopView};
use tokio::sync::watch;

use crate::answer::{CallProgress, ToolRefusal};
use crate::ledger::Ledger;
use crate::result::ToolReply;

/// Ended runs that can be read.
const ENDED: usize = 64;
/// Bytes of their replies, pictures included. The oldest go first.
const ENDED_BYTES: usize = 32 * 1024 * 1024;

/// The registry of runs. Clones share one registry.
///
/// [`Executions::begin`] spawns the run and lists it until it is evicted. A run in progress is
/// never evicted; ended ones go oldest first, by count and by bytes. A run that panics ends without
/// a reply, and waiting callers get a refusal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions(Arc<Mutex<VecDeque<Execution>>>);

/// A handle of a run. Clones refer to the same run; dropping them does not stop it.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) id: ExecutionId,
    /// A short description.
    pub(crate) title: String,
    pub(crate) session: SessionKey,
    /// The turn of the agent that started it.
    turn: String,
    begun: Instant,
    pub(crate) canceller: Canceller,
    handed_over: watch::Sender<bool>,
    standing: watch::Receiver<Standing>,
    ledger: Ledger,
    outcome: watch::Receiver<Option<Arc<ToolReply>>>,
}

/// The state of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// The current step in a line, and numbers if the code reports them.
    pub(crate) progress: CallProgress,
    /// The output so far.
    pub(crate) text: String,
    /// The interrupt that the code has not obeyed yet.
    pub(crate) stopping: Option<StopView>,
    /// The execution that the run waits for and that does not stop.
    pub(crate) behind: Option<ExecutionId>,
    /// The session's name for the running code.
    pub(crate) call: Option<ExecutionId>,
}

impl Standing {
    /// Returns whether interrupted code has exceeded its grace period.
    pub(crate) fn is_overdue(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_overdue)
    }
}

/// The side of a run: receives requests and reports its state.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) cancel: Cancel,
    /// Whether the caller has stopped waiting.
    pub(crate) handed_over: watch::Receiver<bool>,
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) ledger: Ledger,
}

impl Executions {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Execution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run as a task of its own.
    pub(crate) fn begin<F>(
        &self,
        id: ExecutionId,
        title: String,
        session: SessionKey,
        turn: String,
        run: impl FnOnce(Inside) -> F,
    ) -> Execution
    where
        F: Future<Output = ToolReply> + Send + 'static,
    {
        let (canceller, cancel) = Cancel::channel();
        let (standing, seen) = watch::channel(Standing::default());
        let (tell, outcome) = watch::channel(None);
        let (handed_over, heard) = watch::channel(false);
        let (begun, ledger) = (Instant::now(), Ledger::default());
        let inside = Inside { cancel, handed_over: heard, standing, ledger: ledger.clone() };
        let standing = seen;
        let execution =
            Execution { id, title, session, turn, begun, canceller, handed_over, standing, ledger, outcome };
        self.lock().push_back(execution.clone());
        let running = run(inside);
        let (executions, ledger) = (self.clone(), execution.ledger.clone());
        tokio::spawn(async move {
            // A panic leaves no reply; the receivers see the closed channel.
            if let Ok(reply) = contained(running).await {
                tell.send_replace(Some(Arc::new(reply)));
            }
            drop(tell);
            ledger.close();
            executions.forget();
        });
        execution
    }

    /// Finds a run by its name, or by the session's name for the running code.
    pub(crate) fn find(&self, name: &str) -> Option<Execution> {
        let id = ExecutionId::named(name);
        let is_meant = |execution: &&Execution| {
            execution.id == id || execution.standing.borrow().call.as_ref() == Some(&id)
        };
        self.lock().iter().find(is_meant).cloned()
    }

    /// Lists the runs of a session that have not ended, oldest first.
    pub(crate) fn running(&self, session: &SessionKey) -> Vec<Execution> {
        let runs = |execution: &&Execution| &execution.session == session && !execution.is_done();
        self.lock().iter().filter(runs).cloned().collect()
    }

    /// Lists the runs of a turn that have not ended, oldest first.
    pub(crate) fn of_turn(&self, turn: &str) -> Vec<Execution> {
        let runs = |execution: &&Execution| execution.turn == turn && !execution.is_done();
        self.lock().iter().filter(runs).cloned().collect()
    }

    /// Evicts the oldest ended runs, if there are too many.
    fn forget(&self) {
        let mut all = self.lock();
        let sizes: Vec<Option<usize>> = all.iter().map(Execution::size).collect();
        let mut count = sizes.iter().flatten().count();
        let mut bytes: usize = sizes.iter().flatten().sum();
        let mut sizes = sizes.into_iter();
        all.retain(|_| match sizes.next().flatten() {
            // The newest stays, whatever its size.
            Some(size) if count > ENDED || (bytes > ENDED_BYTES && count > 1) => {
                count -= 1;
                bytes -= size;
                false
            }
            Some(_) | None => true,
        });
    }
}

impl Execution {
    /// Returns the time since the start.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Summarises the cells, if there are several and the run has not ended.
    pub(crate) fn summary(&self) -> Option<RunSummary> {
        self.ledger.summary()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }

    /// Lets the run go on without its caller.
    pub(crate) fn hand_over(&self) {
        self.handed_over.send_replace(true);
    }

    /// Waits for the reply, at most for `patience`, and reports progress meanwhile. Returns `None`
    /// if the run goes on.
    ///
    /// A request from `cancel` is passed on. The wait then lasts until the run has ended or has
    /// exceeded its grace period. Without `cancel` the wait does not affect the run.
    pub(crate) async fn wait(
        &self,
        patience: Duration,
        news: &watch::Sender<Option<CallProgress>>,
        mut cancel: Option<&mut Cancel>,
    ) -> Option<Arc<ToolReply>> {
        let (mut outcome, mut standing) = (self.outcome.clone(), self.standing.clone());
        let (mut is_open, mut is_wanted) = (true, true);
        let deadline = tokio::time::sleep(patience);
        tokio::pin!(deadline);
        loop {
            let is_caller = cancel.is_some();
            let asked = async {
                match cancel.as_deref_mut() {
                    Some(cancel) => cancel.next_request().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                ended = outcome.wait_for(Option::is_some) => {
                    let lost = || Arc::new(ToolRefusal::new("the run ended without a result").into());
                    return ended.ok().and_then(|ended| ended.clone()).or_else(|| Some(lost()));
                }
                wish = asked => {
                    self.canceller.pass_on(wish);
                    is_wanted = false;
                }
                changed = standing.changed(), if is_open => {
                    is_open = changed.is_ok();
                    let standing = standing.borrow_and_update().clone();
                    if is_caller && standing.is_overdue() {
                        return None;
                    }
                    news.send_replace(Some(standing.progress));
                }
                () = &mut deadline, if is_wanted => return None,
            }
        }
    }

    /// Waits for the end.
    pub(crate) async fn end(&self) {
        // A run that panicked has ended too.
        let _ = self.outcome.clone().wait_for(Option::is_some).await;
    }

    /// Returns the size of the reply, if the run has ended.
    fn size(&self) -> Option<usize> {
        match &*self.outcome.borrow() {
            Some(reply) => Some(reply.size()),
            None => self.outcome.has_changed().is_err().then_some(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::result::ReplyDraft;

    const LONG: Duration = Duration::from_secs(60);

    fn session() -> SessionKey {
        SessionKey::new("s", "/")
    }

    fn news() -> watch::Sender<Option<CallProgress>> {
        watch::Sender::new(None)
    }

    fn ended(reply: Option<Arc<ToolReply>>) -> String {
        reply.expect("it has ended").top()
    }

    #[tokio::test]
    async fn a_run_goes_on_unattended_and_its_reply_can_be_read_later() {
        let executions = Executions::default();
        let (go, gone) = oneshot::channel::<()>();
        let execution = executions.begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |inside| async move {
                let progress = CallProgress { message: "half".to_owned(), done: Some(1.0), total: Some(2.0) };
                inside.standing.send_replace(Standing {
                    progress,
                    text: "so far".to_owned(),
                    ..Standing::default()
                });
                gone.await.unwrap();
                ReplyDraft::text("done".to_owned(), false).into()
            },
        );
        let news = news();
        let mut heard = news.subscribe();
        let waiting = execution.wait(LONG, &news, None);
        tokio::select! {
            _ = waiting => unreachable!("it has not ended"),
            _ = heard.wait_for(Option::is_some) => {}
        }
        assert_eq!(heard.borrow().as_ref().unwrap().message, "half");
        assert!(execution.wait(Duration::ZERO, &news, None).await.is_none());
        assert_eq!((execution.standing().text.as_str(), execution.is_done()), ("so far", false));
        assert_eq!(executions.running(&session()).len(), 1);
        go.send(()).unwrap();
        let found = executions.find(&format!(" {} ", execution.id.as_str().to_uppercase())).unwrap();
        assert_eq!(ended(found.wait(LONG, &news, None).await), "done");
        assert_eq!(ended(found.wait(Duration::ZERO, &news, None).await), "done");
        assert!(executions.running(&session()).is_empty() && executions.find("nope").is_none());
    }

    #[tokio::test]
    async fn a_cancel_while_waiting_interrupts_the_run_and_returns_its_reply() {
        let execution = Executions::default().begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |mut inside| async move {
                inside.cancel.asked().await;
                ToolRefusal::new("cancelled").into()
            },
        );
        let (canceller, mut cancel) = Cancel::channel();
        canceller.cancel();
        // The wait lasts until the end, whatever the patience.
        let waited = execution.wait(Duration::ZERO, &news(), Some(&mut cancel)).await;
        assert_eq!(ended(waited), "Error: cancelled");
    }

    #[tokio::test]
    async fn a_run_that_panics_is_a_failure() {
        let execution = Executions::default().begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |_| async move { std::future::pending::<ToolReply>().await },
        );
        drop(execution);
        let broken = Executions::default().begin(
            ExecutionId::random(),
            "x".to_owned(),
            session(),
            String::new(),
            |_| async move { panic!("oh") },
        );
        assert_eq!(ended(broken.wait(LONG, &news(), None).await), "Error: the run ended without a result");
        assert!(broken.is_done());
    }

    #[tokio::test]
    async fn old_replies_are_evicted() {
        let executions = Executions::default();
        let first = executions.begin(
            ExecutionId::random(),
            "first".to_owned(),
            session(),
            String::new(),
            |_| async { ReplyDraft::text("1".to_owned(), false).into() },
        );
        ended(first.wait(LONG, &news(), None).await);
        for _ in 0..ENDED {
            let next = executions.begin(
                ExecutionId::random(),
                "next".to_owned(),
                session(),
                String::new(),
                |_| async { ReplyDraft::text("2".to_owned(), false).into() },
            );
            ended(next.wait(LONG, &news(), None).await);
        }
        let is_gone = || executions.find(first.id.as_str()).is_none();
        while !is_gone() {
            tokio::task::yield_now().await;
        }
        let large = "x".repeat(ENDED_BYTES);
        let large = executions.begin(
            ExecutionId::random(),
            "large".to_owned(),
            session(),
            String::new(),
            |_| async { ReplyDraft::text(large, false).into() },
        );
        ended(large.wait(LONG, &news(), None).await);
        while executions.lock().len() > 1 {
            tokio::task::yield_now().await;
        }
        assert!(executions.find(large.id.as_str()).is_some());
    }
}
