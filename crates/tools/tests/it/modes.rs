//! The refusals of each mode, and that nothing changes then.

use cellist_tools::{Mode, ToolName};
use serde_json::{Value, json};

use crate::bed::Bed;

/// A call of each tool that changes or runs something, and the mode that it needs.
fn calls() -> Vec<(&'static str, Value, Mode)> {
    let nb = "nb.ipynb";
    vec![
        ("run_notebook_cells", json!({ "notebook": nb }), Mode::Agent),
        ("add_notebook_cell", json!({ "notebook": nb, "type": "code", "content": "x" }), Mode::Agent),
        ("update_notebook_cell", json!({ "notebook": nb, "cell": 0, "content": "x" }), Mode::Agent),
        (
            "update_notebook_cell",
            json!({ "notebook": nb, "cell": 0, "content": "x", "run": true }),
            Mode::Agent,
        ),
        ("delete_notebook_cells", json!({ "notebook": nb, "cells": [0] }), Mode::Agent),
        ("move_notebook_cell", json!({ "notebook": nb, "cell": 0, "index": 0 }), Mode::Agent),
        ("undo", json!({ "notebook": nb }), Mode::Agent),
        ("create_notebook", json!({ "notebook": "new.ipynb" }), Mode::Agent),
        ("notebook_kernel", json!({ "notebook": nb, "action": "interrupt" }), Mode::Agent),
        ("notebook_kernel", json!({ "notebook": nb, "action": "restart" }), Mode::Agent),
        ("notebook", json!({ "path": nb, "action": "delete", "cell_index": 0 }), Mode::Agent),
        ("edit", json!({ "path": nb, "old": "x = 1", "new": "x = 2" }), Mode::Agent),
        ("edit", json!({ "path": "nb.ipynb:raw", "old": "x = 1", "new": "x = 2" }), Mode::Agent),
        ("edit", json!({ "path": nb, "old": "x = 1", "new": "x = 2", "run": true }), Mode::Agent),
        ("edit", json!({ "path": "a.py", "old": "x = 1", "new": "x = 2" }), Mode::Edit),
        ("edit", json!({ "path": "link.py", "old": "x = 1", "new": "x = 2" }), Mode::Edit),
        ("write", json!({ "path": nb, "content": "# %% [code]\nx\n" }), Mode::Agent),
        ("write", json!({ "path": "new.ipynb", "content": "# %% [code]\nx\n" }), Mode::Agent),
        ("write", json!({ "path": "a.py", "content": "x = 2" }), Mode::Edit),
        ("python", json!({ "code": "open('made', 'w')" }), Mode::Agent),
        ("bash", json!({ "command": "touch made" }), Mode::Agent),
        ("eval", json!({ "cells": [{ "language": "py", "code": "open('made', 'w')" }] }), Mode::Agent),
    ]
}

#[tokio::test]
async fn a_refused_call_names_the_mode_and_changes_nothing() {
    let bed = Bed::new();
    let notebook = bed.notebook("nb.ipynb", &[("aa", "x = 1")]);
    let file = bed.write("a.py", "x = 1");
    std::os::unix::fs::symlink(&notebook, bed.work().join("link.py")).unwrap();
    let before = (std::fs::read(&notebook).unwrap(), std::fs::read(&file).unwrap());
    for mode in [Mode::Ask, Mode::Edit] {
        let agent = bed.also(|caller| (caller.mode, caller.tools) = (mode, cellist_tools::ToolSet::All));
        for (tool, arguments, needed) in calls() {
            // The target of a link shows only when the file is opened; before that the name counts.
            let is_link = arguments["path"] == "link.py";
            if mode == Mode::Edit && needed == Mode::Edit && !is_link {
                continue;
            }
            let answer = bed.answer_to(&agent, tool, arguments.clone()).await;
            let text = answer.all_text();
            assert!(answer.is_failure, "{mode} {tool} {arguments}: {text}");
            let needed = if is_link && mode == Mode::Edit { Mode::Agent } else { needed };
            let expected = format!("that needs {needed} mode, and only the user can switch");
            assert!(
                text.starts_with(&format!("Error: {mode} mode does not ")),
                "{mode} {tool} {arguments}: {text}"
            );
            assert!(text.ends_with(&expected), "{mode} {tool} {arguments}: {text}");
        }
    }
    assert_eq!((std::fs::read(&notebook).unwrap(), std::fs::read(&file).unwrap()), before);
    assert!(!bed.work().join("new.ipynb").exists() && !bed.work().join("made").exists());
    bed.close().await;
}

#[tokio::test]
async fn unoffered_tools_are_refused() {
    let bed = Bed::new();
    assert_eq!(
        bed.refused("bash", json!({ "command": "touch made" })).await,
        "Error: bash is not among your tools; the user can start you with `--tools all`"
    );
    let shell = bed.also(|caller| caller.tool_mode = cellist_settings::ToolMode::BashOnly);
    let answer = bed.answer_to(&shell, "python", json!({ "code": "1" })).await;
    assert_eq!(
        answer.all_text(),
        "Error: python is not among your tools: no Python was found; the user can start you with `--tools all` for a shell"
    );
    bed.close().await;
}

#[tokio::test]
async fn wrong_arguments_of_every_tool_are_refused_with_valid_ones() {
    let bed = Bed::with(|caller| caller.tools = cellist_tools::ToolSet::All);
    for tool in ToolName::ALL {
        let refused = bed.refused(tool.as_str(), json!([1])).await;
        assert_eq!(refused, "Error: the arguments must be an object", "{tool}");
        let refused = bed.refused(tool.as_str(), json!({ "colour": "red" })).await;
        let is_missing = refused.contains("is missing: it must be");
        assert!(is_missing || refused.contains("unknown argument `colour`; "), "{tool}: {refused}");
    }
    bed.close().await;
}
