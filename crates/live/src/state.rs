//! An open notebook without I/O: all changes in one order, each with a version, an author and the data to undo it.
//! Uses no files, clocks or tasks.

mod late;
mod running;
mod submissions;
mod undoing;
mod verdicts;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use cellist_notebook::{
    self as notebook, CellId, Notebook, OnConflict, Revision, Snapshot, Tombstone, Tombstones, merge,
};
use cellist_store::receipts::Receipt;

use super::act::{Act, between};
use super::actor::{Actor, ActorKind, Author, Tag};
use super::condition::Conditions;
use super::journal::{Entry, Journal, NothingToUndo};
use super::log::ChangeLog;
use super::op::{Change, SubmissionRefusal};
use super::review::Review;
use super::tombstones::CellTombstones;
use late::Late;
pub(crate) use running::{BegunCell, EndedCell};
pub use undoing::PartlyUndone;
use undoing::RevisionMarks;

/// Number of remembered revisions that actors have read.
const TOLD: usize = 64;

/// Number of clients whose last submission is remembered.
const HEARD: usize = 256;

/// An open notebook.
#[derive(Debug)]
pub(crate) struct State {
    notebook: Arc<Notebook>,
    version: u64,
    log: ChangeLog,
    /// The version that last changed a cell's source or type, or created or deleted it.
    touched: HashMap<CellId, u64>,
    tombstones: CellTombstones,
    conditions: Arc<Conditions>,
    journal: Journal,
    review: Arc<Review>,
    /// The last submission of each client.
    heard: BTreeMap<String, u64>,
    /// Revisions that agents may base an edit on, oldest first.
    told: VecDeque<(Revision, Arc<Snapshot>)>,
    /// The last revision that each actor has read.
    last_told: HashMap<String, Revision>,
    marks: RevisionMarks,
    late: Late,
    /// Receipts that are not written yet.
    receipts: Vec<Receipt>,
}

