//! `cellist history` and `cellist undo`.

use serde_json::{Value, json};

use crate::desk::Desk;

fn deeds(desk: &Desk) -> Vec<Value> {
    let told = desk.json(&["history", "nb.ipynb"]);
    told["entries"].as_array().unwrap().iter().map(|entry| entry["deeds"][0].clone()).collect()
}

#[test]
fn what_commands_did_is_told_and_taken_back_one_by_one() {
    let desk = Desk::with(&["one", "two", "three"]);
    let before = desk.read("nb.ipynb");
    assert!(desk.run(&["history", "nb.ipynb"]).all().starts_with("No recorded changes to nb.ipynb."));
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "ONE"]);
    desk.run(&["cell", "delete", "nb.ipynb", "b"]);
    desk.run(&["edit", "nb.ipynb", "--old", "three", "--new", "3"]);
    assert_eq!(deeds(&desk), ["edited cell c", "deleted code cell b", "edited cell a"]);
    // Another program changes another line meanwhile.
    desk.write("nb.ipynb", desk.text("nb.ipynb").replace("\"ONE\"", "\"ONE\\n\", \"more\""));
    assert_eq!(desk.run(&["undo", "nb.ipynb"]).exit, 0);
    assert_eq!(desk.run(&["undo", "nb.ipynb"]).exit, 0);
    assert_eq!(desk.sources(), ["ONE\nmore", "two", "three"]);
    let undone = desk.json(&["undo", "nb.ipynb"]);
    assert_eq!((&undone["undone"][0]["number"], &undone["written"]), (&json!(0), &json!(true)));
    assert_eq!(desk.sources(), ["one\nmore", "two", "three"]);
    let nothing = desk.run(&["undo", "nb.ipynb"]);
    assert!(nothing.exit == 2 && nothing.err.contains("there is no change to undo"), "{nothing:?}");
    // And brought again: the last entry is the one that took the first one back.
    let last = desk.json(&["history", "nb.ipynb"])["entries"][0]["number"].to_string();
    assert_eq!(desk.run(&["undo", "nb.ipynb", "--entry", &last]).exit, 0);
    assert_eq!(desk.sources(), ["ONE\nmore", "two", "three"]);
    assert_ne!(desk.read("nb.ipynb"), before);
}

#[test]
fn a_turn_is_taken_back_whole_or_shown_with_what_stands_in_its_way() {
    let desk = Desk::with(&["one", "two"]);
    let before = desk.read("nb.ipynb");
    desk.run(&["cell", "edit", "nb.ipynb", "a", "--source", "ONE"]);
    desk.run(&["cell", "insert", "nb.ipynb", "0", "--source", "new"]);
    let turn = desk.json(&["history", "nb.ipynb"])["entries"][0]["turn"].as_str().unwrap().to_owned();
    let text = desk.text("nb.ipynb");
    desk.write("nb.ipynb", text.replace("ONE", "UNO"));
    let refused = desk.run(&["undo", "nb.ipynb", "--turn", &turn]);
    assert!(refused.exit == 4 && refused.err.contains("UNO") && refused.err.contains("one"), "{refused:?}");
    desk.write("nb.ipynb", text);
    assert_eq!(desk.run(&["undo", "nb.ipynb", "--turn", &turn]).exit, 0);
    assert_eq!(desk.read("nb.ipynb"), before);
    let again = desk.run(&["undo", "nb.ipynb", "--turn", &turn]);
    assert!(again.exit == 2 && again.err.contains("is already undone"), "{again:?}");
    assert_eq!(desk.run(&["undo", "nb.ipynb", "--turn", "t99"]).exit, 2);
    assert_eq!(desk.run(&["history", "missing.ipynb"]).exit, 2);
}
