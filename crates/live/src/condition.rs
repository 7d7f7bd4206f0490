//! How each cell stands: whether it waits, runs or rests, what came of its last run, and whether that still holds.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use cellist_notebook::{Cell, CellId, CellType, Notebook};
use cellist_platform::names;
use cellist_session::execution::Status;
use cellist_store::receipts::{Freshness, Receipt, Stale, freshness, mark};
use serde::{Deserialize, Serialize};

use super::actor::Author;

/// What a cell does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    /// It waits for its turn.
    Pending,
    /// It runs.
    Running,
    /// Nothing.
    #[default]
    Idle,
}

/// How a code cell stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellState {
    /// What it does.
    pub activity: Activity,
    /// What came of its last run, as far as is known.
    pub last: Option<LastRun>,
    /// Why that does not hold any more.
    pub stale: Vec<Stale>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// The execution count that the kernel gave.
    pub order: Option<u64>,
    /// Whether it ran to its end.
    pub success: bool,
    /// How it ended.
    pub status: Status,
    /// How long it took.
    pub duration_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
}

/// What is known of the cells beside their texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// The cells that wait or run.
    active: HashMap<CellId, Activity>,
    /// The last runs of cells, which late output finds by their tags.
    runs: HashMap<CellId, CellRun>,
    /// What ran, in order, the last run of each cell.
    ran: Vec<Receipt>,
    /// The kernel that is there.
    kernel: Option<String>,
    /// The kernel that was lost last. Callers that saw it alive may say so later.
    lost: Option<String>,
}

/// A run of a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellRun {
    /// Its name, which its late output carries.
    pub(crate) tag: Arc<str>,
    /// Who asked for it.
    pub(crate) author: Author,
    /// How many bytes of outputs the notebook gets.
    pub(crate) max_output: Option<usize>,
}

impl CellRun {
    /// A tag for a run of a cell.
    pub(crate) fn new_tag(cell: &CellId) -> Arc<str> {
        format!("{cell}\n{}", names::random()).into()
    }

    /// The cell that a tag was made for.
    pub(crate) fn cell_of(tag: &str) -> Option<CellId> {
        tag.split_once('\n').map(|(cell, _)| cell.into())
    }
}

impl Conditions {
    /// The conditions of cells, from the receipts of earlier runs.
    pub(crate) fn new(receipts: Vec<Receipt>, notebook: &Notebook) -> Conditions {
        let mut conditions = Conditions::default();
        receipts.into_iter().for_each(|receipt| conditions.note(receipt));
        conditions.recognise(notebook);
        conditions
    }

    /// Gives runs of cells that went by another handle to the cells that have their text, where that is one run and one
    /// cell. Others are as good as not known.
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

    /// Cells wait for their turn.
    pub(crate) fn wait(&mut self, cells: &[CellId]) {
        for cell in cells {
            self.active.entry(cell.clone()).or_insert(Activity::Pending);
        }
    }

    /// A cell runs.
    pub(crate) fn begin(&mut self, cell: &CellId, run: CellRun) {
        self.active.insert(cell.clone(), Activity::Running);
        self.runs.insert(cell.clone(), run);
    }

    /// Whether cells wait or run.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Whether the last run of a cell has this tag.
    pub(crate) fn has_run(&self, tag: &str) -> bool {
        let run = CellRun::cell_of(tag).and_then(|cell| self.runs.get(&cell));
        run.is_some_and(|run| *run.tag == *tag)
    }

    /// The last run of a cell, where it has this tag and has ended.
    pub(crate) fn last_run(&self, cell: &CellId, tag: &str) -> Option<&CellRun> {
        let is_running = self.active.get(cell) == Some(&Activity::Running);
        self.runs.get(cell).filter(|last| !is_running && *last.tag == *tag)
    }

    /// A cell has run. The kernel that is there then is the one that ran it, unless that is lost.
    pub(crate) fn end(&mut self, cell: &CellId, receipt: Receipt, is_lost: bool) {
        self.active.remove(cell);
        match is_lost {
            true => self.lose_kernel(&receipt.kernel),
            false => self.meet_kernel(receipt.kernel.clone()),
        }
        self.note(receipt);
    }

    /// Cells do not wait or run any more.
    pub(crate) fn rest(&mut self, cells: &[CellId]) {
        for cell in cells {
            self.active.remove(cell);
        }
    }

    /// This kernel is there. Earlier runs on it still hold, from every client.
    pub(crate) fn meet_kernel(&mut self, kernel: String) {
        if self.lost.as_ref() != Some(&kernel) {
            self.kernel = Some(kernel);
        }
    }

    /// This kernel is gone, with all that ran on it.
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

    /// How the code cells of a notebook stand.
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
    fn what_ran_before_is_known_and_stale_with_its_kernel() {
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
        // The session lost it before the end of the cell was noted, or before a client that saw it asked.
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
