use std::path::{Path, PathBuf};

use super::*;

/// A file with a path and no other facts.
fn file(path: &str) -> FileFacts {
    FileFacts { real: PathBuf::from(path), ..FileFacts::default() }
}

fn table(excluded: &[&str], allowed: &[&str]) -> FilePolicy {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    FilePolicy { excluded: list(excluded), allowed: list(allowed), ..FilePolicy::default() }
}

#[test]
fn the_table_of_decisions() {
    let executed = || Err(Denial::Executed { path: "/p/f".into() });
    let facts = |change: fn(&mut FileFacts)| {
        let mut facts = file("/p/f");
        change(&mut facts);
        facts
    };
    let others = || Err(Denial::OtherNames { path: "/p/f".into() });
    type Decided = Result<(), Denial>;
    let rows: [(FileFacts, Decided, Decided); 9] = [
        (facts(|_| {}), Ok(()), Ok(())),
        (facts(|it| it.is_state = true), Err(Denial::State), Err(Denial::State)),
        (facts(|it| it.is_system = true), Err(Denial::System), Err(Denial::System)),
        (facts(|it| it.real = "/p/.env".into()), Err(Denial::Secret), Err(Denial::Secret)),
        (facts(|it| it.also = vec!["/q/id_rsa".into()]), Err(Denial::Secret), Err(Denial::Secret)),
        (facts(|it| it.is_installed = true), Ok(()), executed()),
        (facts(|it| it.is_repository = true), Ok(()), executed()),
        (facts(|it| it.is_program = true), Ok(()), executed()),
        (facts(|it| it.has_unknown_names = true), Ok(()), others()),
    ];
    for (facts, look, change) in rows {
        assert_eq!(table(&[], &[]).decide(&facts, Use::Look, &[]), look, "{facts:?}");
        assert_eq!(table(&[], &[]).decide(&facts, Use::Change, &[]), change, "{facts:?}");
        // Consent helps where other programs run a file, and nowhere else.
        let helps = change.as_ref().err().is_none_or(|denial| denial.consent().is_some());
        for decided in [
            table(&[], &[]).decide(&facts, Use::Change, std::slice::from_ref(&facts.real)),
            table(&[], &["/p"]).decide(&facts, Use::Change, &[]),
        ] {
            assert_eq!(decided.is_ok(), helps, "{facts:?}");
        }
    }
}

#[test]
fn every_name_of_an_executed_file_needs_consent() {
    let facts = FileFacts { also: vec!["/p/.git/config".into()], ..file("/p/notes.txt") };
    let decide = |consents: &[&str]| {
        let consents: Vec<PathBuf> = consents.iter().map(PathBuf::from).collect();
        table(&[], &[]).decide(&facts, Use::Change, &consents)
    };
    let refused = Err(Denial::Executed { path: "/p/.git/config".into() });
    assert_eq!(decide(&[]), refused);
    assert_eq!(decide(&["/p/notes.txt", "/p/.git", "/p/.git/hooks"]), refused);
    assert_eq!(decide(&["/p/.git/config"]), Ok(()));
}

#[test]
fn a_setting_allows_a_file_or_all_below_a_folder() {
    let check = |allowed: &str, path: &str, expected: bool| {
        let decided = table(&[], &[allowed]).decide(&file(path), Use::Change, &[]);
        assert_eq!(decided.is_ok(), expected, "{allowed} {path}");
    };
    let workflow = "/p/.github/workflows/ci.yml";
    for allowed in [
        workflow,
        "/p/.github",
        "/p/.github/",
        "/p/.github/**",
        "/*/.github",
        "/p/.github/workflows/*.yml",
        "/p",
    ] {
        check(allowed, workflow, true);
    }
    for allowed in
        ["/q/.github", "/p/.git", "/p/.github/workflows/c", ".github", "p/.github", "*", "**", "/*/*.yml"]
    {
        check(allowed, workflow, false);
    }
    check("/p", "/p/.env", false);
}

#[test]
fn secrets_are_matched_by_name_and_by_user_patterns() {
    let check = |path: &str, patterns: &[&str], expected: bool| {
        let decided = table(patterns, &[]).decide(&file(path), Use::Look, &[]);
        assert_eq!(decided == Err(Denial::Secret), expected, "{path} {patterns:?}");
    };
    for secret in [
        "/a/.env",
        "/a/.env.local",
        "/a/prod.env",
        "/a/ID_RSA",
        "/a/server.PEM",
        "/a/.ssh/config",
        "/a/.aws/x/y",
        "/a/.cellist/config.toml",
        "/a/client_secret_12.json",
        "/a/.e\u{200b}nv",
        "/a/.env. ",
        "/h/.config/gh/hosts.yml",
        "/h/.Config/gcloud/x",
        "/etc/shadow",
        "/h/.bash_history",
    ] {
        check(secret, &[], true);
    }
    for plain in [
        "/a/nb.ipynb",
        "/a/environment.yml",
        "/a/keys.py",
        "/a/secret_santa.py",
        "/a/b.keynote",
        "/a/src/shadow/box.py",
        "/a/gh/hosts.yml",
        "/a/history.py",
    ] {
        check(plain, &[], false);
    }
    check("/a/data/patients.csv", &["patients.*"], true);
    check("/a/data/patients.csv", &["data/"], true);
    check("/a/data/sub/x.csv", &["a/data"], true);
    check("/a/b/data.csv", &["b/*.csv"], true);
    check("/a/data.csv", &["b/*.csv"], false);
    check("/state/x", &["/state"], true);
    check("/a/x?", &["x??"], false);
}

#[test]
fn code_that_a_user_runs_on_purpose_may_change() {
    for path in [
        "/p/conftest.py",
        "/p/Makefile",
        "/p/setup.py",
        "/p/package.json",
        "/p/pyproject.toml",
        "/p/Dockerfile",
        "/p/.gitattributes",
        "/p/.gitignore",
        "/p/.editorconfig",
        "/p/bin/run.sh",
        "/p/config/a.yml",
        "/p/git/config",
        "/p/CLAUDE.md",
        "/p/.claude/worktrees/one/a.py",
    ] {
        assert!(!is_executed(Path::new(path)), "{path}");
    }
    assert!(is_executed(Path::new("/p/.claude/worktrees/one/.git/config")));
    assert!(is_executed(Path::new("/p/.claude/worktrees")));
    assert!(is_executed(Path::new("/p/.GIT/config")));
}
