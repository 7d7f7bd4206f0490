//! Operations on cells, singly and in batches.

use cellist_notebook::{Action, CellRef, CellType, Effect, Operation, Outcome};

use crate::{notebook, open, sources};

fn at(index: i64) -> CellRef {
    CellRef::Index(index)
}

fn insert(index: i64, source: &str) -> Operation {
    Operation::Insert { index, kind: CellType::Code, source: source.into() }
}

#[test]
fn each_operation_says_what_it_did() {
    let mut notebook = notebook(&[("a", "0"), ("b", "1")]);
    let mut perform = |operation: Operation| notebook.perform(&[operation], None).unwrap().remove(0);
    let edited = perform(Operation::Edit { cell: CellRef::Name("b".into()), source: "new".into() });
    assert_eq!(
        edited,
        Outcome {
            action: Action::Edit,
            effect: Effect::Changed,
            cell_index: 1,
            cell_id: Some("b".into()),
            cell_type: CellType::Code,
            total_cells: 2,
            cell_source: "new".into(),
        }
    );
    assert_eq!(edited.sentence(), "Replaced the source of code cell 1 (b); the notebook has 2 cells.");
    let inserted = perform(insert(2, "last"));
    let id = inserted.cell_id.clone().unwrap();
    assert_eq!(inserted.sentence(), format!("Inserted code cell 2 ({id}); the notebook has 3 cells."));
    let moved = perform(Operation::Move { cell: at(2), index: 0 });
    assert_eq!(moved.sentence(), format!("Moved code cell ({id}) to 0; the notebook has 3 cells."));
    let retyped = perform(Operation::Retype { cell: at(0), kind: CellType::Markdown });
    assert_eq!(retyped.sentence(), format!("Made cell 0 ({id}) a markdown cell; the notebook has 3 cells."));
    let deleted = perform(Operation::Delete { cell: at(2) });
    assert_eq!(deleted.sentence(), "Deleted code cell 2 (b); the notebook has 2 cells.");
    assert_eq!((deleted.cell_source.as_str(), deleted.cell_index), ("new", 2));
    assert_eq!(
        serde_json::to_string(&deleted).unwrap(),
        r#"{"action":"delete","effect":"changed","cell_index":2,"cell_id":"b","cell_type":"code","total_cells":2,"cell_source":"new"}"#
    );
}

#[test]
fn an_operation_that_changes_nothing_says_so() {
    let text = r#"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {}, "outputs": [], "source": "x"},
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "y"}]}"#;
    let mut notebook = open(text);
    for (operation, sentence) in [
        (
            Operation::Edit { cell: at(0), source: "x".into() },
            "Left code cell 0 (a) unchanged: it has this source already; the notebook has 2 cells.",
        ),
        (
            Operation::Move { cell: at(1), index: 1 },
            "Left markdown cell 1 (b) unchanged: it stands there already; the notebook has 2 cells.",
        ),
        (
            Operation::Retype { cell: at(1), kind: CellType::Markdown },
            "Left markdown cell 1 (b) unchanged: it is a markdown cell already; the notebook has 2 cells.",
        ),
        (
            Operation::Clear { cell: at(1) },
            "Left markdown cell 1 (b) unchanged: it has no outputs to clear; the notebook has 2 cells.",
        ),
    ] {
        let outcome = notebook.perform(&[operation], None).unwrap().remove(0);
        assert_eq!((outcome.sentence().as_str(), outcome.effect), (sentence, Effect::Unchanged));
        assert_eq!(serde_json::to_value(&outcome).unwrap()["effect"], "unchanged");
        assert_eq!(notebook.to_bytes(), text.as_bytes());
    }
    // A count alone is something to clear.
    let cleared = notebook.perform(&[Operation::Clear { cell: at(0) }], None).unwrap().remove(0);
    assert_eq!(cleared.sentence(), "Cleared the outputs of code cell 0 (a); the notebook has 2 cells.");
    let again = notebook.perform(&[Operation::Clear { cell: at(0) }], None).unwrap().remove(0);
    assert_eq!(again.effect, Effect::Unchanged);
}

