//! An open notebook without the world around it: all changes in one order, each with a version, who made it and
//! how to take it back. It knows no files, clocks or tasks.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use cellist_notebook::{self as notebook, CellId, Notebook, OnConflict, Revision, Snapshot, merge};
use cellist_output::Output;
use serde_json::Value;

use super::ChangeSet;
use super::act::{Act, before, between, delete, retype};
use super::actor::{Actor, ActorKind, Author, Tag};
use super::condition::Conditions;
use super::graves::Graves;
use super::journal::{Entry, Journal, NothingToUndo, Undo};
use super::log::Log;
use super::op::{Change, Op, Refusal, Submission};
use super::review::{Review, Scope, Verdict};
use super::undo::take_back;

/// How many revisions that were told to agents are remembered.
const TOLD: usize = 64;

/// How many clients are remembered by what they submitted.
const HEARD: usize = 256;

/// An open notebook.
#[derive(Debug)]
pub(crate) struct State {
    notebook: Arc<Notebook>,
    version: u64,
    log: Log,
    /// The version that last changed a cell's source or type, or whether it exists.
    touched: HashMap<CellId, u64>,
    graves: Graves,
    conditions: Arc<Conditions>,
    journal: Journal,
    review: Arc<Review>,
    /// The last submission of each client.
    heard: BTreeMap<String, u64>,
    /// What agents may base an edit on, oldest first.
    told: VecDeque<(Revision, Arc<Snapshot>)>,
    /// What each actor was told last.
    last_told: HashMap<String, Revision>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
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

/// What an edit came to.
#[derive(Clone, Debug)]
pub struct Edited<T> {
    /// What the edit returned.
    pub value: T,
    /// The version that has it.
    pub version: u64,
    /// The notebook with it.
    pub notebook: Arc<Notebook>,
    /// Whether it changed anything.
    pub changed: bool,
}

impl State {
    /// Opens a notebook. `version` must be higher than any that clients may still know from an earlier time.
    pub(crate) fn new(notebook: Notebook, version: u64, journal: Journal, review: Review) -> State {
        let mut graves = Graves::default();
        journal.entries().iter().flat_map(|entry| &entry.acts).for_each(|act| graves.note(act));
        let mut state = State {
            notebook: Arc::new(notebook),
            version,
            log: Log::default(),
            touched: HashMap::new(),
            graves,
            conditions: Arc::default(),
            journal,
            review: Arc::new(review),
            heard: BTreeMap::new(),
            told: VecDeque::new(),
            last_told: HashMap::new(),
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

    /// The entries of the journal that are new or others since this was asked last.
    pub(crate) fn take_noted(&mut self) -> Vec<Entry> {
        self.journal.take_noted()
    }

    pub(crate) fn review(&self) -> &Arc<Review> {
        &self.review
    }

    /// The number of the last submission of each client that is in the notebook.
    pub(crate) fn heard(&self) -> &BTreeMap<String, u64> {
        &self.heard
    }

    /// Takes over what an earlier owner of the notebook has heard.
    pub(crate) fn set_heard(&mut self, heard: BTreeMap<String, u64>) {
        self.heard = heard;
    }

    pub(crate) fn conditions(&self) -> &Arc<Conditions> {
        &self.conditions
    }

    /// How cells stand, to be changed. That is no change of the notebook.
    pub(crate) fn conditions_mut(&mut self) -> &mut Conditions {
        Arc::make_mut(&mut self.conditions)
    }

    /// All changes since a version.
    pub(crate) fn since(&self, base: u64) -> Result<Vec<Arc<Change>>, Refusal> {
        let too_far = Refusal::TooFar { base, version: self.version };
        self.log.since(base, self.version).ok_or(too_far)
    }

    /// Takes what a client submits, or says what it has to know first. What it is about must be as the client
    /// knew it; what others did elsewhere does not matter. The same submission twice is taken once.
    pub(crate) fn submit(
        &mut self,
        submission: Submission,
        author: &Author,
        now: u64,
    ) -> Result<u64, Refusal> {
        let Submission { base, tag, ops } = submission;
        if let Some(version) = tag.as_ref().and_then(|tag| self.log.find(tag, base)) {
            return Ok(version);
        }
        let changes = self.since(base)?;
        let mut changed = Notebook::clone(&self.notebook);
        let mut acts = Vec::new();
        for op in ops {
            if self.is_stale(&op, base) {
                return Err(Refusal::Behind { version: self.version, changes });
            }
            acts.extend(self.carry_out(&mut changed, op)?);
        }
        self.commit(changed, acts, author, tag, Vec::new(), now);
        Ok(self.version)
    }

    /// Whether an operation is about something that has changed since `base`.
    fn is_stale(&self, op: &Op, base: u64) -> bool {
        match op {
            Op::Delete { cell }
            | Op::Retype { cell, .. }
            | Op::Change { cell, .. }
            | Op::Write { cell, .. } => self.touched.get(cell).is_some_and(|&version| version > base),
            // These mean the same whatever the cell holds; where it is gone meanwhile, the client must know.
            Op::Move { cell, .. } | Op::Clear { cell } => {
                self.notebook.position(cell).is_none()
                    && self.touched.get(cell).is_some_and(|&version| version > base)
            }
            Op::Insert { .. } => false,
        }
    }

    fn carry_out(&self, notebook: &mut Notebook, op: Op) -> Result<Option<Act>, Refusal> {
        let find = |notebook: &Notebook, cell: &CellId| {
            notebook.position(cell).ok_or_else(|| Refusal::NoSuchCell { cell: cell.clone() })
        };
        Ok(match op {
            Op::Insert { cell, after, kind, source } => {
                let at = self.place(notebook, after)?;
                match cell {
                    Some(cell) if notebook.position(&cell).is_some() => {
                        return Err(Refusal::BadName { cell, why: "another cell has this name" });
                    }
                    Some(cell) if !cell.is_valid() => {
                        let why = "a name has 1 to 64 letters, digits, `-` and `_`";
                        return Err(Refusal::BadName { cell, why });
                    }
                    Some(cell) => notebook.insert_named(at, cell, kind, &source),
                    None => notebook.insert(at, kind, &source),
                }
                let cell = notebook.cells()[at].id().clone();
                let after = before(notebook, at);
                Some(Act::Inserted { cell, after, kind, source, has_more: false })
            }
            Op::Delete { cell } => {
                let at = find(notebook, &cell)?;
                Some(delete(notebook, at))
            }
            Op::Move { cell, after } => {
                let at = find(notebook, &cell)?;
                let from = before(notebook, at);
                // Behind itself is where it is.
                if after.as_ref() == Some(&cell) || after == from {
                    return Ok(None);
                }
                let to = self.place(notebook, after)?;
                let to = if to > at { to - 1 } else { to };
                notebook.shift(at, to);
                (to != at).then(|| Act::Moved { cell, from, to: before(notebook, to) })
            }
            Op::Retype { cell, kind } => {
                let at = find(notebook, &cell)?;
                (notebook.cells()[at].cell_type() != kind).then(|| retype(notebook, at, kind))
            }
            Op::Change { cell, change } => {
                let at = find(notebook, &cell)?;
                if notebook.cells()[at].has_lone_surrogate() {
                    return Err(Refusal::ReadOnly { cell });
                }
                let before = notebook.cells()[at].source().into_owned();
                let after = match change.apply(&before) {
                    Ok(after) => after,
                    Err(problem) => return Err(Refusal::BadChange { cell, problem }),
                };
                write(notebook, at, before, after, Some(change))
            }
            Op::Write { cell, source } => {
                let at = find(notebook, &cell)?;
                let before = notebook.cells()[at].source().into_owned();
                write(notebook, at, before, source, None)
            }
            Op::Clear { cell } => {
                let at = find(notebook, &cell)?;
                let json = notebook.cells()[at].to_json();
                let had = notebook.cells()[at].has_outputs();
                notebook.clear_outputs(at);
                had.then_some(Act::Cleared { cell, json })
            }
        })
    }

    /// The place behind a cell. Where that is gone, behind what stood before it.
    fn place(&self, notebook: &Notebook, after: Option<CellId>) -> Result<usize, Refusal> {
        let place = self.graves.place(notebook, after.as_ref());
        place.ok_or_else(|| Refusal::NoSuchCell { cell: after.unwrap_or_else(|| "".into()) })
    }

    /// Changes the notebook by `edit`, which is given the state that the change was made for where that is not
    /// the newest: the revision named, or what the actor was told last.
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

    /// Remembers that an actor was told the newest revision.
    pub(crate) fn tell(&mut self, actor: &Actor) -> Revision {
        let revision = self.notebook.revision();
        if self.told.iter().all(|(known, _)| *known != revision) {
            self.told.push_back((revision, Arc::new(self.notebook.snapshot())));
            if self.told.len() > TOLD {
                self.told.pop_front();
            }
        }
        self.last_told.insert(actor.id.clone(), revision);
        revision
    }

    /// What an actor was told last, as far as it is still remembered.
    pub(crate) fn last_told(&self, actor: &Actor) -> Option<Arc<Snapshot>> {
        let revision = self.last_told.get(&actor.id)?;
        let (_, snapshot) = self.told.iter().find(|(known, _)| known == revision)?;
        Some(Arc::clone(snapshot))
    }

    /// Takes in what another program made of `base`. Where both changed the same lines, both stay, between
    /// markers. Returns what people should know.
    pub(crate) fn absorb(
        &mut self,
        base: &Notebook,
        theirs: &Notebook,
        now: u64,
    ) -> notebook::Result<Vec<String>> {
        let merged = merge(base, &self.notebook, theirs, OnConflict::Mark)?;
        let remarks = merged.remarks();
        self.replace(merged.notebook, &Actor::disk().into(), Vec::new(), now);
        Ok(remarks)
    }

    /// Gives a cell the outputs of a run. `false` when the cell is gone.
    pub(crate) fn set_outputs(
        &mut self,
        cell: &CellId,
        outputs: &[Output],
        count: Option<u64>,
        author: &Author,
        now: u64,
    ) -> bool {
        let Some(at) = self.notebook.position(cell) else { return false };
        if self.notebook.cells()[at].cell_type() != notebook::CellType::Code {
            return false;
        }
        let mut changed = Notebook::clone(&self.notebook);
        changed.set_outputs(at, outputs, count);
        self.commit(changed, vec![Act::Outputs { cell: cell.clone() }], author, None, Vec::new(), now);
        true
    }

    /// Gives a key of the metadata of a cell, or of the notebook, a value.
    pub(crate) fn set_metadata(
        &mut self,
        cell: Option<&CellId>,
        key: &str,
        value: &Value,
        author: &Author,
        now: u64,
    ) {
        let mut changed = Notebook::clone(&self.notebook);
        match cell.map(|cell| self.notebook.position(cell)) {
            Some(Some(at)) => changed.set_cell_metadata(at, key, value),
            // It is gone.
            Some(None) => return,
            None => changed.set_metadata(key, value),
        }
        if changed.revision() != self.notebook.revision() {
            let acts = vec![Act::Metadata { cell: cell.cloned() }];
            self.commit(changed, acts, author, None, Vec::new(), now);
        }
    }

    /// Takes something back. What others did since stays; where that cannot be, nothing is changed and the
    /// error shows both versions.
    pub(crate) fn undo(
        &mut self,
        undo: &Undo,
        author: &Author,
        now: u64,
    ) -> Result<Edited<Vec<Entry>>, Unchanged> {
        let chosen = self.journal.chosen(undo)?;
        let mut changed = Notebook::clone(&self.notebook);
        take_back(&mut changed, chosen.iter().flat_map(|entry| entry.acts.iter().rev()), &self.graves)?;
        let entries: Vec<Entry> = chosen.into_iter().cloned().collect();
        let numbers = entries.iter().map(|entry| entry.number).collect();
        // What an agent did and was taken back need not be reviewed any more.
        let reviewed: Vec<String> = entries.iter().map(|entry| entry.turn.clone()).collect();
        let is_changed = self.replace(changed, author, numbers, now);
        if let Undo::Turn(_) = undo {
            let review = Arc::make_mut(&mut self.review);
            reviewed.iter().for_each(|turn| review.forget_turn(turn));
        }
        Ok(Edited {
            value: entries,
            version: self.version,
            notebook: Arc::clone(&self.notebook),
            changed: is_changed,
        })
    }

    /// Says what becomes of something that waits for review.
    pub(crate) fn judge(
        &mut self,
        verdict: Verdict,
        scope: &Scope,
        author: &Author,
        now: u64,
    ) -> Result<u64, Unchanged> {
        let no_such = |cell: &CellId, hunk| Unchanged::NoSuchHunk { cell: cell.clone(), hunk };
        match (verdict, scope) {
            (Verdict::Keep, Scope::Hunk { cell, hunk }) => {
                let review = Arc::make_mut(&mut self.review);
                if !review.keep_hunk(&self.notebook, cell, *hunk) {
                    return Err(no_such(cell, *hunk));
                }
                review.settle(&self.notebook);
            }
            (Verdict::Keep, Scope::Text { cell, was }) => {
                let review = Arc::make_mut(&mut self.review);
                if !review.keep_text(cell, was) {
                    return Err(no_such(cell, 0));
                }
                review.settle(&self.notebook);
            }
            (Verdict::Undo, Scope::Text { cell, was }) => {
                let at = self.notebook.position(cell).ok_or_else(|| no_such(cell, 0))?;
                let mut changed = Notebook::clone(&self.notebook);
                changed.set_source(at, was);
                self.replace(changed, author, Vec::new(), now);
            }
            (Verdict::Keep, Scope::Cell { cell }) => {
                Arc::make_mut(&mut self.review).cells.remove(cell);
            }
            (Verdict::Keep, Scope::Turn { turn }) => {
                let entries = self.journal.entries().iter().filter(|entry| entry.turn == *turn);
                let review = Arc::make_mut(&mut self.review);
                review.keep_turn(turn, entries.flat_map(|entry| &entry.acts));
                review.settle(&self.notebook);
            }
            (Verdict::Keep, Scope::All) => Arc::make_mut(&mut self.review).cells.clear(),
            (Verdict::Undo, Scope::Hunk { cell, hunk }) => {
                let at = self.notebook.position(cell).ok_or_else(|| no_such(cell, *hunk))?;
                let now_there = self.notebook.cells()[at].source();
                let text = self.review.without_hunk(&now_there, cell, *hunk);
                let text = text.ok_or_else(|| no_such(cell, *hunk))?;
                let mut changed = Notebook::clone(&self.notebook);
                changed.set_source(at, &text);
                self.replace(changed, author, Vec::new(), now);
            }
            (Verdict::Undo, Scope::Cell { cell }) => {
                self.put_back(std::slice::from_ref(cell), author, now)?
            }
            (Verdict::Undo, Scope::All) => {
                let all: Vec<CellId> = self.review.cells.keys().cloned().collect();
                self.put_back(&all, author, now)?;
            }
            (Verdict::Undo, Scope::Turn { turn }) => {
                self.undo(&Undo::Turn(turn.clone()), author, now)?;
            }
        }
        Ok(self.version)
    }

    /// Makes cells that wait for review what they were before.
    fn put_back(&mut self, cells: &[CellId], author: &Author, now: u64) -> Result<(), Unchanged> {
        let mut changed = Notebook::clone(&self.notebook);
        for cell in cells {
            self.review.put_back(&mut changed, cell, &self.graves)?;
        }
        let review = Arc::make_mut(&mut self.review);
        cells.iter().for_each(|cell| drop(review.cells.remove(cell)));
        self.replace(changed, author, Vec::new(), now);
        Ok(())
    }

    /// Switches review on or off. What waits when it is switched off stays as it is.
    pub(crate) fn set_review(&mut self, is_on: bool) {
        let review = Arc::make_mut(&mut self.review);
        (review.is_on, review.is_chosen) = (is_on, true);
        if !is_on {
            review.cells.clear();
        }
    }

    /// Goes on with another notebook, which someone made of this one.
    pub(crate) fn take(&mut self, changed: Notebook, author: &Author, now: u64) -> bool {
        self.replace(changed, author, Vec::new(), now)
    }

    /// Goes on with another notebook. `false` when it says the same.
    fn replace(&mut self, changed: Notebook, author: &Author, undoes: Vec<u64>, now: u64) -> bool {
        let acts = between(&self.notebook, &changed);
        let is_changed = !acts.is_empty();
        self.commit(changed, acts, author, None, undoes, now);
        is_changed
    }

    fn commit(
        &mut self,
        changed: Notebook,
        acts: Vec<Act>,
        author: &Author,
        tag: Option<Tag>,
        undoes: Vec<u64>,
        now: u64,
    ) {
        let old = std::mem::replace(&mut self.notebook, Arc::new(changed));
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
            self.graves.note(act);
            if let Some(cell) = act.cell().filter(|_| act.touches_text()) {
                self.touched.insert(cell.clone(), self.version);
            }
        }
        let effects = acts.iter().flat_map(Act::effects).collect();
        let turn = self.journal.note(author, acts.clone(), undoes, now);
        if author.actor.kind == ActorKind::Agent || !self.review.cells.is_empty() {
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

/// Gives a cell another source, if it is another.
fn write(
    notebook: &mut Notebook,
    at: usize,
    before: String,
    after: String,
    change: Option<ChangeSet>,
) -> Option<Act> {
    if before == after {
        return None;
    }
    notebook.set_source(at, &after);
    Some(Act::Edited { cell: notebook.cells()[at].id().clone(), before, after, change })
}

#[cfg(test)]
pub(crate) mod tests;
