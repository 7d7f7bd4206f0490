//! Random interleavings: an agent that works by name, other programs that rewrite the file, undo,
//! and a host that restarts.
//!
//! Each cell carries its own marker in its text, which no step changes. So the file itself shows
//! which cell is which. An edit by name must change the cell whose marker was there when the agent
//! read the name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cellist_live::{Actor, ActorKind, Undo};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{NB, absorbed, old_format, rewrite};
use crate::bed::{Bed, sources};

/// One step. Numbers select cells.
#[derive(Clone, Debug)]
enum Step {
    /// The agent reads all cells and remembers their names.
    Read,
    /// The agent changes a cell by a name that it has read, perhaps long ago.
    Edit(usize),
    Delete(usize),
    Move(usize, usize),
    Insert(usize),
    /// Several changes in one rewrite of the file. The host may not have noticed when the agent
    /// goes on.
    Rewrite(Vec<Foreign>, bool),
    /// A user undoes the last change.
    Undo,
    /// The host ends, and another starts.
    Reopen,
}

/// A change that another program makes to the cells.
#[derive(Clone, Debug)]
enum Foreign {
    Insert(usize),
    Delete(usize),
    Move(usize, usize),
    Reverse,
    /// Changes a word of a cell.
    Touch(usize),
    /// Changes most words of a cell.
    Rework(usize),
    /// Replaces a cell with a new one.
    Replace(usize),
    Clear(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let any = || 0..64_usize;
    prop_oneof![
        2 => Just(Step::Read),
        6 => any().prop_map(Step::Edit),
        1 => any().prop_map(Step::Delete),
        2 => (any(), any()).prop_map(|(cell, to)| Step::Move(cell, to)),
        2 => any().prop_map(Step::Insert),
        5 => (prop::collection::vec(foreign(), 1..4), prop::bool::ANY)
            .prop_map(|(changes, waits)| Step::Rewrite(changes, waits)),
        1 => Just(Step::Undo),
        1 => Just(Step::Reopen),
    ]
}

fn foreign() -> impl Strategy<Value = Foreign> {
    let any = || 0..64_usize;
    prop_oneof![
        3 => any().prop_map(Foreign::Insert),
        2 => any().prop_map(Foreign::Delete),
        2 => (any(), any()).prop_map(|(from, to)| Foreign::Move(from, to)),
        1 => Just(Foreign::Reverse),
        2 => any().prop_map(Foreign::Touch),
        1 => any().prop_map(Foreign::Rework),
        2 => any().prop_map(Foreign::Replace),
        1 => any().prop_map(Foreign::Clear),
    ]
}

/// The text of a cell: its marker, its own words, and words that all cells share.
fn text(marker: usize, version: usize) -> String {
    format!(
        "# m{marker}\nx{marker} = load(path, y{marker})\nshow(x{marker}, z{marker}, {version})\nplot(w{marker})"
    )
}

fn marker(source: &str) -> &str {
    source.lines().next().unwrap_or_default()
}

struct World {
    bed: Bed,
    path: PathBuf,
    /// Every name that the agent has read, with the marker of its cell.
    told: BTreeMap<String, String>,
    /// The next unused numbers.
    next: usize,
    /// Whether another program wrote the file and the host may not have noticed.
    is_behind: bool,
    /// Whether an undo left two versions of a cell, one reverted and one changed since. They share
    /// a marker, so the case ends there.
    has_twins: bool,
    /// Whether the agent has read the newest order of the cells.
    knows_order: bool,
}

impl World {
    fn new(count: usize) -> World {
        let bed = Bed::new();
        let cells: Vec<String> = (0..count).map(|marker| text(marker, 0)).collect();
        let cells: Vec<(&str, &str)> = cells.iter().map(|source| ("code", source.as_str())).collect();
        let path = bed.write(NB, old_format(&cells));
        World {
            bed,
            path,
            told: BTreeMap::new(),
            next: count,
            is_behind: false,
            has_twins: false,
            knows_order: false,
        }
    }

    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn named(&self, which: usize) -> Option<(String, String)> {
        let (name, marker) = self.told.iter().nth(which.checked_rem(self.told.len())?)?;
        Some((name.clone(), marker.clone()))
    }

