//! Every command of the shell, by an agent: each path that a command reads or writes is held to the table of reachable files,
//! and commands for a person alone refuse an agent.

use std::fs;

use testkit::SECRET;

use crate::desk::{Desk, Ran, notebook};

/// How a command uses the path that stands as `PATH` in its words.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Uses {
    /// It reads the file.
    Look,
    /// It writes the file.
    Change,
    /// Only a person may use the command at all.
    Person,
    /// It takes no path of a file, or a path that is not opened.
    Nothing,
}

/// All commands, with the words that lead to each path that they read or write. `ID` is an artifact.
const COMMANDS: &[(Uses, &[&str])] = &[
    (Uses::Person, &["open", "--no-browser", "PATH"]),
    (Uses::Person, &["open", "--no-browser"]),
    (Uses::Change, &["run", "PATH"]),
    (Uses::Change, &["run", "nb.ipynb", "-o", "PATH"]),
    (Uses::Look, &["run", "nb.ipynb", "--param-file", "PATH"]),
    (Uses::Look, &["run", "nb.ipynb", "--existing", "PATH"]),
    (Uses::Look, &["exec", "--file", "PATH"]),
    (Uses::Look, &["exec", "--existing", "PATH", "1"]),
    (Uses::Look, &["repl", "PATH"]),
    (Uses::Change, &["view", "PATH"]),
    (Uses::Look, &["chat", "PATH", "hello"]),
    (Uses::Nothing, &["sessions"]),
    (Uses::Change, &["artifact", "read", "ID", "-o", "PATH"]),
    (Uses::Look, &["read", "PATH"]),
    (Uses::Look, &["read", "PATH:raw"]),
    (Uses::Look, &["read", "PATH", "--standalone"]),
    (Uses::Change, &["write", "PATH", "text"]),
    (Uses::Change, &["write", "PATH:raw", "nb.ipynb"]),
    (Uses::Look, &["write", "nb.ipynb", "PATH"]),
    (Uses::Change, &["edit", "PATH", "--old", "needle", "--new", "x"]),
    (Uses::Change, &["edit", "PATH:raw", "--old", "needle", "--new", "x"]),
    (Uses::Look, &["edit", "nb.ipynb", "--old-file", "PATH", "--new", "x"]),
    (Uses::Look, &["edit", "nb.ipynb", "--old", "x = 1", "--new-file", "PATH"]),
    (Uses::Change, &["new", "PATH"]),
    (Uses::Change, &["cell", "insert", "PATH", "end", "--source", "x"]),
    (Uses::Look, &["cell", "insert", "nb.ipynb", "end", "--file", "PATH"]),
    (Uses::Change, &["cell", "edit", "PATH", "0", "--source", "x"]),
    (Uses::Look, &["cell", "edit", "nb.ipynb", "0", "--file", "PATH"]),
    (Uses::Change, &["cell", "delete", "PATH", "0"]),
    (Uses::Change, &["cell", "move", "PATH", "0", "0"]),
    (Uses::Change, &["cell", "retype", "PATH", "0", "markdown"]),
    (Uses::Change, &["cell", "clear", "PATH", "0"]),
    (Uses::Change, &["cell", "batch", "PATH", "operations"]),
    (Uses::Look, &["cell", "batch", "nb.ipynb", "PATH"]),
    (Uses::Look, &["history", "PATH"]),
    (Uses::Change, &["undo", "PATH"]),
    (Uses::Look, &["diff", "PATH", "nb.ipynb"]),
    (Uses::Look, &["diff", "nb.ipynb", "PATH"]),
    (Uses::Look, &["diff", "--driver", "nb.ipynb", "PATH", "a", "1", "/dev/null", "b", "1"]),
    (Uses::Look, &["diff", "--driver", "nb.ipynb", "nb.ipynb", "a", "1", "PATH", "b", "1"]),
    (Uses::Look, &["diff", "--textconv", "PATH"]),
    (Uses::Look, &["merge", "PATH", "nb.ipynb", "nb.ipynb"]),
    (Uses::Look, &["merge", "nb.ipynb", "PATH", "nb.ipynb"]),
    (Uses::Look, &["merge", "nb.ipynb", "nb.ipynb", "PATH"]),
    (Uses::Change, &["merge", "nb.ipynb", "nb.ipynb", "nb.ipynb", "-o", "PATH"]),
    (Uses::Look, &["merge", "--driver", "PATH", "out", "text"]),
    (Uses::Look, &["merge", "--driver", "/dev/null", "out", "PATH"]),
    (Uses::Look, &["merge", "--driver", "PATH", "copy.ipynb", "nb.ipynb"]),
    (Uses::Look, &["merge", "--driver", "/dev/null", "copy.ipynb", "PATH"]),
    (Uses::Change, &["merge", "--driver", "/dev/null", "PATH", "text"]),
    (Uses::Change, &["merge", "--driver", "nb.ipynb", "PATH", "nb.ipynb"]),
    (Uses::Person, &["git-setup"]),
    (Uses::Nothing, &["kernels"]),
    (Uses::Look, &["editor", "PATH"]),
    (Uses::Nothing, &["gateway"]),
    (Uses::Look, &["context", "--attach", "PATH", "--active", "PATH"]),
    (Uses::Look, &["prompt", "--attach", "PATH", "--active", "PATH"]),
    (Uses::Look, &["mcp", "--attach", "PATH"]),
    (Uses::Person, &["serve", "--port", "0"]),
    (Uses::Person, &["status", "--token"]),
    (Uses::Person, &["revoke", "--all"]),
    (Uses::Nothing, &["stop"]),
    (Uses::Nothing, &["settings"]),
    (Uses::Person, &["trust"]),
    (Uses::Nothing, &["doctor"]),
    (Uses::Nothing, &["completions", "bash"]),
    (Uses::Change, &["man", "--dir", "PATH"]),
];

