//! `cellist read`.

use insta::assert_snapshot;
use serde_json::json;

use crate::desk::Desk;

#[test]
fn a_notebook_is_shown_as_cell_marked_text() {
    let desk = Desk::new();
    desk.fixture("valid/markers-exact.ipynb");
    assert_snapshot!(desk.run(&["read", "nb.ipynb"]).ok(), @r#"
    # %% [code] cell:0
    # %%% [code] cell:0
    # %% [code] cell:1
    a
    # %%% [code] cell:3
    b
    # %%% [markdown] cell:1

    # %% [markdown] cell:2
    # %%% [markdown]
    text
    # %%% [raw]
    # %% [raw] cell:3
    # %%% [raw] cell:2

    # %%% [code]
    "#);
}

#[test]
fn programs_get_cells_text_and_revision() {
    let desk = Desk::with(&["x = 1\ny = 2", ""]);
    let read = desk.json(&["read", "nb.ipynb"]);
    let cell = |index: usize, id: &str, source: &str| {
        json!({
            "index": index, "id": id, "type": "code", "source": source,
            "execution_count": null, "has_output": false,
        })
    };
    assert_eq!(
        read,
        json!({
            "path": "nb.ipynb",
            "revision": read["revision"],
            "nbformat": 4,
            "nbformat_minor": 5,
            "total_cells": 2,
            "cells": [cell(0, "a", "x = 1\ny = 2"), cell(1, "b", "")],
            "text": "# %% [code] cell:0\nx = 1\ny = 2\n# %% [code] cell:1\n\n",
            "notices": [],
        })
    );
    assert_eq!(read["revision"].as_str().unwrap().len(), 16);
}

#[test]
fn oddities_are_noted_beside_the_text() {
    for (name, note) in [
        (
            "odd/duplicate-ids",
            "note: cells 0 and 1 have the same id `same`: name them by index\nnote: cells 3 and 4 have the same id `twin`: name them by index\n",
        ),
        ("odd/minor-4.9-new-keys", "note: nbformat 4.9 is read as 4.5 and kept as it is\n"),
        ("odd/lone-surrogate-in-source", "note: cell 0 has half a surrogate pair, shown as U+FFFD\n"),
        ("odd/ids-missing-in-4.5", "note: cells 0 and 1 have no id: name them by index\n"),
    ] {
        let desk = Desk::unjudged();
        desk.fixture(name);
        let ran = desk.run(&["read", "nb.ipynb"]);
        assert_eq!((ran.exit, ran.err.as_str()), (0, note), "{name}");
        let notices = &desk.json(&["read", "nb.ipynb"])["notices"];
        let noted: Vec<&str> =
            notices.as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
        assert_eq!(noted, note.lines().map(|line| &line["note: ".len()..]).collect::<Vec<_>>());
    }
}

#[test]
fn an_ordinary_file_is_printed_as_it_is() {
    let desk = Desk::new();
    let bytes = b"one\r\ntwo\x00\xff\nthree";
    desk.write("notes.bin", bytes);
    let ran = desk.run(&["read", "notes.bin"]);
    assert_eq!((ran.exit, ran.out.as_slice(), ran.err.as_str()), (0, &bytes[..], ""));
    assert_eq!(desk.run(&["read", "notes.bin:1"]).ok(), "one\r\n");
    assert_eq!(desk.run(&["read", "notes.bin:3-"]).ok(), "three");
    let json = desk.json(&["read", "notes.bin"]);
    assert_eq!(json["text"], "one\r\ntwo\0\u{fffd}\nthree");
    assert_eq!(
        json["notices"],
        json!(["the file is not UTF-8; invalid bytes are shown as U+FFFD in `text`"])
    );
}

#[test]
fn outputs_are_shown_below_their_cells() {
    let desk = Desk::new();
    desk.fixture("saved/jupyterlab-outputs");
    assert_snapshot!(desk.run(&["read", "--outputs", "nb.ipynb"]).ok(), @r#"
    # %% [code] cell:0
    print('😀 grüezi 日本 👩‍👧')
    'naïve 🎉'
    # %% [output] cell:0
    😀 grüezi 日本 👩‍👧
    'naïve 🎉'
    # %% [code] cell:1
    import sys, time
    for n in range(3):
        print(f'\r{n + 1}/3', end='')
    print()
    print('late', file=sys.stderr)
    # %% [output] cell:1
    3/3
    late
    # %% [code] cell:2
    import pandas as pd
    pd.DataFrame({'🍎': [1, 2.5], 'b': ['x', '<&>']}, index=['r1', 'r2'])
    # %% [output] cell:2
          🍎    b
    r1  1.0    x
    r2  2.5  <&>
    # %% [code] cell:3
    import matplotlib.pyplot as plt
    fig = plt.figure(figsize=(1.5, 1), dpi=40)
    plt.plot([1, 3, 2])
    plt.show()
    # %% [output] cell:3
    <Figure size 60x40 with 1 Axes>
    # %% [code] cell:4
    {}['missing 🔑']
    # %% [output] cell:4
    ---------------------------------------------------------------------------
    KeyError                                  Traceback (most recent call last)
    Cell In[5], line 1
    ----> 1 {}['missing 🔑']

    KeyError: 'missing 🔑'
    # %% [code] cell:5
    "#);
    assert_eq!(desk.run(&["read", "--outputs", "nb.ipynb#1"]).ok().lines().last(), Some("late"));
    let cell = &desk.json(&["read", "--outputs", "nb.ipynb#1"])["cells"][0];
    assert_eq!((&cell["output"], &cell["output_truncated"]), (&json!("3/3\nlate\n"), &json!(null)));
}

#[test]
fn long_outputs_are_cut_and_say_so() {
    let desk = Desk::new();
    desk.fixture("valid/output-long-text");
    let shown = desk.run(&["read", "--outputs", "nb.ipynb"]).ok();
    assert!(shown.contains("[Output cut: "), "{shown}");
    assert!(shown.len() < 64 * 1024, "{}", shown.len());
}

#[test]
fn a_view_with_outputs_is_not_taken_for_text() {
    let desk = Desk::new();
    let bytes = desk.fixture("saved/jupyterlab-outputs");
    let view = desk.run(&["read", "--outputs", "nb.ipynb"]).ok();
    assert_snapshot!(desk.feed(&["write", "nb.ipynb"], view).refused(2), @r#"
    error: standard input: line 4: `# %% [output] cell:0` is not a cell marker
    hint: text from `read --outputs` cannot be written; read it without --outputs
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}
