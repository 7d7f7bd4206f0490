//! Files that other programs run: no agent changes one without the user's consent to that file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use cellist_tools::{Agent, Mode, ToolSet};
use serde_json::{Value, json};

use crate::bed::Bed;

/// Paths in a project, or in the home folder for an agent that is started there.
const PLACES: [&str; 58] = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/info/attributes",
    ".hg/hgrc",
    ".svn/config",
    ".gitmodules",
    ".gitconfig",
    ".husky/pre-push",
    ".pre-commit-config.yaml",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".zed/tasks.json",
    "p.code-workspace",
    ".exrc",
    ".vimrc",
    ".dir-locals.el",
    ".mcp.json",
    ".cursor/mcp.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".devcontainer/devcontainer.json",
    "Jenkinsfile",
    ".envrc",
    ".venv/bin/activate",
    "venv/lib/python3.11/site-packages/a.pth",
    "lib/site-packages/module.py",
    "sitecustomize.py",
    "usercustomize.py",
    "evil.pth",
    ".pythonrc.py",
    ".pdbrc",
    ".ipython/profile_default/startup/00.py",
    "ipython_config.py",
    ".jupyter/jupyter_server_config.py",
    "jupyter_notebook_config.py",
    "share/jupyter/kernels/python3/kernel.json",
    "node_modules/a/index.js",
    ".cargo/config.toml",
    ".yarnrc.yml",
    ".gdbinit",
    ".Rprofile",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".inputrc",
    ".tmux.conf",
    ".config/autostart/a.desktop",
    ".config/systemd/user/a.service",
    ".config/git/config",
    ".local/bin/ls",
    "bare/config",
    "programs/ls",
];

/// A folder with all of these files, and an agent with all tools.
fn bed(mode: Mode) -> Bed {
    let bed = Bed::with(|caller| {
        (caller.mode, caller.tools) = (mode, ToolSet::All);
        let path = caller.cwd.join("programs");
        caller.environment.variables = vec![("PATH".into(), path.into_os_string())];
    });
    for place in PLACES {
        bed.write(place, "old");
    }
    bed.write("venv/pyvenv.cfg", "home = /usr");
    bed.write(".venv/pyvenv.cfg", "home = /usr");
    for folder in ["bare/objects", "bare/refs"] {
        fs::create_dir(bed.work().join(folder)).unwrap();
    }
    bed
}

/// Every way to change a file by a tool.
fn ways(path: &str) -> [(&'static str, Value); 3] {
    [
        ("write", json!({ "path": path, "content": "evil" })),
        ("write", json!({ "path": format!("{path}:raw"), "content": "evil" })),
        ("edit", json!({ "path": path, "old": "old", "new": "evil" })),
    ]
}

fn content(bed: &Bed, place: &str) -> String {
    fs::read_to_string(bed.work().join(place)).unwrap()
}

/// Tries every change of a file. Returns the path that needs consent.
async fn needs(bed: &Bed, agent: &Arc<Agent>, path: &str) -> String {
    let mut needed = None;
    for (tool, arguments) in ways(path) {
        let answer = bed.answer_to(agent, tool, arguments.clone()).await;
        let text = answer.all_text();
        assert!(answer.is_failure, "{tool} {arguments}: {text}");
        assert!(text.contains("needs the consent of the user, and nothing was done"), "{text}");
        assert!(text.contains("to the setting tools.allow_writes in "), "{text}");
        needed = answer.needs_consent;
    }
    needed.unwrap().into()
}

#[tokio::test]
async fn executed_files_change_only_with_consent_to_that_file() {
    for mode in [Mode::Edit, Mode::Agent] {
        let bed = bed(mode);
        let agent = bed.also(|_| {});
        for place in PLACES {
            let needed = needs(&bed, &agent, place).await;
            assert_eq!(needed, bed.work().join(place).to_str().unwrap(), "{place}");
            assert_eq!(content(&bed, place), "old", "{mode} {place}");
        }
        // Consent to one file covers neither another nor its folder.
        for place in PLACES {
            let agent = bed.also(|_| {});
            agent.consent(bed.work().join(place));
            let answer =
                bed.answer_to(&agent, "write", json!({ "path": place, "content": "consented" })).await;
            assert!(!answer.is_failure, "{place}: {}", answer.all_text());
            assert_eq!(content(&bed, place), "consented", "{place}");
            fs::write(bed.work().join(place), "old").unwrap();
            let other = PLACES.iter().find(|other| **other != place).unwrap();
            needs(&bed, &agent, other).await;
        }
        // A path that does not exist yet is no way around it.
        for place in
            [".git/hooks/post-checkout", ".vscode/launch.json", ".zshenv", "programs/cat", "bare/HEAD"]
        {
            let answer = bed.answer_to(&agent, "write", json!({ "path": place, "content": "evil" })).await;
            assert!(answer.needs_consent.is_some(), "{place}: {}", answer.all_text());
            assert!(!bed.work().join(place).exists(), "{place}");
        }
        bed.close().await;
    }
}

#[tokio::test]
async fn links_and_other_spellings_are_refused_alike() {
    let bed = bed(Mode::Edit);
    let work = bed.work();
    fs::create_dir(work.join("sub")).unwrap();
    symlink(work.join(".git"), work.join("folder")).unwrap();
    symlink(".git/config", work.join("notes.txt")).unwrap();
    symlink(work.join(".git/hooks/new-hook"), work.join("dangling.txt")).unwrap();
    fs::hard_link(work.join(".git/config"), work.join("sub/hard.txt")).unwrap();
    fs::hard_link(work.join(".bashrc"), work.join("sub/shell.txt")).unwrap();
    // A hard link with a name outside of the searched folders.
    let elsewhere = bed.scratch.write("elsewhere/startup", "old");
    fs::hard_link(&elsewhere, work.join("sub/far.txt")).unwrap();
    let absolute = work.join(".git/config");
    let agent = bed.also(|_| {});
    let paths: Vec<String> = [
        "folder/config",
        "notes.txt",
        "sub/../.git/config",
        "./.git/./config",
        ".git//config",
        "sub/hard.txt",
        "sub/shell.txt",
        "sub/far.txt",
        absolute.to_str().unwrap(),
        &format!("file://{}", absolute.display()),
        &format!("/proc/self/root{}", absolute.display()),
        &format!("/proc/{}/root{}", std::process::id(), absolute.display()),
        "file:.git/config",
        " .git/config ",
    ]
    .map(str::to_owned)
    .to_vec();
    for path in paths {
        for (tool, arguments) in ways(&path) {
            let answer = bed.answer_to(&agent, tool, arguments.clone()).await;
            assert!(answer.is_failure, "{tool} {arguments}: {}", answer.all_text());
        }
    }
    let answer = bed.answer_to(&agent, "write", json!({ "path": "dangling.txt", "content": "evil" })).await;
    assert!(answer.needs_consent.is_some(), "{}", answer.all_text());
    assert_eq!((content(&bed, ".git/config").as_str(), content(&bed, ".bashrc").as_str()), ("old", "old"));
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "old");
    assert!(!work.join(".git/hooks/new-hook").exists() && !work.join("file:.git").exists());
    // Two names in the folder are one file.
    fs::write(work.join("sub/one.txt"), "old").unwrap();
    fs::hard_link(work.join("sub/one.txt"), work.join("sub/two.txt")).unwrap();
    let answer = bed.answer_to(&agent, "write", json!({ "path": "sub/one.txt", "content": "new" })).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    assert_eq!(content(&bed, "sub/two.txt"), "new");
    bed.close().await;
}

