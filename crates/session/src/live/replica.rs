//! A client's copy of an open notebook: shows what is typed at once, sends it when it may, and comes to the same
//! cells as everyone else, whatever arrives late, twice or not at all.

use cellist_notebook::{CellId, CellType, Notebook};

use super::ChangeSet;
use super::actor::Tag;
use super::change_set::{BadChange, Order};
use super::op::{Change, Effect, Op, Submission};

/// A cell as a client knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaCell {
    /// Its name.
    pub id: CellId,
    /// Its type.
    pub kind: CellType,
    /// Its source.
    pub source: String,
}

/// A client's copy.
#[derive(Clone, Debug)]
pub struct Replica {
    client: String,
    version: u64,
    /// The cells at that version.
    confirmed: Vec<ReplicaCell>,
    /// Those, with what was done here since.
    shown: Vec<ReplicaCell>,
    /// What was sent and may have arrived, under one number.
    sent: Vec<Op>,
    number: u64,
    /// Whether the connection that it was sent on is still there.
    is_sent: bool,
    /// What was done here and not sent.
    waiting: Vec<Op>,
    names: u64,
}

impl Replica {
    /// A copy for a client, whose name no other client may have. It is part of names of cells.
    pub fn new(client: &str, version: u64, notebook: &Notebook) -> Replica {
        let cells = cells_of(notebook);
        Replica {
            client: client.to_owned(),
            version,
            confirmed: cells.clone(),
            shown: cells,
            sent: Vec::new(),
            number: 0,
            is_sent: false,
            waiting: Vec::new(),
            names: 0,
        }
    }

    /// What to show.
    pub fn cells(&self) -> &[ReplicaCell] {
        &self.shown
    }

