//! Cells of open notebooks, run in their sessions.

use cellist_session::execution::Cancel;
use cellist_session::live::{Batch, RunError};
use tokio::sync::watch;

use super::{Client, Desk};
use crate::call::Ordered;
use crate::error::Failure;
use crate::request::{Event, Reply};
use crate::run::{NotebookRun, RunView};

impl Desk {
    pub(super) async fn run(
        &self,
        client: &Client,
        run: NotebookRun,
        events: watch::Sender<Option<Event>>,
        cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let NotebookRun { path, cells, call, allow_errors, max_output, timing, author } = run;
        let is_watched = call.is_watched;
        let (key, known) = self.session_for(&call)?;
        let order = match call.ordered(known) {
            Ordered::By(order) => *order,
            Ordered::Missing => return Ok(Reply::Unordered { cwd: key.cwd }),
            Ordered::Other(failure) => return Err(*failure),
        };
        let document = self.documents.open(&path).await?;
        let mut views = document.watch();
        let call = call.into_session_call(key, order, client.0.clone());
        let batch = Batch { cells: cells.clone(), call, allow_errors, max_output, timing, watcher: None };
        let sessions = self.sessions.clone();
        // A task of its own: it goes on when nobody waits for it any more.
        let mut running = tokio::spawn(async move { document.run(&sessions, batch, author, cancel).await });
        let mut is_open = is_watched;
        loop {
            tokio::select! {
                biased;
                ended = &mut running => {
                    let lost = |_| Failure::no_kernel("run_lost", "the run ended without a report");
                    return Ok(Reply::Ran(Box::new(ended.map_err(lost)??)));
                }
                changed = views.changed(), if is_open => match changed {
                    Ok(()) => {
                        let view = RunView::of(&cells, &views.borrow_and_update());
                        events.send_replace(Some(Event::Run(view)));
                    }
                    Err(_) => is_open = false,
                },
            }
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Document(error) => error.into(),
            RunError::Session(error) => error.into(),
        }
    }
}
