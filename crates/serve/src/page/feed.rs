//! What a page is told of a notebook: all of it at first, then only what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cellist_link::Failure;
use cellist_notebook::{CellId, Notebook};
use cellist_session::live::{Document, Effect, Review, View};
use cellist_session::receipts::Stale;
use cellist_session::sessions::{SessionKey, SessionState, Sessions};
use serde_json::Value;

use super::presence::Presence;
use super::shown::{Shown, shown};
use super::wire::{Cell, Kernel, News, Present, State, Status, Whole};

/// What a page knows of a notebook.
pub(super) struct Feed {
    pub(super) document: Document,
    page: String,
    version: u64,
    states: BTreeMap<CellId, State>,
    review: Arc<Review>,
    status: Status,
    kernel: Kernel,
    present: Vec<Present>,
}

/// Where a feed gets its news from.
pub(super) struct Around<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) presence: &'a Presence,
}

impl Feed {
    /// All of a notebook, and the feed that goes on from there.
    pub(super) async fn open(
        document: Document,
        page: &str,
        clients: &[String],
        around: &Around<'_>,
    ) -> Result<(Feed, Whole), Failure> {
        // What a page is told at first is on disk: what it did since then it can do again for another host.
        let (mut view, _) = document.resync("").await?;
        if view.saved < view.version {
            // One that cannot be saved can be looked at all the same.
            let _ = document.save().await;
        }
        let mut heard = BTreeMap::new();
        for client in clients {
            let (newer, number) = document.resync(client).await?;
            view = newer;
            heard.extend(number.map(|number| (client.clone(), number)));
        }
        let path = document.path().to_owned();
        let feed = Feed {
            page: page.to_owned(),
            version: view.version,
            states: states(&view),
            review: view.review.clone(),
            status: status(&view),
            kernel: kernel(&view.notebook, &path, around.sessions),
            present: around.presence.others(&path, page, Instant::now()),
            document,
        };
        let cells = view.notebook.cells().iter();
        let whole = Whole {
            path: path.to_string_lossy().into_owned(),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            language: language(&view.notebook),
            version: view.version,
            shown: cells.clone().filter_map(|cell| Some((cell.id().clone(), shown(&path, cell)?))).collect(),
            cells: cells
                .map(|cell| Cell {
                    id: cell.id().clone(),
                    kind: cell.cell_type(),
                    source: cell.source().into_owned(),
                })
                .collect(),
            states: feed.states.clone(),
            review: reviewed(&feed.review),
            status: feed.status.clone(),
            kernel: feed.kernel.clone(),
            present: feed.present.clone(),
            heard,
        };
        Ok((feed, whole))
    }

    /// What is new since the page was told last.
    pub(super) async fn news(&mut self, around: &Around<'_>) -> Result<News, Failure> {
        let path = self.document.path().to_owned();
        let mut news = News::default();
        match self.document.since(self.version).await {
            Ok(changes) => {
                news.changes = changes.into_iter().map(Arc::unwrap_or_clone).collect();
            }
            Err(_) => news.is_behind = true,
        }
        if let Some(last) = news.changes.last() {
            self.version = last.version;
        }
        // Asked for after the changes, so that it is not older than they are.
        let (view, _) = self.document.resync("").await?;
        let now = Instant::now();
        news.changes.iter().for_each(|change| around.presence.changed(&path, change, now));
        let effects = news.changes.iter().flat_map(|change| &change.effects);
        let output = |effect: &Effect| match effect {
            Effect::Outputs { cell } => Some(cell.clone()),
            _ => None,
        };
        let outputs: BTreeSet<CellId> = effects.filter_map(output).collect();
        for cell in outputs {
            if let Some(at) = view.notebook.position(&cell) {
                let none = Shown { outputs: Vec::new(), count: None };
                news.shown.insert(cell, shown(&path, &view.notebook.cells()[at]).unwrap_or(none));
            }
        }
        let states = states(&view);
        for (cell, state) in &states {
            if self.states.get(cell) != Some(state) {
                news.states.insert(cell.clone(), Some(state.clone()));
            }
        }
        let gone = self.states.keys().filter(|cell| !states.contains_key(*cell));
        news.states.extend(gone.map(|cell| (cell.clone(), None)));
        self.states = states;
        if self.review != view.review {
            self.review = view.review.clone();
            news.review = Some(reviewed(&self.review));
        }
        news.status = told(&mut self.status, status(&view));
        news.kernel = told(&mut self.kernel, kernel(&view.notebook, &path, around.sessions));
        news.present = told(&mut self.present, around.presence.others(&path, &self.page, now));
        Ok(news)
    }

    /// What is new beside the notebook itself: who is there, and what the kernel does.
    pub(super) fn aside(&mut self, around: &Around<'_>) -> News {
        let path = self.document.path().to_owned();
        let notebook = self.document.view().notebook.clone();
        News {
            kernel: told(&mut self.kernel, kernel(&notebook, &path, around.sessions)),
            present: told(&mut self.present, around.presence.others(&path, &self.page, Instant::now())),
            ..News::default()
        }
    }
}

/// The value, if it is another than the one that was told.
fn told<T: PartialEq + Clone>(known: &mut T, now: T) -> Option<T> {
    (*known != now).then(|| {
        known.clone_from(&now);
        now
    })
}

fn states(view: &View) -> BTreeMap<CellId, State> {
    let state = |(cell, state): (CellId, cellist_session::live::CellState)| {
        let stale = state.stale.iter().map(Stale::words).collect();
        (cell, State { activity: state.activity, last: state.last, stale })
    };
    view.cells().into_iter().map(state).collect()
}

fn status(view: &View) -> Status {
    Status { saved: view.saved, problem: view.problem.clone(), notices: view.notices.clone() }
}

/// What waits for review, without the outputs of what was deleted.
fn reviewed(review: &Review) -> Value {
    let mut value = serde_json::to_value(review).unwrap_or_default();
    if let Some(cells) = value.get_mut("cells").and_then(Value::as_object_mut) {
        for was in cells.values_mut().filter_map(|cell| cell.get_mut("was")?.as_object_mut()) {
            was.remove("json");
        }
    }
    value
}

fn text(notebook: &Notebook, pointer: &str) -> Option<String> {
    notebook.metadata().pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

fn language(notebook: &Notebook) -> String {
    let language = text(notebook, "/language_info/name").or_else(|| text(notebook, "/kernelspec/language"));
    language.unwrap_or_else(|| "python".to_owned())
}

fn kernel(notebook: &Notebook, path: &Path, sessions: &Sessions) -> Kernel {
    let key = SessionKey::of_notebook(path);
    let session = sessions.list().into_iter().find(|session| session.id == key.id && session.cwd == key.cwd);
    let name = text(notebook, "/kernelspec/display_name").unwrap_or_else(|| "Python".to_owned());
    match session {
        None => {
            let gone = sessions.gone(&key);
            Kernel { state: "none", name, id: None, stuck: false, stays: None, gone }
        }
        Some(session) => {
            let state = match session.state {
                SessionState::Starting => "starting",
                SessionState::Idle => "idle",
                SessionState::Busy => "busy",
                SessionState::Silent => "silent",
                SessionState::Dead => "dead",
            };
            let (stuck, stays) = (session.is_stuck, Some(session.stays_ms));
            Kernel { state, name, id: session.kernel_id, stuck, stays, gone: None }
        }
    }
}
