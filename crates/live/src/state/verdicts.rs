//! Verdicts about changes that wait for review: kept, or undone by another change.

use std::sync::Arc;

use cellist_notebook::{CellId, Notebook};

use super::{State, Unchanged};
use crate::{Author, Scope, Undo, Verdict};

impl State {
    /// Keeps or undoes changes that wait for review.
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

    /// Restores pending cells to their previous state.
    fn put_back(&mut self, cells: &[CellId], author: &Author, now: u64) -> Result<(), Unchanged> {
        let mut changed = Notebook::clone(&self.notebook);
        for cell in cells {
            self.review.put_back(&mut changed, cell, &self.tombstones)?;
        }
        let review = Arc::make_mut(&mut self.review);
        cells.iter().for_each(|cell| drop(review.cells.remove(cell)));
        self.replace(changed, author, Vec::new(), now);
        Ok(())
    }

    /// Switches review on or off. Pending changes stay in the notebook when it is switched off.
    pub(crate) fn set_review(&mut self, is_on: bool) {
        let review = Arc::make_mut(&mut self.review);
        (review.is_on, review.is_chosen) = (is_on, true);
        if !is_on {
            review.cells.clear();
        }
    }
}
