//! Names of cells without ids while this side and other programs change a notebook in which many cells are equal.

use std::collections::HashMap;

use cellist_notebook::{CellId, CellRef, CellType, Ids, Notebook, OnConflict, Operation, merge};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// This side, by the name of a cell.
    Edit(usize),
    Move(usize, usize),
    Insert(usize, usize),
    Delete(usize),
    /// Another program, one thing in each rewrite: of two at once nobody could tell equal cells.
    OtherInsert(usize, usize),
    OtherMove(usize, usize),
    OtherDelete(usize),
    OtherEdit(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let any = || 0..32_usize;
    prop_oneof![
        any().prop_map(Step::Edit),
        (any(), any()).prop_map(|(from, to)| Step::Move(from, to)),
        (any(), 0..3_usize).prop_map(|(at, content)| Step::Insert(at, content)),
        any().prop_map(Step::Delete),
        (any(), 0..3_usize).prop_map(|(at, content)| Step::OtherInsert(at, content)),
        (any(), any()).prop_map(|(from, to)| Step::OtherMove(from, to)),
        any().prop_map(Step::OtherDelete),
        any().prop_map(Step::OtherEdit),
    ]
}

/// The notebook, and beside it which cell each really is.
struct World {
    notebook: Notebook,
    cells: Vec<usize>,
    next: usize,
    /// The cell that each name was given to.
    names: HashMap<CellId, usize>,
}

const CONTENTS: [&str; 3] = ["df.head()", "", "plt.plot(x, y)\nplt.title('a')\nplt.show()"];

fn file(sources: &[String]) -> Vec<u8> {
    let cell = |source: &String| serde_json::json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": source });
    let cells: Vec<_> = sources.iter().map(cell).collect();
    serde_json::json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4 })
        .to_string()
        .into_bytes()
}

impl World {
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn name(&self, at: usize) -> CellRef {
        CellRef::Name(self.notebook.cells()[at].id().to_string())
    }

    fn sources(&self) -> Vec<String> {
        self.notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
    }

    fn take(&mut self, step: &Step) {
        let count = self.cells.len();
        if count == 0 && !matches!(step, Step::Insert(..) | Step::OtherInsert(..)) {
            return;
        }
        let mut sources = self.sources();
        let (operation, is_ours) = match *step {
            Step::Edit(at) => {
                let source = format!("edited = {}", self.fresh());
                (Some(Operation::Edit { cell: self.name(at % count), source }), true)
            }
            Step::Move(from, to) => {
                let operation = Operation::Move { cell: self.name(from % count), index: (to % count) as i64 };
                let cell = self.cells.remove(from % count);
                self.cells.insert(to % count, cell);
                (Some(operation), true)
            }
            Step::Insert(at, content) => {
                let index = at % (count + 1);
                let cell = self.fresh();
                self.cells.insert(index, cell);
                let source = CONTENTS[content].to_owned();
                (Some(Operation::Insert { index: index as i64, kind: CellType::Code, source }), true)
            }
            Step::Delete(at) => {
                let operation = Operation::Delete { cell: self.name(at % count) };
                self.cells.remove(at % count);
                (Some(operation), true)
            }
            Step::OtherInsert(at, content) => {
                let cell = self.fresh();
                self.cells.insert(at % (count + 1), cell);
                sources.insert(at % (count + 1), CONTENTS[content].to_owned());
                (None, false)
            }
            Step::OtherMove(from, to) => {
                // Equal cells keep their order: to move one of them among the others does not show in the file.
                let is_moved = sources.iter().filter(|source| **source == sources[from % count]).count() == 1;
                let to = if is_moved { to } else { from };
                let (cell, source) = (self.cells.remove(from % count), sources.remove(from % count));
                self.cells.insert(to % count, cell);
                sources.insert(to % count, source);
                (None, false)
            }
            Step::OtherDelete(at) => {
                self.cells.remove(at % count);
                sources.remove(at % count);
                (None, false)
            }
            Step::OtherEdit(at) => {
                sources[at % count] = format!("{}\nplt.grid()", sources[at % count]);
                (None, false)
            }
        };
        if let Some(operation) = operation {
            self.notebook.perform(&[operation], None).unwrap();
        }
        if !is_ours {
            let theirs = Notebook::parse(file(&sources), Ids::seeded(self.next as u64)).unwrap();
            let merged = merge(&self.notebook, &self.notebook, &theirs, OnConflict::Refuse).unwrap();
            assert_eq!(merged.notebook.to_bytes(), theirs.to_bytes());
            self.notebook = merged.notebook;
        }
    }

    fn check(&mut self, step: &Step) {
        for (cell, truth) in self.notebook.cells().iter().zip(&self.cells) {
            let given = *self.names.entry(cell.id().clone()).or_insert(*truth);
            assert_eq!(given, *truth, "{step:?}: {} was given to {given}, and now to {truth}", cell.id());
        }
        assert_eq!(self.notebook.cells().len(), self.cells.len());
    }
}

proptest! {
    #[test]
    fn a_name_never_passes_to_another_cell_however_many_are_equal(
        contents in prop::collection::vec(0..3_usize, 0..8),
        steps in prop::collection::vec(step(), 1..16),
    ) {
        let sources: Vec<String> = contents.iter().map(|content| CONTENTS[*content].to_owned()).collect();
        let notebook = Notebook::parse(file(&sources), Ids::seeded(1)).unwrap();
        let cells: Vec<usize> = (0..sources.len()).collect();
        let mut world = World { notebook, next: cells.len(), cells, names: HashMap::new() };
        world.check(&steps[0]);
        for step in &steps {
            world.take(step);
            world.check(step);
        }
    }
}