    /// Remembers a name. It must not have belonged to another cell before.
    fn remember(&mut self, name: &str, marker: &str) {
        let known = self.told.insert(name.to_owned(), marker.to_owned());
        assert!(known.as_deref().is_none_or(|known| known == marker), "{name} was {known:?}, now {marker}");
    }

    async fn read(&mut self) {
        let told = self.bed.told("get_notebook_cells", json!({ "notebook": NB })).await;
        let mut name = None;
        for line in told.lines() {
            if let Some((_, rest)) = line.split_once("] id=") {
                name = rest.split(' ').next().map(str::to_owned);
            } else if let Some(name) = name.take() {
                self.remember(&name, line);
            }
        }
        self.knows_order = true;
    }

    async fn take(&mut self, step: Step) {
        if self.has_twins {
            return;
        }
        match step {
            Step::Read => self.read().await,
            Step::Edit(which) => {
                let (Some((name, meant)), version) = (self.named(which), self.fresh()) else { return };
                let number: usize = meant.trim_start_matches("# m").parse().unwrap();
                let arguments = json!({ "notebook": NB, "cell": name, "content": text(number, version) });
                self.check("update_notebook_cell", arguments, &meant, |before, after| {
                    let same = before.len() == after.len();
                    same && before.iter().zip(after).all(|(before, after)| {
                        before == after || marker(before) == meant && marker(after) == meant
                    })
                })
                .await;
            }
            Step::Delete(which) => {
                let Some((name, meant)) = self.named(which) else { return };
                let arguments = json!({ "notebook": NB, "cells": [name] });
                self.check("delete_notebook_cells", arguments, &meant, |before, after| {
                    before.iter().filter(|source| marker(source) != meant).eq(after)
                })
                .await;
            }
            Step::Move(which, to) => {
                let Some((name, meant)) = self.named(which) else { return };
                let to = to % sources(&self.path).len().max(1);
                let arguments = json!({ "notebook": NB, "cell": name, "index": to });
                // Others moved cells that the agent has not seen moved: both orders are merged.
                let knows_order = self.knows_order;
                self.check("move_notebook_cell", arguments, &meant, |before, after| {
                    let rest = |cells: &[String]| -> Vec<String> {
                        cells.iter().filter(|source| marker(source) != meant).cloned().collect()
                    };
                    before.len() == after.len() && (!knows_order || rest(before) == rest(after))
                })
                .await;
            }
            Step::Insert(at) => {
                let number = self.fresh();
                let at = at % (sources(&self.path).len() + 1);
                let arguments =
                    json!({ "notebook": NB, "type": "code", "content": text(number, 0), "index": at });
                let answer = self.bed.answer("add_notebook_cell", arguments).await;
                // The index refers to the notebook that the agent has read, which may have been
                // longer.
                if !answer.is_failure {
                    let told = answer.all_text();
                    let name = told.split(['(', ')']).nth(1).unwrap().to_owned();
                    self.remember(&name, &format!("# m{number}"));
                    self.knows_order = true;
                }
            }
            Step::Rewrite(changes, waits) => {
                // A save in progress would keep both versions of a cell that both change.
                let document = self.bed.documents.open(&self.path).await.unwrap();
                document.save().await.unwrap();
                absorbed(&self.bed, &self.path).await;
                let path = self.path.clone();
                let mut fresh = || self.fresh();
                rewrite(&path, |cells| changes.iter().for_each(|change| change.apply(cells, &mut fresh)));
                (self.is_behind, self.knows_order) = (!waits, false);
                if waits {
                    absorbed(&self.bed, &self.path).await;
                }
            }
            Step::Undo => {
                let document = self.bed.documents.open(&self.path).await.unwrap();
                absorbed(&self.bed, &self.path).await;
                (self.is_behind, self.knows_order) = (false, false);
                let person = Actor::new(ActorKind::Person, "ann").into();
                // A change that conflicts with a later one is not undone.
                let _ = document.undo(Undo::Last, person).await;
                self.has_twins = !are_unique(&sources(&self.path));
            }
            Step::Reopen => {
                self.bed.documents.close().await;
                self.knows_order = false;
            }
        }
    }

