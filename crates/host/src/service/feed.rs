//! The feeds of clients that follow notebooks: first the whole notebook, then updates. A notebook stays open while a client
//! follows it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_live::{CellState, Document, DocumentError, DocumentView, Effect, Review, Was, cells_of};
use cellist_notebook::{CellId, Notebook};
use cellist_platform::FailureKind;
use cellist_session::execution::Cancel;
use cellist_session::sessions::{OwnerId, SessionKey, SessionState};
use cellist_store::Error as StoreError;
use cellist_store::receipts::Stale;
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{Instant, sleep_until};

use super::files;
use super::{HostService, ServiceClient};
use crate::error::Failure;
use crate::protocol::follow::{
    CellCondition, FullNotebook, NotebookKernel, NotebookKernelState, NotebookStatus, NotebookUpdate,
    Participant,
};
use crate::protocol::outputs::{OutputForm, SentCellOutputs};

/// The minimum time between two updates. Changes within it are sent together.
const PACE: Duration = Duration::from_millis(25);

/// The feeds of each client, by the path in its request.
#[derive(Clone, Default)]
pub(super) struct FeedRegistry(Arc<Mutex<HashMap<OwnerId, HashMap<PathBuf, FollowedNotebook>>>>);

#[derive(Clone)]
struct FollowedNotebook {
    document: Document,
    feed: Arc<AsyncMutex<NotebookFeed>>,
}

/// The feed of one client for one notebook.
struct NotebookFeed {
    document: Document,
    client: ServiceClient,
    form: OutputForm,
    known: SentState,
    views: watch::Receiver<Arc<DocumentView>>,
    sessions: watch::Receiver<()>,
    presence: watch::Receiver<()>,
    /// The time of the last check.
    looked: Instant,
}

struct SentState {
    version: u64,
    conditions: BTreeMap<CellId, CellCondition>,
    review: Arc<Review>,
    status: NotebookStatus,
    kernel: NotebookKernel,
    participants: Vec<Participant>,
}

impl FeedRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<OwnerId, HashMap<PathBuf, FollowedNotebook>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, client: &ServiceClient, path: &Path) -> Option<FollowedNotebook> {
        self.lock().get(client.owner())?.get(path).cloned()
    }

    /// Removes all feeds of a client. Returns their notebooks.
    pub(super) fn remove(&self, client: &ServiceClient) -> Vec<Document> {
        let followed = self.lock().remove(client.owner()).unwrap_or_default();
        followed.into_values().map(|followed| followed.document).collect()
    }
}

impl HostService {
    /// Returns the notebook at a path. A client that follows it keeps it, even if the file is moved or deleted.
    pub async fn document(&self, client: &ServiceClient, path: &Path) -> Result<Document, StoreError> {
        match self.followed(client, path) {
            Some(document) => Ok(document),
            None => self.documents.open(path).await,
        }
    }

    /// Returns the notebook that a client follows under a path.
    pub(super) fn followed(&self, client: &ServiceClient, path: &Path) -> Option<Document> {
        self.feeds.get(client, path).map(|followed| followed.document)
    }

