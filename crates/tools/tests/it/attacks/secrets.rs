//! Secrets and the state folder: no tool reads or changes them, by any path, in any mode.

use std::fs;
use std::os::unix::fs::symlink;

use cellist_tools::{Mode, ToolAnswer, ToolSet};
use serde_json::{Value, json};
use testkit::{SECRET, SECRETS, STATE_FILES};

use crate::bed::Bed;

fn notebook() -> String {
    let cell = json!({ "cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": SECRET });
    json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }).to_string()
}

/// Every call that could show or change a file.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": path })),
        ("read", json!({ "path": format!("{path}:raw") })),
        ("read", json!({ "path": format!("{path}:1-2") })),
        ("read", json!({ "path": format!("{path}#a") })),
        ("get_notebook_cells", json!({ "notebook": path })),
        ("get_cell_outputs", json!({ "notebook": path, "cell": 0 })),
        ("search_notebook", json!({ "notebook": path, "query": "needle" })),
        ("write", json!({ "path": path, "content": "changed" })),
        ("write", json!({ "path": format!("{path}:raw"), "content": "changed" })),
        ("edit", json!({ "path": path, "old": "needle", "new": "changed" })),
        ("edit", json!({ "path": format!("{path}:raw"), "old": "needle", "new": "changed" })),
        ("update_notebook_cell", json!({ "notebook": path, "cell": 0, "content": "changed" })),
        ("notebook", json!({ "path": path, "action": "delete", "cell_index": 0 })),
        ("create_notebook", json!({ "notebook": path })),
    ]
}

fn check(answer: &ToolAnswer, what: &str) {
    let text = format!("{answer:?}");
    assert!(answer.is_failure, "{what}: {text}");
    assert!(!text.contains(SECRET) && !text.contains("needle\\n"), "{what}: {text}");
    assert!(answer.needs_consent.is_none(), "{what}: nobody can consent to that: {text}");
}

/// Makes each call as an agent of each mode and tool set.
async fn attack(bed: &Bed, path: &str) {
    for mode in Mode::ALL {
        for tools in [ToolSet::Notebook, ToolSet::All] {
            // Neither consent nor a setting that allows everything helps.
            let agent = bed.also(|caller| {
                (caller.mode, caller.tools, caller.allowed) = (mode, tools, vec!["/".to_owned()]);
            });
            agent.consent(bed.work().join(path));
            for (tool, arguments) in calls(path) {
                let what = format!("{mode} {tools:?} {tool} {arguments}");
                check(&bed.answer_to(&agent, tool, arguments).await, &what);
            }
        }
    }
}

#[tokio::test]
async fn no_secret_is_read_or_changed_by_its_name() {
    let bed = Bed::new();
    for name in SECRETS {
        let path = bed.write(name, format!("KEY={SECRET}\n"));
        attack(&bed, name).await;
        assert_eq!(fs::read_to_string(path).unwrap(), format!("KEY={SECRET}\n"), "{name}");
    }
    bed.close().await;
}

#[tokio::test]
async fn no_secret_is_read_by_a_link_a_hard_link_or_another_spelling() {
    let bed = Bed::new();
    let work = bed.work();
    let secret = bed.write(".env", format!("KEY={SECRET}\n"));
    let key = bed.write("keys/id_rsa", notebook());
    symlink(&secret, work.join("e.ipynb")).unwrap();
    symlink("e.ipynb", work.join("again.ipynb")).unwrap();
    symlink(&key, work.join("k.ipynb")).unwrap();
    fs::hard_link(&secret, work.join("h.ipynb")).unwrap();
    fs::hard_link(&key, work.join("hard.txt")).unwrap();
    symlink(work.join("keys"), work.join("folder")).unwrap();
    symlink(&secret, work.join("plain.txt")).unwrap();
    let absolute = secret.to_str().unwrap().to_owned();
    let percent = format!("file://{}/%2Eenv", work.display());
    let by_root = format!("/proc/self/root{absolute}");
    for path in [
        "e.ipynb",
        "again.ipynb",
        "k.ipynb",
        "h.ipynb",
        "hard.txt",
        "folder/id_rsa",
        "plain.txt",
        "keys/../.env",
        &absolute,
        &percent,
        &by_root,
    ] {
        attack(&bed, path).await;
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), format!("KEY={SECRET}\n"));
    bed.close().await;
}

