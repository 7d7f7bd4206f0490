//! Changes of agents that wait for review. They are already in the notebook, so they can be run. The previous text
//! is kept per cell until a person keeps or undoes the change.

use std::collections::BTreeMap;

use cellist_notebook::{CellId, CellType, Hunk, Notebook, hunks, merge_text, split};
use serde::{Deserialize, Serialize};

use super::act::Act;
use super::actor::{Actor, ActorKind};
use super::tombstones::CellTombstones;

/// All changes that wait for review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Whether changes of agents wait for review.
    pub is_on: bool,
    /// Whether review was set for this notebook; otherwise the settings decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_chosen: bool,
    /// The cells that wait for review.
    pub cells: BTreeMap<CellId, Unreviewed>,
}

impl Default for Review {
    fn default() -> Review {
        Review { is_on: true, is_chosen: false, cells: BTreeMap::new() }
    }
}

/// A cell changed by an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unreviewed {
    /// The first agent that changed it.
    pub actor: Actor,
    /// The turns that changed it.
    pub turns: Vec<String>,
    /// The cell before the changes.
    pub was: Was,
}

/// A cell before agents changed it. Later changes by people elsewhere in the cell are applied here too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "was", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Was {
    /// It did not exist.
    Absent,
    /// It existed.
    There {
        kind: CellType,
        source: String,
        /// Previous position, if it was moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Stood>,
    },
    /// It existed and was deleted.
    Deleted { after: Option<CellId>, kind: CellType, source: String, json: String },
}

/// The previous position of a cell: behind another, or first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stood {
    /// The cell before it.
    pub after: Option<CellId>,
}

/// A decision about changes that wait for review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Keep them.
    Keep,
    /// Undo them.
    Undo,
}

/// The changes that a verdict covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields explain them")]
pub enum Scope {
    /// One hunk of a cell's source, counted from 0.
    Hunk { cell: CellId, hunk: usize },
    /// A cell, up to this text. Keeping compares with the text from now on; undoing restores it.
    Text { cell: CellId, was: String },
    /// A cell.
    Cell { cell: CellId },
    /// All changes of one turn.
    Turn { turn: String },
    /// All changes.
    All,
}

impl Unreviewed {
    /// Returns the hunks between the previous source and `now`, by lines.
    pub fn hunks(&self, now: &str) -> Vec<Hunk> {
        match &self.was {
            Was::There { source, .. } => hunks(source, now),
            Was::Absent | Was::Deleted { .. } => Vec::new(),
        }
    }
}

impl Review {
    /// Records an act; `kind` returns the type of a cell before it.
    pub(crate) fn note(
        &mut self,
        actor: &Actor,
        turn: &str,
        acts: &[Act],
        kind: impl Fn(&CellId) -> Option<(CellType, String)>,
    ) {
        match actor.kind {
            ActorKind::Agent if self.is_on => {
                acts.iter().for_each(|act| self.by_agent(actor, turn, act, &kind))
            }
            ActorKind::Agent => {}
            ActorKind::Person | ActorKind::Disk => acts.iter().for_each(|act| self.by_other(act)),
        }
    }

    fn by_agent(
        &mut self,
        actor: &Actor,
        turn: &str,
        act: &Act,
        before: &impl Fn(&CellId) -> Option<(CellType, String)>,
    ) {
        let Some(cell) = act.cell().filter(|_| act.is_undoable()) else { return };
        let known = self.cells.get(cell).map(|waiting| waiting.was.clone());
        let there = || before(cell).map(|(kind, source)| Was::There { kind, source, place: None });
        let was = match (act, known) {
            (Act::Inserted { .. }, None) => Some(Was::Absent),
            // The cell was restored.
            (Act::Inserted { .. }, Some(Was::Deleted { kind, source, .. })) => {
                Some(Was::There { kind, source, place: None })
            }
            // Deleting an unreviewed new cell leaves nothing to review.
            (Act::Deleted { .. }, Some(Was::Absent)) => None,
            (Act::Deleted { after, json, .. }, Some(Was::There { kind, source, place })) => {
                let after = place.map_or(after.clone(), |stood| stood.after);
                Some(Was::Deleted { after, kind, source, json: json.clone() })
            }
            (Act::Deleted { after, kind, source, json, .. }, _) => Some(Was::Deleted {
                after: after.clone(),
                kind: *kind,
                source: source.clone(),
                json: json.clone(),
            }),
            (Act::Moved { from, .. }, Some(Was::There { kind, source, place })) => {
                let place = place.or(Some(Stood { after: from.clone() }));
                Some(Was::There { kind, source, place })
            }
            (Act::Moved { from, .. }, None) => before(cell).map(|(kind, source)| Was::There {
                kind,
                source,
                place: Some(Stood { after: from.clone() }),
            }),
            // Outputs are not source.
            (Act::Cleared { .. }, known) => known,
            (_, Some(was)) => Some(was),
            (_, None) => there(),
        };
        match was {
            None => drop(self.cells.remove(cell)),
            Some(was) => {
                let waiting = self.cells.entry(cell.clone()).or_insert_with(|| Unreviewed {
                    actor: actor.clone(),
                    turns: Vec::new(),
                    was: Was::Absent,
                });
                waiting.was = was;
                if !waiting.turns.iter().any(|known| known == turn) {
                    waiting.turns.push(turn.to_owned());
                }
            }
        }
    }

