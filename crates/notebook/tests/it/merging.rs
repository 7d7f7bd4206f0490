//! Two versions of a notebook put together.

use cellist_notebook::{CellRef, CellType, Error, Ids, Notebook, OnConflict, Operation, diff, merge};

use crate::{jupyter, notebook, open, sources};

fn merged(base: &Notebook, ours: &Notebook, theirs: &Notebook) -> Notebook {
    let merged = merge(base, ours, theirs, OnConflict::Refuse).unwrap();
    assert_eq!(merged.notices, [] as [String; 0]);
    crate::assert_valid(&merged.notebook);
    // The merged notebook in memory equals the one read from its bytes.
    let reread = open(merged.notebook.to_bytes());
    assert_eq!(sources(&reread), sources(&merged.notebook));
    reread
}

fn base() -> Notebook {
    notebook(&[("a", "one\ntwo\nthree"), ("b", "1"), ("c", "2"), ("d", "3")])
}

#[test]
fn a_side_that_did_nothing_leaves_the_other_as_it_is() {
    let base = base();
    let mut changed = base.clone();
    changed.set_source(1, "new");
    changed.insert(0, CellType::Raw, "x");
    changed.remove(3);
    let changed = open(changed.to_bytes());
    assert_eq!(merged(&base, &base, &changed).to_bytes(), changed.to_bytes());
    assert_eq!(merged(&base, &changed, &base).to_text(), changed.to_text());
    assert_eq!(merged(&base, &changed, &changed).to_bytes(), changed.to_bytes());
}

#[test]
fn edits_of_different_cells_and_of_different_lines_both_survive() {
    let base = base();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.set_source(0, "ONE\ntwo\nthree");
    ours.set_source(1, "ours");
    theirs.set_source(0, "one\ntwo\nTHREE");
    theirs.set_source(2, "theirs");
    assert_eq!(sources(&merged(&base, &ours, &theirs)), ["ONE\ntwo\nTHREE", "ours", "theirs", "3"]);
}

#[test]
fn additions_deletions_and_moves_of_both_sides_survive() {
    let base = base();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.insert(1, CellType::Markdown, "ours after a");
    ours.insert(5, CellType::Code, "ours at the end");
    ours.remove(2);
    theirs.insert(0, CellType::Code, "theirs first");
    theirs.shift(4, 1);
    theirs.insert(5, CellType::Code, "theirs at the end");
    assert_eq!(
        sources(&merged(&base, &ours, &theirs)),
        ["theirs first", "3", "ours at the end", "one\ntwo\nthree", "ours after a", "2", "theirs at the end"],
    );
    let mut ours = base.clone();
    ours.shift(3, 0);
    let mut theirs = base.clone();
    theirs.set_source(3, "three");
    assert_eq!(sources(&merged(&base, &ours, &theirs)), ["three", "one\ntwo\nthree", "1", "2"]);
}

#[test]
fn a_true_conflict_is_refused_with_both_versions_or_marked() {
    let base = base();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.set_source(1, "ours");
    theirs.set_source(1, "theirs");
    let Err(Error::Conflicts(conflicts)) = merge(&base, &ours, &theirs, OnConflict::Refuse) else {
        panic!("no conflict");
    };
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].ours, Some((CellType::Code, "ours".into())));
    assert_eq!(conflicts[0].theirs, Some((CellType::Code, "theirs".into())));

    let marked = merge(&base, &ours, &theirs, OnConflict::Mark).unwrap();
    assert_eq!(marked.marked, [1]);
    assert_eq!(marked.notebook.cells()[1].source(), "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs");
    crate::assert_valid(&marked.notebook);
}

#[test]
fn a_cell_deleted_on_one_side_and_edited_on_the_other_is_a_conflict_and_never_lost() {
    let base = base();
    let (mut deleted, mut edited) = (base.clone(), base.clone());
    deleted.remove(1);
    edited.set_source(1, "precious");
    for (ours, theirs) in [(&deleted, &edited), (&edited, &deleted)] {
        assert!(merge(&base, ours, theirs, OnConflict::Refuse).is_err());
        let marked = merge(&base, ours, theirs, OnConflict::Mark).unwrap();
        assert_eq!(sources(&marked.notebook), ["one\ntwo\nthree", "precious", "2", "3"]);
        assert_eq!(marked.marked, [1]);
    }
}

#[test]
fn a_cell_added_on_both_sides_is_one_only_if_id_and_text_are_the_same() {
    let base = base();
    // The same seed makes the same id on both sides.
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.insert(4, CellType::Code, "x");
    theirs.insert(4, CellType::Code, "x");
    assert_eq!(sources(&merged(&base, &ours, &theirs))[4..], ["x"]);
    theirs.set_source(4, "y");
    let both = merged(&base, &ours, &theirs);
    assert_eq!(sources(&both)[4..], ["x", "y"]);
    assert_ne!(both.cells()[4].id(), both.cells()[5].id());

    let mut theirs = Notebook::parse(base.to_bytes(), Ids::seeded(99)).unwrap();
    theirs.insert(4, CellType::Code, "x");
    assert_eq!(sources(&merged(&base, &ours, &theirs))[4..], ["x", "x"]);
}

