//! `cellist diff`.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::desk::{Desk, notebook};

fn diff(before: &[&str], after: &[&str]) -> String {
    let desk = Desk::new();
    desk.write("a.ipynb", notebook(before));
    desk.write("b.ipynb", notebook(after));
    desk.run(&["diff", "a.ipynb", "b.ipynb"]).all()
}

#[test]
fn a_changed_source_is_shown_by_line() {
    assert_snapshot!(diff(&["x = 1\ny = 2\nz = 3"], &["x = 1\ny = 20\nz = 3\n"]), @r#"
    --- a.ipynb
    +++ b.ipynb

    changed cell 0 [code] a
    @@ -1,3 +1,4 @@
     x = 1
    -y = 2
    +y = 20
     z = 3
    +
    --- exit 1
    "#);
}

#[test]
fn notebooks_that_say_the_same_have_no_difference() {
    let desk = Desk::new();
    let text = notebook(&["x = 1"]);
    desk.write("a.ipynb", &text);
    desk.write("b.ipynb", text.replace('\n', "\n  "));
    assert_eq!(desk.run(&["diff", "a.ipynb", "b.ipynb"]).ok(), "");
    assert_eq!(
        desk.json(&["diff", "a.ipynb", "b.ipynb"]),
        json!({"before": "a.ipynb", "after": "b.ipynb", "same": true, "cells": [], "notebook_keys": []})
    );
}

#[test]
fn every_kind_of_change_has_its_title() {
    let desk = Desk::new();
    desk.fixture("saved/jupyterlab-outputs");
    fs::copy(desk.path().join("nb.ipynb"), desk.path().join("old.ipynb")).unwrap();
    for command in [
        &["cell", "edit", "nb.ipynb", "1", "--source", "import sys, time\nfor n in range(5):\n    print(n)"]
            [..],
        &["cell", "move", "nb.ipynb", "0", "3"],
        &["cell", "delete", "nb.ipynb", "4"],
        &["cell", "clear", "nb.ipynb", "2"],
        &["cell", "retype", "nb.ipynb", "1", "raw"],
    ] {
        desk.run(command).ok();
    }
    let raw = desk.text("nb.ipynb").replace(
        "\"metadata\": {},\n   \"outputs\": []",
        "\"metadata\": {\"tags\": [\"x\"]},\n   \"outputs\": []",
    );
    desk.write("nb.ipynb", raw.replace("\"python3\"", "\"python4\""));
    assert_snapshot!(desk.run(&["diff", "old.ipynb", "nb.ipynb"]).all(), @r#"
    --- old.ipynb
    +++ nb.ipynb

    changed cell 1 → 0 [code] 21cd4074-8668-4ca7-9132-0283219454a9
    @@ -1,5 +1,3 @@
     import sys, time
    -for n in range(3):
    -    print(f'\r{n + 1}/3', end='')
    -print()
    -print('late', file=sys.stderr)
    +for n in range(5):
    +    print(n)

    changed cell 2 → 1 [code → raw] caa82a00-34c1-4637-a77e-78e7dba25ca8
      execution_count: removed (3)
      outputs: removed (execute_result text/html)

    changed cell 3 → 2 [code] 888886e8-6c08-4d30-9d99-c112ebfc4d6b
      execution_count: 4 → null
      metadata: tags added
      outputs: display_data image/png → none

    deleted cell 4 [code] 301ebe4d-8966-401d-b534-205213a597cd
    -{}['missing 🔑']
      outputs: error KeyError

    moved cell 0 → 3 [code] b9b45dce-f5ea-4980-97b4-ad432af32fc7

    changed cell 5 → 4 [code] bf1e622f-9a56-4958-a687-cb0da9a90b40
      metadata: tags added

    changed notebook
      metadata: kernelspec changed
    --- exit 1
    "#);
}

#[test]
fn added_and_deleted_cells_are_shown_whole() {
    assert_snapshot!(diff(&["one", "two\nlines"], &["one"]), @r#"
    --- a.ipynb
    +++ b.ipynb

    deleted cell 1 [code] b
    -two
    -lines
    --- exit 1
    "#);
    assert_snapshot!(diff(&[], &["new\ncell", ""]), @r#"
    --- a.ipynb
    +++ b.ipynb

    added cell 0 [code] a
    +new
    +cell

    added cell 1 [code] b
    --- exit 1
    "#);
}

#[test]
fn nothing_in_a_notebook_reaches_the_terminal_as_a_command() {
    let shown = diff(&["x"], &["\u{1b}]0;title\u{7}\u{9b}31m\u{202e}x\r"]);
    assert_snapshot!(shown, @r#"
    --- a.ipynb
    +++ b.ipynb

    changed cell 0 [code] a
    @@ -1 +1 @@
    -x
    +^[]0;title^G\u{9b}31m\u{202e}x^M
    --- exit 1
    "#);
}

#[test]
fn programs_get_positions_and_lines() {
    let desk = Desk::new();
    desk.write("a.ipynb", notebook(&["x = 1\ny = 2", "gone"]));
    desk.write("b.ipynb", notebook(&["x = 1\ny = 3"]));
    let ran = desk.run(&["diff", "a.ipynb", "b.ipynb", "--json"]);
    assert_eq!(ran.exit, 1);
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&ran.out).unwrap(),
        json!({
            "before": "a.ipynb", "after": "b.ipynb", "same": false, "notebook_keys": [],
            "cells": [
                {
                    "change": "changed", "cell_index": 0, "cell_index_before": 0, "cell_id": "a",
                    "cell_type": "code", "cell_type_before": "code", "moved": false, "keys": [],
                    "source": [{"before_line": 2, "before": ["y = 2"], "after_line": 2, "after": ["y = 3"]}],
                },
                {"change": "deleted", "cell_index": 1, "cell_id": "b", "cell_type": "code", "source": "gone"},
            ],
        })
    );
}

#[test]
fn a_side_that_is_missing_is_dev_null() {
    let desk = Desk::with(&["x"]);
    let shown = desk.run(&["diff", "/dev/null", "nb.ipynb"]);
    assert_eq!(shown.exit, 1);
    assert!(String::from_utf8(shown.out).unwrap().contains("added cell 0 [code] a\n+x\n"));
}
