//! Notebooks that are refused when they are read, with the messages.

use cellist_notebook::{Ids, Notebook};

fn check(text: impl AsRef<[u8]>, message: &str, hint: Option<&str>) {
    let error = Notebook::parse(text.as_ref().to_vec(), Ids::seeded(0)).expect_err(message);
    assert_eq!(error.to_string(), message);
    assert_eq!(error.hint().as_deref(), hint, "{message}");
}

/// A notebook whose list of cells is `cells`.
fn with_cells(cells: &str) -> String {
    format!("{{\"nbformat\": 4, \"cells\": {cells}}}")
}

#[test]
fn each_fault_is_named_and_placed() {
    check("", "invalid JSON at line 1 column 1: the text ends where a value was expected", None);
    check(
        "{\n \"cells\": [\n",
        "invalid JSON at line 3 column 1: the text ends where a value was expected",
        None,
    );
    check("{\"é\": 1 \"b\"}", "invalid JSON at line 1 column 9: expected ',' or '}'", None);
    check("{} {}", "invalid JSON at line 1 column 4: there is more text after the end of the value", None);
    check(b"{\n\"a\": \"\xff\"}", "not UTF-8: invalid byte at line 2, offset 8", None);
    check("[]", "not a notebook: the file holds an array, not an object", None);
    check("NaN", "not a notebook: the file holds a number, not an object", None);
    check("{\"cells\": []}", "not a notebook: `nbformat` is missing", None);
    check("{\"nbformat\": \"4\"}", "not a notebook: `nbformat` is \"4\", not a whole number", None);
    check("{\"nbformat\": 4.5}", "not a notebook: `nbformat` is 4.5, not a whole number", None);
    let old = "convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK";
    check("{\"nbformat\": 3}", "nbformat 3 is too old: cellist reads nbformat 4", Some(old));
    let new = "update cellist, or save the notebook as nbformat 4 with the tool that wrote it";
    check("{\"nbformat\": 5, \"cells\": 1}", "nbformat 5 is too new: cellist reads nbformat 4", Some(new));
    check(
        "{\"nbformat\": 4, \"nbformat_minor\": []}",
        "not a notebook: `nbformat_minor` is [], not a whole number",
        None,
    );
    check("{\"nbformat\": 4}", "not a notebook: `cells` is missing", None);
    check(with_cells("{}"), "not a notebook: `cells` is an object, not an array", None);
    check(with_cells("[null]"), "cell 0 is null, not an object", None);
    let types = Some("valid types are \"code\", \"markdown\" and \"raw\"");
    check(with_cells("[{\"source\": \"\"}]"), "cell 0 has no `cell_type`", types);
    check(
        with_cells("[{\"cell_type\": \"heading\", \"source\": \"\"}]"),
        "cell 0 has the unknown `cell_type` \"heading\"",
        types,
    );
    check(with_cells("[{\"cell_type\": \"code\"}]"), "cell 0 has no `source`", None);
    check(
        with_cells("[{\"cell_type\": \"code\", \"source\": 1}]"),
        "the `source` of cell 0 is a number, neither a string nor a list of strings",
        None,
    );
    check(
        with_cells(
            "[{\"cell_type\": \"raw\", \"source\": []}, {\"cell_type\": \"code\", \"source\": [\"a\", null]}]",
        ),
        "the `source` of cell 1 holds null at position 1, not only strings",
        None,
    );
}

#[test]
fn every_broken_notebook_of_the_corpus_is_refused() {
    let broken: Vec<_> =
        testkit::fixtures().into_iter().filter(|path| path.parent().unwrap().ends_with("broken")).collect();
    assert!(broken.len() >= 20);
    for path in broken {
        let read = Notebook::parse(std::fs::read(&path).unwrap(), Ids::seeded(0));
        assert!(read.is_err(), "{} was read", path.display());
    }
}

#[test]
fn a_minor_beyond_5_is_read_as_5_and_kept() {
    let notebook = crate::open("{\"nbformat\": 4, \"nbformat_minor\": 9, \"cells\": []}");
    assert!(notebook.version().has_ids());
    assert_eq!(notebook.version().minor, 9);
}

#[test]
fn what_is_valid_json_for_serde_is_valid_for_us_and_the_other_way_round() {
    use proptest::prelude::*;
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\\n\"",
        "\"\\u00e9\"",
        "\"\\x\"",
        "\"",
        "1",
        "-",
        "0",
        ".5",
        "e3",
        "1.5e-3",
        "true",
        "null",
        " ",
        "\n",
        "\t",
        "é",
        "\\",
        "\u{1}",
    ]);
    proptest!(ProptestConfig::with_cases(4000), |(pieces in prop::collection::vec(piece, 0..12))| {
        let text = pieces.concat();
        let ours = Notebook::parse(text.clone().into_bytes(), Ids::seeded(0));
        let invalid = matches!(ours, Err(cellist_notebook::Error::InvalidJson { .. }));
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(invalid, theirs.is_err(), "{:?}: {:?} {:?}", text, ours.map(|_| ()), theirs.err());
    });
}
