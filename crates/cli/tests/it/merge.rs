//! `cellist merge`.

use insta::assert_snapshot;

use crate::desk::{Desk, notebook};

fn desk(base: &[&str], ours: &[&str], theirs: &[&str]) -> Desk {
    let desk = Desk::new();
    desk.write("base.ipynb", notebook(base));
    desk.write("ours.ipynb", notebook(ours));
    desk.write("theirs.ipynb", notebook(theirs));
    desk
}

const SIDES: [&str; 4] = ["merge", "base.ipynb", "ours.ipynb", "theirs.ipynb"];

#[test]
fn changes_of_both_sides_come_together() {
    let desk = desk(&["a\nb\nc", "two"], &["A\nb\nc", "two"], &["a\nb\nC", "two", "three"]);
    let merged = desk.run(&SIDES).ok();
    assert_eq!(merged, notebook(&["A\nb\nC", "two", "three"]));
    let told = desk.run(&[&SIDES[..], &["-o", "nb.ipynb"]].concat()).ok();
    assert_eq!(told, "Wrote nb.ipynb: 3 cells\n");
    assert_eq!(desk.text("nb.ipynb"), merged);
    let json = desk.json(&SIDES);
    assert_eq!(json["notebook"], merged);
    assert_eq!(json["conflicts"], serde_json::json!([]));
}

#[test]
fn a_conflict_shows_both_versions_and_writes_nothing() {
    let desk = desk(&["x"], &["ours"], &["theirs"]);
    let with_output = [&SIDES[..], &["-o", "nb.ipynb"]].concat();
    assert_snapshot!(desk.run(&with_output).refused(4), @r#"
    error: cell 0 (a) was changed on both sides
    --- this side [code]
    ours
    --- the other side [code]
    theirs
    hint: pass --mark to write both versions between conflict markers
    "#);
    assert!(!desk.path().join("nb.ipynb").exists());
}

#[test]
fn a_conflict_can_be_marked_in_a_notebook_that_still_opens() {
    let desk = desk(&["x", "y"], &["ours", "y"], &["theirs", "y"]);
    let ran = desk.run(&[&SIDES[..], &["--mark", "-o", "nb.ipynb"]].concat());
    assert_snapshot!(ran.all(), @r#"
    Wrote nb.ipynb: 2 cells
    --- stderr
    note: conflict markers stand in the source of cell 0
    --- exit 4
    "#);
    assert_eq!(desk.sources(), ["<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs", "y"]);
    let ran = desk.run(&[&SIDES[..], &["--mark"]].concat());
    assert_eq!((ran.exit, ran.out), (4, desk.read("nb.ipynb")));
}

#[test]
fn a_cell_that_one_side_deleted_and_the_other_changed_is_a_conflict() {
    let desk = desk(&["x", "y"], &["x"], &["x", "Y"]);
    assert_snapshot!(desk.run(&SIDES).refused(4), @r#"
    error: cell 1 (b) was changed on both sides
    --- this side: deleted
    --- the other side [code]
    Y
    hint: pass --mark to write both versions between conflict markers
    "#);
}
