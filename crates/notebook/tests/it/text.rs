//! Cell-marked text: its form, its limits and its effect.

use cellist_notebook::{CellType, Error, Ids, Notebook};

use crate::{notebook, open, sources};

/// The fault of a text, message and hint.
fn refused(text: &str) -> (String, Option<String>) {
    let error = notebook(&[("a", "x")]).apply_text(text, None).expect_err(text);
    (error.to_string(), error.hint())
}

#[test]
fn each_cell_is_a_marker_its_source_and_one_newline() {
    let mut notebook = notebook(&[("a", "x = 1"), ("b", ""), ("c", "y\n")]);
    notebook.set_type(1, CellType::Markdown);
    assert_eq!(
        notebook.to_text(),
        "# %% [code] cell:0\nx = 1\n# %% [markdown] cell:1\n\n# %% [code] cell:2\ny\n\n"
    );
    assert_eq!(notebook.cell_text(2), "# %% [code] cell:2\ny\n\n");
}

#[test]
fn lines_that_look_like_markers_are_shown_with_one_more_percent_sign() {
    let source = "# %% [code] cell:9\n# %%% [x\n# %% plain\n#%% [code]\n # %% [code]\n# % [code]\n# %%[code]";
    let mut copy = notebook(&[("a", source)]);
    let text = copy.to_text();
    assert_eq!(
        text,
        "# %% [code] cell:0\n# %%% [code] cell:9\n# %%%% [x\n# %% plain\n#%% [code]\n # %% [code]\n# % [code]\n# %%[code]\n"
    );
    copy.apply_text("# %% [code]\nother\n", None).unwrap();
    copy.apply_text(&text, None).unwrap();
    assert_eq!(sources(&copy), [source]);
}

#[test]
fn the_first_line_must_be_a_marker() {
    let hint = Some("begin with `# %% [code]`".to_owned());
    for (text, found) in [
        ("x = 1\n", "`x = 1`"),
        ("\n# %% [code]\n", "a blank line"),
        ("  \n", "a blank line"),
        ("\n", "a blank line"),
    ] {
        let message = format!("line 1: the text must begin with a cell marker, not {found}");
        assert_eq!(refused(text), (message, hint.clone()), "{text:?}");
    }
}

#[test]
fn a_marker_with_a_slip_is_refused_with_the_nearest_valid_form() {
    for (marker, nearest) in [
        ("# %% [cod] cell:3", "# %% [code] cell:3"),
        ("# %% [Markdown]", "# %% [markdown]"),
        ("# %% [md] cell:0", "# %% [markdown] cell:0"),
        ("# %% [python]", "# %% [code]"),
        ("# %% [code] cell: 3", "# %% [code] cell:3"),
        ("# %% [code] cell:3 extra", "# %% [code] cell:3"),
        ("# %% [code] title", "# %% [code]"),
        ("# %% [code]cell:3", "# %% [code] cell:3"),
        ("# %% [code", "# %% [code]"),
        ("# %% []", "# %% [code]"),
        ("# %% [rwa] cell:-1", "# %% [raw]"),
    ] {
        let text = format!("# %% [code] cell:0\nx\n{marker}\ny\n");
        let message = format!("line 3: `{marker}` is not a cell marker");
        let hint =
            format!("the nearest valid form is `{nearest}`; to keep the line as source, write one more `%`");
        assert_eq!(refused(&text), (message, Some(hint)), "{marker}");
    }
}

#[test]
fn cells_are_kept_changed_added_moved_and_deleted_as_the_text_says() {
    let mut notebook = notebook(&[("a", "0"), ("b", "1"), ("c", "2"), ("d", "3")]);
    let text =
        "# %% [code] cell:3\n3\n# %% [code] cell:0\n0\n# %% [code]\nnew\n# %% [markdown] cell:1\nprose\n";
    let (applied, notices) = notebook.apply_text(text, None).unwrap();
    assert_eq!(notices, [] as [&str; 0]);
    assert_eq!((applied.kept, applied.changed), (vec![0, 1], vec![3]));
    assert_eq!((applied.added, applied.moved, applied.deleted), (vec![2], vec![0], vec![2]));
    let ids: Vec<&str> = notebook.cells().iter().map(|cell| cell.id().as_str()).collect();
    assert_eq!([ids[0], ids[1], ids[3]], ["d", "a", "b"]);
    assert_eq!(sources(&notebook), ["3", "0", "new", "prose"]);
    crate::assert_valid(&notebook);
}

