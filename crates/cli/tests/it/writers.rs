//! Other programs write a notebook right after a command of ours: their text stays, and reading changes nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::bench::{Backend, bare_python};
use crate::desk::{Desk, Ran, notebook};

/// Everything by which a file that was touched shows.
fn state(desk: &Desk) -> (u64, SystemTime, Vec<u8>) {
    let metadata = fs::metadata(desk.path().join("nb.ipynb")).unwrap();
    (metadata.ino(), metadata.modified().unwrap(), desk.read("nb.ipynb"))
}

/// Writes into the file itself, as `cp` does.
fn write_in_place(desk: &Desk, bytes: &[u8]) {
    fs::write(desk.path().join("nb.ipynb"), bytes).unwrap();
}

/// Runs every command that only reads, and fails if one touches the file.
#[track_caller]
fn assert_readers_write_nothing(desk: &Desk) {
    let before = state(desk);
    for arguments in [
        &["read", "nb.ipynb"][..],
        &["read", "nb.ipynb", "--outputs"],
        &["read", "nb.ipynb:raw"],
        &["read", "nb.ipynb:1-2"],
        &["read", "nb.ipynb", "--json"],
        &["diff", "nb.ipynb", "nb.ipynb"],
        &["history", "nb.ipynb"],
    ] {
        assert_eq!(desk.run(arguments).exit, 0, "{arguments:?}");
        assert_eq!(state(desk), before, "{arguments:?}");
    }
}

#[test]
fn outputs_that_another_program_cleared_stay_cleared() {
    let desk = Desk::with(&["print('secret ' * 3)", "print('long ' * 40)"]);
    assert_eq!(desk.run_on(Backend::BareRunner, &["run", "nb.ipynb"]).exit, 0);
    assert!(desk.text("nb.ipynb").contains("secret secret"));
    let clear = "import json\n\
        notebook = json.load(open('nb.ipynb'))\n\
        for cell in notebook['cells']: cell['outputs'], cell['execution_count'] = [], None\n\
        json.dump(notebook, open('nb.ipynb', 'w'), indent=1)\n";
    let mut command = Command::new(bare_python());
    desk.prepare(command.args(["-c", clear]));
    assert_eq!(Ran::of(&mut command).exit, 0);
    assert_readers_write_nothing(&desk);
    let shown = desk.run(&["read", "nb.ipynb", "--outputs"]);
    assert!(!String::from_utf8(shown.out).unwrap().contains("secret secret"));
    let changed = desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "x"]);
    assert_eq!((changed.exit, &*changed.err), (0, ""));
    let text = desk.text("nb.ipynb");
    assert!(!text.contains("secret secret") && !text.contains("long long"), "{text}");
}

#[test]
fn another_notebook_that_was_copied_over_ours_is_read_and_written_as_it_is() {
    let names: Vec<_> =
        testkit::fixtures().into_iter().filter(|path| path.to_str().unwrap().contains("/valid/")).collect();
    let desk = Desk::unjudged();
    for pair in names.windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|path| fs::read(path).unwrap());
        write_in_place(&desk, &a);
        assert_eq!(desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "# t"]).exit, 0, "{pair:?}");
        write_in_place(&desk, &b);
        let read = desk.run(&["read", "nb.ipynb"]);
        let written = desk.feed(&["write", "nb.ipynb", "--json"], &read.out).json();
        assert_eq!(written["written"], false, "{pair:?}: {written}");
        assert!(desk.read("nb.ipynb") == b, "{pair:?}");
    }
}

#[test]
fn a_cell_that_a_stale_writer_dropped_comes_back_with_the_next_change_and_is_named() {
    let desk = Desk::with(&["one", "two"]);
    let read: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    let inserted = desk.json(&["cell", "insert", "nb.ipynb", "1", "--source", "ours"]);
    let mut stale = read;
    stale["cells"][1]["source"] = json!(["TWO"]);
    write_in_place(&desk, stale.to_string().as_bytes());

    assert_readers_write_nothing(&desk);
    let seen = desk.run(&["read", "nb.ipynb"]);
    assert_eq!(
        seen.err,
        "note: another program overwrote changes that it had not read, in 1 cell; the next change restores them\n"
    );
    // Positions are those of the file as it was read.
    let deleted = desk.run(&["cell", "delete", "nb.ipynb", "0"]);
    assert_eq!(desk.sources(), ["ours", "TWO"], "{inserted}");
    assert!(
        deleted.err.starts_with(
            "note: another program overwrote changes that it had not read; they are back in cell 0 ("
        ),
        "{}",
        deleted.err
    );
}

