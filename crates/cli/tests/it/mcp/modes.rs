//! The table of modes: the same call has the same fate over every transport, and what is refused leaves no trace.

use serde_json::{Value, json};

use super::official::{Official, WAYS};
use crate::desk::Desk;

/// From which mode on a call is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    Ask,
    Edit,
    Agent,
}

const MODES: [(&str, From); 3] = [("ask", From::Ask), ("edit", From::Edit), ("agent", From::Agent)];

/// A call of each kind, and who may make it. Those that look come first, so that the file is as it was.
fn table() -> Vec<(&'static str, Value, From)> {
    let nb = "nb.ipynb";
    vec![
        ("add_notebook_cell", json!({ "notebook": nb, "type": "code", "content": "y = 2" }), From::Agent),
        (
            "add_notebook_cell",
            json!({ "notebook": nb, "type": "code", "content": "y = 2", "run": true }),
            From::Agent,
        ),
        ("update_notebook_cell", json!({ "notebook": nb, "cell": "a", "content": "x = 2" }), From::Agent),
        (
            "update_notebook_cell",
            json!({ "notebook": nb, "cell": "a", "content": "x = 2", "run": "true" }),
            From::Agent,
        ),
        ("delete_notebook_cells", json!({ "notebook": nb, "cells": ["a"] }), From::Agent),
        ("move_notebook_cell", json!({ "notebook": nb, "cell": "a", "index": 1 }), From::Agent),
        ("create_notebook", json!({ "notebook": "new.ipynb" }), From::Agent),
        ("notebook", json!({ "path": nb, "action": "delete", "cell_index": 0 }), From::Agent),
        ("run_notebook_cells", json!({ "notebook": nb }), From::Agent),
        ("python", json!({ "code": "open('trace', 'w')" }), From::Agent),
        ("eval", json!({ "cells": [{ "language": "py", "code": "open('trace', 'w')" }] }), From::Agent),
    ]
}

/// The rows that the tools alone decide, by what a call amounts to.
#[test]
fn a_call_is_refused_alike_over_every_transport_and_leaves_no_trace() {
    for (mode, from) in MODES {
        let desk = Desk::with(&["x = 1", "print(x)"]);
        let before = desk.read("nb.ipynb");
        let mut refusals: Vec<Vec<(String, bool)>> = Vec::new();
        for way in WAYS {
            let mut client = Official::start(&desk, &["--mode", mode, "--standalone"], way);
            let offered = client.tools();
            let mut told = Vec::new();
            for (tool, arguments, least) in table() {
                assert_eq!(offered.iter().any(|name| name == tool), from >= least, "{tool} in {mode}");
                if from >= least {
                    continue;
                }
                let (text, failed) = client.call(tool, &arguments);
                assert!(failed && text.starts_with("Error: "), "{tool} in {mode}: {text}");
                assert!(text.to_lowercase().contains("agent mode"), "{tool} in {mode}: {text}");
                told.push((text, failed));
            }
            refusals.push(told);
        }
        assert!(refusals.windows(2).all(|pair| pair[0] == pair[1]), "{mode}: {refusals:?}");
        assert_eq!(desk.read("nb.ipynb"), before, "{mode}");
        let others: Vec<_> =
            std::fs::read_dir(desk.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(others, ["nb.ipynb"], "{mode}");
    }
}
