//! A client's copy of an open notebook. Shows edits at once, sends them when possible, and converges to the same
//! cells as all others, even with late, repeated or lost messages.

#[path = "replica/cells.rs"]
mod cells;

use cellist_live::{
    BadChange, CellText, Change, ChangeSet, Content, Effect, Op, Order, Submission, Tag, cells_of, follow,
    position,
};
use cellist_notebook::{CellId, CellType, Notebook};

use cells::{between, carry_out};

/// A client's copy.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    client: String,
    version: u64,
    /// The cells at that version.
    confirmed: Vec<CellText>,
    /// Those cells with the local changes.
    shown: Vec<CellText>,
    /// Operations that were sent and may have arrived, under one number.
    sent: Vec<Op>,
    number: u64,
    /// Whether the connection of the sent operations still exists.
    is_sent: bool,
    /// Local operations that were not sent yet.
    waiting: Vec<Op>,
    names: u64,
}

impl Replica {
    /// Creates the copy of a client. Its name must be unique; it is part of cell ids.
    pub(crate) fn new(client: &str, version: u64, notebook: &Notebook) -> Replica {
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

    /// The cells to show.
    pub(crate) fn cells(&self) -> &[CellText] {
        &self.shown
    }

    /// The newest known version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Whether all local changes are known to be in the notebook.
    pub(crate) fn is_settled(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    /// Creates a cell id.
    pub(crate) fn fresh_name(&mut self) -> CellId {
        self.names += 1;
        format!("{}-{}", self.client, self.names).as_str().into()
    }

    /// Applies a local operation. It must fit the shown cells.
    pub(crate) fn act(&mut self, op: Op) -> Result<(), BadChange> {
        carry_out(&mut self.shown, &op)?;
        self.waiting.push(op);
        Ok(())
    }

    /// Returns the next submission, if any: one at a time, the same again after a lost connection.
    pub(crate) fn outgoing(&mut self) -> Option<Submission> {
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

    /// The connection broke or the submission was refused. It must be sent again, unless a later change contains
    /// it.
    pub(crate) fn unsent(&mut self) {
        self.is_sent = false;
    }

    /// Applies a change. Returns `false` if earlier changes are missing.
    pub(crate) fn receive(&mut self, change: &Change) -> Result<bool, BadChange> {
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

    /// Loads the whole notebook, after the changes since are no longer kept. `heard` is the number of this client's
    /// last submission in it.
    pub(crate) fn resync(
        &mut self,
        version: u64,
        notebook: &Notebook,
        heard: Option<u64>,
    ) -> Result<(), BadChange> {
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

    /// Rebases local operations over a foreign effect.
    fn rebase(&mut self, effect: &Effect) -> Result<(), BadChange> {
        match effect {
            Effect::Changed { cell, change } => {
                self.join_restored(cell)?;
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
                // A client that has not seen new text in a cell must not delete it.
                let keeps = |op: &Op| !matches!(op, Op::Delete { cell: same } if same == cell);
                self.sent.retain(keeps);
                self.waiting.retain(keeps);
            }
            Effect::Deleted { cell } => self.rebase_on_deleted(cell),
            Effect::Inserted { cell, kind, source, .. } => self.rebase_on_inserted(cell, *kind, source),
            Effect::Moved { .. }
            | Effect::Retyped { .. }
            | Effect::Outputs { .. }
            | Effect::Metadata { .. } => {}
        }
        Ok(())
    }

    /// A cell deleted and restored locally counts as a text change for clients that edit it meanwhile.
    fn join_restored(&mut self, cell: &CellId) -> Result<(), BadChange> {
        if !self.sent.iter().chain(&self.waiting).any(|op| restores(op, cell)) {
            return Ok(());
        }
        let mut cells = self.confirmed.clone();
        let mut deleted: Option<String> = None;
        for op in self.sent.iter_mut().chain(&mut self.waiting) {
            if matches!(op, Op::Delete { cell: same } if same == cell) {
                deleted = position(&cells, cell).map(|at| cells[at].source.clone());
            }
            carry_out(&mut cells, op)?;
            if restores(op, cell)
                && let Some(before) = deleted.take()
                && let Op::Insert { source, .. } = op
            {
                *op = Op::Change { cell: cell.clone(), change: ChangeSet::between(&before, source) };
            }
        }
        Ok(())
    }

    /// Handles a foreign insertion. A cell restored on both sides exists once; a new local cell with the same id
    /// gets another.
    fn rebase_on_inserted(&mut self, cell: &CellId, kind: CellType, source: &str) {
        let names = |op: &Op| matches!(op, Op::Insert { cell: Some(same), .. } if same == cell);
        let is_same =
            |op: &Op| matches!(op, Op::Insert { kind: k, source: s, .. } if *k == kind && s == source);
        let Some(first) = self.sent.iter().chain(&self.waiting).position(names) else { return };
        let (list, at) = match first.checked_sub(self.sent.len()) {
            None => (&mut self.sent, first),
            Some(at) => (&mut self.waiting, at),
        };
        if restores(&list[at], cell) && is_same(&list[at]) {
            list.remove(at);
            return;
        }
        let name = self.fresh_name();
        // Earlier operations refer to the other cell.
        let later = self.sent.iter_mut().chain(&mut self.waiting).skip(first);
        later.enumerate().for_each(|(at, op)| rename(op, cell, &name, at == 0));
    }

    /// Handles a foreign deletion. Local typing is not lost: the cell comes back.
    fn rebase_on_deleted(&mut self, cell: &CellId) {
        let at = position(&self.confirmed, cell);
        let before = at.and_then(|at| at.checked_sub(1)).map(|at| self.confirmed[at].id.clone());
        let is_about = |op: &Op| op_cell(op) == Some(cell) || restores(op, cell);
        let needs =
            |op: &Op| is_about(op) && matches!(op, Op::Change { .. } | Op::Write { .. } | Op::Insert { .. });
        let comes_back =
            position(&self.shown, cell).map(|at| self.shown[at].clone()).map(|shown| Op::Insert {
                cell: Some(cell.clone()),
                after: before.clone(),
                kind: shown.kind,
                source: shown.source,
                content: Some(Content::Cell { cell: cell.clone(), outputs: true }),
            });
        let typed_in = (self.sent.iter().any(needs), self.waiting.iter().any(needs));
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

/// The cell of an operation; `None` for a new one.
fn op_cell(op: &Op) -> Option<&CellId> {
    match op {
        Op::Insert { .. } => None,
        Op::Delete { cell }
        | Op::Move { cell, .. }
        | Op::Retype { cell, .. }
        | Op::Change { cell, .. }
        | Op::Write { cell, .. }
        | Op::Clear { cell }
        | Op::Absorb { cell, .. }
        | Op::Refit { cell } => Some(cell),
    }
}

/// Renames a local cell. The inserting operation still finds its content under the old id.
fn rename(op: &mut Op, old: &CellId, new: &CellId, inserts: bool) {
    let from = match op {
        Op::Insert { content: Some(Content::Cell { cell, .. }), .. } if !inserts => {
            std::slice::from_mut(cell)
        }
        Op::Absorb { from, .. } => from.as_mut_slice(),
        _ => &mut [],
    };
    from.iter_mut().filter(|from| *from == old).for_each(|from| *from = new.clone());
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
        | Op::Absorb { cell, .. }
        | Op::Refit { cell }
            if cell == old =>
        {
            *cell = new.clone();
        }
        _ => {}
    }
}

/// Whether an operation restores this cell.
fn restores(op: &Op, wanted: &CellId) -> bool {
    let Op::Insert { cell: Some(cell), content: Some(Content::Cell { cell: from, .. }), .. } = op else {
        return false;
    };
    cell == wanted && from == wanted
}
