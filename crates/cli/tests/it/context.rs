//! `cellist context` and `cellist prompt`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::desk::{Desk, Ran};

const OPEN: &[&str] = &["--attach", "nb.ipynb", "--active", "nb.ipynb"];

#[test]
fn a_notebook_that_is_attached_and_active_is_told() {
    let desk = Desk::with(&["x = 1", "x + 1"]);
    let told = desk.json(&[&["context"], OPEN, &["--select", "b", "--editing", "0"]].concat());
    assert_eq!(told["notebookMode"], true);
    let real = std::fs::canonicalize(desk.path().join("nb.ipynb")).unwrap();
    assert_eq!(told["uri"], format!("file://{}", real.display()));
    assert_eq!(
        (&told["kernelId"], &told["kernelLanguage"], &told["cellCount"]),
        (&Value::Null, &json!("python"), &json!(2))
    );
    let status = |cell: &Value| (cell["id"].clone(), cell["selectionStatus"].clone());
    let cells: Vec<_> = told["selectedCells"].as_array().unwrap().iter().map(status).collect();
    assert_eq!(cells, [(json!("a"), json!("active")), (json!("b"), json!("selected"))]);
    assert_eq!(told["allCells"][1]["content"], "x + 1");
}

#[test]
fn a_notebook_that_is_only_one_of_both_is_not() {
    let desk = Desk::with(&["x = 1"]);
    desk.write("other.ipynb", desk.read("nb.ipynb"));
    let off = json!({ "notebookMode": false });
    for flags in [
        &["--attach", "nb.ipynb"][..],
        &["--active", "nb.ipynb"],
        &["--attach", "nb.ipynb", "--active", "other.ipynb"],
        &["--attach", "nb.ipynb", "other.ipynb"],
        &[],
    ] {
        assert_eq!(desk.json(&[&["context"], flags].concat()), off, "{flags:?}");
        let prompt = desk.json(&[&["prompt"], flags].concat());
        assert_eq!((&prompt["notebookMode"], &prompt["prompt"]), (&json!(false), &Value::Null), "{flags:?}");
    }
    assert_snapshot!(
        desk.run(&["context", "--active", "nb.ipynb"]).ok(),
        @"Notebook mode is off: the active notebook is not attached."
    );
    let several = ["context", "--attach", "nb.ipynb", "--attach", "other.ipynb", "--active", "other.ipynb"];
    assert_eq!(desk.json(&several)["notebookMode"], true);
}

#[test]
fn what_is_not_there_is_an_error() {
    let desk = Desk::with(&["x = 1"]);
    let missing = ["context", "--attach", "no.ipynb", "--active", "nb.ipynb"];
    assert_snapshot!(desk.run(&missing).refused(2), @"error: no.ipynb: no such file");
    let mode = [&["context"], OPEN, &["--mode", "plan"]].concat();
    assert!(desk.run(&mode).refused(2).contains("\"plan\" is not a mode; use ask, edit or agent"));
    let cell = [&["context"], OPEN, &["--select", "9"]].concat();
    assert!(desk.run(&cell).refused(2).contains("cell 9 does not exist"));
}

#[test]
fn a_prompt_follows_the_mode_and_ends_with_the_notebook() {
    let desk = Desk::with(&["x = 1"]);
    for (mode, file, tools) in [("ask", "readonly", 4), ("edit", "readonly", 4), ("agent", "agent", 11)] {
        let told = desk.json(&[&["prompt"], OPEN, &["--mode", mode]].concat());
        assert_eq!(told["files"][0]["name"], format!("notebook-mode-{file}.md"));
        assert_eq!(told["files"][0]["path"], Value::Null);
        assert_eq!(told["tools"].as_array().unwrap().len(), tools);
        let prompt = told["prompt"].as_str().unwrap();
        assert!(prompt.ends_with("```python\nx = 1\n```\n"), "{prompt}");
        assert_eq!(prompt.contains("Agent mode"), mode != "agent");
    }
}

#[test]
fn a_request_attaches_notebooks_and_names_tools() {
    let desk = Desk::with(&["x = 1"]);
    let request = "run @nb.ipynb with #runNotebookCells, then #getCellOutputs";
    let prompt =
        |mode: &str| desk.json(&["prompt", "--active", "nb.ipynb", "--mode", mode, "--request", request]);
    let told = prompt("agent");
    assert_eq!(told["notebookMode"], true);
    assert_eq!(told["references"][0]["tool"], "run_notebook_cells");
    assert_eq!(told["references"][0]["note"], Value::Null);
    let told = prompt("ask");
    assert_eq!(told["references"][0]["note"], "it needs Agent mode");
    assert!(told["prompt"].as_str().unwrap().ends_with(
        "# Tools named in the message\n\n- `run_notebook_cells` (it needs Agent mode)\n- `get_cell_outputs`\n"
    ));
}

