//! git with our drivers: real repositories, real merges.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::desk::{Desk, Ran, notebook};

/// A repository with a notebook in it, set up to use the binary.
fn repository(sources: &[&str]) -> Desk {
    testkit::tally("git");
    let desk = Desk::with(sources);
    git(&desk, "init -q -b main").ok();
    desk.run(&["git-setup"]).ok();
    commit(&desk, "one");
    desk
}

fn git(desk: &Desk, arguments: &str) -> Ran {
    Ran::of(&mut git_command(desk, arguments))
}

fn git_command(desk: &Desk, arguments: &str) -> Command {
    let mut git = Command::new("git");
    git.args(arguments.split(' '));
    desk.prepare(&mut git);
    git.env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    git
}

fn commit(desk: &Desk, message: &str) {
    git(desk, "add -A").ok();
    git(desk, &format!("commit -q -m {message}")).ok();
}

/// Two branches, each with its own version of the notebook.
fn branches(desk: &Desk, main: &[&str], side: &[&str]) {
    git(desk, "checkout -q -b side").ok();
    desk.write("nb.ipynb", notebook(side));
    commit(desk, "side");
    git(desk, "checkout -q main").ok();
    desk.write("nb.ipynb", notebook(main));
    commit(desk, "main");
}

#[test]
fn setting_up_says_what_it_did_and_does_it_once() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["git-setup"]).refused(2), @r#"
    error: the current folder is not in a git repository
    hint: run `git init` first, or pass --global
    "#);
    git(&desk, "init -q -b main").ok();
    desk.write(".gitattributes", "*.png binary");
    let program = env!("CARGO_BIN_EXE_cellist");
    let here = desk.path().canonicalize().unwrap().display().to_string();
    let told = desk.run(&["git-setup"]).ok().replace(program, "cellist").replace(&here, "HERE");
    assert_snapshot!(told, @r#"
    Set diff.cellist.command = cellist diff --driver
    Set diff.cellist.textconv = cellist diff --textconv
    Set merge.cellist.name = notebooks by cells
    Set merge.cellist.driver = cellist merge --driver %O %A %B %L %P
    Added `*.ipynb diff=cellist merge=cellist` to HERE/.gitattributes
    "#);
    assert_eq!(desk.text(".gitattributes"), "*.png binary\n*.ipynb diff=cellist merge=cellist\n");
    let config = desk.text(".git/config");
    assert_eq!(
        desk.run(&["git-setup"]).ok(),
        "Nothing to do: git already uses cellist in this repository.\n"
    );
    assert_eq!(desk.text(".git/config"), config);
    let told = desk.run(&["git-setup", "--remove"]).ok().replace(&here, "HERE");
    assert_snapshot!(told, @r#"
    Removed diff.cellist
    Removed merge.cellist
    Removed `*.ipynb diff=cellist merge=cellist` from HERE/.gitattributes
    "#);
    assert_eq!(desk.text(".gitattributes"), "*.png binary\n");
    assert!(!desk.text(".git/config").contains("cellist"));
    let told = desk.run(&["git-setup", "--remove"]).ok();
    assert_eq!(told, "Nothing to do: git does not use cellist in this repository.\n");
}

#[test]
fn setting_up_for_the_user_works_in_every_repository() {
    let desk = Desk::with(&["one"]);
    assert!(desk.run(&["git-setup", "--global"]).ok().contains(".config/git/attributes"));
    git(&desk, "init -q -b main").ok();
    commit(&desk, "one");
    desk.write("nb.ipynb", notebook(&["two"]));
    assert!(git(&desk, "diff").ok().contains("changed cell 0 [code] a"));
    desk.run(&["git-setup", "--global", "--remove"]).ok();
    assert!(git(&desk, "diff").ok().contains("\"one\""));
}

#[test]
fn a_line_behind_ours_that_wins_is_named() {
    let desk = Desk::new();
    git(&desk, "init -q -b main").ok();
    desk.run(&["git-setup"]).ok();
    let ours = desk.text(".gitattributes");
    desk.write(".gitattributes", format!("{ours}*.ipynb diff=jupyternotebook\n"));
    let ran = desk.run(&["git-setup"]);
    assert!(ran.err.ends_with(".gitattributes:2: `*.ipynb diff=jupyternotebook` comes later and wins\n"));
}

#[test]
fn git_diff_shows_cells() {
    let desk = repository(&["one", "two"]);
    desk.write("nb.ipynb", notebook(&["one", "TWO", "three"]));
    fs::copy(desk.path().join("nb.ipynb"), desk.path().join("new.ipynb")).unwrap();
    git(&desk, "add -N new.ipynb").ok();
    assert_snapshot!(git(&desk, "diff").ok(), @r#"
    diff --cellist a/nb.ipynb b/nb.ipynb
    --- a/nb.ipynb
    +++ b/nb.ipynb

    changed cell 1 [code] b
    @@ -1 +1 @@
    -two
    +TWO

    added cell 2 [code] c
    +three
    diff --cellist a/new.ipynb b/new.ipynb
    --- /dev/null
    +++ b/new.ipynb

    added cell 0 [code] a
    +one

    added cell 1 [code] b
    +TWO

    added cell 2 [code] c
    +three
    "#);
    git(&desk, "add -A").ok();
    git(&desk, "rm -q --cached nb.ipynb").ok();
    assert!(git(&desk, "diff --cached nb.ipynb").ok().contains("deleted cell 1 [code] b\n-two\n"));
}

#[test]
fn git_diff_goes_on_where_a_side_is_no_notebook() {
    let desk = repository(&["one"]);
    let bytes = desk.read("nb.ipynb");
    desk.write("nb.ipynb", "<<<<<<< ours\n");
    let shown = git(&desk, "diff").ok();
    assert!(shown.contains("+<<<<<<< ours\n"), "{shown}");
    assert_eq!(git(&desk, "diff --no-ext-diff").exit, 0);
    desk.write("nb.ipynb", [&bytes[..], b"\n"].concat());
    assert!(git(&desk, "diff").ok().ends_with("only the formatting of the file differs\n"));
}

#[test]
fn the_log_shows_text_in_which_only_the_change_is_different() {
    let desk = repository(&["one", "two", "three"]);
    desk.run(&["cell", "delete", "nb.ipynb", "0"]).ok();
    commit(&desk, "deleted");
    let shown = git(&desk, "log -p -1 --format= nb.ipynb").ok();
    let body: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("@@")).collect();
    assert_snapshot!(body.join("\n"), @r#"
    @@ -1,5 +1,3 @@
    -# %% [code] a
    -one
     # %% [code] b
     two
     # %% [code] c
    "#);
    assert!(git(&desk, "show HEAD").ok().contains("-# %% [code] a\n-one\n"));
}

#[test]
fn a_merge_of_different_cells_is_clean() {
    let desk = repository(&["one", "two", "three\nlines"]);
    branches(&desk, &["ONE", "two", "three\nLINES"], &["one", "two", "THREE\nlines", "four"]);
    let merged = git(&desk, "merge side -m merged");
    assert_eq!(merged.exit, 0, "{}", merged.all());
    assert_eq!(desk.sources(), ["ONE", "two", "THREE\nLINES", "four"]);
}

#[test]
fn what_git_puts_there_stays_as_it_is() {
    // Our own saves of a moment ago are on another branch, and none of them comes back from there.
    let desk = repository(&["a", "b", "c"]);
    git(&desk, "checkout -q -b side").ok();
    desk.run(&["cell", "edit", "nb.ipynb", "1", "--source", "two"]).ok();
    desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "new"]).ok();
    commit(&desk, "side");
    git(&desk, "checkout -q main").ok();
    desk.run(&["cell", "edit", "nb.ipynb", "2", "--source", "one"]).ok();
    commit(&desk, "main");
    git(&desk, "checkout -q side").ok();
    let side = desk.read("nb.ipynb");
    assert_eq!(desk.run(&["read", "nb.ipynb"]).err, "");
    assert_eq!(desk.read("nb.ipynb"), side);
    git(&desk, "checkout -q main").ok();
    git(&desk, "merge -q -m both side").ok();
    let merged = desk.read("nb.ipynb");
    let read = desk.run(&["read", "nb.ipynb"]);
    assert_eq!(read.err, "");
    assert!(read.ok().contains("two") && desk.text("nb.ipynb").contains("new"));
    assert_eq!(desk.read("nb.ipynb"), merged);
    assert_eq!(git(&desk, "status --porcelain --untracked-files=no").ok(), "");
}