#[test]
fn an_operation_on_a_cell_that_someone_else_deleted_says_so() {
    let base = notebook(&[("a", "0"), ("b", "1"), ("c", "2")]);
    let snapshot = base.snapshot();
    let mut now = base.clone();
    now.remove(1);
    let mut now = open(now.to_bytes());
    let operations = [
        Operation::Clear { cell: at(1) },
        Operation::Delete { cell: at(1) },
        Operation::Delete { cell: at(2) },
    ];
    let outcomes = now.perform(&operations, Some(&snapshot)).unwrap();
    let sentences: Vec<String> = outcomes.iter().map(Outcome::sentence).collect();
    assert_eq!(
        sentences,
        [
            "Changed nothing: code cell 1 (b) is gone: another writer deleted or rewrote it; the notebook has 1 cell.",
            "Changed nothing: code cell 1 (b) is gone: another writer deleted or rewrote it; the notebook has 1 cell.",
            "Deleted code cell 1 (c); the notebook has 1 cell.",
        ]
    );
    assert_eq!(outcomes[1].cell_source, "1");
}

#[test]
fn positions_out_of_range_are_refused_with_the_valid_ones() {
    let check = |operation: Operation, message: &str| {
        let mut notebook = notebook(&[("a", "0"), ("b", "1")]);
        let before = notebook.to_bytes();
        assert_eq!(notebook.perform(&[operation], None).unwrap_err().to_string(), message);
        assert_eq!(notebook.to_bytes(), before);
    };
    check(Operation::Delete { cell: at(2) }, "cell 2 does not exist: the notebook has 2 cells, 0 to 1");
    check(
        Operation::Edit { cell: at(-1), source: String::new() },
        "cell -1 does not exist: the notebook has 2 cells, 0 to 1",
    );
    check(insert(3, ""), "cannot insert at 3: valid positions are 0 to 2");
    check(insert(-1, ""), "cannot insert at -1: valid positions are 0 to 2");
    check(Operation::Move { cell: at(0), index: 2 }, "cannot move to 2: valid positions are 0 to 1");
    let error = notebook(&[]).perform(&[Operation::Delete { cell: at(0) }], None).unwrap_err();
    assert_eq!(error.to_string(), "cell 0 does not exist: the notebook has no cells");
    let error = notebook(&[("a", "")]).perform(&[Operation::Clear { cell: at(1) }], None).unwrap_err();
    assert_eq!(error.to_string(), "cell 1 does not exist: the notebook has only cell 0");
    let error = notebook(&[]).perform(&[insert(1, "")], None).unwrap_err();
    assert_eq!(error.to_string(), "cannot insert at 1: the only valid position is 0");
    let move_on = Operation::Move { cell: at(0), index: 1 };
    let error = notebook(&[("a", "")]).perform(&[move_on], None).unwrap_err();
    assert_eq!(error.to_string(), "cannot move to 1: the only valid position is 0");
}

#[test]
fn in_a_batch_indexes_mean_positions_before_and_a_move_the_one_afterwards() {
    let check = |operations: &[Operation], expected: &[&str]| {
        let mut notebook = notebook(&[("a", "0"), ("b", "1"), ("c", "2"), ("d", "3")]);
        let outcomes = notebook.perform(operations, None).unwrap();
        assert_eq!(sources(&notebook), expected);
        assert_eq!(outcomes.len(), operations.len());
        for outcome in outcomes.iter().filter(|outcome| outcome.action != Action::Delete) {
            assert_eq!(notebook.cells()[outcome.cell_index].source(), outcome.cell_source);
        }
        crate::assert_valid(&notebook);
    };
    check(&[Operation::Delete { cell: at(0) }, Operation::Delete { cell: at(1) }], &["2", "3"]);
    check(&[insert(1, "x"), insert(1, "y"), insert(4, "z")], &["0", "x", "y", "1", "2", "3", "z"]);
    check(&[Operation::Delete { cell: at(0) }, insert(1, "x"), insert(0, "y")], &["y", "x", "1", "2", "3"]);
    check(
        &[Operation::Move { cell: at(0), index: 3 }, Operation::Move { cell: at(3), index: 0 }],
        &["3", "1", "2", "0"],
    );
    check(&[insert(0, "x"), Operation::Move { cell: at(3), index: 0 }], &["3", "x", "0", "1", "2"]);
    check(
        &[Operation::Edit { cell: at(2), source: "e".into() }, Operation::Move { cell: at(2), index: 0 }],
        &["e", "0", "1", "3"],
    );
}

