//! The condition of each cell: queued, running or idle, its last run, and whether its outputs are stale.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use cellist_notebook::{Cell, CellId, CellType, Notebook};
use cellist_platform::names;
use cellist_session::execution::Status;
use cellist_store::receipts::{Freshness, Receipt, Stale, freshness, mark};
use serde::{Deserialize, Serialize};

use super::actor::Author;

/// Activity of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// Waits for its turn.
    Pending,
    /// Runs.
    Running,
    /// Idle.
    #[default]
    Idle,
}

/// Condition of a code cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellState {
    /// Activity.
    pub activity: Activity,
    /// Last run, if known.
    pub last: Option<LastRun>,
    /// Why its outputs are stale.
    pub stale: Vec<Stale>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// Execution count of the kernel.
    pub order: Option<u64>,
    /// Whether it succeeded.
    pub success: bool,
    /// Final status.
    pub status: Status,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// End time, in milliseconds since 1970.
    pub ended_ms: u64,
}

/// The conditions of all cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Queued and running cells.
    active: HashMap<CellId, Activity>,
    /// Last run of each cell. Late output finds its run by tag.
    runs: HashMap<CellId, CellRun>,
    /// Receipt of the last run of each cell, in order.
    ran: Vec<Receipt>,
    /// Id of the current kernel.
    kernel: Option<String>,
    /// Id of the kernel lost last. A caller that saw it alive may report it late.
    lost: Option<String>,
}

/// A run of a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellRun {
    /// Tag that its late output carries.
    pub(crate) tag: Arc<str>,
    /// Author of the run.
    pub(crate) author: Author,
    /// Byte limit of the outputs in the notebook.
    pub(crate) max_output: Option<usize>,
}

impl CellRun {
    /// Creates a tag for a run of a cell.
    pub(crate) fn new_tag(cell: &CellId) -> Arc<str> {
        format!("{cell}\n{}", names::random()).into()
    }

    /// Returns the cell of a tag.
    pub(crate) fn cell_of(tag: &str) -> Option<CellId> {
        tag.split_once('\n').map(|(cell, _)| cell.into())
    }
}

impl Conditions {
    /// Creates the conditions from the receipts of earlier runs.
    pub(crate) fn new(receipts: Vec<Receipt>, notebook: &Notebook) -> Conditions {
        let mut conditions = Conditions::default();
        receipts.into_iter().for_each(|receipt| conditions.note(receipt));
        conditions.recognise(notebook);
        conditions
    }