#[test]
fn a_conflict_leaves_a_notebook_that_opens() {
    let desk = repository(&["one", "two"]);
    branches(&desk, &["main", "two"], &["side", "TWO"]);
    let merged = git(&desk, "merge side");
    assert_eq!(merged.exit, 1, "{}", merged.all());
    assert_snapshot!(merged.err, @"note: nb.ipynb: conflict markers stand in the source of cell 0");
    assert_eq!(git(&desk, "status --short").ok(), "UU nb.ipynb\n");
    assert_eq!(desk.sources(), ["<<<<<<< ours\nmain\n=======\nside\n>>>>>>> theirs", "TWO"]);
    testkit::assert_valid(desk.path().join("nb.ipynb"));
    assert!(git(&desk, "diff").ok().contains("++<<<<<<< ours\n"));
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "both"]).ok();
    commit(&desk, "resolved");
    assert_eq!(desk.sources(), ["both", "TWO"]);
}

#[test]
fn a_notebook_that_both_sides_added_is_merged() {
    let desk = repository(&["one"]);
    git(&desk, "checkout -q -b side").ok();
    desk.write("new.ipynb", notebook(&["shared", "same\nside", "only on the side"]));
    commit(&desk, "side");
    git(&desk, "checkout -q main").ok();
    desk.write("new.ipynb", notebook(&["shared", "same\nmain"]));
    commit(&desk, "main");
    assert_eq!(git(&desk, "merge side").exit, 1);
    fs::copy(desk.path().join("new.ipynb"), desk.path().join("nb.ipynb")).unwrap();
    let sources = desk.sources();
    assert_eq!((sources[0].as_str(), sources[2].as_str()), ("shared", "only on the side"));
    assert!(sources[1].contains("main") && sources[1].contains("side"), "{sources:?}");
}

