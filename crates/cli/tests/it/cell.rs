//! `cellist cell`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::desk::Desk;

fn desk() -> Desk {
    Desk::with(&["one", "two", "three"])
}

/// Runs commands one after the other and shows all that they print.
fn told(desk: &Desk, commands: &[&[&str]]) -> String {
    let show = |command: &&[&str]| format!("$ {}\n{}", command.join(" "), desk.run(command).all());
    commands.iter().map(show).collect()
}

#[test]
fn each_operation_is_told_in_a_sentence() {
    let desk = desk();
    let told = told(
        &desk,
        &[
            &["cell", "edit", "nb.ipynb", "0", "--source", "ONE"],
            &["cell", "move", "nb.ipynb", "c", "0"],
            &["cell", "retype", "nb.ipynb", "b", "markdown"],
            &["cell", "clear", "nb.ipynb", "a"],
            &["cell", "clear", "nb.ipynb"],
            &["cell", "delete", "nb.ipynb", "-1", "0"],
            &["cell", "delete", "nb.ipynb", "--", "-1"],
        ],
    );
    assert_snapshot!(told, @r#"
    $ cell edit nb.ipynb 0 --source ONE
    Replaced the source of code cell 0 (a); the notebook has 3 cells.
    --- exit 0
    $ cell move nb.ipynb c 0
    Moved code cell (c) to 0; the notebook has 3 cells.
    --- exit 0
    $ cell retype nb.ipynb b markdown
    Made cell 2 (b) a markdown cell; the notebook has 3 cells.
    --- exit 0
    $ cell clear nb.ipynb a
    Left code cell 1 (a) unchanged: it has no outputs to clear; the notebook has 3 cells.
    --- exit 0
    $ cell clear nb.ipynb
    No cell has outputs.
    --- exit 0
    $ cell delete nb.ipynb -1 0
    Deleted markdown cell 2 (b); the notebook has 1 cell.
    Deleted code cell 0 (c); the notebook has 1 cell.
    --- exit 0
    $ cell delete nb.ipynb -- -1
    Deleted code cell 0 (a); the notebook has no cells.
    --- exit 0
    "#);
    assert_eq!(desk.sources(), Vec::<String>::new());
}

#[test]
fn each_operation_is_one_object_for_programs() {
    let desk = desk();
    let outcome = |action: &str, index: usize, id: &str, total: usize, source: &str| {
        json!({
            "action": action, "effect": if action == "clear" { "unchanged" } else { "changed" }, "cell_index": index, "cell_id": id, "cell_type": "code",
            "total_cells": total, "cell_source": source,
        })
    };
    for (command, expected) in [
        (&["edit", "nb.ipynb", "b", "--source", "TWO"][..], outcome("edit", 1, "b", 3, "TWO")),
        (&["move", "nb.ipynb", "0", "2"], outcome("move", 2, "a", 3, "one")),
        (&["clear", "nb.ipynb", "b"], outcome("clear", 0, "b", 3, "TWO")),
        (&["delete", "nb.ipynb", "-1"], outcome("delete", 2, "a", 2, "one")),
    ] {
        let Value::Object(mut told) = desk.json(&[&["cell"], command].concat()) else { panic!() };
        let revision = told.remove("revision").unwrap();
        assert_eq!(revision, desk.json(&["read", "nb.ipynb"])["revision"], "{command:?}");
        let sentence = told.remove("message").unwrap();
        assert!(sentence.as_str().unwrap().ends_with(" cells."), "{sentence}");
        for (key, value) in [("path", json!("nb.ipynb")), ("notices", json!([]))] {
            assert_eq!(told.remove(key), Some(value), "{command:?}");
        }
        assert_eq!(told.remove("written"), Some(json!(expected["effect"] == "changed")), "{command:?}");
        assert_eq!(Value::Object(told), expected, "{command:?}");
    }
    let told = desk.json(&["cell", "delete", "nb.ipynb", "0", "1"]);
    assert_eq!((&told["results"][1]["cell_source"], &told["total_cells"]), (&json!("three"), &json!(0)));
}

#[test]
fn a_new_cell_has_what_its_type_needs_and_no_more() {
    let desk = Desk::with(&[]);
    for (index, kind) in ["code", "markdown", "raw"].into_iter().enumerate() {
        let index = index.to_string();
        desk.run(&["cell", "insert", "nb.ipynb", &index, "--type", kind, "--source", "a\nb"]).ok();
    }
    let notebook: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    let shapes: Vec<Value> = (notebook["cells"].as_array().unwrap().iter().cloned())
        .map(|mut cell| {
            cell["id"] = "ID".into();
            cell
        })
        .collect();
    assert_eq!(
        json!(shapes),
        json!([
            {"cell_type": "code", "execution_count": null, "id": "ID", "metadata": {}, "outputs": [], "source": ["a\n", "b"]},
            {"cell_type": "markdown", "id": "ID", "metadata": {}, "source": ["a\n", "b"]},
            {"cell_type": "raw", "id": "ID", "metadata": {}, "source": ["a\n", "b"]},
        ])
    );
}

#[test]
fn the_source_comes_from_an_argument_a_file_or_standard_input() {
    let desk = Desk::with(&["x"]);
    desk.write("cell.py", "from a file\n");
    desk.run(&["cell", "edit", "nb.ipynb", "0", "--file", "cell.py"]).ok();
    assert_eq!(desk.sources(), ["from a file"]);
    desk.feed(&["cell", "edit", "nb.ipynb", "0"], "two newlines\n\n").ok();
    assert_eq!(desk.sources(), ["two newlines\n"], "one is the file's");
    desk.feed(&["cell", "edit", "nb.ipynb", "0", "--file", "-"], "a\r\nb\r\n").ok();
    assert_eq!(desk.sources(), ["a\r\nb"]);
    desk.run(&["cell", "edit", "nb.ipynb", "0", "--source", "exactly\n"]).ok();
    assert_eq!(desk.sources(), ["exactly\n"]);
    desk.write("empty.py", "\n");
    desk.run(&["cell", "edit", "nb.ipynb", "0", "--file", "empty.py"]).ok();
    assert_eq!(desk.sources(), [""]);
    desk.feed(&["cell", "edit", "nb.ipynb", "0"], "from\0standard\u{1b}input é").ok();
    assert_eq!(desk.sources(), ["from\0standard\u{1b}input é"]);
    desk.feed(&["cell", "insert", "nb.ipynb", "0", "--file", "-"], "piped").ok();
    desk.run(&["cell", "edit", "nb.ipynb", "1", "--source", "-1"]).ok();
    assert_eq!(desk.sources(), ["piped", "-1"]);
    desk.run(&["cell", "edit", "nb.ipynb", "1", "--source", ""]).ok();
    assert_eq!(desk.sources(), ["piped", ""]);
}

#[test]
fn missing_content_is_an_error() {
    let desk = desk();
    let told = told(
        &desk,
        &[
            &["cell", "edit", "nb.ipynb", "0"],
            &["cell", "insert", "nb.ipynb", "0"],
            &["cell", "edit", "nb.ipynb", "0", "--file", "no.py"],
            &["cell", "edit", "nb.ipynb", "0", "--source", "x", "--file", "no.py"],
        ],
    );
    assert_snapshot!(told, @r#"
    $ cell edit nb.ipynb 0
    --- stderr
    error: `edit` needs content
    hint: standard input was empty; for an empty cell, pass --source ''
    --- exit 2
    $ cell insert nb.ipynb 0
    --- stderr
    error: `insert` needs content
    hint: standard input was empty; for an empty cell, pass --source ''
    --- exit 2
    $ cell edit nb.ipynb 0 --file no.py
    --- stderr
    error: no.py: no such file
    --- exit 2
    $ cell edit nb.ipynb 0 --source x --file no.py
    --- stderr
    error: the argument '--source <TEXT>' cannot be used with '--file <FILE>'

    Usage: cellist cell edit --source <TEXT> <NB> <CELL>

    For more information, try '--help'.
    --- exit 2
    "#);
    desk.feed(&["cell", "edit", "nb.ipynb", "0"], "\n").refused(2);
    assert_eq!(desk.sources(), ["one", "two", "three"]);
}

#[test]
fn what_cannot_be_done_says_what_can() {
    let desk = desk();
    let bytes = desk.read("nb.ipynb");
    let told = told(
        &desk,
        &[
            &["cell", "edit", "nb.ipynb", "3", "--source", "x"],
            &["cell", "delete", "nb.ipynb", "-4"],
            &["cell", "delete", "nb.ipynb", "99999999999999999999"],
            &["cell", "delete", "nb.ipynb", "0", "0"],
            &["cell", "insert", "nb.ipynb", "4", "--source", "x"],
            &["cell", "insert", "nb.ipynb", "-1", "--source", "x"],
            &["cell", "insert", "nb.ipynb", "first", "--source", "x"],
            &["cell", "move", "nb.ipynb", "0", "99999999999999999999"],
            &["cell", "insert", "nb.ipynb", "0", "--type", "heading", "--source", "x"],
            &["cell", "move", "nb.ipynb", "0", "3"],
            &["cell", "move", "nb.ipynb", "0", "-1"],
            &["cell", "retype", "nb.ipynb", "0", "python"],
            &["cell", "retype", "nb.ipynb", "abc", "raw"],
            &["cell", "clear", "nb.ipynb", "0", "bb"],
            &["cell", "clear", "nb.ipynb", ""],
        ],
    );
    assert_snapshot!(told, @r#"
    $ cell edit nb.ipynb 3 --source x
    --- stderr
    error: nb.ipynb: cell 3 does not exist: the notebook has 3 cells, 0 to 2
    --- exit 2
    $ cell delete nb.ipynb -4
    --- stderr
    error: nb.ipynb: cell -4 does not exist: the notebook has 3 cells, 0 to 2
    --- exit 2
    $ cell delete nb.ipynb 99999999999999999999
    --- stderr
    error: nb.ipynb: cell 99999999999999999999 does not exist: the notebook has 3 cells, 0 to 2
    --- exit 2
    $ cell delete nb.ipynb 0 0
    --- stderr
    error: nb.ipynb: operation 1 names cell 0, which an earlier operation deletes
    --- exit 2
    $ cell insert nb.ipynb 4 --source x
    --- stderr
    error: nb.ipynb: cannot insert at 4: valid positions are 0 to 3
    --- exit 2
    $ cell insert nb.ipynb -1 --source x
    --- stderr
    error: nb.ipynb: cannot insert at -1: valid positions are 0 to 3
    --- exit 2
    $ cell insert nb.ipynb first --source x
    --- stderr
    error: invalid value 'first' for '<INDEX>': expected a whole number or `end`

    For more information, try '--help'.
    --- exit 2
    $ cell move nb.ipynb 0 99999999999999999999
    --- stderr
    error: invalid value '99999999999999999999' for '<INDEX>': the number is too large for an index

    For more information, try '--help'.
    --- exit 2
    $ cell insert nb.ipynb 0 --type heading --source x
    --- stderr
    error: invalid value 'heading' for '--type <TYPE>': `heading` is not a cell type: valid are code, markdown and raw

    For more information, try '--help'.
    --- exit 2
    $ cell move nb.ipynb 0 3
    --- stderr
    error: nb.ipynb: cannot move to 3: valid positions are 0 to 2
    --- exit 2
    $ cell move nb.ipynb 0 -1
    --- stderr
    error: nb.ipynb: cannot move to -1: valid positions are 0 to 2
    --- exit 2
    $ cell retype nb.ipynb 0 python
    --- stderr
    error: invalid value 'python' for '<TYPE>': `python` is not a cell type: valid are code, markdown and raw

    For more information, try '--help'.
    --- exit 2
    $ cell retype nb.ipynb abc raw
    --- stderr
    error: nb.ipynb: no cell has the id `abc`
    hint: a cell is named by its id or its index
    --- exit 2
    $ cell clear nb.ipynb 0 bb
    --- stderr
    error: nb.ipynb: no cell has the id `bb`
    hint: the nearest id is `b`
    --- exit 2
    $ cell clear nb.ipynb 
    --- stderr
    error: nb.ipynb: no cell has the id ``
    hint: the nearest id is `a`
    --- exit 2
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}

#[test]
fn an_empty_notebook_has_no_cell_to_change() {
    let desk = Desk::with(&[]);
    let told = told(
        &desk,
        &[
            &["cell", "edit", "nb.ipynb", "0", "--source", "x"],
            &["cell", "delete", "nb.ipynb", "-1"],
            &["cell", "insert", "nb.ipynb", "1", "--source", "x"],
            &["cell", "clear", "nb.ipynb"],
        ],
    );
    assert_snapshot!(told, @r#"
    $ cell edit nb.ipynb 0 --source x
    --- stderr
    error: nb.ipynb: cell 0 does not exist: the notebook has no cells
    --- exit 2
    $ cell delete nb.ipynb -1
    --- stderr
    error: nb.ipynb: cell -1 does not exist: the notebook has no cells
    --- exit 2
    $ cell insert nb.ipynb 1 --source x
    --- stderr
    error: nb.ipynb: cannot insert at 1: the only valid position is 0
    --- exit 2
    $ cell clear nb.ipynb
    No cell has outputs.
    --- exit 0
    "#);
}

#[test]
fn clearing_takes_outputs_and_counts_off() {
    let desk = Desk::new();
    desk.fixture("saved/jupyterlab-outputs");
    let told = desk.json(&["cell", "clear", "nb.ipynb"]);
    assert_eq!(told["results"].as_array().unwrap().len(), 5, "{told}");
    let cells = desk.json(&["read", "nb.ipynb"])["cells"].clone();
    for cell in cells.as_array().unwrap() {
        assert_eq!((&cell["has_output"], &cell["execution_count"]), (&json!(false), &json!(null)));
    }
    assert_eq!(desk.run(&["cell", "clear", "nb.ipynb"]).ok(), "No cell has outputs.\n");
}

#[test]
fn shared_ids_are_told_and_cells_are_changed_by_index() {
    let desk = Desk::unjudged();
    desk.fixture("odd/duplicate-ids");
    assert_snapshot!(desk.run(&["cell", "edit", "nb.ipynb", "same", "--source", "x"]).refused(2), @r#"
    error: nb.ipynb: the id `same` could mean any of the cells 0 and 1
    hint: name the cell by its index
    "#);
    desk.run(&["cell", "edit", "nb.ipynb", "1", "--source", "x"]).ok();
    assert_eq!(desk.sources()[1], "x");
}

#[test]
fn a_batch_is_one_change() {
    let desk = desk();
    desk.write(
        "operations.json",
        r##"[
            {"action": "edit", "cell": 0, "source": "ONE"},
            {"action": "insert", "index": 1, "type": "markdown", "content": "# between"},
            {"action": "delete", "cell": "b"},
            {"action": "move", "cell": 2, "index": 0},
            {"action": "retype", "cell": "a", "type": "raw"},
            {"action": "clear", "cell": "c"}
        ]"##,
    );
    let bytes = desk.read("nb.ipynb");
    let told = desk.run(&["cell", "batch", "nb.ipynb", "operations.json"]).ok();
    let id = desk.json(&["read", "nb.ipynb"])["cells"][2]["id"].as_str().unwrap().to_owned();
    assert_snapshot!(told.replace(&id, "ID"), @r#"
    Replaced the source of raw cell 1 (a); the notebook has 3 cells.
    Inserted markdown cell 2 (ID); the notebook has 3 cells.
    Deleted code cell 1 (b); the notebook has 3 cells.
    Moved code cell (c) to 0; the notebook has 3 cells.
    Made cell 1 (a) a raw cell; the notebook has 3 cells.
    Left code cell 0 (c) unchanged: it has no outputs to clear; the notebook has 3 cells.
    "#);
    assert_eq!(desk.sources(), ["three", "ONE", "# between"]);
    desk.write("nb.ipynb", bytes);
    let told = desk.json(&["cell", "batch", "nb.ipynb", "operations.json"]);
    assert_eq!(told["results"][2]["cell_source"], "two");
    assert_eq!((told["results"].as_array().unwrap().len(), &told["total_cells"]), (6, &json!(3)));
}

#[test]
fn a_batch_is_done_as_a_whole_or_not_at_all() {
    let desk = desk();
    let bytes = desk.read("nb.ipynb");
    let mut told = String::new();
    for operations in [
        r#"[{"action": "edit", "cell": 0, "source": "x"}, {"action": "delete", "cell": 7}]"#,
        r#"[{"action": "delete", "cell": 1}, {"action": "edit", "cell": "b", "source": "x"}]"#,
        r#"[{"action": "move", "cell": 0, "index": 1}, {"action": "move", "cell": 2, "index": 1}]"#,
        r#"[{"action": "edit", "cell": 0}]"#,
        r#"[{"action": "edit", "source": "x"}]"#,
        r#"[{"action": "insert", "source": "x"}]"#,
        r#"[{"action": "move", "cell": 0}]"#,
        r#"[{"action": "retype", "cell": 0}]"#,
        r#"[{"action": "retype", "cell": 0, "type": "heading"}]"#,
        r#"[{"action": "explode", "cell": 0}]"#,
        r#"[{"action": "clear", "cell": 0, "colour": "red"}]"#,
        r#"{"action": "clear", "cell": 0}"#,
        "[",
    ] {
        let said = desk.feed(&["cell", "batch", "nb.ipynb"], operations).refused(2);
        told.push_str(&format!("{operations}\n{said}"));
    }
    assert_snapshot!(told, @r#"
    [{"action": "edit", "cell": 0, "source": "x"}, {"action": "delete", "cell": 7}]
    error: nb.ipynb: cell 7 does not exist: the notebook has 3 cells, 0 to 2
    [{"action": "delete", "cell": 1}, {"action": "edit", "cell": "b", "source": "x"}]
    error: nb.ipynb: operation 1 names cell 1, which an earlier operation deletes
    [{"action": "move", "cell": 0, "index": 1}, {"action": "move", "cell": 2, "index": 1}]
    error: nb.ipynb: two operations move a cell to position 1
    [{"action": "edit", "cell": 0}]
    error: standard input: operation 0: `edit` needs content
    [{"action": "edit", "source": "x"}]
    error: standard input: operation 0: `edit` needs `cell`, an index or an id
    [{"action": "insert", "source": "x"}]
    error: standard input: operation 0: `insert` needs `index`
    [{"action": "move", "cell": 0}]
    error: standard input: operation 0: `move` needs `index`
    [{"action": "retype", "cell": 0}]
    error: standard input: operation 0: `retype` needs `type`: code, markdown or raw
    [{"action": "retype", "cell": 0, "type": "heading"}]
    error: standard input: operation 0: `heading` is not a cell type: valid are code, markdown and raw
    [{"action": "explode", "cell": 0}]
    error: standard input: operation 0: `explode` is not an action: valid are edit, insert, delete, move, retype and clear
    [{"action": "clear", "cell": 0, "colour": "red"}]
    error: standard input: operation 0: there is no field `colour`: valid are action, cell, index, type and source
    {"action": "clear", "cell": 0}
    error: standard input: the operations are an object, not a JSON array
    hint: one operation alone is [{"action": …}]
    [
    error: standard input: invalid JSON at line 1 column 2: the text ends where a value was expected
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
    let said = desk.feed(&["cell", "batch", "nb.ipynb", "--json"], "[").failed_json(2);
    assert_eq!(said["error"]["kind"], "invalid_operation");
    assert_eq!(desk.feed(&["cell", "batch", "nb.ipynb"], "[]").ok(), "Nothing to do.\n");
}