#[test]
fn a_cell_that_is_kept_keeps_all_that_the_text_does_not_show() {
    let text = r#"{"nbformat": 4, "cells": [{"cell_type": "markdown", "attachments": {"a.png": {}}, "metadata": {"tags": ["x"]}, "mine": 1, "source": ["old"]}]}"#;
    let mut notebook = open(text);
    notebook.apply_text("# %% [raw] cell:0\nnew\n", None).unwrap();
    let expected = text.replace("old", "new").replace("markdown", "raw");
    assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), expected);
}

#[test]
fn outputs_stay_with_a_code_cell_and_leave_with_its_type() {
    let mut notebook = open(
        r#"{"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [{"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [{"output_type": "stream", "name": "stdout", "text": "hi"}], "source": ["a"]}]}"#,
    );
    notebook.apply_text("# %% [code] cell:0\nb\n", None).unwrap();
    assert!(notebook.cells()[0].has_outputs());
    notebook.apply_text("# %% [markdown] cell:0\nb\n", None).unwrap();
    assert_eq!(notebook.cells()[0].value("outputs"), None);
    assert_eq!(notebook.cells()[0].value("execution_count"), None);
    notebook.apply_text("# %% [code] cell:0\nb\n", None).unwrap();
    assert_eq!(notebook.cells()[0].value("outputs"), Some(&b"[]"[..]));
    crate::assert_valid(&notebook);
}

#[test]
fn numbers_that_do_not_exist_or_come_twice_make_new_cells_and_are_told() {
    let mut notebook = notebook(&[("a", "0"), ("b", "1")]);
    let text = "# %% [code] cell:1\n1\n# %% [code] cell:1\nagain\n# %% [code] cell:7\nseven\n# %% [code] cell:99999999999999999999999\nhuge\n";
    let (applied, notices) = notebook.apply_text(text, None).unwrap();
    assert_eq!(
        notices,
        [
            "line 3: an earlier marker has cell:1, so this is a new cell",
            "line 5: there is no cell:7, so this is a new cell",
            "line 7: there is no cell:99999999999999999999999, so this is a new cell",
        ]
    );
    assert_eq!((applied.kept, applied.added, applied.deleted), (vec![0], vec![1, 2, 3], vec![0]));
}

#[test]
fn many_numbers_that_do_not_exist_are_told_in_one_sentence() {
    let mut empty = Notebook::empty(Ids::seeded(0));
    let text: String = (0..9).map(|number| format!("# %% [raw] cell:{number}\nx\n")).collect();
    let (_, notices) = empty.apply_text(&text, None).unwrap();
    assert_eq!(
        notices,
        [
            "line 1 and on: 9 markers, from cell:0 to cell:8, name cells that are not there, so these are new cells"
        ]
    );
}

#[test]
fn lines_that_resemble_markers_are_source_and_are_named() {
    let mut notebook = notebook(&[("a", "#%% old"), ("b", "1")]);
    let text =
        "# %% [code] cell:0\n#%% old\n# %% [code] cell:1\n#%%\nx\n# %% a title\n\t # %% [code] cell:1\n";
    let (_, notices) = notebook.apply_text(text, None).unwrap();
    assert_eq!(
        notices,
        [
            "line 4: `#%%` is kept as source; a marker is `# %% [code]`",
            "line 6: `# %% a title` is kept as source; a marker is `# %% [code]`",
            "line 7: `# %% [code] cell:1` is kept as source, since blanks stand before it",
        ]
    );
    assert_eq!(sources(&notebook), ["#%% old", "#%%\nx\n# %% a title\n\t # %% [code] cell:1"]);
}

#[test]
fn notices_come_in_the_order_of_the_lines() {
    let mut notebook = notebook(&[("a", "x")]);
    let text = "# %% [code] cell:0\n#%%\n# %% [code] cell:0\ny\n# %% [raw] cell:7\n# %% [raw] cell:0\n#%%\n";
    let (_, notices) = notebook.apply_text(text, None).unwrap();
    let lines: Vec<&str> = notices.iter().filter_map(|notice| notice.split(':').next()).collect();
    assert_eq!(lines, ["line 2", "line 3", "line 5", "line 6", "line 7"]);
}

