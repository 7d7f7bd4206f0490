//! Runs by name: each is a task of its own, that goes on when whoever asked for it does not wait any more, and whose answer
//! can be read for a while after its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_output::RunSummary;
use cellist_platform::contained::contained;
use cellist_session::execution::{Cancel, Canceller};
use cellist_session::sessions::{ExecutionId, SessionKey, StopView};
use tokio::sync::watch;

use crate::answer::{Progress, Refusal};
use crate::ledger::Ledger;
use crate::result::Reply;

/// How many runs that have ended can be read.
const ENDED: usize = 64;
/// How many bytes their answers may have together, pictures included; the oldest go first.
const ENDED_BYTES: usize = 32 * 1024 * 1024;

/// All runs. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Executions(Arc<Mutex<VecDeque<Execution>>>);

/// A run. All clones are of the same one; dropping them does not stop it.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) id: ExecutionId,
    /// What runs, in a few words.
    pub(crate) title: String,
    pub(crate) session: SessionKey,
    /// The turn of an agent in which it was begun.
    turn: String,
    begun: Instant,
    pub(crate) canceller: Canceller,
    handed_over: watch::Sender<bool>,
    standing: watch::Receiver<Standing>,
    ledger: Ledger,
    outcome: watch::Receiver<Option<Arc<Reply>>>,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// In a line, and in numbers where the code tells.
    pub(crate) progress: Progress,
    /// What the code that runs has shown so far.
    pub(crate) text: String,
    /// The interrupt that it was sent and has not followed yet.
    pub(crate) stopping: Option<StopView>,
    /// The execution of its session that it waits for and that does not stop.
    pub(crate) behind: Option<ExecutionId>,
    /// The name that its session has for the running code.
    pub(crate) call: Option<ExecutionId>,
}

impl Standing {
    /// Whether the code was interrupted and has not stopped within the grace.
    pub(crate) fn is_overdue(&self) -> bool {
        self.stopping.is_some_and(|stopping| stopping.is_overdue)
    }
}

/// What a run has, to hear what is wished and to tell how far it is.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) cancel: Cancel,
    /// Whether whoever asked for it does not wait any more.
    pub(crate) handed_over: watch::Receiver<bool>,
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) ledger: Ledger,
}

