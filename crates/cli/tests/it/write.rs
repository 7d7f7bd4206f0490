//! `cellist write`.

use insta::assert_snapshot;
use serde_json::json;

use crate::desk::{Desk, notebook};

#[test]
fn the_result_says_what_became_of_each_cell() {
    let desk = Desk::with(&["one", "two", "three", "four", "five"]);
    let text = "# %% [code] cell:4\nfive\n# %% [code] cell:0\none\n# %% [markdown]\nNew.\n# %% [code] cell:1\nTWO\n\
                # %% [code] cell:2\nthree\n";
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], text).all(), @r#"
    Wrote nb.ipynb: 5 cells
      kept     0, 1, 4
      changed  3
      added    2
      moved    0
      deleted  3
    --- exit 0
    "#);
    assert_eq!(desk.sources(), ["five", "one", "New.", "TWO", "three"]);
}

#[test]
fn programs_are_told_positions() {
    let desk = Desk::with(&["one", "two", "three"]);
    let text = "# %% [code] cell:2\nthree\n# %% [raw] cell:0\none\n# %% [code]\nnew\n";
    let told = desk.feed(&["write", "nb.ipynb", "--json"], text).json();
    assert_eq!(
        told,
        json!({
            "path": "nb.ipynb", "revision": desk.revision(), "written": true, "total_cells": 3,
            "kept": [0], "changed": [1], "added": [2], "moved": [0], "deleted": [1], "notices": [],
        })
    );
}

#[test]
fn only_the_lines_of_the_edited_source_change() {
    let desk = Desk::new();
    let before = String::from_utf8(desk.fixture("valid/numbers-spelling")).unwrap();
    let text = desk.run(&["read", "nb.ipynb"]).ok();
    let line = text.lines().nth(1).unwrap();
    desk.feed(&["write", "nb.ipynb"], text.replacen(line, "changed = True", 1)).ok();
    let after = desk.text("nb.ipynb");
    let changed: Vec<(&str, &str)> =
        before.lines().zip(after.lines()).filter(|(before, after)| before != after).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert!(changed[0].1.contains("changed = True"), "{changed:?}");
    assert_eq!(before.lines().count(), after.lines().count());
}

#[test]
fn a_notebook_that_does_not_exist_is_made() {
    let desk = Desk::new();
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], "# %% [markdown]\n# Title\n").ok(), @r#"
    Wrote nb.ipynb: 1 cell
      added    0
    "#);
    let id = desk.json(&["read", "nb.ipynb"])["cells"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 8);
    assert_snapshot!(desk.text("nb.ipynb").replace(&id, "ID"), @r##"
    {
     "cells": [
      {
       "cell_type": "markdown",
       "id": "ID",
       "metadata": {},
       "source": [
        "# Title"
       ]
      }
     ],
     "metadata": {},
     "nbformat": 4,
     "nbformat_minor": 5
    }
    "##);
}

#[test]
fn text_comes_from_a_file_or_from_standard_input() {
    let desk = Desk::new();
    desk.write("text", "# %% [code]\nfrom a file\n");
    desk.run(&["write", "nb.ipynb", "text"]).ok();
    assert_eq!(desk.sources(), ["from a file"]);
    desk.feed(&["write", "nb.ipynb", "-"], "# %% [code] cell:0\nfrom standard input\n").ok();
    assert_eq!(desk.sources(), ["from standard input"]);
    assert_snapshot!(desk.run(&["write", "nb.ipynb", "no-text"]).refused(2), @"error: no-text: no such file");
}

#[test]
fn empty_text_is_for_notebooks_without_cells() {
    let desk = Desk::with(&["x"]);
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], "").refused(2), @r#"
    error: nb.ipynb: the text is empty, but the notebook has 1 cell
    hint: to empty a notebook, delete its cells
    "#);
    assert_eq!(desk.feed(&["write", "new.ipynb"], "").ok(), "Wrote new.ipynb: 0 cells\n");
    assert_eq!(desk.feed(&["write", "new.ipynb"], "").ok(), "new.ipynb is unchanged: 0 cells\n");
}

