//! Undoes journal entries: all of them, or as many as possible.

use std::collections::VecDeque;
use std::sync::Arc;

use cellist_notebook::{self as notebook, Notebook, Revision};

use super::{Edited, State, Unchanged};
use crate::actor::Author;
use crate::journal::{Entry, NothingToUndo, Undo};
use crate::undo::take_back;

/// The undone entries, and the conflicting ones.
#[derive(Debug)]
pub struct PartlyUndone {
    /// The undone entries, newest first.
    pub entries: Vec<Entry>,
    /// Entries that conflict with later changes of others, each with the conflict.
    pub kept: Vec<(Entry, notebook::Error)>,
}

/// Number of remembered revisions: a few for each journal entry.
const MOST_MARKS: usize = 4_096;

/// Revisions that were read, oldest first, each with the number of the next entry.
#[derive(Debug, Default)]
pub(super) struct RevisionMarks(VecDeque<(Revision, u64)>);

impl RevisionMarks {
    /// Records that a revision was read. A repeated one counts from its newest time.
    pub(super) fn set(&mut self, revision: Revision, next: u64) {
        self.0.retain(|(known, _)| *known != revision);
        if self.0.len() >= MOST_MARKS {
            self.0.pop_front();
        }
        self.0.push_back((revision, next));
    }

    fn get(&self, revision: Revision) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == revision).map(|(_, next)| *next)
    }
}

impl<T> Edited<T> {
    fn map<U>(self, made: impl FnOnce(T) -> U) -> Edited<U> {
        let Edited { value, version, notebook, changed } = self;
        Edited { value: made(value), version, notebook, changed }
    }
}

impl State {
    /// Undoes changes. Later changes of others stay. On a conflict nothing changes, and the error shows both
    /// versions.
    pub(crate) fn undo(
        &mut self,
        undo: &Undo,
        author: &Author,
        now: u64,
    ) -> Result<Edited<Vec<Entry>>, Unchanged> {
        let chosen = self.chosen(undo)?;
        let mut changed = Notebook::clone(&self.notebook);
        take_back(&mut changed, chosen.iter().flat_map(|entry| entry.acts.iter().rev()), &self.tombstones)?;
        let entries: Vec<Entry> = chosen.into_iter().cloned().collect();
        Ok(self.taken_back(undo, changed, entries, author, now))
    }

    /// Like [`State::undo`], but entry by entry if that fails. Entries that conflict with later changes stay, and
    /// are returned with their conflicts. Fails if every entry conflicts.
    pub(crate) fn undo_partly(
        &mut self,
        undo: &Undo,
        author: &Author,
        now: u64,
    ) -> Result<Edited<PartlyUndone>, Unchanged> {
        let chosen = match self.undo(undo, author, now) {
            Err(Unchanged::Refused(notebook::Error::Conflicts(_))) => self.chosen(undo)?,
            other => {
                let whole = |edited: Edited<Vec<Entry>>| {
                    edited.map(|entries| PartlyUndone { entries, kept: Vec::new() })
                };
                return other.map(whole);
            }
        };
        let mut changed = Notebook::clone(&self.notebook);
        let (mut entries, mut kept) = (Vec::new(), Vec::new());
        for entry in chosen {
            match take_back(&mut changed, entry.acts.iter().rev(), &self.tombstones) {
                Ok(()) => entries.push(entry.clone()),
                Err(conflict) => kept.push((entry.clone(), conflict)),
            }
        }
        match (entries.is_empty(), kept.pop()) {
            (true, Some((_, conflict))) => Err(conflict.into()),
            (_, last) => {
                kept.extend(last);
                let edited = self.taken_back(undo, changed, entries, author, now);
                Ok(edited.map(|entries| PartlyUndone { entries, kept }))
            }
        }
    }

    /// Returns the entries to undo, newest first.
    fn chosen(&self, undo: &Undo) -> Result<Vec<&Entry>, NothingToUndo> {
        let Undo::Since { actor, revision } = undo else { return self.journal.chosen(undo) };
        let revision = *revision;
        let first = self.marks.get(revision).ok_or(NothingToUndo::UnknownRevision { revision })?;
        match self.journal.open_from(first, actor) {
            none if none.is_empty() => Err(NothingToUndo::NothingSince { revision }),
            some => Ok(some),
        }
    }

    fn taken_back(
        &mut self,
        undo: &Undo,
        changed: Notebook,
        entries: Vec<Entry>,
        author: &Author,
        now: u64,
    ) -> Edited<Vec<Entry>> {
        let numbers = entries.iter().map(|entry| entry.number).collect();
        // Undone changes of an agent need no review.
        let reviewed: Vec<String> = entries.iter().map(|entry| entry.turn.clone()).collect();
        let is_changed = self.replace(changed, author, numbers, now);
        if let Undo::Turn(_) = undo {
            let review = Arc::make_mut(&mut self.review);
            reviewed.iter().for_each(|turn| review.forget_turn(turn));
        }
        Edited {
            value: entries,
            version: self.version,
            notebook: Arc::clone(&self.notebook),
            changed: is_changed,
        }
    }
}
