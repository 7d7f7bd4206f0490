//! The kernel of a notebook, as people at a page use it: the same session that agents run its cells in.

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

/// How many characters of an error a line about it holds.
const MOST_ERROR: usize = 120;

/// What was begun on pages and is not done, by notebook. Runs of a notebook take turns in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Runs(Mutex<HashMap<PathBuf, Queue>>);

#[derive(Debug, Default)]
struct Queue {
    turns: Arc<Turns<()>>,
    begun: HashMap<u64, Canceller>,
}

/// A run that waits for its turn.
pub(super) struct Waiting {
    document: Document,
    cells: Vec<CellId>,
    number: u64,
    cancel: Cancel,
    turn: Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>,
}

impl Runs {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place behind all runs of the notebook that came before.
    pub(super) async fn queue(&self, document: Document, cells: Vec<CellId>) -> Result<Waiting, Failure> {
        document.mark_waiting(cells.clone()).await?;
        let (canceller, cancel) = Cancel::channel();
        let number = getrandom::u64().unwrap_or_default();
        let mut turn = {
            let mut all = self.lock();
            let queue = all.entry(document.path().to_owned()).or_default();
            queue.begun.insert(number, canceller);
            Box::pin(queue.turns.clone().lock_owned())
        };
        // Whoever has asked once keeps the place; the turn itself is waited for later.
        let first = futures_util::poll!(&mut turn);
        let turn: Pin<Box<dyn Future<Output = _> + Send>> = match first {
            Poll::Ready(turn) => Box::pin(std::future::ready(turn)),
            Poll::Pending => turn,
        };
        Ok(Waiting { document, cells, number, cancel, turn })
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

    /// Interrupts all that was begun for a notebook. `false` when nothing was.
    fn cancel(&self, path: &Path) -> bool {
        let all = self.lock();
        let Some(queue) = all.get(path) else { return false };
        queue.begun.values().for_each(Canceller::cancel);
        !queue.begun.is_empty()
    }
}

/// What a run needs beside the notebook.
#[derive(Clone, Copy)]
pub(super) struct Bench<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) home: &'a Home,
    pub(super) environment: &'a ClientEnvironment,
    /// The folder that the page was opened from, where Python is looked for too.
    pub(super) folder: &'a Path,
    pub(super) runs: &'a Runs,
}

impl Bench<'_> {
    /// Runs cells in the notebook's session when it is their turn, and starts its kernel if there is none.
    pub(super) async fn run(self, waiting: Waiting, author: Author) -> Result<Option<RunStop>, Failure> {
        let Waiting { document, cells, number, cancel, turn } = waiting;
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

    /// How cells are run, and whether their times are written down.
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

    /// Interrupts what runs, and what waits behind it.
    pub(super) fn interrupt(self, document: &Document) -> Result<(), Failure> {
        if !self.runs.cancel(document.path()) {
            self.sessions.interrupt(&SessionKey::of_notebook(document.path()))?;
        }
        Ok(())
    }

    /// Gives the notebook a new kernel.
    pub(super) async fn restart(self, document: &Document) -> Result<(), Failure> {
        self.runs.cancel(document.path());
        self.sessions.restart(&SessionKey::of_notebook(document.path())).await?;
        Ok(())
    }
}

/// How a run ended that did not come to its end. A run that is cancelled between two cells has no cell that ended it.
fn stopped(notebook: &Notebook, report: &RunReport) -> Option<RunStop> {
    let words = match report.status {
        Status::Ok => return None,
        Status::Error => "it failed",
        Status::Timeout => "it took too long",
        Status::Cancelled => "interrupted",
    };
    // A run ends as the cell does that ends it.
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

    /// How a cell ended, and the name and message of its error.
    type Ended<'a> = (Status, Option<(&'a str, &'a str)>);

    /// A report on three cells, of which the first ones ran and ended like this.
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
    fn a_run_that_stops_names_the_cell_that_ended_it_or_none_and_counts_the_cells_not_run() {
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
            (Status::Error, vec![(Status::Error, None)], Some((Some("a"), "it failed", 2))),
            (Status::Timeout, vec![(Status::Timeout, interrupt)], Some((Some("a"), "it took too long", 2))),
            (Status::Cancelled, vec![(Status::Cancelled, interrupt)], Some((Some("a"), "interrupted", 2))),
            (Status::Cancelled, vec![ok], between(2)),
            // This cell may fail, and the run went on behind it.
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
