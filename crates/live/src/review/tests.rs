use cellist_notebook::{CellRef, Operation};

use super::*;
use crate::state::State;
use crate::state::tests::{CODE, ann, bot, edit, perform, state, texts};

fn judge(state: &mut State, verdict: Verdict, scope: Scope) {
    state.judge(verdict, &scope, &ann(), 0).unwrap();
}

fn cell(name: &str) -> Scope {
    Scope::Cell { cell: name.into() }
}

fn was(state: &State, name: &str) -> Option<String> {
    match &state.review().cells.get(&CellId::from(name))?.was {
        Was::There { source, .. } => Some(source.clone()),
        Was::Absent => Some("absent".into()),
        Was::Deleted { source, .. } => Some(format!("deleted {source}")),
    }
}

fn waiting(state: &State) -> Vec<&str> {
    state.review().cells.keys().map(CellId::as_str).collect()
}

#[test]
fn agent_changes_wait_for_review_with_the_old_text_and_changes_by_people_do_not() {
    let mut state = state(&["1\n2\n3", "x"]);
    perform(&mut state, &ann(), &[edit("b", "y")]);
    perform(&mut state, &bot("t"), &[edit("a", "one\n2\n3")]);
    perform(&mut state, &bot("t"), &[edit("a", "uno\n2\n3")]);
    assert_eq!((waiting(&state), was(&state, "a")), (vec!["a"], Some("1\n2\n3".into())));
    // Elsewhere in the cell, an edit is the person's own; among the agent's lines it becomes part of the pending
    // change.
    perform(&mut state, &ann(), &[edit("a", "uno\n2\ndrei")]);
    assert_eq!(was(&state, "a"), Some("1\n2\ndrei".into()));
    perform(&mut state, &ann(), &[edit("a", "uno!\n2\ndrei")]);
    assert_eq!(was(&state, "a"), Some("1\n2\ndrei".into()));
    judge(&mut state, Verdict::Undo, cell("a"));
    assert_eq!(texts(&state)[0], "a 1\n2\ndrei");
    assert!(waiting(&state).is_empty());
}

#[test]
fn an_agent_that_puts_things_back_leaves_nothing_to_review() {
    let mut state = state(&["1", "2"]);
    perform(&mut state, &bot("t"), &[edit("a", "one")]);
    perform(&mut state, &bot("t"), &[edit("a", "1")]);
    perform(&mut state, &bot("t"), &[Operation::Insert { index: 0, kind: CODE, source: "n".into() }]);
    let new = state.notebook().cells()[0].id().to_string();
    assert_eq!(waiting(&state), [new.as_str()]);
    perform(&mut state, &bot("t"), &[Operation::Delete { cell: CellRef::Name(new) }]);
    assert!(waiting(&state).is_empty());
}

#[test]
fn hunks_are_kept_and_taken_back_one_by_one() {
    let mut state = state(&["1\n2\n3\n4\n5"]);
    perform(&mut state, &bot("t"), &[edit("a", "one\n2\nthree\n4\nfive")]);
    let hunk = |hunk| Scope::Hunk { cell: "a".into(), hunk };
    judge(&mut state, Verdict::Keep, hunk(1));
    assert_eq!(was(&state, "a"), Some("1\n2\nthree\n4\n5".into()));
    judge(&mut state, Verdict::Undo, hunk(0));
    assert_eq!(texts(&state), ["a 1\n2\nthree\n4\nfive"]);
    assert!(state.judge(Verdict::Keep, &hunk(1), &ann(), 0).is_err());
    judge(&mut state, Verdict::Undo, hunk(0));
    assert_eq!((texts(&state), waiting(&state)), (vec!["a 1\n2\nthree\n4\n5".to_owned()], vec![]));
}