#[tokio::test]
async fn notebooks_in_an_executed_folder_need_consent() {
    let bed = bed(Mode::Agent);
    let name = ".github/nb.ipynb";
    let path = bed.notebook(name, &[("aa", "x = 1")]);
    let before = fs::read(&path).unwrap();
    let calls = [
        ("add_notebook_cell", json!({ "notebook": name, "type": "code", "content": "evil" })),
        ("update_notebook_cell", json!({ "notebook": name, "cell": 0, "content": "evil" })),
        ("delete_notebook_cells", json!({ "notebook": name, "cells": [0] })),
        ("move_notebook_cell", json!({ "notebook": name, "cell": 0, "index": 0 })),
        ("undo", json!({ "notebook": name })),
        ("run_notebook_cells", json!({ "notebook": name })),
        ("notebook", json!({ "path": name, "action": "delete", "cell_index": 0 })),
        ("write", json!({ "path": name, "content": "# %% [code]\nevil\n" })),
        ("write", json!({ "path": format!("{name}:raw"), "content": "{}" })),
        ("edit", json!({ "path": name, "old": "x", "new": "y", "run": true })),
        ("create_notebook", json!({ "notebook": ".vscode/new.ipynb" })),
        ("write", json!({ "path": ".git/new.ipynb", "content": "# %% [code]\nevil\n" })),
    ];
    let agent = bed.also(|_| {});
    for (tool, arguments) in &calls {
        let answer = bed.answer_to(&agent, tool, arguments.clone()).await;
        assert!(answer.needs_consent.is_some(), "{tool} {arguments}: {}", answer.all_text());
    }
    // A user who has the notebook open has not consented to an agent's changes.
    let front = bed.also(|caller| caller.attached = vec![path.clone()]);
    let answer = bed.answer_to(&front, "delete_notebook_cells", json!({ "cells": [0] })).await;
    assert!(answer.needs_consent.is_some(), "{}", answer.all_text());
    assert_eq!(fs::read(&path).unwrap(), before);
    for made in [".vscode/new.ipynb", ".git/new.ipynb"] {
        assert!(!bed.work().join(made).exists());
    }
    // Reading needs no consent.
    let answer = bed.answer_to(&agent, "get_notebook_cells", json!({ "notebook": name })).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    agent.consent(PathBuf::from(&path));
    let answer = bed.answer_to(&agent, calls[1].0, calls[1].1.clone()).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    bed.close().await;
}

#[tokio::test]
async fn a_setting_allows_one_folder_only() {
    let bed = bed(Mode::Edit);
    let allowed = bed.work().join(".github").to_str().unwrap().to_owned();
    let agent = bed.also(|caller| caller.allowed = vec![format!("{allowed}/**")]);
    let workflow = json!({ "path": ".github/workflows/ci.yml", "content": "allowed" });
    let answer = bed.answer_to(&agent, "write", workflow).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    needs(&bed, &agent, ".git/config").await;
    // A link in the folder leads out of it.
    symlink(bed.work().join(".git/config"), bed.work().join(".github/link.yml")).unwrap();
    needs(&bed, &agent, ".github/link.yml").await;
    bed.close().await;
}
