//! `cellist edit`.

use insta::assert_snapshot;

use crate::desk::Desk;

fn edit(desk: &Desk, old: &str, new: &str) -> crate::desk::Ran {
    desk.run(&["edit", "nb.ipynb", "--old", old, "--new", new])
}

#[test]
fn the_one_occurrence_is_replaced() {
    let desk = Desk::with(&["x = 1", "y = x"]);
    assert_snapshot!(edit(&desk, "x = 1", "x = 2\nz = 3").ok(), @r#"
    Wrote nb.ipynb: 2 cells
      kept     1
      changed  0
    "#);
    assert_eq!(desk.sources(), ["x = 2\nz = 3", "y = x"]);
    edit(&desk, "-x", "--y").refused(2);
    edit(&desk, "# %% [code] cell:1\ny", "# %% [markdown] cell:1\n- y").ok();
    assert_eq!(desk.sources(), ["x = 2\nz = 3", "- y = x"]);
}

#[test]
fn what_is_not_there_once_is_refused_and_shown() {
    let desk = Desk::with(&["alpha = 1\nbeta = 2", "alpha = 3"]);
    let bytes = desk.read("nb.ipynb");
    assert_snapshot!(edit(&desk, "alpha", "a").refused(2), @r#"
    error: nb.ipynb: the text to replace occurs 2 times, at lines 2 and 5
    hint: give more of the text around it
    "#);
    for (old, kind) in [("alpha", "several_matches"), ("gamma", "no_match")] {
        let told = desk.run(&["edit", "nb.ipynb", "--old", old, "--new", "a", "--json"]).failed_json(2);
        assert_eq!(told["error"]["kind"], kind);
    }
    assert_snapshot!(edit(&desk, "betta = 2", "a").refused(2), @r#"
    error: nb.ipynb: the text to replace was not found
    hint: the nearest line is line 3: beta = 2
    "#);
    assert_snapshot!(edit(&desk, "something else altogether", "a").refused(2), @r#"
    error: nb.ipynb: the text to replace was not found
    hint: read the notebook again: the text must be given exactly
    "#);
    assert_snapshot!(edit(&desk, "", "a").refused(2), @r#"
    error: nb.ipynb: the text to replace is empty
    hint: an empty old piece matches only an empty or missing notebook
    "#);
    assert_snapshot!(edit(&desk, "# %% [code] cell:1", "# %% [coed] cell:1").refused(2), @r#"
    error: nb.ipynb: line 4: `# %% [coed] cell:1` is not a cell marker
    hint: the nearest valid form is `# %% [code] cell:1`; to keep the line as source, write one more `%`
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}

#[test]
fn an_empty_old_text_fits_a_notebook_without_cells() {
    let desk = Desk::new();
    assert_eq!(edit(&desk, "", "# %% [code]\nx = 1\n").ok(), "Wrote nb.ipynb: 1 cell\n  added    0\n");
    assert_eq!(desk.sources(), ["x = 1"]);
    desk.fixture("valid/cells-none");
    edit(&desk, "", "# %% [code]\nx = 2\n").ok();
    assert_eq!(desk.sources(), ["x = 2"]);
}

#[test]
fn pieces_can_come_from_files() {
    let desk = Desk::with(&["x = 1\ny = 2\n"]);
    desk.write("old", "x = 1\ny = 2\n");
    desk.write("new", "z = 3\n");
    desk.run(&["edit", "nb.ipynb", "--old-file", "old", "--new-file", "new"]).ok();
    assert_eq!(desk.sources(), ["z = 3\n"]);
    assert_snapshot!(desk.run(&["edit", "nb.ipynb", "--old-file", "old"]).refused(2), @r#"
    error: the following required arguments were not provided:
      --new <TEXT>

    Usage: cellist edit --old-file <FILE> --new <TEXT> <NB[:raw]>

    For more information, try '--help'.
    "#);
}

#[test]
fn the_json_itself_can_be_edited() {
    let desk = Desk::with(&["x = 1"]);
    let raw = |old: &str, new: &str| desk.run(&["edit", "nb.ipynb:raw", "--old", old, "--new", new]);
    assert_eq!(raw("\"id\": \"a\"", "\"id\": \"first\"").ok(), "Wrote nb.ipynb: 1 cell\n");
    assert!(desk.text("nb.ipynb").contains("\"id\": \"first\""));
    let bytes = desk.read("nb.ipynb");
    assert_snapshot!(raw("\"nbformat\": 4", "\"nbformat\": 9").refused(2), @r#"
    error: nb.ipynb: nbformat 9 is too new: cellist reads nbformat 4
    hint: update cellist, or save the notebook as nbformat 4 with the tool that wrote it
    "#);
    assert_snapshot!(raw("\"cells\": [", "\"cells\": [,").refused(2), @"error: nb.ipynb: invalid JSON at line 2 column 12: expected a value");
    assert_snapshot!(raw("nothing of the kind", "x").refused(2), @r#"
    error: nb.ipynb: the text to replace was not found
    hint: read the notebook again: the text must be given exactly
    "#);
    assert_eq!(desk.read("nb.ipynb"), bytes);
}