    /// Assigns runs under other cell ids by source, if exactly one run and one cell match. Other runs stay unmatched.
    fn recognise(&mut self, notebook: &Notebook) {
        let names: HashSet<&str> = notebook.cells().iter().map(|cell| cell.id().as_str()).collect();
        let known: HashSet<&str> = self.ran.iter().map(|receipt| receipt.cell.as_str()).collect();
        let mut nameless: HashMap<String, Vec<&CellId>> = HashMap::new();
        for cell in notebook.cells() {
            let is_nameless = cell.cell_type() == CellType::Code && !cell.is_named_by_stored_id();
            if is_nameless && !known.contains(cell.id().as_str()) {
                nameless.entry(mark(&cell.source())).or_default().push(cell.id());
            }
        }
        let mut stray: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, receipt) in self.ran.iter().enumerate() {
            if !names.contains(receipt.cell.as_str()) && nameless.contains_key(&receipt.source) {
                stray.entry(receipt.source.clone()).or_default().push(at);
            }
        }
        for (source, runs) in stray {
            if let (&[at], [cell]) = (runs.as_slice(), nameless[&source].as_slice()) {
                self.ran[at].cell = cell.to_string();
            }
        }
    }

    /// Marks cells as queued.
    pub(crate) fn wait(&mut self, cells: &[CellId]) {
        for cell in cells {
            self.active.entry(cell.clone()).or_insert(Activity::Pending);
        }
    }

    /// Marks a cell as running.
    pub(crate) fn begin(&mut self, cell: &CellId, run: CellRun) {
        self.active.insert(cell.clone(), Activity::Running);
        self.runs.insert(cell.clone(), run);
    }

    /// Whether cells are queued or running.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Whether the last run of a cell has this tag.
    pub(crate) fn has_run(&self, tag: &str) -> bool {
        let run = CellRun::cell_of(tag).and_then(|cell| self.runs.get(&cell));
        run.is_some_and(|run| *run.tag == *tag)
    }

    /// Returns the last run of a cell, if it has this tag and has ended.
    pub(crate) fn last_run(&self, cell: &CellId, tag: &str) -> Option<&CellRun> {
        let is_running = self.active.get(cell) == Some(&Activity::Running);
        self.runs.get(cell).filter(|last| !is_running && *last.tag == *tag)
    }

    /// Records the end of a run. Its kernel becomes the current one, unless it is lost.
    pub(crate) fn end(&mut self, cell: &CellId, receipt: Receipt, is_lost: bool) {
        self.active.remove(cell);
        match is_lost {
            true => self.lose_kernel(&receipt.kernel),
            false => self.meet_kernel(receipt.kernel.clone()),
        }
        self.note(receipt);
    }

    /// Marks cells as idle.
    pub(crate) fn rest(&mut self, cells: &[CellId]) {
        for cell in cells {
            self.active.remove(cell);
        }
    }

    /// Sets the current kernel. Earlier runs on it are valid again.
    pub(crate) fn meet_kernel(&mut self, kernel: String) {
        if self.lost.as_ref() != Some(&kernel) {
            self.kernel = Some(kernel);
        }
    }

    /// Notes the loss of a kernel with its state.
    pub(crate) fn lose_kernel(&mut self, kernel: &str) {
        if self.kernel.as_deref() == Some(kernel) {
            self.kernel = None;
        }
        self.lost = Some(kernel.to_owned());
    }

    fn note(&mut self, receipt: Receipt) {
        self.ran.retain(|known| known.cell != receipt.cell);
        self.ran.push(receipt);
    }

    /// Returns the conditions of the code cells.
    pub(crate) fn states(&self, notebook: &Notebook) -> BTreeMap<CellId, CellState> {
        let code = notebook.cells().iter().filter(|cell| cell.cell_type() == CellType::Code);
        let code: Vec<&Cell> = code.collect();
        let sources: Vec<String> = code.iter().map(|cell| cell.source().into_owned()).collect();
        let cells: Vec<(&str, &str)> =
            code.iter().zip(&sources).map(|(cell, source)| (cell.id().as_str(), source.as_str())).collect();
        let fresh = freshness(&cells, &self.ran, self.kernel.as_deref());
        let states = code.iter().zip(fresh).map(|(cell, fresh)| {
            let ran = self.ran.iter().find(|receipt| receipt.cell == cell.id().as_str());
            let state = CellState {
                activity: self.active.get(cell.id()).copied().unwrap_or_default(),
                last: ran.map(LastRun::of),
                stale: match fresh {
                    Freshness::Stale(why) => why,
                    Freshness::NotRun | Freshness::Fresh => Vec::new(),
                },
            };
            (cell.id().clone(), state)
        });
        states.collect()
    }
}

