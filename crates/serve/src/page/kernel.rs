//! Runs cells for the page, in the same session of a notebook that agents use.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use cellist_host::{Failure, RunStop};
use cellist_live::{Author, Batch, Document};
use cellist_notebook::{CellId, Notebook};
use cellist_output::{Ansi, Limits};
use cellist_session::execution::{Canceller, Limit, Raised, Reader, Reading, RunReport, Status};
use cellist_session::orders::{self, ClientEnvironment, Job, Wanted, Written};
use cellist_session::run::Cancel;
use cellist_session::sessions::{Call, KernelMode, Kind, RunFeed, SessionKey, Sessions};
use cellist_settings::Home;
use tokio::sync::{Mutex as Turns, OwnedMutexGuard};

/// Length of an error in one line, in characters.
const MOST_ERROR: usize = 120;

/// Unfinished runs of pages, by notebook. Runs of one notebook execute in the order of their
/// requests.
#[derive(Debug, Default)]
pub(super) struct PageRuns(Mutex<HashMap<PathBuf, RunQueue>>);

#[derive(Debug, Default)]
struct RunQueue {
    turns: Arc<Turns<()>>,
    begun: HashMap<u64, Canceller>,
}

/// A run that waits for its turn.
pub(super) struct QueuedRun {
    document: Document,
    cells: Vec<CellId>,
    number: u64,
    cancel: Cancel,
    turn: Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>,
}

impl PageRuns {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, RunQueue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a run at the end of the notebook's queue.
    pub(super) async fn queue(&self, document: Document, cells: Vec<CellId>) -> Result<QueuedRun, Failure> {
        document.mark_waiting(cells.clone()).await?;
        let (canceller, cancel) = Cancel::channel();
        let number = getrandom::u64().unwrap_or_default();
        let mut turn = {
            let mut all = self.lock();
            let queue = all.entry(document.path().to_owned()).or_default();
            queue.begun.insert(number, canceller);
            Box::pin(queue.turns.clone().lock_owned())
        };
        // The first poll takes the place in the queue. The turn is awaited later.
        let first = futures_util::poll!(&mut turn);
        let turn: Pin<Box<dyn Future<Output = _> + Send>> = match first {
            Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
            Poll::Pending => turn,
        };
        Ok(QueuedRun { document, cells, number, cancel, turn })
    }

    fn done(&self, path: &Path, number: u64) {
        let mut all = self.lock();
        if let Some(queue) = all.get_mut(path) {
            queue.begun.remove(&number);
            if queue.begun.is_empty() {
                all.remove(path);
            }
        }
    }

    /// Interrupts all unfinished runs of a notebook. `false` if there are none.
    fn cancel(&self, path: &Path) -> bool {
        let all = self.lock();
        let Some(queue) = all.get(path) else { return false };
        queue.begun.values().for_each(Canceller::cancel);
        !queue.begun.is_empty()
    }
}

/// The means to run cells of any notebook.
#[derive(Clone, Copy)]
pub(super) struct PageRunner<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) home: &'a Home,
    pub(super) environment: &'a ClientEnvironment,
    /// The folder that the page was opened from, another place to search for Python.
    pub(super) folder: &'a Path,
    pub(super) runs: &'a PageRuns,
}

impl PageRunner<'_> {
    /// Waits for the turn and runs the cells. Starts the kernel if needed.
    pub(super) async fn run(self, waiting: QueuedRun, author: Author) -> Result<Option<RunStop>, Failure> {
        let QueuedRun { document, cells, number, cancel, turn } = waiting;
        let turn = turn.await;
        let ran = match self.call(&document).await {
            Ok((call, timing)) => {
                let batch = Batch {
                    cells,
                    call,
                    allow_errors: false,
                    max_output: None,
                    timing,
                    feed: RunFeed::default(),
                };
                let ran = document.run(self.sessions, batch, author, cancel).await;
                ran.map(|report| stopped(&document.view().notebook, &report)).map_err(Failure::from)
            }
            Err(failure) => {
                document.mark_resting(cells).await?;
                Err(failure)
            }
        };
        drop(turn);
        self.runs.done(document.path(), number);
        ran
    }

    /// The parameters of a run, and whether to record its times.
    async fn call(self, document: &Document) -> Result<(Call, bool), Failure> {
        let path = document.path().to_owned();
        let key = SessionKey::of_notebook(&path);
        let Written { order, settings } = self.order(document, &key).await?;
        let python = &settings.settings.python;
        let call = Call {
            kind: Kind::Notebook { path },
            owner: None,
            order: self.sessions.order(&key).unwrap_or(order),
            key,
            cells: Vec::new(),
            limit: Limit::None,
            grace: python.interrupt_grace,
            on_stuck: python.on_stuck,
            reset: false,
            retry: python.retry_on_crash,
            mode: KernelMode::Session,
            reading: Reading { limits: Limits::for_screen(), ansi: Ansi::Remove, reader: Reader::Person },
            rights: None,
            caller: None,
            outputs: None,
        };
        Ok((call, settings.settings.notebook.timing))
    }

    async fn order(self, document: &Document, key: &SessionKey) -> Result<Written, Failure> {
        let wanted = Wanted::of_metadata(&document.view().notebook.metadata());
        let folders = vec![key.cwd.clone(), self.folder.to_owned()];
        let job = Job { cwd: key.cwd.clone(), folders, wanted, ..Job::default() };
        orders::write(self.environment, self.home, job).await.map_err(|error| {
            let failure = Failure::no_kernel(error.kind(), error.to_string());
            match error.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })
    }

    /// Interrupts the running cell and all queued runs.
    pub(super) fn interrupt(self, document: &Document) -> Result<(), Failure> {
        if !self.runs.cancel(document.path()) {
            self.sessions.interrupt(&SessionKey::of_notebook(document.path()))?;
        }
        Ok(())
    }

    /// Restarts the kernel.
    pub(super) async fn restart(self, document: &Document) -> Result<(), Failure> {
        self.runs.cancel(document.path());
        self.sessions.restart(&SessionKey::of_notebook(document.path())).await?;
        Ok(())
    }
}