    /// Calls a tool on the cell with a marker. Only that cell changes, or the call is refused. It
    /// must be refused if the cell is gone.
    async fn check(
        &mut self,
        tool: &str,
        arguments: Value,
        meant: &str,
        is_right: impl Fn(&[String], &[String]) -> bool,
    ) {
        let before = sources(&self.path);
        let answer = self.bed.answer(tool, arguments).await;
        let after = sources(&self.path);
        let told = answer.all_text();
        let others = |cells: &[String]| {
            let mut others: Vec<String> =
                cells.iter().filter(|source| marker(source) != meant).cloned().collect();
            others.sort_unstable();
            others
        };
        assert_eq!(others(&before), others(&after), "{tool} {meant}: {told}");
        // The cell was changed or deleted a moment ago: the agent's edit is merged with that.
        if std::mem::take(&mut self.is_behind) {
            absorbed(&self.bed, &self.path).await;
        } else {
            let is_there = before.iter().any(|source| marker(source) == meant);
            assert!(is_there || answer.is_failure, "{meant} is gone: {told}\n{before:#?}");
            match answer.is_failure {
                true => assert_eq!(before, after, "{told}"),
                false => {
                    assert!(is_right(&before, &after), "{tool} {meant}: {told}\n{before:#?}\n{after:#?}")
                }
            }
        }
        self.knows_order |= !answer.is_failure;
        assert!(are_unique(&after), "{tool} {meant}: {told}\n{after:#?}");
    }
}

fn are_unique(sources: &[String]) -> bool {
    let mut markers: Vec<&str> = sources.iter().map(|source| marker(source)).collect();
    markers.sort_unstable();
    markers.dedup();
    markers.len() == sources.len()
}

impl Foreign {
    fn apply(&self, cells: &mut Vec<Value>, fresh: &mut impl FnMut() -> usize) {
        let new = |number: usize| json!({ "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": text(number, 0) });
        let count = cells.len();
        match *self {
            Foreign::Insert(at) => cells.insert(at % (count + 1), new(fresh())),
            _ if count == 0 => {}
            Foreign::Delete(at) => drop(cells.remove(at % count)),
            Foreign::Move(from, to) => {
                let cell = cells.remove(from % count);
                cells.insert(to % count, cell);
            }
            Foreign::Reverse => cells.reverse(),
            Foreign::Touch(at) => {
                let source = source_of(&cells[at % count]).replace("show(", &format!("show({}, ", fresh()));
                cells[at % count]["source"] = source.into();
            }
            Foreign::Rework(at) => {
                let source = source_of(&cells[at % count]);
                cells[at % count]["source"] = format!("{}\nprint({})", marker(&source), fresh()).into();
            }
            Foreign::Replace(at) => cells[at % count] = new(fresh()),
            Foreign::Clear(at) => cells[at % count]["outputs"] = json!([]),
        }
    }
}

fn source_of(cell: &Value) -> String {
    match &cell["source"] {
        Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_edit_lands_in_a_cell_other_than_the_one_that_its_name_was_given_for(
        count in 0..6_usize,
        steps in prop::collection::vec(step(), 1..24),
    ) {
        Runtime::new().unwrap().block_on(async {
            let mut world = World::new(count);
            world.read().await;
            for step in steps {
                world.take(step).await;
            }
            world.bed.close().await;
        });
    }
}
