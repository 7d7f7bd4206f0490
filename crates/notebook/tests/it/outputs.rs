//! Outputs read from notebooks, and written as Jupyter writes them.

use cellist_notebook::CellType;
use cellist_output::{MimeBundle, MimeData, Output, RawJson, StreamName};

use crate::{notebook, open};

#[test]
fn outputs_of_the_corpus_written_back_say_the_same_in_jupyters_own_bytes() {
    let mut cells = 0;
    for path in testkit::fixtures().into_iter().filter(|path| path.parent().unwrap().ends_with("saved")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let before = open(bytes.clone());
        let mut after = before.clone();
        for (index, cell) in before.cells().iter().enumerate() {
            if cell.cell_type() == CellType::Code {
                let outputs = cell.outputs();
                cells += usize::from(!outputs.is_empty());
                after.set_outputs(index, &outputs, cell.execution_count().map(|count| count as u64));
                assert_eq!(after.cells()[index].outputs(), outputs, "{name} cell {index}");
            }
        }
        crate::assert_valid(&after);
        // These came through nbformat's writer, whose bytes ours are.
        if name.starts_with("jupyterlab") || name.starts_with("nbclient") || name.starts_with("nbconvert") {
            assert_eq!(
                String::from_utf8(after.to_bytes()).unwrap(),
                String::from_utf8(bytes).unwrap(),
                "{name}"
            );
        }
    }
    assert!(cells > 20, "only {cells} cells of the corpus have outputs");
}

#[test]
fn new_outputs_are_laid_out_as_jupyter_does() {
    let mut notebook = notebook(&[("a", "x")]);
    let data = MimeBundle::text("text/plain", "a\rb\n")
        .with("image/png", "AA==")
        .with("application/json", MimeData::Json(RawJson::new(r#"{"b": 1e0, "a": [ ]}"#).unwrap()));
    let outputs = [
        Output::stream(StreamName::Stdout, "one\ntwo"),
        Output::result(3, data),
        Output::Error { name: "E".into(), message: "m".into(), traceback: vec!["é".into()] },
    ];
    notebook.set_outputs(0, &outputs, Some(3));
    let value = String::from_utf8(notebook.cells()[0].value("outputs").unwrap().to_vec()).unwrap();
    insta::assert_snapshot!(value, @r#"
    [
        {
         "name": "stdout",
         "output_type": "stream",
         "text": [
          "one\n",
          "two"
         ]
        },
        {
         "data": {
          "application/json": {
           "a": [],
           "b": 1e0
          },
          "image/png": "AA==",
          "text/plain": [
           "a\r",
           "b\n"
          ]
         },
         "execution_count": 3,
         "metadata": {},
         "output_type": "execute_result"
        },
        {
         "ename": "E",
         "evalue": "m",
         "output_type": "error",
         "traceback": [
          "é"
         ]
        }
       ]
    "#);
    crate::assert_valid(&notebook);
    assert_eq!(open(notebook.to_bytes()).cells()[0].execution_count(), Some(3));
}

#[test]
fn outputs_with_nan_and_half_surrogates_are_read_all_the_same() {
    let notebook = open(
        r#"{"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "outputs": [
            {"output_type": "display_data", "data": {"application/json": [NaN, 1e0]}, "metadata": {}},
            {"output_type": "stream", "name": "stdout", "text": "a\ud800"},
            {"output_type": "pyout", "text": "old"}, 7]}]}"#,
    );
    let outputs = notebook.cells()[0].outputs();
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[1], Output::stream(StreamName::Stdout, "a\u{fffd}"));
}