#[test]
fn text_that_is_not_cell_marked_is_refused_with_its_line() {
    let desk = Desk::with(&["x"]);
    let bytes = desk.read("nb.ipynb");
    let mut told = String::new();
    for text in [
        "x = 1\n",
        "\n# %% [code]\n",
        "#%% [code]\n",
        "# %% [cod] cell:0\nx\n",
        "# %% [code] cell:0\nx\n# %% [Markdown]\n",
        "# %% [code] cell:x\n",
        "# %% [code]cell:0\n",
        "# %% [md]\n",
        "# %% [\n",
    ] {
        let said = desk.feed(&["write", "nb.ipynb"], text).refused(2);
        told.push_str(&format!("{text:?}\n{said}"));
    }
    assert_snapshot!(told, @r##"
    "x = 1\n"
    error: standard input: line 1: the text must begin with a cell marker, not `x = 1`
    hint: begin with `# %% [code]`
    "\n# %% [code]\n"
    error: standard input: line 1: the text must begin with a cell marker, not a blank line
    hint: begin with `# %% [code]`
    "#%% [code]\n"
    error: standard input: line 1: the text must begin with a cell marker, not `#%% [code]`
    hint: begin with `# %% [code]`
    "# %% [cod] cell:0\nx\n"
    error: standard input: line 1: `# %% [cod] cell:0` is not a cell marker
    hint: the nearest valid form is `# %% [code] cell:0`; to keep the line as source, write one more `%`
    "# %% [code] cell:0\nx\n# %% [Markdown]\n"
    error: standard input: line 3: `# %% [Markdown]` is not a cell marker
    hint: the nearest valid form is `# %% [markdown]`; to keep the line as source, write one more `%`
    "# %% [code] cell:x\n"
    error: standard input: line 1: `# %% [code] cell:x` is not a cell marker
    hint: the nearest valid form is `# %% [code]`; to keep the line as source, write one more `%`
    "# %% [code]cell:0\n"
    error: standard input: line 1: `# %% [code]cell:0` is not a cell marker
    hint: the nearest valid form is `# %% [code] cell:0`; to keep the line as source, write one more `%`
    "# %% [md]\n"
    error: standard input: line 1: `# %% [md]` is not a cell marker
    hint: the nearest valid form is `# %% [markdown]`; to keep the line as source, write one more `%`
    "# %% [\n"
    error: standard input: line 1: `# %% [` is not a cell marker
    hint: the nearest valid form is `# %% [code]`; to keep the line as source, write one more `%`
    "##);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}

#[test]
fn markers_that_name_no_free_cell_make_new_ones_and_the_result_says_so() {
    let desk = Desk::with(&["x"]);
    let text = "# %% [code] cell:0\nx\n# %% [code] cell:0\nagain\n# %% [code] cell:7\nbeyond\n";
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], text).all(), @r#"
    Wrote nb.ipynb: 3 cells
      kept     0
      added    1, 2
    --- stderr
    note: line 3: an earlier marker has cell:0, so this is a new cell
    note: line 5: there is no cell:7, so this is a new cell
    --- exit 0
    "#);
    assert_eq!(desk.sources(), ["x", "again", "beyond"]);
}

#[test]
fn lines_that_resemble_markers_are_kept_and_named() {
    let desk = Desk::with(&["x"]);
    let text = "\u{feff}# %% [code] cell:0\n#%% a cell elsewhere\n# %% another\n# %%% [code]\n # %% [raw]\n";
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], text).all(), @r#"
    Wrote nb.ipynb: 1 cell
      changed  0
    --- stderr
    note: line 2: `#%% a cell elsewhere` is kept as source; a marker is `# %% [code]`
    note: line 3: `# %% another` is kept as source; a marker is `# %% [code]`
    note: line 5: `# %% [raw]` is kept as source, since blanks stand before it
    --- exit 0
    "#);
    assert_eq!(desk.sources(), ["#%% a cell elsewhere\n# %% another\n# %% [code]\n # %% [raw]"]);
}

#[test]
fn text_with_crlf_throughout_does_not_change_the_cells() {
    let desk = Desk::with(&["x = 1\ny = 2"]);
    let text = desk.run(&["read", "nb.ipynb"]).ok().replace('\n', "\r\n");
    assert_eq!(desk.feed(&["write", "nb.ipynb"], text).ok(), "nb.ipynb is unchanged: 1 cell\n");
}

#[test]
fn raw_takes_json_that_is_a_notebook() {
    let desk = Desk::with(&["x"]);
    let json = notebook(&["y", "z"]);
    assert_eq!(desk.feed(&["write", "nb.ipynb:raw"], &json).ok(), "Wrote nb.ipynb: 2 cells\n");
    assert_eq!(desk.text("nb.ipynb"), json);
    let bad = json.replace("\"nbformat\": 4", "\"nbformat\": 3");
    assert_snapshot!(desk.feed(&["write", "nb.ipynb:raw"], bad).refused(2), @r#"
    error: standard input: nbformat 3 is too old: cellist reads nbformat 4
    hint: convert it first: jupyter nbconvert --to notebook --nbformat 4 --inplace NOTEBOOK
    "#);
    assert_snapshot!(desk.feed(&["write", "nb.ipynb:raw"], "{\n").refused(2), @"error: standard input: invalid JSON at line 2 column 1: expected a key in double quotes");
    desk.write("bad.json", "[]");
    assert_snapshot!(desk.run(&["write", "nb.ipynb:raw", "bad.json"]).refused(2), @"error: bad.json: not a notebook: the file holds an array, not an object");
    assert_eq!(desk.text("nb.ipynb"), json);
}

#[test]
fn a_name_that_is_no_notebooks_is_not_made_into_one() {
    let desk = Desk::new();
    assert_snapshot!(desk.feed(&["write", "nb.txt"], "# %% [code]\nx\n").refused(2), @"error: nb.txt: a notebook's name must end in .ipynb");
    assert!(!desk.path().join("nb.txt").exists());
}
