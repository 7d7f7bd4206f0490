use std::path::Path;

use serde_json::{Value, json};

use super::desk::{BOTH, Desk, images};
use crate::bed::without_revisions;

fn file(path: &Path) -> Value {
    testkit::assert_valid(path);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Replaces times and revisions, which vary.
fn steady(text: &str) -> String {
    let words = without_revisions(text);
    let mut lines: Vec<String> = Vec::new();
    for line in words.lines() {
        match line.split_once(" · ") {
            Some((cell, how)) if cell.starts_with('[') && how.ends_with('s') => {
                let how = how.split(' ').next().unwrap_or_default();
                lines.push(format!("{cell} · {how}"));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[tokio::test]
async fn cells_run_in_order_and_their_outputs_are_in_the_file() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let path = desk.bed.notebook(
            "nb.ipynb",
            &[("a", "x = 1"), ("b", "print('hello')\nx + 1"), ("c", "y = x"), ("d", "z = y"), ("e", "w = z")],
        );
        let text = desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 600 })).await;
        let python = testkit::python("kernels");
        assert_eq!(
            steady(&text),
            format!(
                "[{backend} {}]\n[0] id=a · ok\n[1] id=b · ok\nhello\n2\ncells 2–4 · ok, no output\nRevision REV.\n5 ok",
                python.display()
            )
        );
        let saved = file(&path);
        assert_eq!(saved["cells"][1]["outputs"][0]["text"], json!(["hello\n"]));
        assert_eq!(saved["cells"][1]["execution_count"], 2);
        assert_eq!(saved["metadata"]["language_info"]["name"], "python");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn the_first_failure_ends_the_run_unless_allowed() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let path =
            desk.bed.notebook("nb.ipynb", &[("a", "x = 1"), ("b", "x / 0"), ("c", "print(x)"), ("d", "x")]);
        let run = |more: bool| json!({ "notebook": "nb.ipynb", "continue_on_error": more, "soft_wait": 600 });
        let text = desk.refused("run_notebook_cells", run(false)).await;
        assert!(
            text.starts_with("Error: nb.ipynb: cell 1 (b): ZeroDivisionError: division by zero\n"),
            "{text}"
        );
        assert!(text.ends_with("\n1 ok, 1 failed: 1; not run: 2–3"), "{text}");
        assert!(text.contains("state was kept") && text.matches("division by zero").count() == 1, "{text}");
        assert_eq!(file(&path)["cells"][1]["outputs"][0]["ename"], "ZeroDivisionError");
        let text = desk.refused("run_notebook_cells", run(true)).await;
        assert!(text.contains("[1] id=b · failed") && text.contains("[2] id=c · ok"), "{text}");
        assert!(text.ends_with("\n3 ok, 1 failed: 1"), "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_cell_is_added_changed_and_run_in_one_call() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        desk.bed.notebook("nb.ipynb", &[("a", "x = 1"), ("b", "x")]);
        desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 600 })).await;
        let changed =
            json!({ "notebook": "nb.ipynb", "cell": "a", "content": "x = 2\nprint('two')", "run": true });
        let text = desk.told("update_notebook_cell", changed).await;
        assert!(text.contains("[0] id=a · ok") && text.contains("\ntwo\n"), "{text}");
        assert!(text.contains("Cell 1 is stale.") && text.matches("Revision").count() == 1, "{text}");
        let added = json!({ "notebook": "nb.ipynb", "type": "code", "content": "x / 0", "run": true });
        let text = desk.refused("add_notebook_cell", added).await;
        assert!(text.starts_with("Error: nb.ipynb: cell 2 ("), "{text}");
        let first: Vec<&str> = text.lines().take(2).collect();
        assert!(first[1].contains("nserted") && first[1].contains('2'), "the change is told: {text}");
        let words = json!({ "notebook": "nb.ipynb", "type": "markdown", "content": "# Words", "run": true });
        let text = desk.told("add_notebook_cell", words).await;
        assert!(text.ends_with("Nothing to run: cell 3 is markdown."), "{text}");
        let nothing =
            desk.refused("run_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": [3] })).await;
        assert!(nothing.contains("nb.ipynb: nothing to run: cell 3 is markdown"), "{nothing}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn an_unchanged_output_is_one_line_and_can_still_be_read() {
    let desk = Desk::new("runner");
    let code = "import matplotlib.pyplot as plt\nfor line in range(200):\n    print('line', line)\nplt.plot([1])\nplt.show()";
    desk.bed.notebook("nb.ipynb", &[("a", code)]);
    let run = || json!({ "notebook": "nb.ipynb", "soft_wait": 600 });
    let first = desk.call("run_notebook_cells", run()).await;
    assert!(first.all_text().contains("line 150") && images(&first).len() == 1, "{}", first.all_text());
    let again = desk.call("run_notebook_cells", run()).await;
    assert!(again.all_text().contains("[Output unchanged since you last saw it]"), "{}", again.all_text());
    assert!(images(&again).is_empty() && again.all_text().len() < 300, "{}", again.all_text());
    // An agent that has not seen it gets all of it.
    let newcomer = desk.newcomer();
    let other = desk.bed.answer_to(&newcomer, "run_notebook_cells", run()).await;
    assert!(other.all_text().contains("line 150") && images(&other).len() == 1, "{}", other.all_text());
    let outputs = desk.call("get_cell_outputs", json!({ "notebook": "nb.ipynb", "cell": "a" })).await;
    let text = outputs.all_text();
    assert!(text.starts_with("[0] id=a code · In[3] · ok ") && text.contains("\nline 150\n"), "{text}");
    assert_eq!(images(&outputs).len(), 1);
    let small = json!({ "notebook": "nb.ipynb", "cell": 0, "max_output": 600 });
    let outputs = desk.call("get_cell_outputs", small).await;
    assert!(outputs.all_text().len() <= 600 && outputs.all_text().contains("[Output cut: "));
    desk.bed.close().await;
}

