use proptest::prelude::*;

use super::*;
use crate::cell::CellType;
use crate::id::Ids;

const LONG: &str = "frame = load(path, sep)\nframe = frame.dropna(subset=names)\nframe.head(20)";

fn cells(sources: &[&str]) -> Vec<SnapshotCell> {
    let cell = |source: &&str| SnapshotCell {
        id: None,
        handle: None,
        kind: CellType::Code,
        source: (*source).to_owned(),
    };
    sources.iter().map(cell).collect()
}

#[track_caller]
fn check(left: &[&str], right: &[&str], expected: &[Option<usize>]) {
    assert_eq!(by_content(&cells(left), &cells(right)), expected, "{left:?} {right:?}");
}

#[test]
fn a_content_that_occurs_once_is_one_cell_wherever_it_stands() {
    check(&["a", "b", "c"], &["# new", "a", "b", "c"], &[Some(1), Some(2), Some(3)]);
    check(&["a", "b", "c"], &["c", "a", "b"], &[Some(1), Some(2), Some(0)]);
    check(&["a", "b"], &["b"], &[None, Some(0)]);
}

#[test]
fn equal_cells_keep_their_order_and_are_not_told_where_there_are_more_or_fewer() {
    check(&["x", "x", "x"], &["x", "x", "x"], &[Some(0), Some(1), Some(2)]);
    check(&["x", "a", "x"], &["n", "x", "a", "x"], &[Some(1), Some(2), Some(3)]);
    check(&["x", "x", "a"], &["x", "a"], &[None, None, Some(1)]);
    check(&["x", "a"], &["x", "x", "a"], &[None, Some(2)]);
    // Between other neighbours all is as it was.
    check(&["x", "a", "x", "b"], &["a", "x", "b"], &[None, Some(0), Some(1), Some(2)]);
}

#[test]
fn an_empty_cell_is_told_by_its_neighbours_alone() {
    check(&["", "a", "b"], &["", "a", "b"], &[Some(0), Some(1), Some(2)]);
    check(&["", "a", "b"], &["a", "b", ""], &[None, Some(0), Some(1)]);
}

#[test]
fn a_changed_cell_is_told_where_it_is_alike_beyond_doubt() {
    let changed = LONG.replace("20", "5");
    check(&["a", LONG, "b"], &["n", "a", &changed, "b"], &[Some(1), Some(2), Some(3)]);
    // Elsewhere it may be a copy.
    check(&["a", LONG, "b"], &["a", "b", &changed], &[Some(0), None, Some(1)]);
    // Two that are as alike are not told apart.
    let other = LONG.replace("20", "7");
    check(&["a", LONG, "b"], &["a", &changed, &other, "b"], &[Some(0), None, Some(3)]);
    // Little text proves nothing, nor does the place.
    check(&["a", "x = 1", "b"], &["a", "y = 1", "b"], &[Some(0), None, Some(2)]);
    check(&["a", LONG, "b"], &["a", "plot(x)", "b"], &[Some(0), None, Some(2)]);
}

fn old_notebook(sources: &[&str]) -> Notebook {
    let cell = |source: &&str| serde_json::json!({ "cell_type": "code", "source": source });
    let cells: Vec<_> = sources.iter().map(cell).collect();
    let file = serde_json::json!({ "cells": cells, "nbformat": 4, "nbformat_minor": 4 });
    Notebook::parse(file.to_string().into_bytes(), Ids::seeded(7)).unwrap()
}

fn names(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.id().to_string()).collect()
}

#[test]
fn the_same_bytes_have_the_same_handles_and_others_have_others() {
    let one = old_notebook(&["a", "b"]);
    assert_eq!(names(&one), names(&old_notebook(&["a", "b"])));
    let other = old_notebook(&["a", "c"]);
    assert!(names(&one).iter().all(|name| !names(&other).contains(name)));
    assert!(names(&one).iter().all(|name| name.len() == 7 && CellId::from(name.as_str()).is_valid()));
    assert!(one.find(&crate::CellRef::Name("anon-0".into())).is_err());
}

#[test]
fn a_notebook_takes_the_names_of_an_earlier_version() {
    let before = old_notebook(&["a", "b", "c"]);
    let mut after = old_notebook(&["n", "c", "b"]);
    after.identify(&before.snapshot());
    let (was, now) = (names(&before), names(&after));
    assert_eq!(now[1..], [was[2].clone(), was[1].clone()]);
    assert!(!was.contains(&now[0]));
    assert_eq!(after.revision(), old_notebook(&["n", "c", "b"]).revision());
}

#[test]
fn a_deleted_cell_is_refused_with_its_fate_and_similar_cells() {
    let mut notebook = old_notebook(&["a = 1", LONG]);
    let gone = Tombstone { fate: "deleted by ann".into(), source: LONG.replace("20", "5") };
    notebook.set_tombstones(Arc::new([(CellId::from("_abcde7"), Arc::new(gone))].into()));
    let error = notebook.find(&crate::CellRef::Name("_abcde7".into())).unwrap_err();
    assert_eq!(error.to_string(), "cell `_abcde7` is gone: deleted by ann");
    let name = notebook.cells()[1].id();
    assert_eq!(
        error.hint().unwrap(),
        format!("it began `frame = load(path, sep)`; most alike now: 1 (`{name}`): frame = load(path, sep)")
    );
}

proptest! {
    /// Each cell is paired with one that is equal or alike, each at most once, and none of equal number is left out.
    #[test]
    fn pairs_are_one_to_one_and_equal_cells_keep_their_order(
        left in prop::collection::vec(0..5_usize, 0..8),
        right in prop::collection::vec(0..5_usize, 0..8),
    ) {
        let sources = |numbers: &[usize]| -> Vec<String> { numbers.iter().map(|n| format!("cell {n}")).collect() };
        let (left, right) = (sources(&left), sources(&right));
        let view = |sources: &[String]| cells(&sources.iter().map(String::as_str).collect::<Vec<_>>());
        let pairs = by_content(&view(&left), &view(&right));
        let found: Vec<(usize, usize)> =
            pairs.iter().enumerate().filter_map(|(at, to)| Some((at, (*to)?))).collect();
        for (at, place) in &found {
            prop_assert_eq!(&left[*at], &right[*place]);
            for (other, other_place) in &found {
                prop_assert!(at == other || place != other_place);
                prop_assert!(left[*at] != left[*other] || (at < other) == (place < other_place));
            }
        }
        if left == right {
            prop_assert_eq!(found.len(), left.len());
        }
    }
}
