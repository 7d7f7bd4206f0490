//! The journal of a notebook: changes by author, with the data to undo them.

use std::collections::BTreeSet;

use cellist_notebook::{CellId, Revision};
use serde::{Deserialize, Serialize};

use super::act::Act;
use super::actor::{Actor, ActorKind, Author};

/// Typing in a cell without a longer pause is one entry.
const PAUSE_MS: u64 = 5_000;
/// Changes of one actor within this time form a turn, unless they name one.
const TURN_MS: u64 = 60_000;
/// Maximum number of entries.
const MOST_ENTRIES: usize = 1_000;
const MOST_BYTES: usize = 16 << 20;

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Increases with each entry.
    pub number: u64,
    /// Author.
    pub actor: Actor,
    /// The turn that it belongs to.
    pub turn: String,
    /// Start, in milliseconds since 1970.
    pub at: u64,
    /// End, in milliseconds since 1970.
    pub until: u64,
    /// The entries that it undid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<u64>,
    /// The entry that undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<u64>,
    pub(crate) acts: Vec<Act>,
}

/// The changes to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// The last change of any actor that is not undone.
    Last,
    /// The last change of one actor.
    LastOf(String),
    /// All changes of a turn.
    Turn(String),
    /// One entry, which may itself be an undo.
    Entry(u64),
    /// All changes of one actor since a revision read here.
    Since {
        /// Id of the actor.
        actor: String,
        /// Revision.
        revision: Revision,
    },
}

/// Why there is nothing to undo.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum NothingToUndo {
    #[error("there is no change to undo")]
    NoChange,
    #[error("there is no turn `{turn}`")]
    NoSuchTurn { turn: String },
    #[error("turn `{turn}` is already undone")]
    TurnUndone { turn: String },
    #[error("there is no entry {number}")]
    NoSuchEntry { number: u64 },
    #[error("entry {number} is already undone")]
    EntryUndone { number: u64 },
    #[error("revision {revision} is not known here")]
    UnknownRevision { revision: Revision },
    #[error("there is no change since revision {revision} to undo")]
    NothingSince { revision: Revision },
}

/// The entries, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    entries: Vec<Entry>,
    next: u64,
    /// Entries that changed since the last read.
    #[serde(skip)]
    noted: BTreeSet<u64>,
}

impl Journal {
    /// Creates a journal of these entries, oldest first. Renumbers duplicates.
    pub(crate) fn of(entries: Vec<Entry>) -> Journal {
        let mut journal = Journal::default();
        for mut entry in entries {
            entry.number = entry.number.max(journal.next);
            journal.next = entry.number + 1;
            journal.entries.push(entry);
        }
        journal.forget_oldest();
        journal
    }

