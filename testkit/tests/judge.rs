//! nbformat accepts valid notebooks, and its errors reach the test.

use testkit::{Scratch, assert_valid, validate, validate_bytes};

const GOOD: &str = r#"{"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["x\n", "y"]}],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;

#[track_caller]
fn check(notebook: &str, expected: Result<(), &str>) {
    assert_eq!(validate_bytes(notebook.as_bytes()), expected.map_err(str::to_owned));
}

#[test]
fn a_good_notebook_is_accepted() {
    check(GOOD, Ok(()));
}

#[test]
fn a_broken_value_is_named() {
    let bad = GOOD.replace(r#""metadata": {}, "source""#, r#""metadata": 3, "source""#);
    check(&bad, Err("NotebookValidationError: 3 is not of type 'object'"));
}

#[test]
fn a_missing_id_is_an_error() {
    let complaint = validate_bytes(GOOD.replace(r#""id": "a", "#, "").as_bytes()).unwrap_err();
    assert!(complaint.starts_with("MissingIDFieldWarning: "), "{complaint}");
    check(&GOOD.replace(r#""id": "a", "#, "").replace("minor\": 5", "minor\": 4"), Ok(()));
}

#[test]
fn a_repeated_id_is_an_error() {
    let cell = r#"{"cell_type": "raw", "id": "a", "metadata": {}, "source": ""}"#;
    let twice =
        format!(r#"{{"cells": [{cell}, {cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#);
    let complaint = validate_bytes(twice.as_bytes()).unwrap_err();
    assert!(complaint.starts_with("DuplicateCellId: "), "{complaint}");
}

#[test]
fn what_is_no_notebook_is_an_error_and_the_judge_stays() {
    for bytes in [&b""[..], b"{", b"[]", b"\xff", b"{}", "[".repeat(200_000).as_bytes()] {
        assert!(
            validate_bytes(bytes).is_err(),
            "{:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(9)])
        );
    }
    check(GOOD, Ok(()));
}

#[test]
fn only_the_refused_files_are_returned_in_order() {
    let scratch = Scratch::new();
    let good = scratch.write("good.ipynb", GOOD);
    let first = scratch.write("first.ipynb", "{");
    let second = scratch.write("deeper/second.ipynb", "[");
    assert_valid(&good);
    let refused: Vec<_> =
        validate([&first, &good, &second]).into_iter().map(|invalid| invalid.path).collect();
    assert_eq!(refused, [first, second]);
}

#[test]
#[should_panic(expected = "not a valid notebook")]
fn asserting_validity_fails_on_a_bad_file() {
    assert_valid(Scratch::new().write("bad.ipynb", "{}"));
}