#[test]
fn a_batch_that_cannot_be_done_whole_is_not_done_at_all() {
    let check = |operations: &[Operation], message: &str| {
        let mut notebook = notebook(&[("a", "0"), ("b", "1")]);
        let before = notebook.to_bytes();
        assert_eq!(notebook.perform(operations, None).unwrap_err().to_string(), message);
        assert_eq!(notebook.to_bytes(), before);
    };
    check(
        &[Operation::Delete { cell: at(0) }, Operation::Edit { cell: at(0), source: String::new() }],
        "operation 1 names cell 0, which an earlier operation deletes",
    );
    check(&[insert(0, "x"), insert(9, "y")], "cannot insert at 9: valid positions are 0 to 2");
    check(
        &[Operation::Move { cell: at(0), index: 1 }, Operation::Move { cell: at(1), index: 1 }],
        "two operations move a cell to position 1",
    );
}

#[test]
fn operations_are_read_from_json() {
    let read = |json: &str| serde_json::from_str::<Operation>(json).map_err(|error| error.to_string());
    assert_eq!(
        read(r#"{"action": "edit", "cell": 3, "content": "x"}"#),
        Ok(Operation::Edit { cell: at(3), source: "x".into() })
    );
    assert_eq!(read(r#"{"action": "insert", "index": 0, "content": "x"}"#), Ok(insert(0, "x")));
    assert_eq!(
        read(r#"{"action": "move", "cell": "abc", "index": 2}"#),
        Ok(Operation::Move { cell: CellRef::Name("abc".into()), index: 2 })
    );
    assert_eq!(
        read(r#"{"action": "retype", "cell_index": 1, "cell_type": "raw"}"#),
        Ok(Operation::Retype { cell: at(1), kind: CellType::Raw })
    );
    for (json, message) in [
        (r#"{"action": "edit", "cell": 3}"#, "`edit` needs content"),
        (r#"{"action": "insert", "index": 3}"#, "`insert` needs content"),
        (r#"{"action": "delete"}"#, "`delete` needs `cell`, an index or an id"),
        (r#"{"action": "delete", "cell": true}"#, "`cell` is a boolean, not an index or an id"),
        (r#"{"action": "delete", "cell_index": 1.5}"#, "`cell_index` is 1.5, which is no index"),
        (r#"{"action": "move", "cell": 1}"#, "`move` needs `index`"),
        (r#"{"action": "move", "cell": 1, "index": "2"}"#, "`index` is a string, not a whole number"),
        (r#"{"action": "retype", "cell": 1}"#, "`retype` needs `type`: code, markdown or raw"),
        (
            r#"{"action": "retype", "cell": 1, "type": "heading"}"#,
            "`heading` is not a cell type: valid are code, markdown and raw",
        ),
        (
            r#"{"action": "retype", "cell": 1, "type": 3}"#,
            "`type` is a number, not one of code, markdown and raw",
        ),
        (r#"{"action": "edit", "cell": 1, "source": ["x"]}"#, "`source` is an array, not a string"),
        (
            r#"{"action": "edit", "cell": 1, "source": "x", "content": "y"}"#,
            "`content` and `source` mean the same: give one of them",
        ),
        (
            r#"{"action": "explode"}"#,
            "`explode` is not an action: valid are edit, insert, delete, move, retype and clear",
        ),
        (
            r#"{"cell": 0, "action": null}"#,
            "`action` is missing: valid are edit, insert, delete, move, retype and clear",
        ),
        (
            r#"{"action": "clear", "cell": 0, "colour": "red"}"#,
            "there is no field `colour`: valid are action, cell, index, type and source",
        ),
        ("[]", "an operation is an object, not an array"),
    ] {
        assert_eq!(read(json), Err(message.into()), "{json}");
    }
}

#[test]
fn a_list_of_operations_says_which_of_them_is_wrong() {
    let list = r#"[{"action": "delete", "cell": 0}, {"action": "clear", "cell": "b", "index": null}]"#;
    let operations =
        vec![Operation::Delete { cell: at(0) }, Operation::Clear { cell: CellRef::Name("b".into()) }];
    assert_eq!(Operation::parse_list(list).unwrap(), operations);
    assert_eq!(Operation::parse_list(&format!("\u{feff}{list}")).unwrap(), operations);
    for (json, message) in [
        (
            r#"[{"action": "delete", "cell": 0}, {"action": "edit"}]"#,
            "operation 1: `edit` needs `cell`, an index or an id",
        ),
        ("[1]", "operation 0: an operation is an object, not a number"),
        ("{}", "the operations are an object, not a JSON array"),
        ("[", "invalid JSON at line 1 column 2: the text ends where a value was expected"),
        ("[\n {,}]", "invalid JSON at line 2 column 3: expected a key in double quotes"),
        ("[NaN]", "invalid JSON at line 1 column 2: JSON has no such value"),
        ("", "invalid JSON at line 1 column 1: the text ends where a value was expected"),
    ] {
        assert_eq!(Operation::parse_list(json).unwrap_err().to_string(), message, "{json}");
    }
}

#[test]
fn operations_survive_a_round_trip_through_json() {
    let cell = || CellRef::Name("a".into());
    let operations = [
        Operation::Edit { cell: at(1), source: "x\n".into() },
        Operation::Insert { index: 0, kind: CellType::Markdown, source: String::new() },
        Operation::Delete { cell: cell() },
        Operation::Move { cell: cell(), index: 2 },
        Operation::Retype { cell: cell(), kind: CellType::Raw },
        Operation::Clear { cell: cell() },
    ];
    let json = serde_json::to_string(&operations).unwrap();
    assert_eq!(Operation::parse_list(&json).unwrap(), operations);

    let mut last = Operation::Delete { cell: CellRef::FromEnd(1) };
    assert!(serde_json::to_string(&last).is_err(), "JSON has no index from the end");
    last.count_from_start(3);
    assert_eq!(last, Operation::Delete { cell: at(2) });
}

#[test]
fn operations_on_an_older_revision_find_their_cells_and_merge() {
    let base = notebook(&[("a", "one\ntwo"), ("b", "1"), ("c", "2")]);
    let snapshot = base.snapshot();
    let mut now = base.clone();
    now.insert(0, CellType::Code, "theirs");
    now.set_source(1, "one\nTWO");
    now.set_source(3, "changed");
    let mut now = open(now.to_bytes());

    let edit = Operation::Edit { cell: at(0), source: "ONE\ntwo".into() };
    let outcomes =
        now.perform(&[edit, insert(1, "ours"), Operation::Delete { cell: at(1) }], Some(&snapshot)).unwrap();
    assert_eq!(sources(&now), ["theirs", "ONE\nTWO", "ours", "changed"]);
    assert_eq!(outcomes.iter().map(|outcome| outcome.cell_index).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(outcomes[2].cell_source, "1");

    let error = now.perform(&[Operation::Delete { cell: at(2) }], Some(&snapshot)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell 3 (c) was changed on both sides\n--- this side: deleted\n--- the other side [code]\nchanged"
    );
}

#[test]
fn the_revision_follows_every_change_and_every_way_back() {
    let mut notebook = notebook(&[("a", "0"), ("b", "1")]);
    let first = notebook.revision();
    notebook.set_source(0, "x");
    let second = notebook.revision();
    assert_ne!(first, second);
    assert_eq!(second, open(notebook.to_bytes()).revision());
    notebook.set_source(0, "0");
    assert_eq!(notebook.revision(), first);
    notebook.insert(0, CellType::Raw, "");
    assert_ne!(notebook.revision(), first);
    notebook.remove(0);
    assert_eq!(notebook.revision(), first);
}
