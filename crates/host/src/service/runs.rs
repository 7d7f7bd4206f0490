//! Runs of cells of open notebooks, in their sessions.

use std::sync::Arc;

use cellist_live::{CellBatch, Document, RunError};
use cellist_notebook::CellId;
use cellist_output::{Ansi, Limits};
use cellist_platform::FailureKind;
use cellist_session::execution::{Cancel, Canceller, Reader, Reading};
use cellist_session::orders::{CannotOrder, KernelRequest, WantedKernel};
use cellist_session::sessions::{RunFeed, RunRules, RunState, SessionCall, SessionKey, SessionKind};
use cellist_settings::KernelMode;
use tokio::sync::watch;

use super::calls::{CallPlacement, StageLines};
use super::run_queue::RunSlot;
use super::{HostService, ServiceClient, blocking};
use crate::error::Failure;
use crate::protocol::follow::RunStop;
use crate::protocol::request::{Event, Reply};
use crate::protocol::run::NotebookRunRequest;

/// Cancels a run when its client stops waiting for it.
struct CancelOnDrop(Option<Canceller>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(canceller) = &self.0 {
            canceller.cancel();
        }
    }
}

impl HostService {
    pub(super) async fn run(
        &self,
        client: &ServiceClient,
        run: NotebookRunRequest,
        events: watch::Sender<Option<Event>>,
        mut cancel: Cancel,
    ) -> Result<Reply, Failure> {
        let NotebookRunRequest { path, cells, call, allow_errors, max_output, timing, author } = run;
        let is_watched = call.is_watched;
        let passes = matches!(call.kind, SessionKind::Run { .. });
        let CallPlacement { key, order, stages } = self.place(client, &call, &mut cancel).await?;
        let attached = key.clone();
        let document = self.documents.open(&path).await?;
        let call = call.into_session_call(key.clone(), order, client.owner().clone());
        let feed = RunFeed::default();
        let mut states = feed.watch();
        let batch = CellBatch { cells, call, allow_errors, max_output, timing, feed };
        let (canceller, stop) = Cancel::channel();
        let mut bound = CancelOnDrop(passes.then(|| canceller.clone()));
        let sessions = self.sessions.clone();
        // In its own task, so that the run goes on when the client disconnects.
        let mut running = tokio::spawn(async move {
            let ran = document.run(&sessions, batch, author, stop).await;
            if passes {
                // Fails only for a session that has ended.
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
                    // Keeps the session while the client is connected.
                    let _ = self.sessions.attach(client.owner(), &attached);
                    let mut report = ended.map_err(|_| run_lost())??;
                    report.notices.splice(0..0, stages.take());
                    return Ok(Reply::Ran(Box::new(report)));
                }
                request = cancel.next_request() => canceller.pass_on(request),
                changed = states.changed(), if is_open => {
                    is_open = changed.is_ok();
                    tell(&states.borrow_and_update());
                }
            }
        }
    }
}

impl HostService {
    /// Runs cells for a page when the run is first in the queue, in the session that agents use too. Returns the reason if
    /// the run ended early.
    pub(super) async fn run_for_page(
        &self,
        client: &ServiceClient,
        document: Document,
        cells: Vec<CellId>,
        place: RunSlot,
    ) -> Result<Option<RunStop>, Failure> {
        document.mark_waiting(cells.clone()).await?;
        let (service, client) = (self.clone(), client.clone());
        // In its own task, so that the run goes on when the page is closed.
        let running =
            tokio::spawn(async move { service.run_in_turn(&client, &document, cells, place).await });
        running.await.map_err(|_| run_lost())?
    }

    async fn run_in_turn(
        &self,
        client: &ServiceClient,
        document: &Document,
        cells: Vec<CellId>,
        mut place: RunSlot,
    ) -> Result<Option<RunStop>, Failure> {
        let cancel = place.cancel.take().unwrap_or_else(Cancel::never);
        place.turn().await;
        let batch = match self.page_batch(client, document, cells.clone()).await {
            Ok(batch) => batch,
            Err(failure) => {
                document.mark_resting(cells).await?;
                return Err(failure);
            }
        };
        let report = document.run(&self.sessions, batch, client.author(None), cancel).await?;
        Ok(RunStop::of(&document.view().notebook, &report))
    }

    async fn page_batch(
        &self,
        client: &ServiceClient,
        document: &Document,
        cells: Vec<CellId>,
    ) -> Result<CellBatch, Failure> {
        let key = SessionKey::of_notebook(document.path());
        let (environment, home) = (client.environment(), self.documents.store().home().clone());
        let (own, folder) = (Arc::clone(&environment), key.cwd.clone());
        let settings =
            blocking(move || own.settings(&home, &folder).map_err(|it| CannotOrder::from(it).into()));
        let settings = settings.await?.settings;
        let order = match self.sessions.order(&key) {
            Some(order) => order,
            None => {
                let wanted = WantedKernel::of_metadata(&document.view().notebook.metadata());
                let folders = vec![client.page()?.folder()];
                let request = KernelRequest { folders, wanted, ..KernelRequest::default() };
                Arc::new(self.order(client, &key, request, &StageLines::default()).await?)
            }
        };
        let reading = Reading { limits: Limits::for_screen(), ansi: Ansi::Remove, reader: Reader::Person };
        let rules = RunRules { mode: KernelMode::Session, ..RunRules::new(&settings, reading) };
        let kind = SessionKind::Notebook { path: document.path().to_owned() };
        Ok(CellBatch {
            cells,
            call: SessionCall::new(key, kind, order, rules),
            allow_errors: false,
            max_output: None,
            timing: settings.notebook.timing,
            feed: RunFeed::default(),
        })
    }

    /// Interrupts the cells of a notebook that run, and those that wait.
    pub(super) fn interrupt_notebook(&self, document: &Document) -> Result<(), Failure> {
        if !self.runs.cancel(document.path()) {
            self.sessions.interrupt(&SessionKey::of_notebook(document.path()))?;
        }
        Ok(())
    }

    /// Gives a notebook a new kernel.
    pub(super) async fn restart_notebook(&self, document: &Document) -> Result<(), Failure> {
        self.runs.cancel(document.path());
        self.sessions.restart(&SessionKey::of_notebook(document.path())).await?;
        Ok(())
    }
}

fn run_lost() -> Failure {
    Failure::no_kernel(FailureKind::RunLost, "the run ended without a report")
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Document(error) => error.into(),
            // Events have already reported the finished cells.
            RunError::Session(error) | RunError::Stopped { error, .. } => error.into(),
        }
    }
}
