//! Cells of open notebooks, run in their sessions.

use cellist_live::{Batch, RunError};
use cellist_platform::FailureKind;
use cellist_session::execution::{Cancel, Canceller};
use cellist_session::sessions::{Kind, RunFeed, RunState};
use tokio::sync::watch;

use super::{Client, HostService};
use crate::error::Failure;
use crate::protocol::call::Ordered;
use crate::protocol::request::{Event, Reply};
use crate::protocol::run::NotebookRun;

/// Stops a run when its client is not there any more to wait for it.
struct Bound(Option<Canceller>);

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(canceller) = &self.0 {
            canceller.cancel();
        }
    }
}

impl HostService {
    pub(super) async fn run(
        &self,
        client: &Client,
        run: NotebookRun,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let NotebookRun { path, cells, call, allow_errors, max_output, timing, author } = run;
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
        let call = call.into_session_call(key.clone(), order, client.owner().clone());
        let feed = RunFeed::default();
        let mut states = feed.watch();
        let batch = Batch { cells, call, allow_errors, max_output, timing, feed };
        let (canceller, stop) = Cancel::channel();
        let mut bound = Bound(passes.then(|| canceller.clone()));
        let sessions = self.sessions.clone();
        // A task of its own: it goes on when nobody waits for it any more.
        let mut running = tokio::spawn(async move {
            let ran = document.run(&sessions, batch, author, stop).await;
            if passes {
                // One that has ended by itself needs no end.
                let _ = sessions.stop(&key).await;
            }
            ran
        });
        let (mut is_open, mut known) = (is_watched, 0);
        let mut tell = |state: &RunState| {
            let state = state.since(known);
            known = state.count();
            events.send_modify(|last| Event::Run(state).follow(last));
        };
        loop {
            tokio::select! {
                biased;
                ended = &mut running => {
                    bound.0 = None;
                    if is_watched {
                        tell(&states.borrow());
                    }
                    // The session of a notebook stays as long as its clients.
                    let _ = self.sessions.attach(client.owner(), &attached);
                    let lost = |_| Failure::no_kernel(FailureKind::RunLost, "the run ended without a report");
                    return Ok(Reply::Ran(Box::new(ended.map_err(lost)??)));
                }
                wish = cancel.wish() => canceller.pass_on(wish),
                changed = states.changed(), if is_open => {
                    is_open = changed.is_ok();
                    tell(&states.borrow_and_update());
                }
            }
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