impl LastRun {
    fn of(receipt: &Receipt) -> LastRun {
        LastRun {
            order: receipt.execution_count,
            success: receipt.status == Status::Ok,
            status: receipt.status,
            duration_ms: receipt.duration_ms,
            ended_ms: receipt.started_ms + receipt.duration_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use cellist_kernel::Backend;
    use cellist_notebook::Ids;

    use super::*;
    use crate::actor::{Actor, ActorKind};
    use crate::state::tests::state;

    fn receipt(cell: &str, source: &str, kernel: &str) -> Receipt {
        Receipt {
            cell: cell.into(),
            source: mark(source),
            execution_count: Some(1),
            kernel: kernel.into(),
            backend: Backend::Runner,
            python: None,
            started_ms: 4,
            duration_ms: 5,
            status: Status::Ok,
            artifact: None,
        }
    }

    fn stale(conditions: &Conditions, notebook: &Notebook) -> Vec<String> {
        let states = conditions.states(notebook);
        let reasons = states.iter().flat_map(|(cell, state)| {
            state.stale.iter().map(move |stale| format!("{cell}: {}", stale.words()))
        });
        reasons.collect()
    }

    #[test]
    fn a_cell_waits_runs_and_rests() {
        let state = state(&["1", "2"]);
        let mut conditions = Conditions::default();
        let activity = |conditions: &Conditions| {
            let states = conditions.states(state.notebook());
            states.values().map(|state| state.activity).collect::<Vec<_>>()
        };
        conditions.wait(&["a".into(), "b".into()]);
        let author = Actor::new(ActorKind::Person, "ann").into();
        conditions.begin(&"a".into(), CellRun { tag: "t".into(), author, max_output: None });
        assert_eq!(activity(&conditions), [Activity::Running, Activity::Pending]);
        conditions.end(&"a".into(), receipt("a", "1", "k"), false);
        conditions.rest(&["b".into()]);
        assert_eq!(activity(&conditions), [Activity::Idle, Activity::Idle]);
        let states = conditions.states(state.notebook());
        let last = LastRun { order: Some(1), success: true, status: Status::Ok, duration_ms: 5, ended_ms: 9 };
        assert_eq!(states[&CellId::from("a")].last, Some(last));
        assert_eq!(states[&CellId::from("b")].last, None);
    }

    #[test]
    fn a_run_under_another_handle_belongs_to_the_one_cell_that_has_its_text() {
        let cell = |source: &str| serde_json::json!({ "cell_type": "code", "source": source });
        let cells = ["one", "two", "two", "other", ""].map(cell);
        let file = serde_json::json!({ "cells": cells, "nbformat": 4, "nbformat_minor": 4 });
        let notebook = Notebook::parse(file.to_string().into_bytes(), Ids::seeded(0)).unwrap();
        let own = notebook.cells()[3].id().as_str();
        let earlier = vec![
            receipt("_gone00", "one", "k"),
            receipt("#1", "two", "k"),
            receipt(own, "changed", "k"),
            receipt("_gone01", "other", "k"),
        ];
        let states = Conditions::new(earlier, &notebook).states(&notebook);
        let ran: Vec<bool> = notebook.cells().iter().map(|cell| states[cell.id()].last.is_some()).collect();
        assert_eq!(ran, [true, false, false, true, false]);
        assert!(states[notebook.cells()[3].id()].stale.contains(&Stale::Edited));
    }

    #[test]
    fn earlier_runs_are_known_and_stale_with_their_kernel() {
        let state = state(&["1", "2", "3"]);
        let earlier = vec![receipt("a", "1", "k"), receipt("b", "old", "k")];
        let mut conditions = Conditions::new(earlier, state.notebook());
        assert_eq!(
            stale(&conditions, state.notebook()),
            ["a: its kernel is gone", "b: edited since it ran", "b: its kernel is gone"]
        );
        conditions.meet_kernel("k".into());
        assert_eq!(stale(&conditions, state.notebook()), ["b: edited since it ran"]);
        for (cell, source) in [("b", "2"), ("c", "3"), ("a", "1")] {
            conditions.end(&cell.into(), receipt(cell, source, "l"), false);
        }
        assert_eq!(
            stale(&conditions, state.notebook()),
            ["b: cell a above it ran after it", "c: cell a above it ran after it"]
        );
        conditions.end(&"c".into(), receipt("c", "3", "l"), true);
        assert_eq!(conditions.states(state.notebook())[&CellId::from("a")].stale, [Stale::KernelGone]);
    }

    #[test]
    fn a_kernel_that_was_lost_is_not_met_again_and_another_stays() {
        let state = state(&["1"]);
        let mut conditions = Conditions::default();
        conditions.lose_kernel("k");
        // The session lost the kernel before the end of the cell was recorded, or before a late client asked.
        conditions.end(&"a".into(), receipt("a", "1", "k"), false);
        conditions.meet_kernel("k".into());
        assert_eq!(stale(&conditions, state.notebook()), ["a: its kernel is gone"]);
        conditions.end(&"a".into(), receipt("a", "1", "l"), false);
        conditions.lose_kernel("k");
        assert!(stale(&conditions, state.notebook()).is_empty());
        conditions.lose_kernel("l");
        assert_eq!(stale(&conditions, state.notebook()), ["a: its kernel is gone"]);
    }
}
