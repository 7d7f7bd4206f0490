use cellist_notebook::CellRef;
use serde_json::json;

use super::*;

input! {
    /// An input with each type of argument.
    struct Everything {
        notebook | path: Option<String>,
        r#type | cell_type: CellType = "One of them",
        content | source: String,
        run: bool,
        index: Option<WholeNumber<-1>>,
        soft_wait: Option<Seconds>,
        cell | cell_index | cell_id: Option<CellRef>,
        cells: Option<Vec<CellRef>>,
        names: Option<Vec<String>>,
        pieces: Option<Vec<Piece>>,
    }
}

input! {
    /// A part.
    struct Piece {
        code: String,
        title: Option<String>,
        r#type: Option<CellType>,
    }
}

fn checked(given: Value) -> Everything {
    Everything::read("everything", &given).unwrap()
}

fn refused(given: Value) -> String {
    Everything::read("everything", &given).unwrap_err().to_string()
}

#[test]
fn documentation_is_the_description_and_types_are_the_schema() {
    assert_eq!(Everything::ABOUT, "An input with each type of argument.");
    let schema = schema(Everything::FIELDS);
    assert_eq!(schema["required"], json!(["type", "content"]));
    let properties = &schema["properties"];
    assert_eq!(
        properties["type"],
        json!({ "type": "string", "enum": ["code", "markdown", "raw"], "description": "One of them" })
    );
    assert_eq!(properties["run"], json!({ "type": "boolean" }));
    // The words of a choice are listed once.
    assert_eq!(
        properties["pieces"]["items"],
        json!({
            "type": "object",
            "properties": {
                "code": { "type": "string" },
                "title": { "type": "string" },
                "type": { "type": "string" },
            },
            "required": ["code"],
        })
    );
}

#[test]
fn other_spellings_of_values_are_accepted() {
    let plain = json!({ "type": "code", "content": "x", "run": true, "index": 3, "soft_wait": 1.5 });
    let spelt = json!({ "type": "Code", "content": "x", "run": "True", "index": "3", "soft_wait": "1.5", "notebook": null });
    let input = checked(plain.clone());
    assert_eq!(input, checked(spelt));
    assert_eq!(input, checked(plain.to_string().into()));
    assert_eq!((input.r#type, input.run), (CellType::Code, true));
    assert_eq!((input.index, input.soft_wait), (Some(WholeNumber(3)), Some(Seconds(1.5))));
    assert_eq!(input.notebook, None);
    assert_eq!(checked(json!({ "type": "raw", "content": "", "index": 2.0 })).index, Some(WholeNumber(2)));
}

#[test]
fn cells_are_ids_or_indexes_one_or_many() {
    let cells =
        |value: Value| checked(json!({ "type": "code", "content": "", "cells": value })).cells.unwrap();
    let both = vec![CellRef::Index(0), CellRef::Name("abc".to_owned())];
    assert_eq!(cells(json!([0, "abc"])), both);
    assert_eq!(cells(json!("[0, \"abc\"]")), both);
    assert_eq!(cells(json!(0)), [CellRef::Index(0)]);
    assert_eq!(cells(json!("12")), [CellRef::Name("12".to_owned())]);
    assert_eq!(cells(json!("3-7")), [CellRef::Name("3-7".to_owned())]);
}

#[test]
fn aliases_of_arguments_are_accepted() {
    let now = json!({ "notebook": "n.ipynb", "type": "raw", "cell": 3, "content": "x" });
    let before = json!({ "path": "n.ipynb", "cell_type": "raw", "cell_index": 3, "source": "x" });
    assert_eq!(checked(now), checked(before));
    assert_eq!(
        refused(json!({ "notebook": "a", "path": "b" })),
        "`notebook` and `path` are the same argument; give only one"
    );
    let pieces =
        checked(json!({ "type": "raw", "content": "", "pieces": [{ "code": "1", "title": "one" }] }));
    assert_eq!(pieces.pieces.unwrap()[0].title.as_deref(), Some("one"));
}

#[test]
fn a_wrong_value_is_refused_with_a_valid_one() {
    let with = |name: &str, value: Value| {
        let mut given = json!({ "type": "code", "content": "" });
        given[name] = value;
        refused(given)
    };
    assert_eq!(refused(json!([])), "the arguments must be an object");
    assert_eq!(refused(json!({ "type": "raw" })), "`content` is missing: it must be text");
    assert_eq!(with("cell", json!(-1)), "`cell` must be a cell id or a 0-based index, not -1");
    assert_eq!(with("cell", json!("-1")), "`cell` must be a cell id or a 0-based index, not \"-1\"");
    assert_eq!(with("content", json!(7)), "`content` must be text, not 7");
    assert_eq!(with("run", json!("yes")), "`run` must be true or false, not \"yes\"");
    assert_eq!(
        with("colour", json!("red")),
        "unknown argument `colour`; everything takes notebook, type, content, run, index, soft_wait, cell, cells, names, pieces"
    );
    assert_eq!(with("type", json!("cod")), "`type` must be one of code, markdown, raw, not \"cod\"");
    assert_eq!(
        with("pieces", json!([{ "code": "1" }, { "title": "t" }])),
        "`pieces[1].code` is missing: it must be text"
    );
    assert_eq!(
        with("pieces", json!("x")),
        "`pieces` must be a list of objects with code, title, type, not \"x\""
    );
    assert_eq!(with("names", json!([1])), "`names` must be a list of texts, not [1]");
    assert_eq!(with("index", json!(-2)), "`index` must be a whole number of at least -1, not -2");
    let long = with("cell", json!({ "x": "y".repeat(10_000_000) }));
    assert!(long.len() < 200, "{}", long.len());
}
