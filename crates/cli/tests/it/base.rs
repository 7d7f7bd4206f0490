//! Changes that were made for an older revision: merged, or refused with nothing lost.

use insta::assert_snapshot;

use crate::desk::{Desk, Ran, notebook};

/// The output for people, with revisions by name.
fn told(ran: &Ran, revisions: &[(&str, &str)]) -> String {
    revisions.iter().fold(ran.all(), |told, (revision, name)| told.replace(revision, name))
}

#[test]
fn text_is_merged_with_a_change_of_another_cell() {
    let desk = Desk::with(&["one", "two"]);
    let base = desk.revision();
    desk.write("nb.ipynb", notebook(&["one", "TWO"]));
    let text = "# %% [code] cell:0\nONE\n# %% [code] cell:1\ntwo\n";
    assert_snapshot!(desk.feed(&["write", "nb.ipynb", "--base", &base], text).all(), @r#"
    Wrote nb.ipynb: 2 cells
      kept     1
      changed  0
    --- exit 0
    "#);
    assert_eq!(desk.sources(), ["ONE", "TWO"]);
}

#[test]
fn text_is_merged_with_a_change_of_another_line() {
    let desk = Desk::with(&["one\ntwo\nthree"]);
    let base = desk.revision();
    desk.write("nb.ipynb", notebook(&["one\ntwo\nTHREE"]));
    desk.feed(&["write", "nb.ipynb", "--base", &base], "# %% [code] cell:0\nONE\ntwo\nthree\n").ok();
    assert_eq!(desk.sources(), ["ONE\ntwo\nTHREE"]);
}

#[test]
fn text_is_merged_with_cells_that_were_added_and_deleted() {
    let desk = Desk::with(&["one", "two", "three"]);
    let base = desk.revision();
    desk.run(&["cell", "delete", "nb.ipynb", "1"]).ok();
    desk.run(&["cell", "insert", "nb.ipynb", "0", "--source", "zero"]).ok();
    let text =
        "# %% [code] cell:0\none\n# %% [code] cell:1\ntwo\n# %% [code] cell:2\nTHREE\n# %% [code]\nfour\n";
    desk.feed(&["write", "nb.ipynb", "--base", &base], text).ok();
    assert_eq!(desk.sources(), ["zero", "one", "THREE", "four"]);
}

#[test]
fn a_change_of_the_same_line_is_refused_with_both_versions() {
    let desk = Desk::with(&["one", "two"]);
    let base = desk.revision();
    let theirs = notebook(&["theirs", "two"]);
    desk.write("nb.ipynb", &theirs);
    let text = "# %% [code] cell:0\nours\n# %% [code] cell:1\ntwo\n";
    let ran = desk.feed(&["write", "nb.ipynb", "--base", &base], text);
    assert_snapshot!(ran.refused(4), @r#"
    error: nb.ipynb: cell 0 (a) was changed on both sides
    --- this side [code]
    ours
    --- the other side [code]
    theirs
    hint: read the notebook again and make the change on its current content
    "#);
    assert_eq!(desk.text("nb.ipynb"), theirs);
    let ran = desk.feed(&["write", "nb.ipynb", "--base", &base, "--json"], text);
    assert_eq!(ran.exit, 4);
    assert_snapshot!(String::from_utf8(ran.out).unwrap(), @r#"{"error":{"kind":"conflict","message":"nb.ipynb: cell 0 (a) was changed on both sides\n--- this side [code]\nours\n--- the other side [code]\ntheirs","hint":"read the notebook again and make the change on its current content","conflicts":[{"cell_index":0,"cell_id":"a","ours":{"cell_type":"code","source":"ours"},"theirs":{"cell_type":"code","source":"theirs"}}]}}"#);
    assert_eq!(desk.text("nb.ipynb"), theirs);
}

#[test]
fn without_a_base_a_file_that_moved_on_is_left_alone() {
    let desk = Desk::with(&["one"]);
    let text = desk.run(&["read", "nb.ipynb"]).ok();
    let base = desk.revision();
    let theirs = notebook(&["theirs"]);
    desk.write("nb.ipynb", &theirs);
    let ran = desk.feed(&["write", "nb.ipynb"], &text);
    // A partial read does not count: it does not show other changes.
    let current = desk.json(&["read", "nb.ipynb#0"])["revision"].as_str().unwrap().to_owned();
    assert_snapshot!(told(&ran, &[(&base, "BASE"), (&current, "CURRENT")]), @r#"
    --- stderr
    error: nb.ipynb: has changed since it was last read: it was at revision BASE and is at CURRENT now
    hint: read it again, or pass --base BASE to merge with the current content
    --- exit 4
    "#);
    assert_eq!(desk.text("nb.ipynb"), theirs);
    desk.feed(&["write", "nb.ipynb"], &text).refused(4);
    assert_eq!(desk.feed(&["write", "nb.ipynb:raw"], notebook(&["x"])).exit, 4);
    assert_eq!(desk.text("nb.ipynb"), theirs);
    desk.run(&["read", "nb.ipynb"]).ok();
    desk.feed(&["write", "nb.ipynb"], text).ok();
    assert_eq!(desk.sources(), ["one"]);
}

#[test]
fn a_file_that_was_never_read_is_just_written() {
    let desk = Desk::with(&["one"]);
    desk.feed(&["write", "nb.ipynb"], "# %% [code] cell:0\nONE\n").ok();
    desk.write("nb.ipynb", notebook(&["theirs"]));
    desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "two"]).ok();
    assert_eq!(desk.sources(), ["theirs", "two"]);
}

#[test]
fn text_can_be_written_again_and_again() {
    let desk = Desk::with(&["one"]);
    let text = desk.run(&["read", "nb.ipynb"]).ok();
    for number in 0..3 {
        desk.feed(&["write", "nb.ipynb"], text.replace("one", &format!("one = {number}"))).ok();
    }
    assert_eq!(desk.sources(), ["one = 2"]);
}

#[test]
fn text_whose_markers_name_other_cells_by_now_is_not_written_again() {
    let desk = Desk::with(&["one", "two"]);
    desk.run(&["read", "nb.ipynb"]).ok();
    let swapped = "# %% [code] cell:1\ntwo\n# %% [code] cell:0\none\n";
    desk.feed(&["write", "nb.ipynb"], swapped).ok();
    assert_eq!(desk.sources(), ["two", "one"]);
    // Taken literally, it would give each cell's source to the other.
    desk.feed(&["write", "nb.ipynb"], swapped).refused(4);
    assert_eq!(desk.sources(), ["two", "one"]);
}

#[test]
fn a_revision_that_nobody_knows_is_refused() {
    let desk = Desk::with(&["one"]);
    let current = desk.revision();
    let base = "0123456789abcdef";
    for command in [
        &["write", "nb.ipynb", "text", "--base", base][..],
        &["edit", "nb.ipynb", "--old", "one", "--new", "two", "--base", base],
        &["cell", "edit", "nb.ipynb", "0", "--source", "two", "--base", base],
        &["cell", "delete", "nb.ipynb", "0", "--base", base],
    ] {
        desk.write("text", "# %% [code] cell:0\ntwo\n");
        let said = desk.run(command).refused(2);
        assert_eq!(
            said,
            format!(
                "error: nb.ipynb: revision {base} is unknown; the file is at {current}\n\
                 hint: read the notebook again and make the change on its current content\n"
            )
        );
    }
    assert_snapshot!(desk.run(&["write", "nb.ipynb", "text", "--base", "latest"]).refused(2), @r#"
    error: invalid value 'latest' for '--base <REV>': `latest` is not a revision: one has 16 hexadecimal digits

    For more information, try '--help'.
    "#);
    assert_eq!(desk.sources(), ["one"]);
}

#[test]
fn the_revision_of_a_result_can_be_the_base_of_the_next_change() {
    let desk = Desk::with(&["one", "two"]);
    let told = desk.json(&["cell", "edit", "nb.ipynb", "0", "--source", "ONE"]);
    let base = told["revision"].as_str().unwrap();
    desk.write("nb.ipynb", notebook(&["ONE", "TWO"]));
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "1", "--base", base]).ok();
    assert_eq!(desk.sources(), ["1", "TWO"]);
    desk.run(&["cell", "edit", "nb.ipynb", "b", "--source", "2", "--base", base]).refused(4);
    assert_eq!(desk.sources(), ["1", "TWO"]);
}

#[test]
fn operations_mean_positions_at_their_base() {
    let desk = Desk::with(&["one", "two"]);
    let base = desk.revision();
    desk.run(&["cell", "insert", "nb.ipynb", "0", "--source", "zero"]).ok();
    desk.run(&["cell", "edit", "nb.ipynb", "1", "--source", "TWO", "--base", &base]).ok();
    desk.run(&["cell", "insert", "nb.ipynb", "end", "--source", "three", "--base", &base]).ok();
    desk.run(&["edit", "nb.ipynb", "--old", "one", "--new", "ONE", "--base", &base]).ok();
    desk.run(&["cell", "delete", "nb.ipynb", "0", "--base", &base]).refused(4);
    assert_eq!(desk.sources(), ["zero", "ONE", "TWO", "three"]);
}
