//! New cells and changed keys look like the file they go into.

use cellist_notebook::{CellRef, CellType, Operation};

use crate::open;

fn check(before: &str, operation: Operation, after: &str) {
    let mut notebook = open(before);
    notebook.perform(&[operation], None).unwrap();
    let written = String::from_utf8(notebook.to_bytes()).unwrap();
    assert_eq!(written, after);
    open(written);
}

fn insert(index: i64, source: &str) -> Operation {
    Operation::Insert { index, kind: CellType::Raw, source: source.into() }
}

#[test]
fn a_cell_put_into_an_empty_list_is_laid_out_as_jupyter_does() {
    check(
        "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n",
        insert(0, "a\nb"),
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"metadata\": {},\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 4\n}\n",
    );
}

#[test]
fn a_cell_takes_the_indent_and_the_line_ends_of_its_neighbour() {
    check(
        "{\r\n\t\"nbformat\": 4,\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": []\r\n\t\t}\r\n\t]\r\n}",
        insert(1, "x"),
        "{\r\n\t\"nbformat\": 4,\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": []\r\n\t\t},\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"x\"\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}",
    );
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let spaced = r#"{"nbformat": 4, "cells": [{"cell_type": "raw", "metadata": {}, "source": ["a"]}]}"#;
    check(
        spaced,
        insert(0, "x\ny"),
        r#"{"nbformat": 4, "cells": [{"cell_type": "raw", "metadata": {}, "source": ["x\n", "y"]}, {"cell_type": "raw", "metadata": {}, "source": ["a"]}]}"#,
    );
    let tight = r#"{"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["a"]}]}"#;
    check(
        tight,
        insert(1, "x\ny"),
        r#"{"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["a"]},{"cell_type":"raw","metadata":{},"source":["x\n","y"]}]}"#,
    );
    check(tight, Operation::Delete { cell: CellRef::Index(0) }, r#"{"nbformat":4,"cells":[]}"#);
}

#[test]
fn a_code_cell_made_markdown_and_back_gets_its_keys_in_jupyters_order() {
    let code = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"a\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": []\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
    let markdown = code
        .replace("code\"", "markdown\"")
        .replace("   \"execution_count\": 3,\n", "")
        .replace("   \"outputs\": [],\n", "");
    let retype = |kind| Operation::Retype { cell: CellRef::Index(0), kind };
    check(code, retype(CellType::Markdown), &markdown);
    check(&markdown, retype(CellType::Code), &code.replace("count\": 3", "count\": null"));
    check(
        code,
        Operation::Clear { cell: CellRef::Name("a".into()) },
        &code.replace("count\": 3", "count\": null"),
    );
}

#[test]
fn keys_taken_off_the_front_or_the_back_leave_a_sound_object() {
    let odd = "{\"nbformat\": 4, \"cells\": [{\"outputs\": [], \"cell_type\": \"code\", \"source\": \"x\" , \"execution_count\": 1}]}";
    check(
        odd,
        Operation::Retype { cell: CellRef::Index(0), kind: CellType::Markdown },
        "{\"nbformat\": 4, \"cells\": [{\"cell_type\": \"markdown\", \"source\": \"x\" }]}",
    );
}

#[test]
fn a_source_that_was_one_string_becomes_a_list_of_lines() {
    let before = "{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"metadata\": {},\n   \"source\": \"a\\nb\"\n  }\n ],\n \"nbformat\": 4\n}";
    check(
        before,
        Operation::Edit { cell: CellRef::Index(0), source: "a\nc".into() },
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"metadata\": {},\n   \"source\": [\n    \"a\\n\",\n    \"c\"\n   ]\n  }\n ],\n \"nbformat\": 4\n}",
    );
    check(
        before,
        Operation::Edit { cell: CellRef::Index(0), source: String::new() },
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"metadata\": {},\n   \"source\": []\n  }\n ],\n \"nbformat\": 4\n}",
    );
}

#[test]
fn of_a_key_that_stands_twice_the_one_that_counts_is_edited() {
    check(
        r#"{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "first", "metadata": {}, "source": "last"}]}"#,
        Operation::Edit { cell: CellRef::Index(0), source: "new".into() },
        r#"{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "first", "metadata": {}, "source": ["new"]}]}"#,
    );
}