/// Why a request changed nothing.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum Unchanged {
    #[error(transparent)]
    Refused(#[from] notebook::Error),
    #[error("revision {base} is not known here, and the notebook is at {current} now")]
    UnknownRevision { base: Revision, current: Revision },
    #[error(transparent)]
    Nothing(#[from] NothingToUndo),
    #[error("cell `{cell}` has no change {hunk} that waits for review")]
    NoSuchHunk { cell: CellId, hunk: usize },
}

/// The result of an edit.
#[derive(Clone, Debug)]
pub struct Edited<T> {
    /// Value returned by the edit.
    pub value: T,
    /// The version with the edit.
    pub version: u64,
    /// The notebook with the edit.
    pub notebook: Arc<Notebook>,
    /// Whether the notebook changed.
    pub changed: bool,
}

impl State {
    /// Opens a notebook. `version` must be higher than any that clients may know from an earlier owner.
    pub(crate) fn new(notebook: Notebook, version: u64, journal: Journal, review: Review) -> State {
        let mut tombstones = CellTombstones::default();
        let mut notebook = notebook;
        for entry in journal.entries() {
            entry.acts.iter().for_each(|act| tombstones.note(act));
            bury(&mut notebook, &entry.acts, &entry.actor);
        }
        let mut state = State {
            notebook: Arc::new(notebook),
            version,
            log: ChangeLog::default(),
            touched: HashMap::new(),
            tombstones,
            conditions: Arc::default(),
            journal,
            review: Arc::new(review),
            heard: BTreeMap::new(),
            told: VecDeque::new(),
            last_told: HashMap::new(),
            marks: RevisionMarks::default(),
            late: Late::default(),
            receipts: Vec::new(),
        };
        Arc::make_mut(&mut state.review).settle(&state.notebook);
        state
    }

    pub(crate) fn notebook(&self) -> &Arc<Notebook> {
        &self.notebook
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Takes the journal entries that changed since the last call.
    pub(crate) fn take_noted(&mut self) -> Vec<Entry> {
        self.journal.take_noted()
    }

    pub(crate) fn review(&self) -> &Arc<Review> {
        &self.review
    }

    /// Returns the number of the last submission of each client in the notebook.
    pub(crate) fn heard(&self) -> &BTreeMap<String, u64> {
        &self.heard
    }

    /// Sets the submissions applied by an earlier owner.
    pub(crate) fn set_heard(&mut self, heard: BTreeMap<String, u64>) {
        self.heard = heard;
    }

    pub(crate) fn conditions(&self) -> &Arc<Conditions> {
        &self.conditions
    }

    /// Returns the conditions of the cells, to change. That does not change the notebook.
    pub(crate) fn conditions_mut(&mut self) -> &mut Conditions {
        Arc::make_mut(&mut self.conditions)
    }

    /// Returns all changes since a version.
    pub(crate) fn since(&self, base: u64) -> Result<Vec<Arc<Change>>, SubmissionRefusal> {
        let too_far = SubmissionRefusal::TooFar { base, version: self.version };
        self.log.since(base, self.version).ok_or(too_far)
    }

    /// Changes the notebook by `edit`. If the base revision is not the newest, `edit` also gets its notebook.
    /// Without `base`, the base is the last revision that the actor has read.
    pub(crate) fn edit<T>(
        &mut self,
        base: Option<Revision>,
        remembered: Option<Snapshot>,
        author: &Author,
        now: u64,
        edit: impl FnOnce(&mut Notebook, Option<&Snapshot>) -> notebook::Result<T>,
    ) -> Result<Edited<T>, Unchanged> {
        let current = self.notebook.revision();
        let based_on = base.or_else(|| self.last_told.get(&author.actor.id).copied());
        let snapshot = match based_on {
            Some(revision) if revision != current => {
                let told = self.told.iter().find(|(known, _)| *known == revision);
                match (told, remembered) {
                    (Some((_, snapshot)), _) => Some(Arc::clone(snapshot)),
                    (None, Some(snapshot)) => Some(Arc::new(snapshot)),
                    (None, None) if base.is_none() => None,
                    (None, None) => return Err(Unchanged::UnknownRevision { base: revision, current }),
                }
            }
            Some(_) | None => None,
        };
        let mut changed = Notebook::clone(&self.notebook);
        let value = edit(&mut changed, snapshot.as_deref())?;
        let is_changed = self.replace(changed, author, Vec::new(), now);
        self.tell(&author.actor);
        Ok(Edited { value, version: self.version, notebook: Arc::clone(&self.notebook), changed: is_changed })
    }

    /// Records that an actor has read the newest revision.
    pub(crate) fn tell(&mut self, actor: &Actor) -> Revision {
        let revision = self.notebook.revision();
        if self.notebook.has_handles() {
            // The same bytes may have other cell handles by now.
            self.told.retain(|(known, _)| *known != revision);
        }
        if self.told.iter().all(|(known, _)| *known != revision) {
            self.told.push_back((revision, Arc::new(self.notebook.snapshot())));
            if self.told.len() > TOLD {
                self.told.pop_front();
            }
        }
        self.last_told.insert(actor.id.clone(), revision);
        self.marks.set(revision, self.journal.next());
        revision
    }

    /// Returns the last version that an actor has read, if it is still remembered.
    pub(crate) fn last_told(&self, actor: &Actor) -> Option<Arc<Snapshot>> {
        let revision = self.last_told.get(&actor.id)?;
        let (_, snapshot) = self.told.iter().find(|(known, _)| known == revision)?;
        Some(Arc::clone(snapshot))
    }

    /// Merges the version that another program made of `base`. Where both changed the same lines, both stay,
    /// between markers. Returns notices for users, and the local ids of the cells of `theirs`.
    pub(crate) fn absorb(
        &mut self,
        base: &Notebook,
        theirs: &Notebook,
        now: u64,
    ) -> notebook::Result<(Vec<String>, Vec<CellId>)> {
        let merged = merge(base, &self.notebook, theirs, OnConflict::Mark)?;
        let remarks = merged.remarks();
        let names = merged.their_names;
        self.replace(merged.notebook, &Actor::disk().into(), Vec::new(), now);
        Ok((remarks, names))
    }

    /// Replaces the notebook by a changed one.
    pub(crate) fn take(&mut self, changed: Notebook, author: &Author, now: u64) -> bool {
        self.replace(changed, author, Vec::new(), now)
    }

    /// Replaces the notebook. Returns `false` if the content is the same.
    fn replace(&mut self, changed: Notebook, author: &Author, undoes: Vec<u64>, now: u64) -> bool {
        let acts = between(&self.notebook, &changed);
        let is_changed = !acts.is_empty();
        self.commit(changed, acts, author, None, undoes, now);
        is_changed
    }

    fn commit(
        &mut self,
        mut changed: Notebook,
        acts: Vec<Act>,
        author: &Author,
        tag: Option<Tag>,
        undoes: Vec<u64>,
        now: u64,
    ) {
        changed.set_tombstones(Arc::clone(self.notebook.tombstones()));
        bury(&mut changed, &acts, &author.actor);
        let old = std::mem::replace(&mut self.notebook, Arc::new(changed));
        self.note(acts, author, tag, undoes, now, &old);
    }

    /// Records acts on the notebook `old` as a new version.
    fn note(
        &mut self,
        acts: Vec<Act>,
        author: &Author,
        tag: Option<Tag>,
        undoes: Vec<u64>,
        now: u64,
        old: &Notebook,
    ) {
        if acts.is_empty() && tag.is_none() {
            return;
        }
        self.version += 1;
        if let Some(tag) = &tag {
            if self.heard.len() >= HEARD && !self.heard.contains_key(&tag.client) {
                self.heard.pop_first();
            }
            self.heard.insert(tag.client.clone(), tag.number);
        }
        for act in &acts {
            self.tombstones.note(act);
            if let Some(cell) = act.cell().filter(|_| act.touches_text()) {
                self.touched.insert(cell.clone(), self.version);
            }
        }
        let effects = acts.iter().flat_map(Act::effects).collect();
        let turn = self.journal.note(author, acts.clone(), undoes, now);
        // Outputs and metadata are not reviewed.
        let is_text = acts.iter().any(Act::is_undoable);
        if is_text && (author.actor.kind == ActorKind::Agent || !self.review.cells.is_empty()) {
            let review = Arc::make_mut(&mut self.review);
            review.note(&author.actor, &turn, &acts, |cell| {
                let cell = &old.cells()[old.position(cell)?];
                Some((cell.cell_type(), cell.source().into_owned()))
            });
            review.settle(&self.notebook);
        }
        self.log.push(Arc::new(Change {
            version: self.version,
            actor: author.actor.clone(),
            turn: Some(turn),
            tag,
            effects,
        }));
    }
}

/// Records the deleted cells in the notebook, with the actor.
fn bury(notebook: &mut Notebook, acts: &[Act], actor: &Actor) {
    let is_about_existence = |act: &&Act| matches!(act, Act::Deleted { .. } | Act::Inserted { .. });
    if !acts.iter().any(|act| is_about_existence(&act)) {
        return;
    }
    let mut gone = Tombstones::clone(notebook.tombstones());
    for act in acts {
        match act {
            Act::Deleted { cell, source, .. } => {
                let fate = match actor.kind {
                    ActorKind::Disk => "another program deleted or rewrote it in the file".to_owned(),
                    ActorKind::Agent | ActorKind::Person => format!("{} deleted it", actor.name),
                };
                gone.insert(cell.clone(), Arc::new(Tombstone { fate, source: source.clone() }));
            }
            Act::Inserted { cell, .. } => drop(gone.remove(cell)),
            _ => {}
        }
    }
    notebook.set_tombstones(Arc::new(gone));
}

#[cfg(test)]
pub(crate) mod tests;
