//! `cellist new`.

use insta::assert_snapshot;
use serde_json::json;

use crate::desk::Desk;

#[test]
fn an_empty_notebook_is_made_and_a_file_that_exists_is_left_alone() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["new", "nb.ipynb"]).ok(), @"Created nb.ipynb: an empty notebook of format 4.5");
    assert_snapshot!(desk.text("nb.ipynb"), @r#"
    {
     "cells": [],
     "metadata": {},
     "nbformat": 4,
     "nbformat_minor": 5
    }
    "#);
    desk.run(&["cell", "insert", "nb.ipynb", "0", "--source", "x"]).ok();
    let bytes = desk.read("nb.ipynb");
    assert_snapshot!(desk.run(&["new", "nb.ipynb"]).refused(2), @r#"
    error: nb.ipynb: already exists
    hint: choose another name, or delete the file first
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}

#[test]
fn programs_are_told_the_revision() {
    let desk = Desk::new();
    let told = desk.json(&["new", "nb.ipynb"]);
    let revision = desk.revision();
    let expected = json!({
        "path": "nb.ipynb", "revision": revision, "written": true, "total_cells": 0, "notices": [],
    });
    assert_eq!(told, expected);
}

#[test]
fn a_notebook_has_a_notebooks_name_and_a_folder_that_exists() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["new", "notes.txt"]).refused(2), @"error: notes.txt: a notebook's name must end in .ipynb");
    assert_snapshot!(desk.run(&["new", ".ipynb"]).refused(2), @"error: .ipynb: missing file name before .ipynb");
    assert_snapshot!(desk.run(&["new", "no/nb.ipynb"]).refused(2), @r#"
    error: no/nb.ipynb: the folder no does not exist
    hint: make the folder first
    "#);
}