    fn by_other(&mut self, act: &Act) {
        let Some(cell) = act.cell() else { return };
        let Some(waiting) = self.cells.get_mut(cell) else { return };
        match (act, &mut waiting.was) {
            // Typing among the agent's lines becomes part of the pending change.
            (Act::Edited { before, after, .. }, Was::There { source, .. }) => {
                if let Some(text) = merge_text(before, after, source) {
                    *source = text;
                }
            }
            (Act::Retyped { after, .. }, Was::There { kind, .. }) => *kind = *after,
            (Act::Moved { .. }, Was::There { place, .. }) => *place = None,
            (Act::Deleted { .. }, _) | (Act::Inserted { .. }, Was::Deleted { .. }) => {
                self.cells.remove(cell);
            }
            _ => {}
        }
    }

    /// Drops cells that are as they were before.
    pub(crate) fn settle(&mut self, notebook: &Notebook) {
        self.cells.retain(|cell, waiting| {
            let now = notebook.position(cell).map(|at| &notebook.cells()[at]);
            match (&waiting.was, now) {
                (Was::There { kind, source, place }, Some(now)) => {
                    place.is_some() || now.cell_type() != *kind || now.source() != source.as_str()
                }
                (Was::There { .. } | Was::Absent, None) | (Was::Deleted { .. }, Some(_)) => false,
                (Was::Absent, Some(_)) | (Was::Deleted { .. }, None) => true,
            }
        });
    }

    /// Keeps one hunk. Returns `false` if there is no such hunk.
    pub(crate) fn keep_hunk(&mut self, notebook: &Notebook, cell: &CellId, hunk: usize) -> bool {
        let now = notebook.position(cell).map(|at| notebook.cells()[at].source());
        let (Some(waiting), Some(now)) = (self.cells.get_mut(cell), now) else { return false };
        let Some(place) = waiting.hunks(&now).into_iter().nth(hunk) else { return false };
        let Was::There { source, .. } = &mut waiting.was else { return false };
        *source = with_lines(source, place.before, &now, place.after);
        true
    }

    /// Compares a cell with this text from now on. Returns `false` if the cell is not pending or did not exist
    /// before.
    pub(crate) fn keep_text(&mut self, cell: &CellId, text: &str) -> bool {
        let Some(Unreviewed { was: Was::There { source, .. }, .. }) = self.cells.get_mut(cell) else {
            return false;
        };
        *source = text.to_owned();
        true
    }

    /// Returns the source of a cell with one hunk undone.
    pub(crate) fn without_hunk(&self, now: &str, cell: &CellId, hunk: usize) -> Option<String> {
        let waiting = self.cells.get(cell)?;
        let place = waiting.hunks(now).into_iter().nth(hunk)?;
        let Was::There { source, .. } = &waiting.was else { return None };
        Some(with_lines(now, place.after, source, place.before))
    }

    /// Keeps the changes of one turn. Changes of other turns in the same cells stay pending.
    pub(crate) fn keep_turn<'a>(&mut self, turn: &str, acts: impl Iterator<Item = &'a Act>) {
        for act in acts {
            if let Act::Edited { cell, before, after, .. } = act
                && let Some(Unreviewed { was: Was::There { source, .. }, .. }) = self.cells.get_mut(cell)
                && let Some(text) = merge_text(before, after, source)
            {
                *source = text;
            }
        }
        self.forget_turn(turn);
    }

    /// Removes a turn from the pending cells. Cells without other turns are no longer pending.
    pub(crate) fn forget_turn(&mut self, turn: &str) {
        self.cells.retain(|_, waiting| {
            waiting.turns.retain(|known| known != turn);
            !waiting.turns.is_empty()
        });
    }

    /// Restores a cell to its previous state.
    pub(crate) fn put_back(
        &self,
        notebook: &mut Notebook,
        cell: &CellId,
        tombstones: &CellTombstones,
    ) -> cellist_notebook::Result<()> {
        let Some(waiting) = self.cells.get(cell) else { return Ok(()) };
        match (&waiting.was, notebook.position(cell)) {
            (Was::Absent, Some(index)) => drop(notebook.remove(index)),
            (Was::There { kind, source, place }, Some(index)) => {
                notebook.set_type(index, *kind);
                notebook.set_source(index, source);
                if let Some(stood) = place
                    && let Some(at) = tombstones.place(notebook, stood.after.as_ref())
                {
                    notebook.shift(index, if at > index { at - 1 } else { at });
                }
            }
            (Was::Deleted { after, kind, source, json }, None) => {
                let at = tombstones.place(notebook, after.as_ref()).unwrap_or(notebook.cells().len());
                notebook.restore(at, cell, json)?;
                notebook.set_type(at, *kind);
                notebook.set_source(at, source);
            }
            (Was::Absent | Was::There { .. }, None) | (Was::Deleted { .. }, Some(_)) => {}
        }
        Ok(())
    }
}

/// Replaces some lines of a text by lines of another.
fn with_lines(text: &str, gone: std::ops::Range<usize>, other: &str, come: std::ops::Range<usize>) -> String {
    let (mut lines, other) = (split(text), split(other));
    lines.splice(gone, other[come].iter().copied());
    lines.join("\n")
}

#[cfg(test)]
mod tests;
