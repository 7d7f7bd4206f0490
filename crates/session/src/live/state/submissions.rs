//! What clients submit: operations that are carried out where nothing that they are about has changed since.

use cellist_notebook::{CellId, Notebook};

use super::State;
use crate::live::act::{Act, before, delete, retype};
use crate::live::{Author, ChangeSet, Op, Refusal, Submission};

impl State {
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