    /// Starts to follow a notebook, or starts again.
    pub(super) async fn follow(
        &self,
        client: &ServiceClient,
        named: PathBuf,
        clients: Vec<String>,
        form: OutputForm,
    ) -> Result<FullNotebook, Failure> {
        let opened = self.documents.open(&named).await;
        let document = opened.map_err(|error| match form {
            OutputForm::Bounded => files::cannot_open(error),
            OutputForm::Whole => error.into(),
        })?;
        document.meet_kernel(&self.sessions).await?;
        let mut views = document.watch();
        views.borrow_and_update();
        let (sessions, presence) = (self.sessions.changes(), self.presence.changes());
        let view = document.resync(Vec::new()).await?.0;
        if view.saved < view.version {
            // The first state of a client is on disk, so that it can repeat later changes with another host. A notebook that
            // cannot be saved is sent anyway.
            let _ = document.save().await;
        }
        let (view, heard) = document.resync(clients).await?;
        let path = document.path().to_owned();
        let known = SentState {
            version: view.version,
            conditions: conditions(&view),
            review: view.review.clone(),
            status: NotebookStatus::from(&*view),
            kernel: self.kernel(client, &view.notebook, &path),
            participants: self.presence.others(&path, client.owner()),
        };
        let cells = view.notebook.cells().iter();
        let whole = FullNotebook {
            path: path.to_string_lossy().into_owned(),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            language: language(&view.notebook),
            version: view.version,
            cells: cells_of(&view.notebook),
            outputs: cells
                .filter_map(|cell| Some((cell.id().clone(), SentCellOutputs::of(form, &path, cell)?)))
                .collect(),
            conditions: known.conditions.clone(),
            review: reviewed(&view.review),
            status: known.status.clone(),
            kernel: known.kernel.clone(),
            participants: known.participants.clone(),
            heard,
        };
        let (owner, client, looked) = (client.owner().clone(), client.clone(), Instant::now());
        let feed = NotebookFeed {
            document: document.clone(),
            client,
            form,
            known,
            views,
            sessions,
            presence,
            looked,
        };
        let followed = FollowedNotebook { document, feed: Arc::new(AsyncMutex::new(feed)) };
        self.feeds.lock().entry(owner).or_default().insert(named, followed);
        Ok(whole)
    }

    /// Returns the changes since the last update. Waits until there are some.
    pub(super) async fn news(
        &self,
        client: &ServiceClient,
        path: &Path,
        mut cancel: Cancel,
    ) -> Result<NotebookUpdate, Failure> {
        let missing =
            || Failure::bad_input(FailureKind::NotFollowed, "the client does not follow this notebook");
        let followed = self.feeds.get(client, path).ok_or_else(missing)?;
        let mut feed = followed.feed.lock().await;
        Ok(feed.next(self, &mut cancel).await)
    }

    /// Returns the kernel of a notebook. A page that has the notebook open keeps the kernel.
    fn kernel(&self, client: &ServiceClient, notebook: &Notebook, path: &Path) -> NotebookKernel {
        let key = SessionKey::of_notebook(path);
        let mut sessions = self.sessions.list().into_iter();
        let session = sessions.find(|session| session.id == key.id && session.cwd == key.cwd);
        let name = text(notebook, "/kernelspec/display_name").unwrap_or_else(|| "Python".to_owned());
        let Some(session) = session else {
            let (state, gone) = (NotebookKernelState::None, self.sessions.gone(&key));
            return NotebookKernel { state, name, id: None, stuck: false, stays: None, gone };
        };
        if client.is_page() && !session.owners.contains(client.owner()) {
            // Fails only for a session that has ended.
            let _ = self.sessions.attach(client.owner(), &key);
        }
        let (stuck, stays) = (session.is_stuck, Some(session.stays_ms));
        NotebookKernel { state: session.state.into(), name, id: session.kernel_id, stuck, stays, gone: None }
    }
}

impl NotebookFeed {
    /// Waits for changes. Returns an empty update on cancellation.
    async fn next(&mut self, service: &HostService, cancel: &mut Cancel) -> NotebookUpdate {
        loop {
            sleep_until(self.looked + PACE).await;
            self.looked = Instant::now();
            let news = match self.look(service).await {
                Ok(news) => news,
                // The client is too far behind, or the notebook was closed.
                Err(_) => return NotebookUpdate::behind(),
            };
            if !news.is_empty() {
                return news;
            }
            let lingers = service.presence.lingers(self.document.path());
            tokio::select! {
                changed = self.views.changed() => match changed {
                    Ok(()) => self.views.mark_changed(),
                    Err(_) => return NotebookUpdate::behind(),
                },
                _ = self.sessions.changed() => {}
                _ = self.presence.changed() => {}
                () = cancel.asked() => return news,
                () = sleep_until(lingers.unwrap_or_else(Instant::now)), if lingers.is_some() => {}
            }
        }
    }