#[test]
fn cells_that_were_added_deleted_moved_and_retyped_go_back() {
    let mut state = state(&["1", "2", "3", "4"]);
    let before = texts(&state);
    let named = |name: &str| CellRef::Name(name.into());
    perform(
        &mut state,
        &bot("t"),
        &[
            Operation::Insert { index: 0, kind: CODE, source: "new".into() },
            Operation::Delete { cell: named("b") },
            Operation::Retype { cell: named("a"), kind: CellType::Markdown },
            Operation::Move { cell: named("d"), index: 0 },
        ],
    );
    assert_eq!(waiting(&state).len(), 4);
    assert_eq!(was(&state, "b"), Some("deleted 2".into()));
    judge(&mut state, Verdict::Undo, Scope::All);
    assert_eq!((texts(&state), waiting(&state)), (before, vec![]));
    assert!(state.notebook().cells().iter().all(|cell| cell.cell_type() == CODE));
}

#[test]
fn one_turn_of_two_is_kept_or_taken_back() {
    let two_turns = || {
        let mut state = state(&["1\n2\n3", "x"]);
        perform(&mut state, &bot("t1"), &[edit("a", "one\n2\n3"), edit("b", "y")]);
        perform(&mut state, &bot("t2"), &[edit("a", "one\n2\nthree")]);
        state
    };
    let mut state = two_turns();
    judge(&mut state, Verdict::Undo, Scope::Turn { turn: "t1".into() });
    assert_eq!(texts(&state), ["a 1\n2\nthree", "b x"]);
    assert_eq!((waiting(&state), was(&state, "a")), (vec!["a"], Some("1\n2\n3".into())));

    let mut state = two_turns();
    judge(&mut state, Verdict::Keep, Scope::Turn { turn: "t1".into() });
    assert_eq!(texts(&state), ["a one\n2\nthree", "b y"]);
    assert_eq!((waiting(&state), was(&state, "a")), (vec!["a"], Some("one\n2\n3".into())));
    judge(&mut state, Verdict::Keep, Scope::All);
    assert!(waiting(&state).is_empty());
}

#[test]
fn without_review_nothing_waits() {
    let mut state = state(&["1"]);
    perform(&mut state, &bot("t"), &[edit("a", "2")]);
    state.set_review(false);
    assert!(waiting(&state).is_empty());
    perform(&mut state, &bot("t"), &[edit("a", "3")]);
    assert!(waiting(&state).is_empty());
    state.set_review(true);
    perform(&mut state, &bot("t"), &[edit("a", "4")]);
    assert_eq!(was(&state, "a"), Some("3".into()));
}

#[test]
fn cells_deleted_or_restored_by_a_person_leave_review_and_the_rest_survives_serialization() {
    let mut state = state(&["1", "2", "3"]);
    let delete = |name: &str| Operation::Delete { cell: CellRef::Name(name.into()) };
    perform(&mut state, &bot("t"), &[edit("a", "one"), delete("b"), edit("c", "three")]);
    perform(&mut state, &ann(), &[delete("a")]);
    let json = serde_json::to_string(&**state.review()).unwrap();
    assert_eq!(serde_json::from_str::<Review>(&json).unwrap(), **state.review());
    judge(&mut state, Verdict::Undo, cell("b"));
    assert_eq!((texts(&state), waiting(&state)), (vec!["b 2".to_owned(), "c three".to_owned()], vec!["c"]));
}

#[test]
fn a_cell_is_kept_up_to_a_text_or_goes_back_to_one() {
    let mut state = state(&["1\n2\n3"]);
    perform(&mut state, &bot("t"), &[edit("a", "one\n2\nthree")]);
    let text = |was: &str| Scope::Text { cell: "a".into(), was: was.into() };
    judge(&mut state, Verdict::Keep, text("one\n2\n3"));
    assert_eq!((was(&state, "a"), texts(&state)[0].as_str()), (Some("one\n2\n3".into()), "a one\n2\nthree"));
    judge(&mut state, Verdict::Undo, text("one\n2\n3"));
    assert_eq!((waiting(&state).len(), texts(&state)[0].as_str()), (0, "a one\n2\n3"));
    assert!(state.judge(Verdict::Keep, &text("x"), &ann(), 0).is_err());
}