#[test]
fn notebooks_without_ids_are_matched_by_their_sources() {
    let strip = |notebook: &Notebook| {
        let mut value: serde_json::Value = serde_json::from_slice(&notebook.to_bytes()).unwrap();
        value["nbformat_minor"] = 4.into();
        for cell in value["cells"].as_array_mut().unwrap() {
            cell.as_object_mut().unwrap().shift_remove("id");
        }
        open(jupyter(&value))
    };
    let base = strip(&base());
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.set_source(1, "ours");
    theirs.insert(0, CellType::Code, "theirs first");
    theirs.set_source(4, "theirs");
    let theirs = open(theirs.to_bytes());
    assert_eq!(
        sources(&merged(&base, &ours, &theirs)),
        ["theirs first", "one\ntwo\nthree", "ours", "2", "theirs"]
    );
}

#[test]
fn other_values_merge_by_key_and_ours_wins_with_a_notice() {
    let with = |cell_metadata: serde_json::Value, outputs: serde_json::Value, metadata: serde_json::Value| {
        open(jupyter(&serde_json::json!({
            "cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": cell_metadata,
                       "outputs": outputs, "source": ["x"]}],
            "metadata": metadata, "nbformat": 4, "nbformat_minor": 5,
        })))
    };
    let stream =
        |text: &str| serde_json::json!([{"name": "stdout", "output_type": "stream", "text": [text]}]);
    let base =
        with(serde_json::json!({"k": 1}), serde_json::json!([]), serde_json::json!({"v": {"a": 1, "b": 1}}));
    let ours =
        with(serde_json::json!({"k": 1, "ours": 2}), stream("o"), serde_json::json!({"v": {"a": 2, "b": 1}}));
    let theirs = with(
        serde_json::json!({"theirs": 3}),
        stream("t"),
        serde_json::json!({"v": {"a": 1, "b": 3}, "w": 0}),
    );
    let merged = merge(&base, &ours, &theirs, OnConflict::Refuse).unwrap();
    assert_eq!(merged.notices, ["cell 0: both sides changed `outputs`; this side's was kept"]);
    let value: serde_json::Value = serde_json::from_slice(&merged.notebook.to_bytes()).unwrap();
    assert_eq!(value["cells"][0]["metadata"], serde_json::json!({"theirs": 3, "ours": 2}));
    assert_eq!(value["cells"][0]["outputs"], stream("o"));
    assert_eq!(value["metadata"], serde_json::json!({"v": {"a": 2, "b": 3}, "w": 0}));
    crate::assert_valid(&merged.notebook);
}

#[test]
fn handles_of_cells_without_ids_survive_a_merge() {
    let text = r#"{"nbformat": 4, "nbformat_minor": 4, "cells": [
        {"cell_type": "raw", "metadata": {}, "source": "a"}, {"cell_type": "raw", "metadata": {}, "source": "b"}]}"#;
    let base = open(text);
    let mut ours = base.clone();
    ours.insert(0, CellType::Raw, "ours");
    let mut theirs = base.clone();
    theirs.insert(2, CellType::Raw, "theirs");
    let theirs = open(theirs.to_bytes());
    let merged = merge(&base, &ours, &theirs, OnConflict::Refuse).unwrap().notebook;
    for cell in ours.cells() {
        let index = merged.position(cell.id()).unwrap();
        assert_eq!(merged.cells()[index].source(), cell.source());
    }
    let mut names: Vec<&str> = merged.cells().iter().map(|cell| cell.id().as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4);
}

#[test]
fn differences_are_told_by_cell() {
    use cellist_notebook::CellChange;
    let before = base();
    let mut after = before.clone();
    after.set_source(0, "one\n2\nthree");
    after.set_type(1, CellType::Markdown);
    after.perform(&[Operation::Delete { cell: CellRef::Index(2) }], None).unwrap();
    after.insert(3, CellType::Code, "new");
    let (changes, keys) = diff(&before, &after);
    assert_eq!(keys, [] as [String; 0]);
    let [
        CellChange::Changed(first),
        CellChange::Changed(second),
        CellChange::Deleted(2),
        CellChange::Added(3),
    ] = changes.as_slice()
    else {
        panic!("{changes:?}");
    };
    assert_eq!((first.source.len(), first.retyped, first.moved), (1, false, false));
    assert!(second.retyped);
    assert_eq!(diff(&before, &before).0, []);

    let mut replaced = before.clone();
    replaced.remove(1);
    replaced.insert(1, CellType::Code, "in its place");
    assert_eq!(diff(&before, &replaced).0, [CellChange::Deleted(1), CellChange::Added(1)]);
}
