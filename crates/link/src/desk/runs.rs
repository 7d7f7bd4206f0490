//! Cells of open notebooks, run in their sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_session::execution::{Cancel, Canceller};
use cellist_session::live::{Batch, RunError};
use cellist_session::sessions::Kind;
use tokio::sync::watch;

use super::{Client, Desk};
use crate::call::Ordered;
use crate::error::Failure;
use crate::request::{Event, Reply};
use crate::run::{NotebookRun, Reporter, RunLog, RunNews, RunView};

/// The runs that have a name, as long as they go on.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(Arc<Mutex<HashMap<String, watch::Receiver<RunLog>>>>);

impl Runs {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Receiver<RunLog>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has happened in a run beyond what is known of it.
    pub(super) fn news(&self, run: &str, from: usize) -> Vec<RunNews> {
        let runs = self.lock();
        let log = runs.get(run).map(watch::Receiver::borrow);
        log.and_then(|log| Some(log.news.get(from..)?.to_vec())).unwrap_or_default()
    }
}

/// A name that a run has until it is dropped.
struct Listed(Runs, String);

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.lock().remove(&self.1);
    }
}

/// Stops a run when whoever asked for it is not there any more to wait for it.
struct Bound(Option<Canceller>);

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(canceller) = &self.0 {
            canceller.cancel();
        }
    }
}

impl Desk {
    pub(super) async fn run(
        &self,
        client: &Client,
        run: NotebookRun,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let NotebookRun { path, cells, call, allow_errors, max_output, timing, author, name } = run;
        let is_watched = call.is_watched;
        let passes = matches!(call.kind, Kind::Run { .. });
        let (key, known) = self.session_for(&call)?;
        let order = match call.ordered(known) {
            Ordered::By(order) => *order,
            Ordered::Missing => return Ok(Reply::Unordered { cwd: key.cwd }),
            Ordered::Other(failure) => return Err(*failure),
        };
        let attached = key.clone();
        let document = self.documents.open(&path).await?;
        let mut views = document.watch();
        let call = call.into_session_call(key.clone(), order, client.0.clone());
        let batch = Batch { cells: cells.clone(), call, allow_errors, max_output, timing, watcher: None };
        let (tell, mut log) = watch::channel(RunLog::default());
        let mut reporter = name.is_some().then_some(Reporter(tell));
        let _listed = name.map(|name| {
            self.runs.lock().insert(name.clone(), log.clone());
            Listed(self.runs.clone(), name)
        });
        let (canceller, stop) = Cancel::channel();
        let mut bound = Bound(passes.then(|| canceller.clone()));
        let sessions = self.sessions.clone();
        // A task of its own: it goes on when nobody waits for it any more.
        let mut running = tokio::spawn(async move {
            let observer = reporter.as_mut().map(|reporter| reporter as _);
            let ran = document.run_watched(&sessions, batch, author, stop, observer).await;
            if passes {
                // One that has ended by itself needs no end.
                let _ = sessions.stop(&key).await;
            }
            ran
        });
        let (mut has_views, mut has_log) = (is_watched, is_watched);
        loop {
            tokio::select! {
                biased;
                ended = &mut running => {
                    bound.0 = None;
                    // The session of a notebook stays as long as its clients.
                    let _ = self.sessions.attach(&client.0, &attached);
                    let lost = |_| Failure::no_kernel("run_lost", "the run ended without a report");
                    return Ok(Reply::Ran(Box::new(ended.map_err(lost)??)));
                }
                () = cancel.asked() => {
                    canceller.cancel();
                    continue;
                }
                changed = views.changed(), if has_views => has_views = changed.is_ok(),
                changed = log.changed(), if has_log => has_log = changed.is_ok(),
            }
            let view = RunView::of(&cells, &views.borrow_and_update(), &log.borrow_and_update());
            events.send_replace(Some(Event::Run(view)));
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Document(error) => error.into(),
            // The client was told of the cells that ended as they did.
            RunError::Session(error) | RunError::Stopped { error, .. } => error.into(),
        }
    }
}