#[tokio::test]
async fn the_state_folder_is_denied_even_from_above() {
    let bed = Bed::new();
    for name in STATE_FILES {
        bed.scratch.write(&format!("home/{name}"), notebook());
    }
    let home = bed.scratch.path().join("home");
    let above = bed.scratch.path().to_owned();
    symlink(&home, above.join("linked")).unwrap();
    symlink(home.join("run/page.json"), above.join("page.ipynb")).unwrap();
    fs::hard_link(home.join("run/page.json"), above.join("hard.ipynb")).unwrap();
    fs::hard_link(home.join("config.toml"), above.join("hard.txt")).unwrap();
    let mut paths: Vec<String> = STATE_FILES.iter().map(|name| format!("home/{name}")).collect();
    paths.extend(STATE_FILES.iter().map(|name| format!("linked/{name}")));
    paths.extend(
        ["page.ipynb", "hard.ipynb", "hard.txt", "home", "home/none/x.ipynb", "home/new.ipynb"]
            .map(str::to_owned),
    );
    paths.push(format!("/proc/self/root{}/run/page.json", home.display()));
    for mode in Mode::ALL {
        for tools in [ToolSet::Notebook, ToolSet::All] {
            let agent = bed.also(|caller| {
                (caller.mode, caller.tools, caller.cwd) = (mode, tools, above.clone());
                caller.allowed = vec!["/".to_owned()];
            });
            for path in &paths {
                agent.consent(above.join(path));
                for (tool, arguments) in calls(path) {
                    let what = format!("{mode} {tools:?} {tool} {arguments}");
                    check(&bed.answer_to(&agent, tool, arguments).await, &what);
                }
            }
        }
    }
    // The answer does not disclose that a file is missing there.
    let agent = bed.also(|caller| (caller.tools, caller.cwd) = (ToolSet::All, above.clone()));
    let answer = bed.answer_to(&agent, "read", json!({ "path": "home/none/x.txt" })).await;
    assert!(answer.all_text().contains("belongs to cellist itself"), "{}", answer.all_text());
    for name in STATE_FILES {
        assert_eq!(fs::read_to_string(home.join(name)).unwrap(), notebook(), "{name}");
    }
    assert!(!home.join("new.ipynb").exists());
    bed.close().await;
}

#[tokio::test]
async fn processes_and_devices_are_denied() {
    let bed = Bed::new();
    let agent = bed.also(|caller| (caller.tools, caller.cwd) = (ToolSet::All, "/".into()));
    let own = std::process::id();
    for path in [
        "/proc/self/environ",
        "/proc/self/cmdline",
        "/proc/self/maps",
        "/proc/self/fd/0",
        &format!("/proc/{own}/environ"),
        &format!("/proc/{own}/cmdline"),
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/zero",
        "/sys/kernel/notes",
        "/proc/1/environ",
        "proc/version",
    ] {
        for (tool, arguments) in calls(path) {
            let what = format!("{tool} {arguments}");
            check(&bed.answer_to(&agent, tool, arguments).await, &what);
        }
    }
    bed.close().await;
}

#[tokio::test]
async fn excluded_notebooks_are_refused_even_when_active() {
    let bed = Bed::with(|caller| caller.excluded = vec!["patients*".to_owned()]);
    let path = bed.write("patients.ipynb", notebook());
    let attached = bed.also(|caller| caller.attached = vec![path.clone()]);
    for (tool, arguments) in [
        ("get_notebook_cells", json!({})),
        ("search_notebook", json!({ "query": "needle" })),
        ("run_notebook_cells", json!({})),
        ("delete_notebook_cells", json!({ "cells": [0] })),
    ] {
        check(&bed.answer_to(&attached, tool, arguments).await, tool);
    }
    bed.report(cellist_tools::EditorState {
        active: Some(path.clone()),
        attached: vec![path.clone()],
        ..Default::default()
    });
    check(&bed.answer("get_notebook_cells", json!({})).await, "active");
    bed.close().await;
}