    /// The newest version that is known here.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether all that was done here is known to be in the notebook.
    pub fn is_settled(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    /// A name for a new cell.
    pub fn fresh_name(&mut self) -> CellId {
        self.names += 1;
        format!("{}-{}", self.client, self.names).as_str().into()
    }

    /// Does something here. It must fit what is shown.
    pub fn act(&mut self, op: Op) -> Result<(), BadChange> {
        carry_out(&mut self.shown, &op)?;
        self.waiting.push(op);
        Ok(())
    }

    /// What to send now, if anything: one submission at a time, the same again after a lost connection.
    pub fn outgoing(&mut self) -> Option<Submission> {
        if self.is_sent {
            return None;
        }
        if self.sent.is_empty() {
            if self.waiting.is_empty() {
                return None;
            }
            self.sent = std::mem::take(&mut self.waiting);
            self.number += 1;
        }
        self.is_sent = true;
        Some(Submission { base: self.version, tag: Some(self.tag()), ops: self.sent.clone() })
    }

    /// The connection is gone, or the submission was refused: what was sent must be sent again, unless one of the
    /// changes since is it.
    pub fn unsent(&mut self) {
        self.is_sent = false;
    }

    /// Takes in a change. `false` when changes before it are missing here.
    pub fn receive(&mut self, change: &Change) -> Result<bool, BadChange> {
        if change.version <= self.version {
            return Ok(true);
        }
        if change.version > self.version + 1 {
            return Ok(false);
        }
        let is_mine = !self.sent.is_empty() && change.tag.as_ref() == Some(&self.tag());
        if is_mine {
            self.sent.clear();
            self.is_sent = false;
        }
        for effect in &change.effects {
            if !is_mine {
                self.rebase(effect)?;
            }
            follow(&mut self.confirmed, effect)?;
        }
        self.version = change.version;
        self.show()
    }

    /// Takes the whole notebook in, after so long a time that single changes are not known any more. `heard` is
    /// the number of the last submission of this client that is in it.
    pub fn resync(&mut self, version: u64, notebook: &Notebook, heard: Option<u64>) -> Result<(), BadChange> {
        if heard.is_some_and(|heard| heard >= self.number) {
            for op in std::mem::take(&mut self.sent) {
                carry_out(&mut self.confirmed, &op)?;
            }
        }
        self.is_sent = false;
        let newest = cells_of(notebook);
        for effect in between(&self.confirmed, &newest) {
            self.rebase(&effect)?;
            follow(&mut self.confirmed, &effect)?;
        }
        self.version = version;
        self.show().map(drop)
    }

    fn tag(&self) -> Tag {
        Tag { client: self.client.clone(), number: self.number }
    }

    fn show(&mut self) -> Result<bool, BadChange> {
        self.shown.clone_from(&self.confirmed);
        self.sent.iter().chain(&self.waiting).try_for_each(|op| carry_out(&mut self.shown, op))?;
        Ok(true)
    }

    /// Changes what was done here so that it fits behind something that was done elsewhere.
    fn rebase(&mut self, effect: &Effect) -> Result<(), BadChange> {
        match effect {
            Effect::Changed { cell, change } => {
                let mut theirs = change.clone();
                for op in self.sent.iter_mut().chain(&mut self.waiting) {
                    if let Op::Change { cell: same, change } = op
                        && same == cell
                    {
                        let mine = change.map(&theirs, Order::Second)?;
                        theirs = theirs.map(change, Order::First)?;
                        *change = mine;
                    }
                }
                // What someone has just typed there is not deleted by someone who had not seen it.
                let keeps = |op: &Op| !matches!(op, Op::Delete { cell: same } if same == cell);
                self.sent.retain(keeps);
                self.waiting.retain(keeps);
            }
            Effect::Deleted { cell } => self.rebase_on_deleted(cell),
            Effect::Inserted { cell, .. } => {
                let is_taken = |op: &Op| matches!(op, Op::Insert { cell: Some(same), .. } if same == cell);
                if let Some(first) = self.sent.iter().chain(&self.waiting).position(is_taken) {
                    let name = self.fresh_name();
                    // What comes before it means the other cell.
                    let later = self.sent.iter_mut().chain(&mut self.waiting).skip(first);
                    later.for_each(|op| rename(op, cell, &name));
                }
            }
            Effect::Moved { .. }
            | Effect::Retyped { .. }
            | Effect::Outputs { .. }
            | Effect::Metadata { .. } => {}
        }
        Ok(())
    }

    /// A cell was deleted elsewhere. What was typed here is not deleted with it: the cell comes back.
    fn rebase_on_deleted(&mut self, cell: &CellId) {
        let at = position(&self.confirmed, cell);
        let before = at.and_then(|at| at.checked_sub(1)).map(|at| self.confirmed[at].id.clone());
        let is_about = |op: &Op| op_cell(op) == Some(cell);
        let types = |op: &Op| is_about(op) && matches!(op, Op::Change { .. } | Op::Write { .. });
        let comes_back =
            position(&self.shown, cell).map(|at| self.shown[at].clone()).map(|shown| Op::Insert {
                cell: Some(cell.clone()),
                after: before.clone(),
                kind: shown.kind,
                source: shown.source,
            });
        let typed_in = (self.sent.iter().any(types), self.waiting.iter().any(types));
        self.sent.retain(|op| !is_about(op));
        self.waiting.retain(|op| !is_about(op));
        let forget_place = |ops: &mut Vec<Op>| {
            for op in ops {
                if let Op::Insert { after, .. } | Op::Move { after, .. } = op
                    && after.as_ref() == Some(cell)
                {
                    after.clone_from(&before);
                }
            }
        };
        match (typed_in, comes_back) {
            ((true, _), Some(insert)) => self.sent.insert(0, insert),
            ((false, true), Some(insert)) => {
                forget_place(&mut self.sent);
                self.waiting.insert(0, insert);
            }
            ((false, false), _) | (_, None) => {
                forget_place(&mut self.sent);
                forget_place(&mut self.waiting);
            }
        }
    }
}

fn cells_of(notebook: &Notebook) -> Vec<ReplicaCell> {
    let cells = notebook.cells().iter();
    cells
        .map(|cell| ReplicaCell {
            id: cell.id().clone(),
            kind: cell.cell_type(),
            source: cell.source().into_owned(),
        })
        .collect()
}

fn position(cells: &[ReplicaCell], id: &CellId) -> Option<usize> {
    cells.iter().position(|cell| cell.id == *id)
}

/// The cell that an operation is about; none for a new one.
fn op_cell(op: &Op) -> Option<&CellId> {
    match op {
        Op::Insert { .. } => None,
        Op::Delete { cell }
        | Op::Move { cell, .. }
        | Op::Retype { cell, .. }
        | Op::Change { cell, .. }
        | Op::Write { cell, .. }
        | Op::Clear { cell } => Some(cell),
    }
}

fn rename(op: &mut Op, old: &CellId, new: &CellId) {
    if let Op::Insert { after, .. } | Op::Move { after, .. } = op
        && after.as_ref() == Some(old)
    {
        *after = Some(new.clone());
    }
    match op {
        Op::Insert { cell: Some(cell), .. }
        | Op::Delete { cell }
        | Op::Move { cell, .. }
        | Op::Retype { cell, .. }
        | Op::Change { cell, .. }
        | Op::Write { cell, .. }
        | Op::Clear { cell }
            if cell == old =>
        {
            *cell = new.clone();
        }
        _ => {}
    }
}

/// Does to a copy what was done to the notebook.
fn follow(cells: &mut Vec<ReplicaCell>, effect: &Effect) -> Result<(), BadChange> {
    match effect {
        Effect::Inserted { cell, after, kind, source } => {
            let at = place(cells, after.as_ref());
            cells.insert(at, ReplicaCell { id: cell.clone(), kind: *kind, source: source.clone() });
        }
        Effect::Deleted { cell } => cells.retain(|known| known.id != *cell),
        Effect::Moved { cell, after } => shift(cells, cell, after.as_ref()),
        Effect::Retyped { cell, kind } => {
            if let Some(at) = position(cells, cell) {
                cells[at].kind = *kind;
            }
        }
        Effect::Changed { cell, change } => {
            if let Some(at) = position(cells, cell) {
                cells[at].source = change.apply(&cells[at].source)?;
            }
        }
        Effect::Outputs { .. } | Effect::Metadata { .. } => {}
    }
    Ok(())
}

/// Does to a copy what an operation asks for.
fn carry_out(cells: &mut Vec<ReplicaCell>, op: &Op) -> Result<(), BadChange> {
    let effect = match op.clone() {
        Op::Insert { cell: None, .. } | Op::Clear { .. } => return Ok(()),
        Op::Insert { cell: Some(cell), after, kind, source } => {
            Effect::Inserted { cell, after, kind, source }
        }
        Op::Delete { cell } => Effect::Deleted { cell },
        Op::Move { cell, after } => Effect::Moved { cell, after },
        Op::Retype { cell, kind } => Effect::Retyped { cell, kind },
        Op::Change { cell, change } => Effect::Changed { cell, change },
        Op::Write { cell, source } => {
            let before = position(cells, &cell).map(|at| cells[at].source.clone()).unwrap_or_default();
            Effect::Changed { cell, change: ChangeSet::between(&before, &source) }
        }
    };
    follow(cells, &effect)
}

fn place(cells: &[ReplicaCell], after: Option<&CellId>) -> usize {
    match after {
        None => 0,
        Some(after) => position(cells, after).map_or(cells.len(), |at| at + 1),
    }
}

fn shift(cells: &mut Vec<ReplicaCell>, cell: &CellId, after: Option<&CellId>) {
    if after == Some(cell) {
        return;
    }
    if let Some(at) = position(cells, cell) {
        let moved = cells.remove(at);
        let to = place(cells, after);
        cells.insert(to, moved);
    }
}

/// What turns one list of cells into another.
fn between(old: &[ReplicaCell], new: &[ReplicaCell]) -> Vec<Effect> {
    let mut effects: Vec<Effect> = Vec::new();
    let gone = old.iter().filter(|cell| position(new, &cell.id).is_none());
    effects.extend(gone.map(|cell| Effect::Deleted { cell: cell.id.clone() }));
    let mut order: Vec<ReplicaCell> =
        old.iter().filter(|cell| position(new, &cell.id).is_some()).cloned().collect();
    for (at, cell) in new.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| new[before].id.clone());
        let effect = match position(&order, &cell.id) {
            None => Effect::Inserted {
                cell: cell.id.clone(),
                after,
                kind: cell.kind,
                source: cell.source.clone(),
            },
            Some(known) => {
                let was = order[known].clone();
                if was.kind != cell.kind {
                    effects.push(Effect::Retyped { cell: cell.id.clone(), kind: cell.kind });
                }
                if was.source != cell.source {
                    let change = ChangeSet::between(&was.source, &cell.source);
                    effects.push(Effect::Changed { cell: cell.id.clone(), change });
                }
                if known == at {
                    continue;
                }
                Effect::Moved { cell: cell.id.clone(), after }
            }
        };
        // Only names matter for the order.
        let _ = follow(&mut order, &effect);
        effects.push(effect);
    }
    effects
}