/// Another program writes `theirs` over a notebook to which we have added a cell, in place or as another file. The next
/// command adds its own cell to that and nothing else.
#[track_caller]
fn check_stands(theirs: impl Fn(&mut Value), by_rename: bool) {
    let desk = Desk::with(&["one", "two"]);
    let read: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    assert_eq!(desk.run(&["cell", "insert", "nb.ipynb", "1", "--source", "ours"]).exit, 0);
    // A program that puts another file in place may have read whatever it likes.
    let mut notebook = if by_rename { read } else { serde_json::from_slice(&desk.read("nb.ipynb")).unwrap() };
    theirs(&mut notebook);
    if by_rename {
        fs::write(desk.path().join("new"), notebook.to_string()).unwrap();
        fs::rename(desk.path().join("new"), desk.path().join("nb.ipynb")).unwrap();
    } else {
        write_in_place(&desk, notebook.to_string().as_bytes());
    }
    assert_readers_write_nothing(&desk);
    let mut expected = desk.sources();
    let changed = desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "last"]);
    assert_eq!((changed.exit, &*changed.err), (0, ""));
    expected.push("last".to_owned());
    assert_eq!(desk.sources(), expected);
}

#[test]
fn files_of_programs_that_had_read_ours_or_brought_another_file_stand() {
    let edit = |notebook: &mut Value| notebook["cells"][0]["source"] = json!(["ONE"]);
    let replace = |notebook: &mut Value| {
        for (at, cell) in notebook["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
            (cell["id"], cell["source"]) = (json!(format!("other-{at}")), json!([format!("other {at}")]));
        }
    };
    let take_one = |notebook: &mut Value| {
        let ours = notebook["cells"][1].clone();
        replace(notebook);
        notebook["cells"][2] = ours;
    };
    check_stands(edit, false);
    check_stands(edit, true);
    check_stands(replace, false);
    check_stands(replace, true);
    check_stands(take_one, false);
}

/// Runs a command under a limit on the size of files, in blocks of 512 or 1,024 bytes.
fn limited(desk: &Desk, blocks: usize, words: &str) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks}; exec {} {words}", env!("CARGO_BIN_EXE_cellist"))]);
    desk.prepare(&mut command);
    Ran::of(&mut command)
}

#[test]
fn a_limit_on_the_size_of_files_is_told_like_a_full_disk() {
    let desk = Desk::new();
    desk.write("nb.ipynb", notebook(&[&"x".repeat(200_000)]));
    let before = state(&desk);
    let refused = limited(&desk, 64, "cell insert nb.ipynb end --source new").refused(4);
    assert_eq!(
        refused,
        "error: nb.ipynb: cannot be saved: the file would be too large\nhint: the file is unchanged; raise the limit on \
         the size of files (`ulimit -f`) and try again\n"
    );
    assert_eq!(state(&desk), before);
    // A file with two names is written in place.
    fs::hard_link(desk.path().join("nb.ipynb"), desk.path().join("other.ipynb")).unwrap();
    assert!(limited(&desk, 64, "cell insert nb.ipynb end --source new").refused(4).contains("too large"));
    assert_eq!(state(&desk), before);
    let names = fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["nb.ipynb", "other.ipynb"]);
}

#[test]
fn programs_that_are_started_do_not_inherit_how_we_meet_that_limit() {
    let desk = Desk::new();
    let python = desk.write("python", "");
    let seen = desk.path().join("seen");
    let script = format!(
        "#!/bin/sh\ngrep SigIgn /proc/$$/status >> {}\nexec {} \"$@\"\n",
        seen.display(),
        bare_python().display()
    );
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let arguments =
        ["exec", "print(6 * 7)", "--standalone", "--backend", "runner", "--python", python.to_str().unwrap()];
    assert_eq!(desk.run(&arguments).out, b"42\n");
    let seen = fs::read_to_string(seen).unwrap();
    // SIGXFSZ is signal 25.
    for line in seen.lines() {
        let ignored = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(ignored & (1 << 24), 0, "{line}");
    }
    assert_ne!(seen, "");
}
