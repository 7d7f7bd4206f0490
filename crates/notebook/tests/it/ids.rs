//! How cells are named and found.

use cellist_notebook::{CellRef, CellType, Error, Notebook, Operation};

use crate::{notebook, open};

fn find(notebook: &Notebook, name: &str) -> Result<usize, Error> {
    notebook.find(&CellRef::Name(name.into()))
}

#[test]
fn a_name_is_an_id_first_and_an_index_otherwise() {
    let notebook = notebook(&[("abc", "0"), ("0", "1"), ("Intro-1", "2")]);
    for (name, index) in [
        ("abc", 0),
        ("0", 1),
        ("2", 2),
        ("ABC", 0),
        ("cell:abc", 0),
        ("\"abc\"", 0),
        (" `abc` ", 0),
        ("#abc", 0),
        ("intro-1", 2),
        ("cell:2", 2),
        ("CELL:INTRO-1", 2),
        ("Cell-Id:'Abc'", 0),
    ] {
        assert_eq!(find(&notebook, name), Ok(index), "{name}");
    }
    assert_eq!(notebook.find(&CellRef::Index(0)), Ok(0), "a number is always an index");
    assert_eq!(notebook.find(&CellRef::from_argument("-1")), Ok(2));
    assert_eq!(notebook.find(&CellRef::from_argument("-3")), Ok(0));
}

#[test]
fn a_name_that_means_nothing_is_refused_with_the_nearest_id() {
    let notebook = notebook(&[("setup", "0"), ("train", "1")]);
    let error = find(&notebook, "trian").unwrap_err();
    assert_eq!(error.to_string(), "no cell has the id `trian`");
    assert_eq!(error.hint().unwrap(), "the nearest id is `train`");
    let error = find(&notebook, "zzz").unwrap_err();
    assert_eq!(error.hint().unwrap(), "a cell is named by its id or its index");
    let error = notebook.find(&CellRef::Index(2)).unwrap_err();
    assert_eq!(error.to_string(), "cell 2 does not exist: the notebook has 2 cells, 0 to 1");
    let error = notebook.find(&CellRef::Index(-1)).unwrap_err();
    assert_eq!(error.to_string(), "cell -1 does not exist: the notebook has 2 cells, 0 to 1");
    let error = notebook.find(&CellRef::FromEnd(3)).unwrap_err();
    assert_eq!(error.to_string(), "cell -3 does not exist: the notebook has 2 cells, 0 to 1");
    let error = notebook.find(&CellRef::FromEnd(usize::MAX)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell -18446744073709551615 does not exist: the notebook has 2 cells, 0 to 1"
    );
    let error = find(&notebook, "99999999999999999999999").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell 99999999999999999999999 does not exist: the notebook has 2 cells, 0 to 1"
    );
}

#[test]
fn ids_that_differ_by_case_are_not_guessed_at() {
    let notebook = notebook(&[("abc", "0"), ("ABC", "1")]);
    assert_eq!(find(&notebook, "abc"), Ok(0));
    assert_eq!(find(&notebook, "ABC"), Ok(1));
    let error = find(&notebook, "Abc").unwrap_err();
    assert_eq!(error.to_string(), "the id `Abc` could mean any of the cells 0 and 1");
    assert_eq!(error.hint().unwrap(), "name the cell by its index");
}

#[test]
fn cells_that_share_an_id_are_reported_and_addressed_by_index() {
    let notebook = notebook(&[("same", "0"), ("other", "1"), ("same", "2")]);
    assert_eq!(notebook.shared_ids(), [("same".to_owned(), vec![0, 2])]);
    let error = find(&notebook, "same").unwrap_err();
    assert_eq!(error.to_string(), "the id `same` could mean any of the cells 0 and 2");
    assert_eq!(find(&notebook, "2"), Ok(2));
}

#[test]
fn cells_without_ids_have_handles_that_stay_while_the_notebook_is_open() {
    let text = r#"{"nbformat": 4, "nbformat_minor": 4, "cells": [
        {"cell_type": "code", "source": "a"}, {"cell_type": "code", "source": "b"}]}"#;
    let mut notebook = open(text);
    let second = notebook.cells()[1].id().clone();
    let insert = Operation::Insert { index: 0, kind: CellType::Code, source: "new".into() };
    let outcome = notebook.perform(&[insert], None).unwrap().remove(0);
    assert_eq!(outcome.cell_id.as_deref(), Some(notebook.cells()[0].id().as_str()));
    assert!(!String::from_utf8(notebook.to_bytes()).unwrap().contains("\"id\""), "the format has no ids");
    assert_eq!(notebook.position(&second), Some(2));
    assert_eq!(find(&notebook, second.as_str()), Ok(2));
    let names: Vec<&str> = notebook.cells().iter().map(|cell| cell.id().as_str()).collect();
    assert_eq!(names[2].trim_end_matches('1'), names[1].trim_end_matches('0'));
    // No opening of any file can give the handle of a cell that was inserted.
    assert!(names[0].ends_with(|last: char| last.is_ascii_alphabetic()) && names[1].ends_with('0'));
    for bare in ["anon-0", "anon-1", "_0"] {
        assert!(matches!(find(&notebook, bare), Err(Error::NoSuchId { .. })), "{bare}");
    }
}

#[test]
fn a_new_cell_gets_an_id_that_no_other_cell_has() {
    let mut notebook = notebook(&[]);
    for index in 0..200 {
        let insert = Operation::Insert { index, kind: CellType::Code, source: String::new() };
        notebook.perform(&[insert], None).unwrap();
    }
    let ids: std::collections::HashSet<String> =
        notebook.cells().iter().map(|cell| cell.id().to_string()).collect();
    assert_eq!(ids.len(), 200);
    assert!(ids.iter().all(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    crate::assert_valid(&notebook);
}