#[test]
fn a_rebase_and_a_stash_merge_by_cells_too() {
    let desk = repository(&["one", "two"]);
    branches(&desk, &["ONE", "two"], &["one", "TWO"]);
    assert_eq!(git(&desk, "rebase -q side").exit, 0);
    assert_eq!(desk.sources(), ["ONE", "TWO"]);
    desk.write("nb.ipynb", notebook(&["1", "TWO"]));
    git(&desk, "stash -q").ok();
    desk.write("nb.ipynb", notebook(&["ONE", "2"]));
    commit(&desk, "other");
    assert_eq!(git(&desk, "stash pop -q").exit, 0);
    assert_eq!(desk.sources(), ["1", "2"]);
}

/// A repository whose branch `side` has something else in the place of the notebook.
fn with_a_side_that_is_no_notebook() -> Desk {
    let desk = repository(&["one"]);
    git(&desk, "checkout -q -b side").ok();
    desk.write("nb.ipynb", "{}\n");
    commit(&desk, "side");
    git(&desk, "checkout -q main").ok();
    desk.write("nb.ipynb", notebook(&["two"]));
    commit(&desk, "main");
    desk
}

#[test]
fn a_side_that_is_no_notebook_is_merged_as_text() {
    let desk = with_a_side_that_is_no_notebook();
    assert_eq!(git(&desk, "merge side").exit, 1);
    assert!(desk.text("nb.ipynb").contains("<<<<<<< ours"));
    git(&desk, "merge --abort").ok();
    assert_eq!(desk.sources(), ["two"]);
}

#[test]
fn git_of_an_agent_merges_by_cells_and_as_text() {
    let by_agent =
        |desk: &Desk| Ran::of(git_command(desk, "merge side -m both").env("CELLIST_AGENT", "scribe"));
    let desk = repository(&["one", "two"]);
    branches(&desk, &["ONE", "two"], &["one", "TWO"]);
    let merged = by_agent(&desk);
    assert_eq!(merged.exit, 0, "{}", merged.all());
    assert_eq!(desk.sources(), ["ONE", "TWO"]);

    let desk = with_a_side_that_is_no_notebook();
    assert_eq!(by_agent(&desk).exit, 1);
    assert!(desk.text("nb.ipynb").contains("<<<<<<< ours"));
    git(&desk, "merge --abort").ok();
}
