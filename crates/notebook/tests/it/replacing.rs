//! One exact replacement in a text.

use cellist_notebook::{Error, replace_once};

#[test]
fn the_one_occurrence_is_replaced() {
    assert_eq!(replace_once("a = 1\nb = 2\n", "b = 2", "b = 3").unwrap(), "a = 1\nb = 3\n");
    assert_eq!(replace_once("aé", "é", "").unwrap(), "a");
}

#[test]
fn none_or_several_is_an_error_that_shows_where() {
    let error = replace_once("total = 1\nx\n", "totla = 1", "y").unwrap_err();
    assert_eq!(error.to_string(), "the text to replace was not found");
    assert_eq!(error.hint().unwrap(), "the nearest line is line 1: total = 1");
    let error = replace_once("x\nx\nxx", "x", "y").unwrap_err();
    assert_eq!(error.to_string(), "the text to replace occurs 4 times, at lines 1, 2, 3 and 3");
    assert_eq!(error.hint().unwrap(), "give more of the text around it");
    assert_eq!(replace_once("aaa", "aa", "b"), Err(Error::OldNotUnique { lines: vec![1, 1] }));
    let error = replace_once("x", "nowhere near anything", "y").unwrap_err();
    assert_eq!(error.hint().unwrap(), "read the notebook again: the text must be given exactly");
    assert_eq!(replace_once("x", "", "y").unwrap_err().to_string(), "the text to replace is empty");
}
