//! Submissions of clients. Operations are applied if their cells have not changed since the client's version.

use cellist_notebook::{CellId, CellType, Notebook};

use super::State;
use crate::act::{Act, before, delete, retype};
use crate::op::Content;
use crate::{Author, ChangeSet, Op, Submission, SubmissionRefusal};

/// The largest cell that a client may insert whole.
const MOST_CONTENT: usize = 32 << 20;

/// A cell to insert.
struct NewCell {
    cell: Option<CellId>,
    kind: CellType,
    source: String,
    content: Option<Content>,
}

impl State {
    /// Applies a submission, or returns the changes that the client missed. Its cells must be as the client knew
    /// them; changes elsewhere do not matter. A repeated submission is applied once.
    pub(crate) fn submit(
        &mut self,
        submission: Submission,
        author: &Author,
        now: u64,
    ) -> Result<u64, SubmissionRefusal> {
        let Submission { base, tag, ops } = submission;
        if let Some(version) = tag.as_ref().and_then(|tag| self.log.find(tag, base)) {
            return Ok(version);
        }
        let changes = self.since(base)?;
        let mut changed = Notebook::clone(&self.notebook);
        let mut acts = Vec::new();
        for op in ops {
            if self.is_stale(&op, base) {
                return Err(SubmissionRefusal::Behind { version: self.version, changes });
            }
            acts.extend(self.carry_out(&mut changed, &acts, op)?);
        }
        self.commit(changed, acts, author, tag, Vec::new(), now);
        Ok(self.version)
    }

    /// Whether an operation concerns a cell that changed since `base`.
    fn is_stale(&self, op: &Op, base: u64) -> bool {
        match op {
            Op::Delete { cell }
            | Op::Retype { cell, .. }
            | Op::Change { cell, .. }
            | Op::Write { cell, .. } => self.touched.get(cell).is_some_and(|&version| version > base),
            // These do not depend on the content of the cell; if it was deleted, the client must know.
            Op::Move { cell, .. } | Op::Clear { cell } | Op::Absorb { cell, .. } | Op::Refit { cell } => {
                self.notebook.position(cell).is_none()
                    && self.touched.get(cell).is_some_and(|&version| version > base)
            }
            // Another client has used the id; the client chooses a new one.
            Op::Insert { cell: Some(cell), .. } => {
                self.touched.get(cell).is_some_and(|&version| version > base)
            }
            Op::Insert { cell: None, .. } => false,
        }
    }

    /// Returns the JSON of these cells, as they are or as they were when last deleted.
    pub(crate) fn contents(&self, cells: &[CellId]) -> Vec<Option<String>> {
        cells.iter().map(|cell| self.content(&self.notebook, &[], cell)).collect()
    }

    fn content(&self, notebook: &Notebook, done: &[Act], cell: &CellId) -> Option<String> {
        if let Some(at) = notebook.position(cell) {
            return Some(notebook.cells()[at].to_json());
        }
        self.acts_back(done).find_map(|act| match act {
            Act::Deleted { cell: gone, json, .. } if gone == cell => Some(json.clone()),
            _ => None,
        })
    }

    /// Returns all acts, newest first: of this submission, then earlier ones.
    fn acts_back<'a>(&'a self, done: &'a [Act]) -> impl Iterator<Item = &'a Act> {
        let earlier = self.journal.entries().iter().rev().flat_map(|entry| entry.acts.iter().rev());
        done.iter().rev().chain(earlier)
    }

    /// Returns the newest act that changed values of a cell and is not undone.
    fn to_take_back<'a>(&'a self, done: &'a [Act], cell: &CellId) -> Option<&'a Act> {
        let mut taken_back = 0usize;
        self.acts_back(done).filter(|act| act.cell() == Some(cell)).find(|act| match act {
            Act::Refitted { is_back: true, .. } => {
                taken_back += 1;
                false
            }
            Act::Refitted { .. } | Act::Cleared { .. } | Act::Retyped { json: Some(_), .. } => {
                let is_open = taken_back == 0;
                taken_back = taken_back.saturating_sub(1);
                is_open
            }
            _ => false,
        })
    }

