//! Hostile input.

use cellist_notebook::{Ids, Notebook};

use crate::open;

fn with_metadata(value: &str) -> String {
    format!(
        "{{\"cells\": [{{\"cell_type\": \"code\", \"metadata\": {value}, \"outputs\": [], \"source\": \"x\"}}], \"nbformat\": 4}}"
    )
}

#[test]
fn nesting_a_hundred_thousand_deep_is_read_edited_and_kept() {
    for (open_with, close_with) in [("[", "]"), ("{\"a\":", "}")] {
        let core = if open_with == "[" { "" } else { "1" };
        let deep = format!("{}{core}{}", open_with.repeat(100_000), close_with.repeat(100_000));
        let text = with_metadata(&deep);
        let mut notebook = open(text.clone());
        notebook.set_source(0, "y");
        assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text.replace("\"x\"", "[\"y\"]"));
        let copy = open(text);
        cellist_notebook::diff(&notebook, &copy);
        cellist_notebook::merge(&copy, &notebook, &copy, cellist_notebook::OnConflict::Refuse).unwrap();
    }
    let open_ended = with_metadata(&"[".repeat(100_000));
    assert!(Notebook::parse(open_ended.into_bytes(), Ids::seeded(0)).is_err());
}

#[test]
fn a_hundred_megabytes_in_one_line_are_read_and_edited() {
    let line = "a".repeat(100_000_000);
    let mut notebook = open(with_metadata(&format!("\"{line}\"")));
    notebook.set_source(0, "y");
    let written = notebook.to_bytes();
    assert!(written.ends_with(b"\"source\": [\"y\"]}], \"nbformat\": 4}"));
    let long =
        open(format!("{{\"nbformat\": 4, \"cells\": [{{\"cell_type\": \"raw\", \"source\": \"{line}\"}}]}}"));
    assert_eq!(long.cells()[0].source().len(), 100_000_000);
    assert_eq!(long.to_text().len(), 100_000_000 + "# %% [raw] cell:0\n\n".len());
}

#[test]
fn lone_surrogates_read_as_replacements_and_stay_in_lines_nobody_edits() {
    let text =
        "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"raw\", \"source\": [\"a\\ud800\\n\", \"b\"]}]}";
    let mut notebook = open(text);
    assert_eq!(notebook.cells()[0].source(), "a\u{fffd}\nb");
    assert!(notebook.cells()[0].has_lone_surrogate());
    notebook.apply_text(&notebook.to_text(), None).unwrap();
    assert_eq!(notebook.to_bytes(), text.as_bytes());
    notebook.set_source(0, "a\u{fffd}\nc");
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text.replace("\"b\"", "\"c\""));
}

#[test]
fn a_byte_order_mark_stays_in_front() {
    let text = "\u{feff}{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"raw\", \"source\": \"x\"}]}";
    let mut notebook = open(text);
    notebook.set_source(0, "y");
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text.replace("\"x\"", "[\"y\"]"));
}

#[test]
fn python_numbers_beyond_json_are_kept() {
    let text = with_metadata("{\"a\": [NaN, -Infinity, 1e0, 123456789012345678901234567890]}");
    let mut notebook = open(text.clone());
    notebook.set_source(0, "y");
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), text.replace("\"x\"", "[\"y\"]"));
}

#[test]
fn a_cell_of_many_lines_changed_on_both_sides_is_merged_in_bounded_time() {
    let lines = |tag: &str| (0..60_000).map(|line| format!("{tag} {line}\n")).collect::<String>();
    let base = crate::notebook(&[("a", &lines("base"))]);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.set_source(0, &lines("ours"));
    theirs.set_source(0, &lines("theirs"));
    assert!(cellist_notebook::merge(&base, &ours, &theirs, cellist_notebook::OnConflict::Refuse).is_err());
}