    /// Takes the entries that changed since the last call.
    pub(crate) fn take_noted(&mut self) -> Vec<Entry> {
        let noted = std::mem::take(&mut self.noted);
        self.entries.iter().filter(|entry| noted.contains(&entry.number)).cloned().collect()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The number of the next entry.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the open entries of an actor from one on, newest first.
    pub(crate) fn open_from(&self, first: u64, actor: &str) -> Vec<&Entry> {
        let newest = self.entries.iter().rev().filter(|entry| entry.is_open());
        newest.filter(|entry| entry.number >= first && entry.actor.id == actor).collect()
    }

    /// Records acts at the time `now`, in milliseconds since 1970. Returns their turn.
    pub(crate) fn note(&mut self, author: &Author, acts: Vec<Act>, undoes: Vec<u64>, now: u64) -> String {
        let acts: Vec<Act> = acts.into_iter().filter(Act::is_undoable).collect();
        let turn = self.turn_of(author, !undoes.is_empty(), now);
        if acts.is_empty() {
            return turn;
        }
        if let Some(last) = self.entries.last_mut().filter(|last| {
            undoes.is_empty() && last.actor.id == author.actor.id && last.turn == turn && last.goes_on(now)
        }) && last.join(&acts)
        {
            last.until = now;
            self.noted.insert(last.number);
            return turn;
        }
        let number = self.next;
        self.next += 1;
        // Undoing an undo makes the original entry open again.
        let undone = self.entries.iter().filter(|entry| undoes.contains(&entry.number));
        let again: Vec<u64> = undone.flat_map(|entry| entry.undoes.clone()).collect();
        for entry in &mut self.entries {
            if undoes.contains(&entry.number) {
                entry.undone_by = Some(number);
            } else if again.contains(&entry.number) {
                entry.undone_by = None;
            } else {
                continue;
            }
            self.noted.insert(entry.number);
        }
        let actor = author.actor.clone();
        let entry =
            Entry { number, actor, turn: turn.clone(), at: now, until: now, undoes, undone_by: None, acts };
        self.entries.push(entry);
        self.noted.insert(number);
        self.forget_oldest();
        turn
    }

    /// Returns the turn of a change: the one its author names, the recent one of the same actor, or a new one. An
    /// undo is a separate turn.
    fn turn_of(&self, author: &Author, is_undo: bool, now: u64) -> String {
        if let Some(turn) = &author.turn {
            return turn.clone();
        }
        let last = self.entries.last().filter(|_| !is_undo).filter(|last| {
            last.actor.id == author.actor.id
                && now.saturating_sub(last.until) <= TURN_MS
                && last.undoes.is_empty()
        });
        last.map_or_else(|| format!("t{}", self.next), |last| last.turn.clone())
    }

    /// Returns the entries to undo, newest first.
    pub(crate) fn chosen(&self, undo: &Undo) -> Result<Vec<&Entry>, NothingToUndo> {
        let newest = || self.entries.iter().rev().filter(|entry| entry.is_open());
        match undo {
            Undo::Last => newest().next().map(|entry| vec![entry]).ok_or(NothingToUndo::NoChange),
            Undo::LastOf(actor) => {
                let last = newest().find(|entry| entry.actor.id == *actor);
                last.map(|entry| vec![entry]).ok_or(NothingToUndo::NoChange)
            }
            Undo::Turn(turn) => {
                let of_turn = |entry: &&Entry| entry.turn == *turn;
                let open: Vec<&Entry> = newest().filter(of_turn).collect();
                match (open.is_empty(), self.entries.iter().any(|entry| entry.turn == *turn)) {
                    (false, _) => Ok(open),
                    (true, true) => Err(NothingToUndo::TurnUndone { turn: turn.clone() }),
                    (true, false) => Err(NothingToUndo::NoSuchTurn { turn: turn.clone() }),
                }
            }
            Undo::Entry(number) => match self.entries.iter().find(|entry| entry.number == *number) {
                None => Err(NothingToUndo::NoSuchEntry { number: *number }),
                Some(entry) if entry.undone_by.is_some() => {
                    Err(NothingToUndo::EntryUndone { number: *number })
                }
                Some(entry) => Ok(vec![entry]),
            },
            // Revisions are known only where a notebook is open.
            Undo::Since { revision, .. } => Err(NothingToUndo::UnknownRevision { revision: *revision }),
        }
    }

    fn forget_oldest(&mut self) {
        let mut room = MOST_BYTES;
        let fits = |entry: &&Entry| match room.checked_sub(entry.size()) {
            Some(rest) => {
                room = rest;
                true
            }
            None => false,
        };
        let kept = self.entries.iter().rev().take(MOST_ENTRIES).take_while(fits).count();
        let kept = kept.max(1).min(self.entries.len());
        self.entries.drain(..self.entries.len() - kept);
    }
}

impl Entry {
    /// Whether it is a change that is not undone, and not itself an undo.
    pub fn is_open(&self) -> bool {
        self.undone_by.is_none() && self.undoes.is_empty()
    }

    /// Describes the acts in a few words each.
    pub fn deeds(&self) -> Vec<String> {
        let mut deeds: Vec<String> = Vec::new();
        for act in &self.acts {
            let deed = match act {
                Act::Inserted { cell, kind, .. } => format!("added {kind} cell {cell}"),
                Act::Deleted { cell, kind, .. } => format!("deleted {kind} cell {cell}"),
                Act::Moved { cell, .. } => format!("moved cell {cell}"),
                Act::Retyped { cell, after, .. } => format!("made cell {cell} a {after} cell"),
                Act::Edited { cell, .. } => format!("edited cell {cell}"),
                Act::Cleared { cell, .. } => format!("cleared the outputs of cell {cell}"),
                Act::Refitted { cell, .. } => format!("changed outputs or metadata of cell {cell}"),
                Act::Outputs { .. } | Act::Metadata { .. } => continue,
            };
            if !deeds.contains(&deed) {
                deeds.push(deed);
            }
        }
        deeds
    }

    /// Returns the affected cells.
    pub fn cells(&self) -> Vec<&CellId> {
        let mut cells: Vec<&CellId> = Vec::new();
        for cell in self.acts.iter().filter_map(Act::cell) {
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells
    }

    fn goes_on(&self, now: u64) -> bool {
        self.actor.kind == ActorKind::Person
            && self.undone_by.is_none()
            && self.undoes.is_empty()
            && now.saturating_sub(self.until) <= PAUSE_MS
    }

    /// Merges an edit of the same cell. Returns `false` if the two should stay separate entries.
    fn join(&mut self, acts: &[Act]) -> bool {
        // Only merges typing, letter by letter; replacing a whole source is deliberate.
        let (
            [Act::Edited { cell, after, .. }],
            [Act::Edited { cell: same, before, after: newest, change: Some(_) }],
        ) = (self.acts.as_mut_slice(), acts)
        else {
            return false;
        };
        if cell != same || after != before {
            return false;
        }
        after.clone_from(newest);
        true
    }

    fn size(&self) -> usize {
        let text = |act: &Act| match act {
            Act::Inserted { source, .. } => source.len(),
            Act::Deleted { source, json, .. } => source.len() + json.len(),
            Act::Retyped { json, .. } => json.as_ref().map_or(0, String::len),
            Act::Edited { before, after, .. } => before.len() + after.len(),
            Act::Cleared { json, .. } => json.len(),
            Act::Refitted { before, after, .. } => before.len() + after.len(),
            Act::Moved { .. } | Act::Outputs { .. } | Act::Metadata { .. } => 0,
        };
        300 + self.acts.iter().map(|act| 100 + text(act)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
