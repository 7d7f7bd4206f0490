//! The table of modes: the same call has the same result over every transport, and refused calls leave no
//! trace.

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

/// Calls that only look, which every mode carries out.
fn looks() -> Vec<(&'static str, Value)> {
    vec![
        ("get_notebook_cells", json!({ "notebook": "nb.ipynb" })),
        ("get_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": "[\"b\", 0]" })),
        ("search_notebook", json!({ "notebook": "nb.ipynb", "query": "x" })),
        ("read", json!({ "path": "nb.ipynb" })),
        ("read", json!({ "path": "nb.ipynb#a" })),
    ]
}

/// Calls of every other kind, and from which mode on they are carried out.
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
        ("undo", json!({ "notebook": nb }), From::Agent),
        ("create_notebook", json!({ "notebook": "new.ipynb" }), From::Agent),
        ("notebook", json!({ "path": nb, "action": "delete", "cell_index": 0 }), From::Agent),
        ("edit", json!({ "path": nb, "old": "x = 1", "new": "x = 2" }), From::Agent),
        ("edit", json!({ "path": "nb.ipynb:raw", "old": "x = 1", "new": "x = 2" }), From::Agent),
        ("write", json!({ "path": nb, "content": "# %% [code]\ny\n" }), From::Agent),
        ("write", json!({ "path": "new.ipynb", "content": "# %% [code]\ny\n" }), From::Agent),
        ("edit", json!({ "path": "notes.txt", "old": "one", "new": "two" }), From::Edit),
        ("write", json!({ "path": "notes.txt", "content": "two\n" }), From::Edit),
        ("run_notebook_cells", json!({ "notebook": nb }), From::Agent),
        ("python", json!({ "code": "open('trace', 'w')" }), From::Agent),
        ("bash", json!({ "command": "touch trace" }), From::Agent),
        ("eval", json!({ "cells": [{ "language": "py", "code": "open('trace', 'w')" }] }), From::Agent),
        ("notebook_kernel", json!({ "notebook": nb, "action": "restart" }), From::Agent),
        ("notebook_kernel", json!({ "notebook": nb, "action": "interrupt" }), From::Agent),
    ]
}

#[test]
fn a_call_has_the_same_fate_over_every_transport_and_a_refused_one_leaves_no_trace() {
    for (mode, from) in MODES {
        let desk = Desk::with(&["x = 1", "print(x)"]);
        let notebook = desk.read("nb.ipynb");
        let mut fates: Vec<Vec<(String, bool)>> = Vec::new();
        for way in WAYS {
            desk.write("notes.txt", "one\n");
            let words = ["--mode", mode, "--tools", "all", "--standalone"];
            let mut client = Official::start(&desk, &words, way);
            let mut told: Vec<(String, bool)> =
                looks().iter().map(|(tool, arguments)| client.call(tool, arguments)).collect();
            told.iter().for_each(|(text, failed)| assert!(!failed, "{mode}: {text}"));
            for (tool, arguments, least) in table() {
                // Access to the notebook itself is tested elsewhere.
                if from >= least && least == From::Agent {
                    continue;
                }
                let (text, failed) = client.call(tool, &arguments);
                if from >= least {
                    assert!(!failed, "{tool} in {mode}: {text}");
                    desk.write("notes.txt", "one\n");
                } else {
                    let wanted = format!("{least:?} mode");
                    assert!(failed && text.starts_with("Error: "), "{tool} in {mode}: {text}");
                    assert!(text.contains(&wanted), "{tool} in {mode}: {text}");
                }
                told.push((text, failed));
            }
            fates.push(told);
            assert_eq!(desk.text("notes.txt"), "one\n", "{mode}");
        }
        assert!(fates.windows(2).all(|pair| pair[0] == pair[1]), "{mode}: {fates:#?}");
        assert_eq!(desk.read("nb.ipynb"), notebook, "{mode}");
        let mut files: Vec<_> =
            std::fs::read_dir(desk.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["nb.ipynb", "notes.txt"], "{mode}");
    }
}