/// Describes the end of a run that did not complete. A run cancelled between two cells names no
/// cell.
fn stopped(notebook: &Notebook, report: &RunReport) -> Option<RunStop> {
    let words = match report.status {
        Status::Ok => return None,
        Status::Error => "failed",
        Status::Timeout => "timed out",
        Status::Cancelled => "interrupted",
    };
    // The status of a run is that of the cell that stopped it.
    let last = report.cells.last().filter(|last| last.report.status == report.status);
    let raised = last.and_then(|last| last.report.error.as_ref()).filter(|_| report.status == Status::Error);
    let error = raised.map_or_else(|| words.to_owned(), in_a_line);
    let cell = last.and_then(|last| {
        let by_id = last.id.as_deref().map(CellId::from).filter(|id| notebook.position(id).is_some());
        by_id.or_else(|| notebook.cells().get(last.index).map(|cell| cell.id().clone()))
    });
    Some(RunStop { cell, error, not_run: report.not_run })
}

fn in_a_line(raised: &Raised) -> String {
    let message = raised.evalue.lines().next().unwrap_or_default();
    let text = match message {
        "" => raised.ename.clone(),
        message => format!("{}: {message}", raised.ename),
    };
    cellist_output::clean(text.as_bytes(), Ansi::Remove).chars().take(MOST_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use cellist_notebook::Ids;
    use cellist_session::execution::{CellReport, Report};
    use serde_json::json;

    use super::*;

    /// The status of a cell, with name and message of its error.
    type Ended<'a> = (Status, Option<(&'a str, &'a str)>);

    /// A report on three cells, of which the first ones ran with these results.
    fn report(status: Status, ran: &[Ended<'_>]) -> RunReport {
        let cell = |(index, (status, raised)): (usize, &Ended<'_>)| {
            let error =
                raised.map(|(ename, evalue)| json!({ "ename": ename, "evalue": evalue, "traceback": [] }));
            let report: Report = serde_json::from_value(json!({
                "status": status, "exit_code": null, "text": "", "outputs": [], "error": error,
                "execution_count": 1, "duration_ms": 1, "cancelled": false, "stdin_requested": false,
                "truncated": null, "artifact": null, "notices": [],
                "kernel": { "backend": "runner", "python": null, "state": "kept", "restarted": false },
            }))
            .unwrap();
            CellReport { index, id: Some(["a", "b", "c"][index].to_owned()), may_fail: true, report }
        };
        RunReport {
            notebook: PathBuf::new(),
            status,
            saved: true,
            output: PathBuf::new(),
            duration_ms: 1,
            cells: ran.iter().enumerate().map(cell).collect(),
            not_run: 3 - ran.len(),
            failed: 0,
            notices: Vec::new(),
        }
    }

    #[test]
    fn a_stopped_run_names_its_last_cell_and_counts_the_cells_not_run() {
        let cell = |id: &str| json!({ "cell_type": "code", "id": id, "source": "", "metadata": {}, "outputs": [], "execution_count": null });
        let file = json!({ "cells": [cell("a"), cell("b"), cell("c")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let notebook = Notebook::parse(file.to_string().into_bytes(), Ids::seeded(0)).unwrap();
        let raised = Some(("KeyError", "'x'\nmore"));
        let interrupt = Some(("KeyboardInterrupt", ""));
        let ok = (Status::Ok, None);
        let between = |not_run| Some((None, "interrupted", not_run));
        for (status, ran, wanted) in [
            (Status::Ok, vec![ok, ok, ok], None),
            (Status::Error, vec![ok, (Status::Error, raised)], Some((Some("b"), "KeyError: 'x'", 1))),
            (Status::Error, vec![(Status::Error, None)], Some((Some("a"), "failed", 2))),
            (Status::Timeout, vec![(Status::Timeout, interrupt)], Some((Some("a"), "timed out", 2))),
            (Status::Cancelled, vec![(Status::Cancelled, interrupt)], Some((Some("a"), "interrupted", 2))),
            (Status::Cancelled, vec![ok], between(2)),
            // This cell may fail, so the run continued.
            (Status::Cancelled, vec![ok, (Status::Error, raised)], between(1)),
            (Status::Cancelled, vec![], between(3)),
        ] {
            let told = stopped(&notebook, &report(status, &ran));
            let told = told.as_ref().map(|RunStop { cell, error, not_run }| {
                (cell.as_ref().map(CellId::as_str), error.as_str(), *not_run)
            });
            assert_eq!(told, wanted, "{status:?} {ran:?}");
        }
    }
}
