//! Taking entries of the journal back, all of them or as many as can be.

use std::collections::VecDeque;
use std::sync::Arc;

use cellist_notebook::{self as notebook, Notebook, Revision};

use super::{Edited, State, Unchanged};
use crate::actor::Author;
use crate::journal::{Entry, NothingToUndo, Undo};
use crate::undo::take_back;

/// The entries that were taken back, and the entries that conflict.
#[derive(Debug)]
pub struct PartlyUndone {
    /// The entries that were taken back, newest first.
    pub entries: Vec<Entry>,
    /// Entries that conflict with later changes of others, each with the conflict.
    pub kept: Vec<(Entry, notebook::Error)>,
}

/// How many revisions are remembered: a few for each entry of the journal.
const MOST_MARKS: usize = 4_096;

/// Revisions that were told, oldest first, each with the number of the entry that came next.
#[derive(Debug, Default)]
pub(super) struct RevisionMarks(VecDeque<(Revision, u64)>);

impl RevisionMarks {
    /// Notes that a revision was told. Told again, it means the newest time.
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
    /// Takes changes back. Later changes of others stay. On a conflict nothing is changed and the error shows both
    /// versions.
    pub(crate) fn undo(
        &mut self,
        undo: &Undo,
        author: &Author,
        now: u64,
    ) -> Result<Edited<Vec<Entry>>, Unchanged> {
        let chosen = self.chosen(undo)?;
        let mut changed = Notebook::clone(&self.notebook);
        take_back(&mut changed, chosen.iter().flat_map(|entry| entry.acts.iter().rev()), &self.graves)?;
        let entries: Vec<Entry> = chosen.into_iter().cloned().collect();
        Ok(self.taken_back(undo, changed, entries, author, now))
    }

    /// As [`State::undo`], but entry by entry where all of it cannot be taken back: entries that conflict with
    /// later changes of others stay, and are returned with their conflicts. Fails where every entry conflicts.
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
            match take_back(&mut changed, entry.acts.iter().rev(), &self.graves) {
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

    /// The entries to take back, newest first.
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
        // Changes of an agent that were taken back need no review any more.
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