#[tokio::test]
async fn a_handed_over_run_still_saves_its_outputs() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let signal = desk.signal("go");
        let code = format!("print('begun', flush=True)\n{}print('done')", super::desk::waits_for(&signal));
        let path = desk.bed.notebook("nb.ipynb", &[("a", &code)]);
        let handed = desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 0 })).await;
        let id = super::desk::execution(&handed);
        std::fs::write(&signal, "").unwrap();
        let text = desk.told("wait", json!({ "execution": id, "timeout": 100 })).await;
        assert!(text.contains("begun\ndone\n"), "{text}");
        assert_eq!(file(&path)["cells"][0]["outputs"][0]["text"], json!(["begun\n", "done\n"]));
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn an_edit_runs_the_changed_cells() {
    let desk = Desk::new("runner");
    desk.bed.notebook("nb.ipynb", &[("a", "x = 1"), ("b", "print('b', x)"), ("c", "print('c', x)")]);
    desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["a"], "soft_wait": 600 }))
        .await;
    let edit = |old: &str, new: &str| json!({ "path": "nb.ipynb", "old": old, "new": new, "replace_all": true, "run": true, "soft_wait": 600 });
    let text = desk.told("edit", edit("print(", "print(10, ")).await;
    assert!(text.starts_with("Wrote nb.ipynb: changed 1 (b), 2 (c); kept 1 of 3."), "{text}");
    assert!(text.contains("10 b 1\n") && text.contains("10 c 1\n") && !text.contains("id=a"), "{text}");
    assert_eq!(text.matches("Revision").count(), 1, "{text}");
    let same = desk.told("edit", edit("print(10", "print(10")).await;
    assert!(same.ends_with("Nothing to run: no cell has changed."), "{same}");
    desk.bed.close().await;
}

#[tokio::test]
async fn all_cells_run_after_a_restart() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        desk.bed.notebook(
            "nb.ipynb",
            &[("a", "seen = 'left' in globals()\nprint('seen', seen)"), ("b", "left = 1"), ("c", "# text")],
        );
        let run = |more: Value| {
            let mut all = json!({ "notebook": "nb.ipynb", "soft_wait": 600 });
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        // Without a kernel there is nothing to restart.
        let first = desk.told("run_notebook_cells", run(json!({ "restart": true }))).await;
        assert!(first.contains("seen False") && !first.contains("restarted"), "{first}");
        let kept = desk.told("run_notebook_cells", run(json!({}))).await;
        assert!(kept.contains("seen True"), "{kept}");
        let fresh = desk.told("run_notebook_cells", run(json!({ "restart": true }))).await;
        assert!(fresh.contains("seen False") && fresh.contains("a restart was asked for"), "{fresh}");
        desk.bed.close().await;
    }
}
