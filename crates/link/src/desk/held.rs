//! Who keeps which notebooks open, and what they were told last.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_notebook::CellId;
use cellist_session::live::{CellState, Change, Document, DocumentError, Effect, Refusal};

use super::notebooks::state;
use super::{Client, Desk};
use crate::error::Failure;
use crate::notebook::{NotebookCell, NotebookNewer, NotebookNews, NotebookReply};

/// Who keeps which notebooks open.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Mutex<HashMap<Client, HashMap<PathBuf, Kept>>>>);

/// An open notebook, and how cells stood when its client was told last, in which answer.
#[derive(Debug)]
struct Kept {
    /// It is open for as long as someone has it.
    _document: Document,
    answer: u64,
    states: BTreeMap<CellId, CellState>,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<Client, HashMap<PathBuf, Kept>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hold(&self, client: &Client, document: Document) {
        let path = document.path().to_owned();
        let kept = || Kept { _document: document, answer: 0, states: BTreeMap::new() };
        self.lock().entry(client.clone()).or_default().entry(path).or_insert_with(kept);
    }

    pub(super) fn release(&self, client: &Client, document: &Document) {
        if let Some(held) = self.lock().get_mut(client) {
            held.remove(document.path());
        }
    }

    /// Lets go of all that someone kept open.
    pub(super) fn let_go(&self, client: &Client) {
        let held = self.lock().remove(client);
        drop(held);
    }

    /// Notes how cells stand now; says what of that is new since an answer, and the number of this one.
    fn tell(
        &self,
        client: &Client,
        document: &Document,
        answer: Option<u64>,
        states: BTreeMap<CellId, CellState>,
    ) -> (u64, Vec<(CellId, CellState)>) {
        let mut all = self.lock();
        let Some(kept) = all.get_mut(client).and_then(|held| held.get_mut(document.path())) else {
            return (0, states.into_iter().collect());
        };
        let is_known = |id: &CellId, state: &CellState| {
            answer == Some(kept.answer) && kept.states.get(id) == Some(state)
        };
        let others = states.iter().filter(|(id, state)| !is_known(id, state));
        let others = others.map(|(id, state)| (id.clone(), state.clone())).collect();
        kept.states = states;
        kept.answer += 1;
        (kept.answer, others)
    }
}

impl Desk {
    /// What is new since a version; all of it where that is not known, or where more than cells has changed.
    pub(super) async fn newer(
        &self,
        client: &Client,
        document: Document,
        version: u64,
        answer: Option<u64>,
    ) -> Result<NotebookReply, Failure> {
        self.held.hold(client, document.clone());
        let (view, _) = document.resync("").await?;
        let changes = match document.since(version).await {
            Ok(changes) => Some(changes),
            Err(DocumentError::Refused(Refusal::TooFar { .. })) => None,
            Err(error) => return Err(error.into()),
        };
        // What came after the view was taken is told another time.
        let until = |change: &&Arc<Change>| change.version <= view.version;
        let changed = changes.as_ref().and_then(|changes| changed(changes.iter().filter(until)));
        let Some((cells, is_rearranged)) = changed else {
            return Ok(NotebookReply::State(Box::new(state(&view, &view.notebook))));
        };
        let all = view.notebook.cells();
        let (answer, states) = self.held.tell(client, &document, answer, view.cells());
        Ok(NotebookReply::Newer(Box::new(NotebookNewer {
            news: NotebookNews::from(&*view),
            answer,
            order: is_rearranged.then(|| all.iter().map(|cell| cell.id().clone()).collect()),
            cells: all.iter().filter(|cell| cells.contains(cell.id())).map(NotebookCell::from).collect(),
            states,
        })))
    }
}

/// The cells that changes are about, and whether others stand in the notebook or elsewhere; nothing where the notebook
/// itself has changed.
fn changed<'a>(changes: impl Iterator<Item = &'a Arc<Change>>) -> Option<(BTreeSet<&'a CellId>, bool)> {
    let (mut cells, mut is_rearranged) = (BTreeSet::new(), false);
    for effect in changes.flat_map(|change| &change.effects) {
        match effect {
            Effect::Inserted { cell, .. } => {
                cells.insert(cell);
                is_rearranged = true;
            }
            Effect::Deleted { .. } | Effect::Moved { .. } => is_rearranged = true,
            Effect::Retyped { cell, .. } | Effect::Changed { cell, .. } | Effect::Outputs { cell } => {
                cells.insert(cell);
            }
            Effect::Metadata { cell } => {
                cells.insert(cell.as_ref()?);
            }
        }
    }
    Some((cells, is_rearranged))
}
