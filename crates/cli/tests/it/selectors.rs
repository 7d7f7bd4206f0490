//! Parts of a notebook, named behind its path.

use insta::assert_snapshot;

use crate::desk::Desk;

fn desk() -> Desk {
    Desk::with(&["x = 1", "y = 2\nz = 3", ""])
}

#[test]
fn lines_are_counted_from_one_and_both_ends_belong_to_them() {
    let desk = desk();
    let all = "# %% [code] cell:0\nx = 1\n# %% [code] cell:1\ny = 2\nz = 3\n# %% [code] cell:2\n\n";
    for (selector, expected) in [
        ("", all),
        (":1-7", all),
        (":1-", all),
        (":2", "x = 1\n"),
        (":2-3", "x = 1\n# %% [code] cell:1\n"),
        (":1-2,5", "# %% [code] cell:0\nx = 1\nz = 3\n"),
        (":5-5,1-1", "z = 3\n# %% [code] cell:0\n"),
        (":6-", "# %% [code] cell:2\n\n"),
    ] {
        assert_eq!(desk.run(&["read", &format!("nb.ipynb{selector}")]).ok(), expected, "{selector}");
    }
}

#[test]
fn a_cell_is_named_by_id_or_index() {
    let desk = desk();
    let second = "# %% [code] cell:1\ny = 2\nz = 3\n";
    for name in ["b", "1", "B", "cell:b", "CELL:B", "cell:1", "'b'", "-2"] {
        assert_eq!(desk.run(&["read", &format!("nb.ipynb#{name}")]).ok(), second, "{name}");
    }
    let cells = &desk.json(&["read", "nb.ipynb#b"])["cells"];
    assert_eq!((cells.as_array().unwrap().len(), &cells[0]["id"]), (1, &"b".into()));
    let cells = &desk.json(&["read", "nb.ipynb:2-4"])["cells"];
    assert_eq!((cells.as_array().unwrap().len(), &cells[1]["id"]), (2, &"b".into()));
}

#[test]
fn raw_is_the_file_itself() {
    let desk = desk();
    assert_eq!(desk.run(&["read", "nb.ipynb:raw"]).out, desk.read("nb.ipynb"));
    assert_eq!(desk.json(&["read", "nb.ipynb:raw"])["text"], desk.text("nb.ipynb"));
}

#[test]
fn raw_shows_a_file_that_is_no_notebook() {
    let desk = Desk::unjudged();
    let bytes = desk.fixture("broken/merge-conflict");
    assert_eq!(desk.run(&["read", "nb.ipynb:raw"]).out, bytes);
}

#[test]
fn a_file_whose_whole_name_exists_wins() {
    let desk = desk();
    desk.write("nb.ipynb:2", "not line two\n");
    desk.write("nb.ipynb#b", "not cell b\n");
    desk.write("nb.ipynb:raw", "not the JSON\n");
    assert_eq!(desk.run(&["read", "nb.ipynb:2"]).ok(), "not line two\n");
    assert_eq!(desk.run(&["read", "nb.ipynb#b"]).ok(), "not cell b\n");
    assert_eq!(desk.run(&["read", "nb.ipynb:raw"]).ok(), "not the JSON\n");
}

#[test]
fn what_is_no_selector_is_refused() {
    let desk = desk();
    let mut told = String::new();
    for selector in [
        ":2-9", ":8", ":9-", ":1-2,9", ":0", ":3-2", ":", ":x", ":1,", ":1-2-3", "#", "#nope", "#7", "#bb",
        ":raw:1-3",
    ] {
        let said = desk.run(&["read", &format!("nb.ipynb{selector}")]).refused(2);
        told.push_str(&format!("{selector}\n{said}"));
    }
    assert_snapshot!(told, @r#"
    :2-9
    error: nb.ipynb: lines 2-9 are out of range: there are 7 lines
    :8
    error: nb.ipynb: lines 8-8 are out of range: there are 7 lines
    :9-
    error: nb.ipynb: lines 9-9 are out of range: there are 7 lines
    :1-2,9
    error: nb.ipynb: lines 9-9 are out of range: there are 7 lines
    :0
    error: `:0` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    :3-2
    error: `:3-2` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    :
    error: `:` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    :x
    error: `:x` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    :1,
    error: `:1,` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    :1-2-3
    error: `:1-2-3` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    #
    error: `#` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    #nope
    error: nb.ipynb: no cell has the id `nope`
    hint: a cell is named by its id or its index
    #7
    error: nb.ipynb: cell 7 does not exist: the notebook has 3 cells, 0 to 2
    #bb
    error: nb.ipynb: no cell has the id `bb`
    hint: the nearest id is `b`
    :raw:1-3
    error: `:raw:1-3` is not a selector
    hint: valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID
    "#);
}

#[test]
fn an_id_that_several_cells_share_must_be_an_index() {
    let desk = Desk::unjudged();
    desk.fixture("odd/duplicate-ids");
    assert_snapshot!(desk.run(&["read", "nb.ipynb#same"]).refused(2), @r#"
    error: nb.ipynb: the id `same` could mean any of the cells 0 and 1
    hint: name the cell by its index
    "#);
    desk.fixture("valid/ids-differ-by-case");
    assert_snapshot!(desk.run(&["read", "nb.ipynb#lOAD"]).refused(2), @r#"
    error: nb.ipynb: the id `lOAD` could mean any of the cells 0, 1 and 2
    hint: name the cell by its index
    "#);
}

#[test]
fn outputs_go_with_whole_cells_only() {
    let desk = desk();
    assert_snapshot!(desk.run(&["read", "--outputs", "nb.ipynb:1-2"]).refused(2), @r#"
    error: --outputs cannot be combined with :raw or :LINES
    hint: omit the selector, or name a cell: #ID
    "#);
    desk.run(&["read", "--outputs", "nb.ipynb:raw"]).refused(2);
}

#[test]
fn only_the_whole_can_be_written() {
    let desk = desk();
    assert_snapshot!(desk.run(&["write", "nb.ipynb:1-2"]).refused(2), @r#"
    error: nb.ipynb: `write` works on the whole notebook or on nb.ipynb:raw
    hint: to change one cell, use `cellist cell edit`
    "#);
    assert_snapshot!(desk.run(&["edit", "nb.ipynb#b", "--old", "y", "--new", "z"]).refused(2), @r#"
    error: nb.ipynb: `edit` works on the whole notebook or on nb.ipynb:raw
    hint: to change one cell, use `cellist cell edit`
    "#);
}