#[test]
fn a_byte_order_mark_before_the_text_is_dropped() {
    let mut notebook = notebook(&[("a", "x")]);
    notebook.apply_text("\u{feff}# %% [code] cell:0\ny\n", None).unwrap();
    assert_eq!(sources(&notebook), ["y"]);
    assert_eq!(refused("\u{feff}").0, "the text is empty, but the notebook has 1 cell");
    assert_eq!(refused("\u{feff}x").0, "line 1: the text must begin with a cell marker, not `x`");
}

#[test]
fn exactly_one_newline_is_dropped_before_a_marker_or_the_end() {
    let mut notebook = notebook(&[]);
    for (text, source) in [
        ("# %% [code]", ""),
        ("# %% [code]\n", ""),
        ("# %% [code]\n\n", ""),
        ("# %% [code]\n\n\n", "\n"),
        ("# %% [code]\nx", "x"),
        ("# %% [code]\nx\n", "x"),
        ("# %% [code]\nx\n\n", "x\n"),
    ] {
        notebook.apply_text(text, None).unwrap();
        assert_eq!(sources(&notebook), [source], "{text:?}");
    }
    notebook.apply_text("# %% [code]\n# %% [code]\n\n# %% [code]\na\n\n# %% [code]", None).unwrap();
    assert_eq!(sources(&notebook), ["", "", "a\n", ""]);
}

#[test]
fn empty_text_is_taken_only_where_there_are_no_cells() {
    let mut empty = Notebook::empty(Ids::seeded(0));
    empty.apply_text("", None).unwrap();
    assert!(!empty.is_changed());
    let error = notebook(&[("a", "x"), ("b", "y")]).apply_text("", None).unwrap_err();
    assert_eq!(error, Error::EmptyText { count: 2 });
    assert_eq!(error.to_string(), "the text is empty, but the notebook has 2 cells");
    assert_eq!(error.hint().unwrap(), "to empty a notebook, delete its cells");
}

#[test]
fn text_counts_as_crlf_only_when_its_markers_end_so() {
    let mut mixed = notebook(&[("a", "x\r\ny"), ("b", "z")]);
    let unix = mixed.to_text();
    let before = mixed.to_bytes();
    mixed.apply_text(&unix, None).unwrap();
    assert_eq!(mixed.to_bytes(), before, "CR LF inside a source is source");
    let windows = unix.replace("\r\n", "\n").replace('\n', "\r\n");
    mixed.apply_text(&windows, None).unwrap();
    assert_eq!(mixed.to_bytes(), before, "an editor's line ends are not an edit");
    mixed.apply_text(&windows.replace("z\r\n", "z\r\nnew\r\n"), None).unwrap();
    assert_eq!(sources(&mixed), ["x\r\ny", "z\nnew"]);
}

#[test]
fn text_of_an_older_revision_is_merged_with_what_happened_since() {
    let base = notebook(&[("a", "one\ntwo\nthree"), ("b", "1"), ("c", "2")]);
    let snapshot = base.snapshot();
    let mut now = base.clone();
    now.set_source(0, "ONE\ntwo\nthree");
    now.insert(0, CellType::Code, "theirs");
    now.remove(2);
    let now = open(now.to_bytes());

    let mut merged = now.clone();
    let text = snapshot.to_text().replace("three", "THREE") + "# %% [code]\nours\n";
    merged.apply_text(&text, Some(&snapshot)).unwrap();
    assert_eq!(sources(&merged), ["theirs", "ONE\ntwo\nTHREE", "2", "ours"]);
    crate::assert_valid(&merged);

    let mut refused = now.clone();
    let error = refused.apply_text(&snapshot.to_text().replace("one", "Uno"), Some(&snapshot)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cell 1 (a) was changed on both sides\n--- this side [code]\nUno\ntwo\nthree\n--- the other side [code]\nONE\ntwo\nthree"
    );
    assert_eq!(refused.to_bytes(), now.to_bytes());
}
