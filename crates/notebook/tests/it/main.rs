//! The notebook crate from outside: over the corpus, over generated notebooks, and on hostile input.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod corpus;
mod fuzzed;
mod generated;
mod hostile;
mod identity;
mod ids;
mod layouts;
mod loading;
mod merging;
mod operations;
mod outputs;
mod replacing;
mod selecting;
mod text;

use cellist_notebook::{Ids, Notebook};

/// A notebook from text that is one.
fn open(text: impl Into<Vec<u8>>) -> Notebook {
    Notebook::parse(text.into(), Ids::seeded(7)).unwrap_or_else(|error| panic!("not a notebook: {error}"))
}

/// A 4.5 notebook of code cells with these ids and sources, as Jupyter writes it.
fn notebook(cells: &[(&str, &str)]) -> Notebook {
    let mut list = Vec::new();
    for (id, source) in cells {
        list.push(serde_json::json!({
            "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [],
            "source": source.split_inclusive('\n').collect::<Vec<_>>(),
        }));
    }
    let value = serde_json::json!({"cells": list, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    open(jupyter(&value))
}

/// JSON as Jupyter lays it out.
fn jupyter(value: &serde_json::Value) -> Vec<u8> {
    use serde::Serialize;
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter)).unwrap();
    out.push(b'\n');
    out
}

/// The sources of all cells.
fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
}

/// Fails unless nbformat accepts the notebook.
#[track_caller]
fn assert_valid(notebook: &Notebook) {
    if let Err(complaint) = testkit::validate_bytes(&notebook.to_bytes()) {
        panic!("not valid: {complaint}\n{}", String::from_utf8_lossy(&notebook.to_bytes()));
    }
}