    fn carry_out(
        &self,
        notebook: &mut Notebook,
        done: &[Act],
        op: Op,
    ) -> Result<Option<Act>, SubmissionRefusal> {
        let find = |notebook: &Notebook, cell: &CellId| {
            notebook.position(cell).ok_or_else(|| SubmissionRefusal::NoSuchCell { cell: cell.clone() })
        };
        Ok(match op {
            Op::Insert { cell, after, kind, source, content } => {
                let at = self.place(notebook, after)?;
                Some(self.insert(notebook, done, at, NewCell { cell, kind, source, content })?)
            }
            Op::Delete { cell } => {
                let at = find(notebook, &cell)?;
                Some(delete(notebook, at))
            }
            Op::Move { cell, after } => {
                let at = find(notebook, &cell)?;
                let from = before(notebook, at);
                // A cell behind itself stays in place.
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
                    return Err(SubmissionRefusal::ReadOnly { cell });
                }
                let before = notebook.cells()[at].source().into_owned();
                let after = match change.apply(&before) {
                    Ok(after) => after,
                    Err(problem) => return Err(SubmissionRefusal::BadChange { cell, problem }),
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
                let had = notebook.cells()[at].has_run();
                notebook.clear_outputs(at);
                had.then_some(Act::Cleared { cell, json })
            }
            Op::Absorb { cell, from } => {
                let at = find(notebook, &cell)?;
                let before = notebook.cells()[at].to_json();
                let others: Vec<String> =
                    from.iter().filter_map(|from| self.content(notebook, done, from)).collect();
                for json in others {
                    notebook.absorb(at, &json).map_err(|problem| bad_content(&cell, &problem))?;
                }
                Some(refitted(notebook, at, before, false))
            }
            Op::Refit { cell } => {
                let at = find(notebook, &cell)?;
                let before = notebook.cells()[at].to_json();
                if let Some(act) = self.to_take_back(done, &cell) {
                    let put_back = match act {
                        Act::Refitted { before, after, .. } => notebook.refit(at, before, after),
                        Act::Cleared { json, .. } | Act::Retyped { json: Some(json), .. }
                            if !notebook.cells()[at].has_run() =>
                        {
                            notebook.restore_outputs(at, json)
                        }
                        _ => Ok(()),
                    };
                    put_back.map_err(|problem| bad_content(&cell, &problem))?;
                }
                Some(refitted(notebook, at, before, true))
            }
        })
    }

    /// Inserts a new or restored cell at an index.
    fn insert(
        &self,
        notebook: &mut Notebook,
        done: &[Act],
        at: usize,
        new: NewCell,
    ) -> Result<Act, SubmissionRefusal> {
        let NewCell { cell, kind, source, content } = new;
        // JSON, the cell of this notebook that it comes from, and whether to keep its outputs. If the tombstone
        // is no longer known, only the source is inserted.
        let content = content.and_then(|content| match content {
            Content::Json(json) => Some((json, None, true)),
            Content::Cell { cell, outputs } => {
                Some((self.content(notebook, done, &cell)?, Some(cell), outputs))
            }
        });
        let is_back = matches!((&content, &cell), (Some((_, Some(from), _)), Some(cell)) if from == cell);
        match cell {
            Some(cell) if notebook.position(&cell).is_some() => {
                return Err(SubmissionRefusal::BadName { cell, why: "another cell has this name" });
            }
            Some(cell) if !cell.is_valid() && !self.tombstones.knows(&cell) => {
                let why = "a name has 1 to 64 letters, digits, `-` and `_`";
                return Err(SubmissionRefusal::BadName { cell, why });
            }
            Some(cell) => match &content {
                Some((json, _, outputs)) => {
                    put_whole(notebook, at, &cell, json, is_back)?;
                    fit(notebook, at, kind, &source, *outputs);
                }
                None => notebook.insert_named(at, cell, kind, &source),
            },
            None => notebook.insert(at, kind, &source),
        }
        let cell = notebook.cells()[at].id().clone();
        let after = before(notebook, at);
        Ok(Act::Inserted { cell, after, kind, source, has_more: content.is_some() })
    }

    /// Returns the index after a cell. After a deleted cell, uses the cell before it.
    fn place(&self, notebook: &Notebook, after: Option<CellId>) -> Result<usize, SubmissionRefusal> {
        let place = self.tombstones.place(notebook, after.as_ref());
        place.ok_or_else(|| SubmissionRefusal::NoSuchCell { cell: after.unwrap_or_else(|| "".into()) })
    }
}

/// Inserts a whole cell. A restored one keeps its bytes; another is formatted like this notebook.
fn put_whole(
    notebook: &mut Notebook,
    at: usize,
    cell: &CellId,
    json: &str,
    is_back: bool,
) -> Result<(), SubmissionRefusal> {
    let put = if is_back {
        notebook.restore(at, cell, json)
    } else if json.len() > MOST_CONTENT {
        let problem = format!("it has {} bytes, and at most {MOST_CONTENT} are taken", json.len());
        return Err(SubmissionRefusal::BadContent { cell: cell.clone(), problem });
    } else {
        notebook.insert_whole(at, cell.clone(), json)
    };
    put.map_err(|problem| bad_content(cell, &problem))
}

/// Sets the type and the source of a whole cell to those of the client.
fn fit(notebook: &mut Notebook, at: usize, kind: CellType, source: &str, outputs: bool) {
    if !outputs {
        notebook.clear_outputs(at);
    }
    if notebook.cells()[at].cell_type() != kind {
        notebook.set_type(at, kind);
    }
    notebook.set_source(at, source);
}

fn bad_content(cell: &CellId, problem: &cellist_notebook::Error) -> SubmissionRefusal {
    SubmissionRefusal::BadContent { cell: cell.clone(), problem: problem.to_string() }
}

/// Returns the act for a change of values. An empty change counts too, so that each is undone once.
fn refitted(notebook: &Notebook, at: usize, before: String, is_back: bool) -> Act {
    let cell = &notebook.cells()[at];
    Act::Refitted { cell: cell.id().clone(), before, after: cell.to_json(), is_back }
}

/// Sets the source of a cell, if it differs.
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
mod tests;