#[test]
fn a_file_of_the_users_own_takes_the_place_of_ours_and_a_broken_one_is_named() {
    let desk = Desk::with(&["x = 1"]);
    let folder = desk.state().join("prompts");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("notebook-mode-agent.md");
    std::fs::write(&file, "---\ndescription: mine\nmode: agent\norder: 1\n---\nMy way.\n").unwrap();
    let told = desk.json(&[&["prompt"], OPEN].concat());
    assert_eq!(told["files"][0]["path"], file.to_str().unwrap());
    assert!(told["prompt"].as_str().unwrap().starts_with("My way.\n\n# The notebook\n"));
    std::fs::write(&file, "My way.\n").unwrap();
    let refused = desk.run(&[&["prompt"], OPEN].concat()).refused(2);
    assert!(refused.contains("notebook-mode-agent.md: no header: the file must start with one"), "{refused}");
}

#[test]
fn what_an_editor_reports_to_the_host_is_what_is_told() {
    let desk = Desk::with(&["x = 1", "x + 1"]);
    desk.json(&["serve", "--background"]);
    assert_eq!(desk.json(&["context"]), json!({ "notebookMode": false }));
    let real = std::fs::canonicalize(desk.path().join("nb.ipynb")).unwrap();
    assert_snapshot!(
        desk.run(&["editor", "nb.ipynb", "--select", "b"]).ok(),
        @"Notebook mode is off: the active notebook is not attached."
    );
    assert_eq!(desk.json(&["context"]), json!({ "notebookMode": false }));
    let told = desk.json(&["editor", "nb.ipynb", "--select", "1", "--editing", "a", "--attach"]);
    let expected =
        json!({ "active": real, "attached": [real], "selection": { "cells": ["1"], "editing": "a" } });
    assert_eq!(told, json!({ "editor": expected, "notebookMode": true }));
    let context = desk.json(&["context"]);
    assert_eq!((&context["notebookMode"], &context["cellCount"]), (&json!(true), &json!(2)));
    assert_eq!(context["selectedCells"][0]["selectionStatus"], "active");
    assert_eq!(context["selectedCells"][1]["selectionStatus"], "selected");
    let prompt = desk.json(&["prompt", "--mode", "ask"]);
    assert_eq!(prompt["notebookMode"], true);
    assert!(prompt["prompt"].as_str().unwrap().contains("x + 1"));
    // Flags take precedence over the report, and named cells must exist.
    assert_eq!(desk.json(&["context", "--active", "nb.ipynb"]), json!({ "notebookMode": false }));
    assert!(desk.run(&["context", "--select", "9"]).refused(2).contains("cell 9 does not exist"));
    assert_eq!(desk.json(&["editor"])["notebookMode"], true);
    desk.run(&["editor", "nb.ipynb", "--detach"]).ok();
    assert_eq!(desk.json(&["editor"])["editor"]["attached"], json!([]));
    desk.run(&["editor", "--none"]).ok();
    assert_eq!(desk.json(&["editor"])["editor"]["active"], Value::Null);
    desk.run(&["stop"]).ok();
}

#[test]
fn what_is_told_has_marks_in_place_of_credentials_as_for_every_agent() {
    let token = format!("ghp_{}", "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5");
    let desk = Desk::with(&[&format!("token = '{token}'\npassword = input()  # Wint3r-is-c0ld")]);
    let told = |words: &[&str]| {
        let mut command = desk.command(&[words, OPEN].concat());
        let ran = Ran::of(command.env("SHOP_PASSWORD", "Wint3r-is-c0ld"));
        assert_eq!(ran.exit, 0, "{}", ran.err);
        ran.all()
    };
    let all = [&["context"][..], &["context", "--json"], &["prompt"], &["prompt", "--json"]];
    let check = |with: &str| {
        for words in all {
            let told = told(words);
            assert!(!told.contains(&token) && !told.contains("Wint3r"), "{with}: {words:?}: {told}");
            for mark in ["[redacted: GitHub token]", "[redacted: SHOP_PASSWORD]"] {
                assert!(told.contains(mark), "{with}: {words:?}: {told}");
            }
        }
    };
    check("no host");
    desk.json(&["serve", "--background"]);
    check("a host");
    // With redaction off, the output is that for agents.
    std::fs::write(desk.state().join("config.toml"), "[tools]\nredact = false\n").unwrap();
    for words in all {
        assert!(told(words).contains(&token), "{words:?}");
    }
    desk.run(&["stop"]).ok();
}
