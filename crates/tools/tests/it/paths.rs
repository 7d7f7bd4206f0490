//! The notebook of a call, and the files that an agent may use.

use cellist_tools::redaction::Redaction;
use cellist_tools::{EditorSelection, EditorState};
use serde_json::json;

use crate::bed::Bed;

#[tokio::test]
async fn files_outside_the_agents_folders_are_refused_by_any_path() {
    let bed = Bed::with(|caller| caller.roots = vec![caller.cwd.parent().unwrap().join("data")]);
    let outside = bed
        .scratch
        .write("outside.ipynb", r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    bed.scratch.write("data/in.ipynb", std::fs::read(&outside).unwrap());
    std::os::unix::fs::symlink(&outside, bed.work().join("link.ipynb")).unwrap();
    std::os::unix::fs::symlink(bed.scratch.path(), bed.work().join("up")).unwrap();
    let refused = async |path: &str| bed.refused("get_notebook_cells", json!({ "notebook": path })).await;
    assert_eq!(
        refused("../outside.ipynb").await,
        "Error: ../outside.ipynb: is outside your folders, /SCRATCH/desk, /SCRATCH/data; only the user can \
         add one, with the setting tools.roots"
    );
    for path in [
        outside.to_str().unwrap(),
        "link.ipynb",
        "up/outside.ipynb",
        "up/data/../outside.ipynb",
        "../nowhere/new.ipynb",
    ] {
        assert!(refused(path).await.contains("is outside your folders"), "{path}");
    }
    assert!(refused("nowhere/new.ipynb").await.contains("make the folder first"));
    for path in ["../data/in.ipynb", "up/data/in.ipynb"] {
        bed.told("get_notebook_cells", json!({ "notebook": path })).await;
    }
    bed.close().await;
}

#[tokio::test]
async fn a_file_that_is_not_a_notebook_is_refused_with_its_path() {
    let bed = Bed::new();
    std::fs::create_dir(bed.work().join("folder.ipynb")).unwrap();
    bed.write("broken.ipynb", "{");
    bed.write("a.py", "");
    let refused = async |path: &str| bed.refused("get_notebook_cells", json!({ "notebook": path })).await;
    assert_eq!(
        refused("folder.ipynb").await,
        "Error: folder.ipynb: is a folder, not a file; name a notebook inside it"
    );
    assert_eq!(refused("a.py").await, "Error: a.py: is not a notebook: the name must end in .ipynb");
    assert_eq!(refused(".").await, "Error: /SCRATCH/desk/.: is not a notebook: the name must end in .ipynb");
    assert!(
        refused("none.ipynb").await.starts_with("Error: none.ipynb: no such file"),
        "{}",
        refused("none.ipynb").await
    );
    assert!(
        refused("no/nb.ipynb").await.starts_with("Error: no/nb.ipynb: the folder "),
        "{}",
        refused("no/nb.ipynb").await
    );
    assert!(refused("broken.ipynb").await.starts_with("Error: broken.ipynb: invalid JSON at line 1"));
    assert_eq!(refused("").await, "Error: the path is empty: give a file");
    assert!(refused("a\0b.ipynb").await.starts_with("Error: a\0b.ipynb: "));
    bed.close().await;
}

#[tokio::test]
async fn a_file_uri_is_a_path() {
    let bed = Bed::new();
    bed.notebook("a b.ipynb", &[]);
    let uri = format!("file://{}/a%20b.ipynb", bed.work().display());
    let told = bed.told("get_notebook_cells", json!({ "notebook": uri })).await;
    assert!(told.starts_with("a b.ipynb · no cells"), "{told}");
    bed.close().await;
}

#[tokio::test]
async fn the_active_notebook_is_the_default() {
    let bed = Bed::new();
    let (one, two) = (bed.notebook("one.ipynb", &[("a", "1")]), bed.notebook("two.ipynb", &[("b", "2")]));
    let none = "Error: No active notebook found: pass `notebook`";
    for tool in ["get_notebook_cells", "get_cell_outputs", "update_notebook_cell", "delete_notebook_cells"] {
        let arguments = match tool {
            "get_notebook_cells" => json!({}),
            "get_cell_outputs" => json!({ "cell": 0 }),
            "update_notebook_cell" => json!({ "cell": 0, "content": "" }),
            _ => json!({ "cells": [0] }),
        };
        if tool != "get_cell_outputs" {
            assert_eq!(bed.refused(tool, arguments).await, none);
        }
    }
    // Active alone is not enough.
    bed.report(EditorState { active: Some(one.clone()), ..EditorState::default() });
    assert_eq!(bed.refused("get_notebook_cells", json!({})).await, none);
    let both = EditorState {
        active: Some(one.clone()),
        attached: vec![one.clone(), two.clone()],
        ..EditorState::default()
    };
    bed.report(both);
    assert!(bed.told("get_notebook_cells", json!({})).await.starts_with("one.ipynb"));
    // The notebook attached at the start.
    bed.report(EditorState::default());
    let started = bed.also(|caller| caller.attached = vec![two.clone()]);
    let answer = bed.answer_to(&started, "get_notebook_cells", json!({})).await;
    assert!(answer.all_text().starts_with("two.ipynb"), "{}", answer.all_text());
    let several = bed.also(|caller| caller.attached = vec![one.clone(), two.clone()]);
    assert_eq!(bed.answer_to(&several, "get_notebook_cells", json!({})).await.all_text(), none);
    bed.close().await;
}

#[tokio::test]
async fn an_agent_that_needs_an_active_notebook_gets_no_other() {
    let bed = Bed::with(|caller| caller.requires_active = true);
    let (one, two) = (bed.notebook("one.ipynb", &[("a", "1")]), bed.notebook("two.ipynb", &[]));
    let refused = async |arguments| bed.refused("get_notebook_cells", arguments).await;
    assert_eq!(
        refused(json!({})).await,
        "Error: No active notebook found: one must be attached and in the active editor"
    );
    let named = || json!({ "notebook": "one.ipynb" });
    assert_eq!(
        refused(named()).await,
        "Error: one.ipynb: is neither attached nor in the active editor; both are required"
    );
    bed.report(EditorState { active: Some(one.clone()), ..EditorState::default() });
    assert_eq!(
        refused(named()).await,
        "Error: one.ipynb: is in the active editor, but not attached; both are required"
    );
    bed.report(EditorState { active: Some(two), attached: vec![one.clone()], ..EditorState::default() });
    assert_eq!(
        refused(named()).await,
        "Error: one.ipynb: is attached, but not in the active editor; both are required"
    );
    bed.report(EditorState { active: Some(one.clone()), attached: vec![one], ..EditorState::default() });
    bed.told("get_notebook_cells", named()).await;
    bed.told("get_notebook_cells", json!({})).await;
    bed.close().await;
}

#[tokio::test]
async fn the_context_leaves_out_deleted_selected_cells() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", &[("aa", "1"), ("bb", "2")]);
    let selection =
        EditorSelection { cells: vec!["bb".to_owned(), "gone".to_owned()], editing: Some("9".to_owned()) };
    bed.report(EditorState { active: Some(path.clone()), attached: vec![path], selection });
    let context = bed.toolbox.context(&bed.toolbox.editor(), &Redaction::default()).await.unwrap().unwrap();
    let selected: Vec<&str> = context.selected_cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!((selected, context.kernel_id), (vec!["bb"], None));
    bed.report(EditorState::default());
    assert_eq!(bed.toolbox.context(&bed.toolbox.editor(), &Redaction::default()).await.unwrap(), None);
    bed.close().await;
}