/// A project with a secret, a state file, an excluded notebook and files that other programs run.
fn desk() -> (Desk, String) {
    let desk = Desk::unjudged();
    for name in ["nb.ipynb", "copy.ipynb"] {
        desk.write(name, notebook(&["x = 1"]));
    }
    desk.write("secret.ipynb", notebook(&[SECRET]));
    for name in [".env", ".git/config"] {
        desk.write(name, format!("KEY={SECRET}\n"));
    }
    desk.write(".github/nb.ipynb", notebook(&[SECRET]));
    desk.write("text", "# %% [code]\nx\n");
    desk.write("out", "");
    desk.write("operations", "[]");
    for (name, text) in [("keep/a.ipynb", notebook(&[SECRET])), ("log/a.log", SECRET.to_owned())] {
        let path = desk.state().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::write(desk.state().join("config.toml"), "[chat]\nexclude = [\"secret.*\"]\n").unwrap();
    let id = desk.artifact("lines", b"evil\n");
    (desk, id)
}

fn agent(desk: &Desk, words: &[String]) -> (i32, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = Ran::of(desk.command(&words).env("CELLIST_AGENT", "scribe"));
    (ran.exit, format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err))
}

/// All files and their content.
fn content(desk: &Desk) -> Vec<(String, Vec<u8>)> {
    let names = ["nb.ipynb", "copy.ipynb", "secret.ipynb", ".env", ".git/config", ".github/nb.ipynb", "out"];
    let state = ["keep/a.ipynb", "log/a.log", "config.toml"];
    let here = names.iter().map(|name| ((*name).to_owned(), desk.read(name)));
    here.chain(state.iter().map(|name| ((*name).to_owned(), fs::read(desk.state().join(name)).unwrap())))
        .collect()
}

#[test]
fn the_table_of_this_test_has_every_command() {
    let desk = Desk::new();
    let folder = desk.path().join("pages");
    let pages = desk.json(&["man", "--dir", folder.to_str().unwrap()]);
    let pages = pages["pages"].as_array().unwrap().iter().map(|page| page.as_str().unwrap());
    // The guard is hidden, and takes no path.
    let missing: Vec<&str> = pages
        .filter_map(|page| page.strip_prefix("cellist-"))
        .filter(|name| !COMMANDS.iter().any(|(_, words)| words[0] == *name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn each_path_of_each_command_is_held_to_the_table_for_an_agent() {
    let (desk, id) = desk();
    let before = content(&desk);
    let state = |name: &str| desk.state().join(name).to_str().unwrap().to_owned();
    let (kept, own) = ("is kept from models", "belongs to cellist itself");
    let never = [
        (".env".to_owned(), kept),
        ("secret.ipynb".to_owned(), kept),
        (state("keep/a.ipynb"), own),
        (state("log/a.log"), own),
    ];
    let executed = [".git/config".to_owned(), ".github/nb.ipynb".to_owned()];
    let mut failures = Vec::new();
    for (uses, words) in COMMANDS {
        let mut check = |path: &str, expected: &str| {
            let words: Vec<String> =
                words.iter().map(|word| word.replace("PATH", path).replace("ID", &id)).collect();
            let (exit, told) = agent(&desk, &words);
            if exit == 0 || !told.contains(expected) || told.contains(SECRET) {
                failures.push(format!("{words:?}: {exit} {told}"));
            }
            for (now, before) in content(&desk).iter().zip(&before) {
                assert!(now == before, "{words:?} changed {}", now.0);
            }
        };
        match uses {
            Uses::Look | Uses::Change => {
                never.iter().for_each(|(path, expected)| check(path, expected));
                if *uses == Uses::Change {
                    executed.iter().for_each(|path| check(path, "tools.allow_writes"));
                }
            }
            Uses::Person => check("nb.ipynb", "is not available to agents"),
            Uses::Nothing => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(!desk.state().join("run/host.json").exists(), "a refused command started a host");
}

#[test]
fn an_agent_is_not_told_of_an_excluded_notebook_that_a_person_has_in_front() {
    let (desk, _) = desk();
    desk.run(&["editor", "secret.ipynb", "--attach"]).ok();
    assert!(desk.run(&["context"]).ok().contains(SECRET));
    for words in [
        &["context"][..],
        &["prompt"],
        &["context", "--attach", "secret.ipynb", "--active", "secret.ipynb"],
        &["prompt", "--request", "@secret.ipynb"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (exit, told) = agent(&desk, &words);
        assert!(
            exit == 2 && told.contains("is kept from models") && !told.contains(SECRET),
            "{words:?}: {told}"
        );
    }
    desk.run(&["stop"]).ok();
}

#[test]
fn an_agent_writes_and_merges_ordinary_files() {
    let (desk, id) = desk();
    let done = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (exit, told) = agent(&desk, &words);
        assert_eq!(exit, 0, "{words:?}: {told}");
    };
    done(&["artifact", "read", &id, "-o", "all.txt"]);
    assert_eq!(desk.text("all.txt"), "evil\n");
    done(&["man", "--dir", "pages/man1"]);
    assert!(desk.path().join("pages/man1/cellist.1").exists());
    desk.write("copy.ipynb", notebook(&["x = 2"]));
    done(&["merge", "--driver", "nb.ipynb", "copy.ipynb", "nb.ipynb"]);
    desk.write("out", "one\n");
    done(&["merge", "--driver", "out", "out", "text"]);
    assert_eq!(desk.text("out"), desk.text("text"));
}
