//! The corpus is as its page describes: made by its script, and valid or invalid by nbformat as its
//! folders say.

use std::process::Command;

use testkit::{fixtures, python, repo_root, validate};

#[test]
fn nbformat_accepts_every_notebook_that_is_called_valid() {
    let folder = repo_root().join("fixtures/valid");
    let valid: Vec<_> = fixtures().into_iter().filter(|path| path.starts_with(&folder)).collect();
    assert!(!valid.is_empty());
    assert_eq!(validate(valid), []);
}

#[test]
fn the_script_makes_exactly_the_files_that_are_kept() {
    check("fixtures/make.py", &["--check"]);
}

#[test]
fn what_each_folder_promises_holds() {
    check("fixtures/tools/verify.py", &[]);
}

#[track_caller]
fn check(script: &str, arguments: &[&str]) {
    let mut command = Command::new(python("nbformat"));
    // Isolated from the user's Python settings, and without compiled files in the repository.
    command.args(["-I", "-B", "-X", "utf8"]).arg(repo_root().join(script)).args(arguments);
    let output = command.output().expect("the interpreter starts");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} ended with {}\n{said}{complained}", output.status);
}