impl Executions {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Execution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run as a task of its own.
    pub(crate) fn begin<F>(
        &self,
        id: ExecutionId,
        title: String,
        session: SessionKey,
        turn: String,
        run: impl FnOnce(Inside) -> F,
    ) -> Execution
    where
        F: Future<Output = Reply> + Send + 'static,
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
            // A fault of ours leaves no reply, and the receiver sees the end of it.
            if let Ok(reply) = contained(running).await {
                tell.send_replace(Some(Arc::new(reply)));
            }
            drop(tell);
            ledger.close();
            executions.forget();
        });
        execution
    }

    /// A run by its name, or by the name that its session has for the running code.
    pub(crate) fn find(&self, name: &str) -> Option<Execution> {
        let id = ExecutionId::named(name);
        let is_meant = |execution: &&Execution| {
            execution.id == id || execution.standing.borrow().call.as_ref() == Some(&id)
        };
        self.lock().iter().find(is_meant).cloned()
    }

    /// Those of a session that have not ended, the oldest first.
    pub(crate) fn running(&self, session: &SessionKey) -> Vec<Execution> {
        let runs = |execution: &&Execution| &execution.session == session && !execution.is_done();
        self.lock().iter().filter(runs).cloned().collect()
    }

    /// Those of a turn that have not ended, the oldest first.
    pub(crate) fn of_turn(&self, turn: &str) -> Vec<Execution> {
        let runs = |execution: &&Execution| execution.turn == turn && !execution.is_done();
        self.lock().iter().filter(runs).cloned().collect()
    }

    /// Lets the oldest go that have ended, where there are too many.
    fn forget(&self) {
        let mut all = self.lock();
        let sizes: Vec<Option<usize>> = all.iter().map(Execution::size).collect();
        let mut count = sizes.iter().flatten().count();
        let mut bytes: usize = sizes.iter().flatten().sum();
        let mut sizes = sizes.into_iter();
        all.retain(|_| match sizes.next().flatten() {
            // The newest is kept, however large.
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
    /// How long ago it was asked for.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// How its cells stand, where it has several and has not ended.
    pub(crate) fn summary(&self) -> Option<RunSummary> {
        self.ledger.summary()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }

    /// Lets it go on without whoever asked for it.
    pub(crate) fn hand_over(&self) {
        self.handed_over.send_replace(true);
    }

    /// Waits for its reply, but not longer than so long, and tells meanwhile how far it is. Nothing where it still runs. When `cancel` is asked, the wish is
    /// passed on; the wait is over when the run has ended, or has not stopped within the grace. Without `cancel`, nothing
    /// is done to the run.
    pub(crate) async fn wait(
        &self,
        patience: Duration,
        news: &watch::Sender<Option<Progress>>,
        mut cancel: Option<&mut Cancel>,
    ) -> Option<Arc<Reply>> {
        let (mut outcome, mut standing) = (self.outcome.clone(), self.standing.clone());
        let (mut is_open, mut is_wanted) = (true, true);
        let deadline = tokio::time::sleep(patience);
        tokio::pin!(deadline);
        loop {
            let is_caller = cancel.is_some();
            let asked = async {
                match cancel.as_deref_mut() {
                    Some(cancel) => cancel.wish().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                ended = outcome.wait_for(Option::is_some) => {
                    let lost = || Arc::new(Refusal::new("the run ended without a result").into());
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

    /// Waits for its end, however long that takes.
    pub(crate) async fn end(&self) {
        // One that was lost has ended, too.
        let _ = self.outcome.clone().wait_for(Option::is_some).await;
    }

    /// How large its answer is, if it has ended.
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
    use crate::result::Composed;

    const LONG: Duration = Duration::from_secs(60);

    fn session() -> SessionKey {
        SessionKey::new("s", "/")
    }

    fn news() -> watch::Sender<Option<Progress>> {
        watch::Sender::new(None)
    }

    fn ended(reply: Option<Arc<Reply>>) -> String {
        reply.expect("it has ended").top()
    }

    #[tokio::test]
    async fn a_run_goes_on_when_nobody_waits_and_its_answer_is_there_for_who_asks_later() {
        let executions = Executions::default();
        let (go, gone) = oneshot::channel::<()>();
        let execution = executions.begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |inside| async move {
                let progress = Progress { message: "half".to_owned(), done: Some(1.0), total: Some(2.0) };
                inside.standing.send_replace(Standing {
                    progress,
                    text: "so far".to_owned(),
                    ..Standing::default()
                });
                gone.await.unwrap();
                Composed::text("done".to_owned(), false).into()
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
    async fn who_cancels_while_waiting_interrupts_and_hears_the_end() {
        let execution = Executions::default().begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |mut inside| async move {
                inside.cancel.asked().await;
                Refusal::new("cancelled").into()
            },
        );
        let (canceller, mut cancel) = Cancel::channel();
        canceller.cancel();
        // Its end is waited for, however little patience there was.
        let waited = execution.wait(Duration::ZERO, &news(), Some(&mut cancel)).await;
        assert_eq!(ended(waited), "Error: cancelled");
    }

    #[tokio::test]
    async fn a_run_that_breaks_is_told_as_a_failure() {
        let execution = Executions::default().begin(
            ExecutionId::random(),
            "python".to_owned(),
            session(),
            String::new(),
            |_| async move { std::future::pending::<Reply>().await },
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
    async fn only_the_last_answers_are_kept() {
        let executions = Executions::default();
        let first = executions.begin(
            ExecutionId::random(),
            "first".to_owned(),
            session(),
            String::new(),
            |_| async { Composed::text("1".to_owned(), false).into() },
        );
        ended(first.wait(LONG, &news(), None).await);
        for _ in 0..ENDED {
            let next = executions.begin(
                ExecutionId::random(),
                "next".to_owned(),
                session(),
                String::new(),
                |_| async { Composed::text("2".to_owned(), false).into() },
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
            |_| async { Composed::text(large, false).into() },
        );
        ended(large.wait(LONG, &news(), None).await);
        while executions.lock().len() > 1 {
            tokio::task::yield_now().await;
        }
        assert!(executions.find(large.id.as_str()).is_some());
    }
}
