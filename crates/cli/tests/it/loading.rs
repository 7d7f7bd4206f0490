//! Files that are no notebooks: each is refused with its own message, and nothing is written.

use std::fmt::Write;
use std::fs;

use insta::assert_snapshot;

use crate::desk::{Desk, Ran};

fn broken() -> Vec<String> {
    let fixtures = testkit::fixtures();
    let broken = fixtures.iter().filter(|path| path.parent().unwrap().ends_with("broken"));
    broken.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn what_the_system_says_is_told_in_plain_words() {
    let desk = Desk::with(&["x"]);
    let long = format!("{}.ipynb", "n".repeat(300));
    let mut told = String::new();
    for path in ["nb.ipynb/x.ipynb", "nb.ipynb/x.txt", ".", long.as_str()] {
        told.push_str(&desk.run(&["read", path]).refused(2).replace(&long, "LONG"));
    }
    told.push_str(&desk.run(&["write", "nb.ipynb", "nb.ipynb/text"]).refused(2));
    told.push_str(&desk.run(&["new", "nb.ipynb/x.ipynb"]).refused(2));
    assert_snapshot!(told, @r#"
    error: nb.ipynb/x.ipynb: cannot be read: a part of its path is a file, not a folder
    error: nb.ipynb/x.txt: cannot be read: a part of its path is a file, not a folder
    error: .: is a folder, not a file
    hint: name a notebook inside it
    error: LONG: cannot be read: the name is too long, or not one that a file can have
    error: nb.ipynb/text: a part of its path is a file, not a folder
    error: nb.ipynb/x.ipynb: cannot be read: a part of its path is a file, not a folder
    "#);
}

#[test]
fn every_broken_file_is_refused_in_its_own_words() {
    let desk = Desk::unjudged();
    let folder = testkit::repo_root().join("fixtures/broken");
    let mut told = String::new();
    for name in broken() {
        let mut command = desk.command(&["read", &name]);
        let said = Ran::of(command.current_dir(&folder)).refused(2);
        let mut lines = said.lines();
        let error = lines.next().unwrap().strip_prefix("error: ").unwrap();
        writeln!(told, "{error}").unwrap();
        lines.for_each(|line| writeln!(told, "    {line}").unwrap());
    }
    assert_snapshot!(told, @r#"
    bom-only.ipynb: invalid JSON at line 1 column 2: the text ends where a value was expected
    bom-twice.ipynb: invalid JSON at line 1 column 2: expected a value
    cell-array.ipynb: cell 1 is an array, not an object
    cell-null.ipynb: cell 1 is null, not an object
    cell-string.ipynb: cell 1 is a string, not an object
    cell-type-heading.ipynb: cell 1 has the unknown `cell_type` "heading"
        hint: valid types are "code", "markdown" and "raw"
    cell-type-missing.ipynb: cell 1 has no `cell_type`
        hint: valid types are "code", "markdown" and "raw"
    cell-type-number.ipynb: cell 1 has the unknown `cell_type` 1
        hint: valid types are "code", "markdown" and "raw"
    cell-type-unknown.ipynb: cell 1 has the unknown `cell_type` "sql"
        hint: valid types are "code", "markdown" and "raw"
    cell-type-upper-case.ipynb: cell 1 has the unknown `cell_type` "Code"
        hint: valid types are "code", "markdown" and "raw"
    cells-missing.ipynb: not a notebook: `cells` is missing
    cells-null.ipynb: not a notebook: `cells` is null, not an array
    cells-object.ipynb: not a notebook: `cells` is an object, not an array
    cells-string.ipynb: not a notebook: `cells` is a string, not an array
    comments.ipynb: invalid JSON at line 1 column 1: expected a value
    double-comma.ipynb: invalid JSON at line 10 column 5: expected a value
    empty-file.ipynb: invalid JSON at line 1 column 1: the text ends where a value was expected
    escape-short.ipynb: invalid JSON at line 29 column 6: expected four hexadecimal digits after '\u'
    escape-unknown.ipynb: invalid JSON at line 29 column 6: unknown escape in a string
    form-feed-between.ipynb: invalid JSON at line 53 column 13: expected a value
    merge-conflict.ipynb: invalid JSON at line 30 column 1: expected a value
    missing-colon.ipynb: invalid JSON at line 53 column 13: expected ':' after a key
    missing-comma.ipynb: invalid JSON at line 54 column 2: expected ',' or '}'
    nbformat-0.ipynb: nbformat 0 is too old: cellist reads nbformat 4
        hint: convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK
    nbformat-2.ipynb: nbformat 2 is too old: cellist reads nbformat 4
        hint: convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK
    nbformat-3-with-cells.ipynb: nbformat 3 is too old: cellist reads nbformat 4
        hint: convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK
    nbformat-3.ipynb: nbformat 3 is too old: cellist reads nbformat 4
        hint: convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK
    nbformat-5.ipynb: nbformat 5 is too new: cellist reads nbformat 4
        hint: update cellist, or save the notebook as nbformat 4 with the tool that wrote it
    nbformat-huge.ipynb: nbformat 18446744073709551615 is too new: cellist reads nbformat 4
        hint: update cellist, or save the notebook as nbformat 4 with the tool that wrote it
    nbformat-missing.ipynb: not a notebook: `nbformat` is missing
    nbformat-null.ipynb: not a notebook: `nbformat` is null, not a whole number
    nbformat-string.ipynb: not a notebook: `nbformat` is "4", not a whole number
    newline-in-string.ipynb: invalid JSON at line 29 column 11: a control character in a string must be escaped
    no-break-space.ipynb: invalid JSON at line 53 column 13: expected a value
    not-an-object-array.ipynb: not a notebook: the file holds an array, not an object
    not-an-object-nan.ipynb: not a notebook: the file holds a number, not an object
    not-an-object-null.ipynb: not a notebook: the file holds null, not an object
    not-an-object-number.ipynb: not a notebook: the file holds a number, not an object
    not-an-object-string.ipynb: not a notebook: the file holds a string, not an object
    not-utf8-cut-character.ipynb: not UTF-8: invalid byte at line 4, offset 40
    not-utf8-gzip.ipynb: not UTF-8: invalid byte at line 1, offset 1
    not-utf8-latin1.ipynb: not UTF-8: invalid byte at line 29, offset 419
    not-utf8-overlong.ipynb: not UTF-8: invalid byte at line 29, offset 419
    not-utf8-surrogate.ipynb: not UTF-8: invalid byte at line 29, offset 419
    not-utf8-utf16.ipynb: not UTF-8: invalid byte at line 1, offset 0
    nul-byte-in-string.ipynb: invalid JSON at line 29 column 7: a control character in a string must be escaped
    nul-bytes-at-end.ipynb: invalid JSON at line 56 column 1: there is more text after the end of the value
    nul-bytes-only.ipynb: invalid JSON at line 1 column 1: expected a value
    number-bare-point.ipynb: invalid JSON at line 54 column 22: expected a digit
    number-hex.ipynb: invalid JSON at line 53 column 15: expected ',' or '}'
    number-leading-zero.ipynb: invalid JSON at line 53 column 15: expected ',' or '}'
    number-plus-sign.ipynb: invalid JSON at line 53 column 14: expected a value
    single-quotes.ipynb: invalid JSON at line 1 column 2: expected a key in double quotes
    source-input.ipynb: cell 1 has no `source`
    source-list-with-list.ipynb: the `source` of cell 1 holds an array at position 1, not only strings
    source-list-with-null.ipynb: the `source` of cell 1 holds null at position 0, not only strings
    source-list-with-number.ipynb: the `source` of cell 1 holds a number at position 1, not only strings
    source-missing.ipynb: cell 1 has no `source`
    source-null.ipynb: the `source` of cell 1 is null, neither a string nor a list of strings
    source-number.ipynb: the `source` of cell 1 is a number, neither a string nor a list of strings
    source-object.ipynb: the `source` of cell 1 is an object, neither a string nor a list of strings
    tab-in-string.ipynb: invalid JSON at line 29 column 7: a control character in a string must be escaped
    trailing-comma-array.ipynb: invalid JSON at line 31 column 4: expected a value
    trailing-comma-object.ipynb: invalid JSON at line 55 column 1: expected a key in double quotes
    trailing-garbage.ipynb: invalid JSON at line 56 column 1: there is more text after the end of the value
    truncated-in-array.ipynb: invalid JSON at line 10 column 5: the text ends where a value was expected
    truncated-in-escape.ipynb: invalid JSON at line 1 column 34: expected four hexadecimal digits after '\u'
    truncated-in-string.ipynb: invalid JSON at line 29 column 5: this string has no end
    truncated-last-brace.ipynb: invalid JSON at line 54 column 21: expected ',' or '}'
    two-notebooks.ipynb: invalid JSON at line 56 column 1: there is more text after the end of the value
    unquoted-key.ipynb: invalid JSON at line 53 column 2: expected a key in double quotes
    whitespace-only.ipynb: invalid JSON at line 3 column 1: the text ends where a value was expected
    word-nan-lower.ipynb: invalid JSON at line 6 column 22: expected a value
    word-python.ipynb: invalid JSON at line 13 column 23: expected a value
    "#);
}

#[test]
fn no_command_writes_to_a_broken_file() {
    let commands: [&[&str]; 4] = [
        &["cell", "insert", "nb.ipynb", "0", "--source", "x"],
        &["cell", "clear", "nb.ipynb"],
        &["write", "nb.ipynb", "text"],
        &["edit", "nb.ipynb", "--old", "a", "--new", "b"],
    ];
    for name in broken() {
        let desk = Desk::unjudged();
        desk.write("text", "# %% [code]\nx\n");
        let bytes = desk.fixture(&format!("broken/{name}"));
        for command in commands {
            // A file without a single byte is as good as none for `write`.
            if bytes.is_empty() && command[0] == "write" {
                continue;
            }
            let said = desk.run(command).refused(2);
            assert!(said.starts_with("error: nb.ipynb: "), "{name}: {said}");
            assert_eq!(desk.read("nb.ipynb"), bytes, "{name} was changed by {command:?}");
        }
    }
}

#[test]
fn an_error_is_one_object_for_programs() {
    let desk = Desk::unjudged();
    desk.fixture("broken/nbformat-3.ipynb");
    let ran = desk.run(&["read", "nb.ipynb", "--json"]);
    assert_eq!((ran.exit, ran.err.as_str()), (2, ""));
    assert_snapshot!(String::from_utf8(ran.out).unwrap(), @r#"{"error":{"kind":"invalid_notebook","message":"nb.ipynb: nbformat 3 is too old: cellist reads nbformat 4","hint":"convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK"}}"#);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let desk = Desk::new();
    assert_snapshot!(desk.run(&["read", "no.ipynb"]).refused(2), @r#"
    error: no.ipynb: no such file
    hint: check the name, or make a notebook with `cellist new`
    "#);
    assert_snapshot!(desk.run(&["read", "no/nb.ipynb"]).refused(2), @r#"
    error: no/nb.ipynb: the folder no does not exist
    hint: make the folder first
    "#);
    assert_snapshot!(desk.run(&["cell", "clear", "no.ipynb"]).refused(2), @r#"
    error: no.ipynb: no such file
    hint: check the name, or make a notebook with `cellist new`
    "#);
    assert_snapshot!(desk.run(&["edit", "no.ipynb", "--old", "a", "--new", "b"]).refused(2), @r#"
    error: no.ipynb: no such file
    hint: check the name, or make a notebook with `cellist new`
    "#);
    assert_snapshot!(desk.run(&["diff", "no.ipynb", "no.ipynb"]).refused(2), @r#"
    error: no.ipynb: no such file
    hint: check the name, or make a notebook with `cellist new`
    "#);
    assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_is_no_notebook() {
    let desk = Desk::new();
    fs::create_dir(desk.path().join("nb.ipynb.d")).unwrap();
    assert_snapshot!(desk.run(&["read", "nb.ipynb.d"]).refused(2), @r#"
    error: nb.ipynb.d: is a folder, not a file
    hint: name a notebook inside it
    "#);
    assert_snapshot!(desk.run(&["cell", "clear", "nb.ipynb.d"]).refused(2), @r#"
    error: nb.ipynb.d: is a folder, not a file
    hint: name a notebook inside it
    "#);
}