    async fn look(&mut self, service: &HostService) -> Result<NotebookUpdate, DocumentError> {
        let mut news = NotebookUpdate::default();
        if self.views.has_changed().unwrap_or(true) {
            self.views.mark_unchanged();
            self.read(service, &mut news).await?;
        }
        self.sessions.mark_unchanged();
        self.presence.mark_unchanged();
        let (path, notebook) = (self.document.path(), self.document.view().notebook.clone());
        let kernel = service.kernel(&self.client, &notebook, path);
        news.kernel = if_changed(&mut self.known.kernel, kernel);
        let participants = service.presence.others(path, self.client.owner());
        news.participants = if_changed(&mut self.known.participants, participants);
        Ok(news)
    }

    /// Adds the changes of the notebook itself.
    async fn read(&mut self, service: &HostService, news: &mut NotebookUpdate) -> Result<(), DocumentError> {
        let (view, changes) = self.document.newer(self.known.version).await?;
        self.known.version = view.version;
        let path = self.document.path();
        news.changes = changes.into_iter().map(Arc::unwrap_or_clone).collect();
        news.changes.iter().for_each(|change| service.presence.changed(path, change));
        let effects = news.changes.iter().flat_map(|change| &change.effects);
        let cell = |effect: &Effect| match effect {
            Effect::Outputs { cell } => Some(cell.clone()),
            _ => None,
        };
        for cell in effects.filter_map(cell).collect::<BTreeSet<CellId>>() {
            if let Some(at) = view.notebook.position(&cell) {
                let outputs = SentCellOutputs::of(self.form, path, &view.notebook.cells()[at]);
                news.outputs.insert(cell, outputs.unwrap_or_else(|| SentCellOutputs::none(self.form)));
            }
        }
        let conditions = conditions(&view);
        let is_new = |(cell, condition): &(&CellId, &CellCondition)| {
            self.known.conditions.get(*cell) != Some(*condition)
        };
        let new = conditions.iter().filter(is_new);
        news.conditions.extend(new.map(|(cell, condition)| (cell.clone(), Some(condition.clone()))));
        let gone = self.known.conditions.keys().filter(|cell| !conditions.contains_key(*cell));
        news.conditions.extend(gone.map(|cell| (cell.clone(), None)));
        self.known.conditions = conditions;
        if self.known.review != view.review {
            self.known.review = view.review.clone();
            news.review = Some(reviewed(&view.review));
        }
        news.status = if_changed(&mut self.known.status, NotebookStatus::from(&*view));
        Ok(())
    }
}

/// Returns the value if it differs from the one that was sent.
fn if_changed<T: PartialEq + Clone>(known: &mut T, now: T) -> Option<T> {
    (*known != now).then(|| {
        known.clone_from(&now);
        now
    })
}

fn conditions(view: &DocumentView) -> BTreeMap<CellId, CellCondition> {
    let condition = |(cell, CellState { activity, last, stale }): (CellId, CellState)| {
        (cell, CellCondition { activity, last, stale: stale.iter().map(Stale::words).collect() })
    };
    view.cells().into_iter().map(condition).collect()
}

/// The changes that wait for review, without the outputs of deleted cells.
fn reviewed(review: &Review) -> Review {
    let mut review = review.clone();
    for cell in review.cells.values_mut() {
        if let Was::Deleted { json, .. } = &mut cell.was {
            json.clear();
        }
    }
    review
}

fn text(notebook: &Notebook, pointer: &str) -> Option<String> {
    notebook.metadata().pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

fn language(notebook: &Notebook) -> String {
    let language = text(notebook, "/language_info/name").or_else(|| text(notebook, "/kernelspec/language"));
    language.unwrap_or_else(|| "python".to_owned())
}

impl From<SessionState> for NotebookKernelState {
    fn from(state: SessionState) -> NotebookKernelState {
        match state {
            SessionState::Starting => NotebookKernelState::Starting,
            SessionState::Idle => NotebookKernelState::Idle,
            SessionState::Busy => NotebookKernelState::Busy,
            SessionState::Silent => NotebookKernelState::Silent,
            SessionState::Dead => NotebookKernelState::Dead,
        }
    }
}
