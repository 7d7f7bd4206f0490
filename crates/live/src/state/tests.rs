use cellist_notebook::{CellRef, CellType, Ids, Operation};

use cellist_output::Output;

use super::*;
use crate::{ChangeSet, Effect, Op, Submission, Undo};

pub(crate) const CODE: CellType = CellType::Code;

/// A notebook with one code cell for each source, named a, b, c and so on.
pub(crate) fn state(sources: &[&str]) -> State {
    let mut notebook = Notebook::empty(Ids::seeded(1));
    for (at, source) in sources.iter().enumerate() {
        let name = char::from(b'a' + u8::try_from(at).unwrap()).to_string();
        notebook.insert_named(at, name.as_str().into(), CODE, source);
    }
    State::new(notebook, 100, Journal::default(), Review::default())
}

pub(crate) fn ann() -> Author {
    Actor::new(ActorKind::Person, "ann").into()
}

pub(crate) fn bot(turn: &str) -> Author {
    Author { actor: Actor::new(ActorKind::Agent, "bot"), turn: Some(turn.to_owned()) }
}

pub(crate) fn texts(state: &State) -> Vec<String> {
    state.notebook().cells().iter().map(|cell| format!("{} {}", cell.id(), cell.source())).collect()
}

pub(crate) fn edit(cell: &str, source: &str) -> Operation {
    Operation::Edit { cell: CellRef::Name(cell.into()), source: source.into() }
}

/// Applies operations at the newest version.
pub(crate) fn perform(state: &mut State, author: &Author, operations: &[Operation]) {
    let current = state.notebook().revision();
    state.edit(Some(current), None, author, 0, |notebook, base| notebook.perform(operations, base)).unwrap();
}

fn submit(state: &mut State, base: u64, ops: Vec<Op>) -> Result<u64, SubmissionRefusal> {
    state.submit(Submission { base, tag: None, ops }, &ann(), 0)
}

fn typed(cell: &str, length: usize, at: usize, text: &str) -> Op {
    Op::Change { cell: cell.into(), change: ChangeSet::replace(length, at..at, text).unwrap() }
}

#[test]
fn each_operation_has_its_effect_and_makes_a_version() {
    let mut state = state(&["1", "2", "3"]);
    let insert = |cell: Option<&str>, after: Option<&str>, source: &str| Op::Insert {
        cell: cell.map(CellId::from),
        after: after.map(CellId::from),
        kind: CellType::Markdown,
        source: source.into(),
        content: None,
    };
    assert_eq!(submit(&mut state, 100, vec![insert(Some("n"), Some("a"), "# n")]), Ok(101));
    assert_eq!(submit(&mut state, 101, vec![insert(None, None, "first")]), Ok(102));
    assert_eq!(
        submit(&mut state, 102, vec![Op::Move { cell: "a".into(), after: Some("c".into()) }]),
        Ok(103)
    );
    assert_eq!(submit(&mut state, 103, vec![typed("b", 1, 1, "😀"), typed("b", 3, 3, "!")]), Ok(104));
    assert_eq!(submit(&mut state, 104, vec![Op::Delete { cell: "c".into() }]), Ok(105));
    assert_eq!(submit(&mut state, 105, vec![Op::Retype { cell: "b".into(), kind: CellType::Raw }]), Ok(106));
    assert_eq!(submit(&mut state, 106, vec![Op::Write { cell: "a".into(), source: "x".into() }]), Ok(107));
    assert_eq!(texts(&state)[1..], ["n # n", "b 2😀!", "a x"]);
    let changes = state.since(103).unwrap();
    assert_eq!(changes.iter().map(|change| change.version).collect::<Vec<_>>(), [104, 105, 106, 107]);
    assert_eq!(changes[0].effects.len(), 2);
    assert!(matches!(&changes[3].effects[0], Effect::Changed { .. }));
    testkit::validate_bytes(&state.notebook().to_bytes()).unwrap();
}

#[test]
fn a_stale_client_gets_the_missed_changes_and_other_cells_stay_free() {
    let mut state = state(&["1", "2"]);
    submit(&mut state, 100, vec![typed("a", 1, 1, "x")]).unwrap();
    assert_eq!(submit(&mut state, 100, vec![typed("b", 1, 0, "y")]), Ok(102));
    for op in [
        typed("a", 1, 0, "z"),
        Op::Delete { cell: "a".into() },
        Op::Write { cell: "a".into(), source: "".into() },
    ] {
        let Err(SubmissionRefusal::Behind { version: 102, changes }) = submit(&mut state, 100, vec![op])
        else {
            panic!("taken");
        };
        assert_eq!(changes.len(), 2);
    }
    assert_eq!(texts(&state), ["a 1x", "b y2"]);
    assert_eq!(submit(&mut state, 99, Vec::new()), Err(SubmissionRefusal::TooFar { base: 99, version: 102 }));
    assert_eq!(
        submit(&mut state, 103, Vec::new()),
        Err(SubmissionRefusal::TooFar { base: 103, version: 102 })
    );
}

#[test]
fn a_deleted_cell_is_reported_and_its_position_is_known() {
    let mut state = state(&["1", "2", "3"]);
    submit(&mut state, 100, vec![Op::Delete { cell: "b".into() }]).unwrap();
    assert!(matches!(
        submit(&mut state, 100, vec![typed("b", 1, 0, "x")]),
        Err(SubmissionRefusal::Behind { .. })
    ));
    assert!(matches!(
        submit(&mut state, 100, vec![Op::Clear { cell: "b".into() }]),
        Err(SubmissionRefusal::Behind { .. })
    ));
    let gone = |op| matches!(op, Err(SubmissionRefusal::NoSuchCell { .. }));
    assert!(gone(submit(&mut state, 101, vec![typed("b", 1, 0, "x")])));
    submit(&mut state, 101, vec![Op::Delete { cell: "a".into() }]).unwrap();
    let insert = |cell: &str, after: &str| Op::Insert {
        cell: Some(cell.into()),
        after: Some(after.into()),
        kind: CODE,
        source: cell.into(),
        content: None,
    };
    submit(&mut state, 100, vec![insert("n", "b")]).unwrap();
    assert_eq!(texts(&state), ["n n", "c 3"]);
    assert!(gone(submit(&mut state, 100, vec![insert("m", "never")])));
    assert!(matches!(submit(&mut state, 100, vec![insert("n", "c")]), Err(SubmissionRefusal::Behind { .. })));
    assert!(matches!(
        submit(&mut state, 103, vec![insert("n", "c")]),
        Err(SubmissionRefusal::BadName { .. })
    ));
    assert!(matches!(
        submit(&mut state, 100, vec![insert("no/name", "c")]),
        Err(SubmissionRefusal::BadName { .. })
    ));
    submit(&mut state, 103, vec![insert("b", "n")]).unwrap();
    assert_eq!(texts(&state), ["n n", "b b", "c 3"]);
}

#[test]
fn a_submission_is_applied_whole_or_not_at_all_and_only_once() {
    let mut state = state(&["1", "2"]);
    let bad = submit(&mut state, 100, vec![Op::Delete { cell: "b".into() }, typed("a", 9, 0, "x")]);
    assert!(matches!(bad, Err(SubmissionRefusal::BadChange { .. })));
    assert_eq!((texts(&state), state.version()), (vec!["a 1".to_owned(), "b 2".to_owned()], 100));
    let tag = Some(Tag { client: "page".into(), number: 1 });
    let submission = Submission { base: 100, tag, ops: vec![typed("a", 1, 0, "x")] };
    assert_eq!(state.submit(submission.clone(), &ann(), 0), Ok(101));
    submit(&mut state, 101, vec![typed("a", 2, 0, "y")]).unwrap();
    assert_eq!(state.submit(submission, &ann(), 0), Ok(101));
    assert_eq!(texts(&state)[0], "a yx1");
}

#[test]
fn half_a_character_cannot_be_edited_by_offsets() {
    let text = r#"{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,"source":"\ud83d"}],
        "metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let notebook = Notebook::parse(text.into(), Ids::seeded(0)).unwrap();
    let mut state = State::new(notebook, 0, Journal::default(), Review::default());
    assert_eq!(
        submit(&mut state, 0, vec![typed("a", 1, 0, "x")]),
        Err(SubmissionRefusal::ReadOnly { cell: "a".into() })
    );
}

#[test]
fn an_agents_edit_is_merged_with_later_changes_or_shows_both_versions() {
    let mut state = state(&["one\ntwo\nthree", "x"]);
    let read = state.tell(&bot("1").actor);
    submit(&mut state, 100, vec![typed("a", 13, 3, "!")]).unwrap();
    let edited = state.edit(Some(read), None, &bot("1"), 0, |notebook, base| {
        notebook.perform(&[edit("a", "one\ntwo\nTHREE")], base)
    });
    assert_eq!(edited.unwrap().version, 102);
    assert_eq!(texts(&state)[0], "a one!\ntwo\nTHREE");
    let conflict = state.edit(Some(read), None, &bot("1"), 0, |notebook, base| {
        notebook.perform(&[edit("a", "1\ntwo\nthree")], base)
    });
    let message = conflict.unwrap_err().to_string();
    assert!(message.contains("one!\ntwo\nTHREE") && message.contains("1\ntwo\nthree"), "{message}");
    let unknown = "0123456789abcdef".parse().unwrap();
    let stale = state.edit(Some(unknown), None, &bot("1"), 0, |_, _| Ok(()));
    assert!(matches!(stale, Err(Unchanged::UnknownRevision { .. })));
    assert_eq!(state.version(), 102);
}

#[test]
fn an_edit_without_a_revision_is_based_on_the_last_read() {
    let mut state = state(&["one", "two"]);
    state.tell(&bot("1").actor);
    let insert = Op::Insert { cell: None, after: None, kind: CODE, source: "new".into(), content: None };
    submit(&mut state, 100, vec![insert]).unwrap();
    let by_index = Operation::Edit { cell: CellRef::Index(1), source: "TWO".into() };
    state.edit(None, None, &bot("1"), 0, |notebook, base| notebook.perform(&[by_index], base)).unwrap();
    assert_eq!(texts(&state)[1..], ["a one", "b TWO"]);
    let now = Operation::Edit { cell: CellRef::Index(0), source: "first".into() };
    state.edit(None, None, &bot("1"), 0, |notebook, base| notebook.perform(&[now], base)).unwrap();
    assert!(texts(&state)[0].ends_with("first"));
}

#[test]
fn foreign_writes_are_merged_with_typing_and_conflicts_keep_both() {
    let mut state = state(&["one\ntwo", "x"]);
    let base = state.notebook().clone();
    let mut theirs = Notebook::clone(&base);
    theirs.set_source(0, "one\nTWO");
    theirs.set_source(1, "theirs");
    theirs.insert_named(2, "d".into(), CODE, "disk");
    submit(&mut state, 100, vec![typed("a", 7, 0, "mine "), typed("b", 1, 0, "mine ")]).unwrap();
    let (remarks, _) = state.absorb(&base, &theirs, 0).unwrap();
    assert_eq!(remarks, ["conflict markers stand in the source of cell 1"]);
    assert_eq!(texts(&state)[0], "a mine one\nTWO");
    assert!(texts(&state)[1].contains("mine x") && texts(&state)[1].contains("theirs"));
    assert_eq!(texts(&state)[2], "d disk");
    let change = &state.since(101).unwrap()[0];
    assert_eq!((change.actor.kind, change.effects.len()), (ActorKind::Disk, 3));
}

#[test]
fn the_last_change_a_turn_and_a_redo() {
    let mut state = state(&["1\n2\n3", "x"]);
    perform(&mut state, &bot("t"), &[edit("a", "one\n2\n3")]);
    perform(
        &mut state,
        &bot("t"),
        &[
            edit("a", "one\n2\nthree"),
            Operation::Insert { index: 1, kind: CODE, source: "new".into() },
            Operation::Delete { cell: CellRef::Name("b".into()) },
        ],
    );
    submit(&mut state, 102, vec![typed("a", 11, 5, "!")]).unwrap();
    assert_eq!(texts(&state)[0], "a one\n2!\nthree");
    let undone = state.undo(&Undo::Turn("t".into()), &ann(), 0).unwrap();
    assert_eq!(undone.value.len(), 2);
    assert_eq!(texts(&state), ["a 1\n2!\n3", "b x"]);
    let entry = state.journal().entries().last().unwrap();
    assert_eq!((entry.undoes.as_slice(), entry.actor.id.as_str()), (&[1, 0][..], "ann"));
    let number = entry.number;
    state.undo(&Undo::Entry(number), &ann(), 0).unwrap();
    assert_eq!(texts(&state)[0], "a one\n2!\nthree");
    state.undo(&Undo::LastOf("ann".into()), &ann(), 0).unwrap();
    assert_eq!(texts(&state)[0], "a one\n2\nthree");
    testkit::validate_bytes(&state.notebook().to_bytes()).unwrap();
}

#[test]
fn an_undo_that_conflicts_with_later_changes_shows_both_versions() {
    let mut state = state(&["1\n2", "x"]);
    perform(&mut state, &bot("t"), &[edit("a", "one\n2"), edit("b", "y")]);
    submit(&mut state, 101, vec![typed("a", 5, 3, " more")]).unwrap();
    let message = state.undo(&Undo::Turn("t".into()), &ann(), 0).unwrap_err().to_string();
    assert!(message.contains("one more\n2") && message.contains("1\n2"), "{message}");
    assert_eq!(texts(&state), ["a one more\n2", "b y"]);
    submit(&mut state, 102, vec![Op::Delete { cell: "a".into() }]).unwrap();
    let message = state.undo(&Undo::Turn("t".into()), &ann(), 0).unwrap_err().to_string();
    assert!(message.contains("deleted"), "{message}");
}

#[test]
fn a_type_an_order_and_outputs_come_back() {
    let mut state = state(&["1", "2", "3"]);
    let output = Output::Stream { name: cellist_output::StreamName::Stdout, text: "out".into() };
    assert!(state.set_outputs(&"a".into(), &[output], Some(7), &ann(), 0));
    assert!(!state.set_outputs(&"gone".into(), &[], None, &ann(), 0));
    let before = state.notebook().to_bytes();
    for ops in [
        vec![Op::Clear { cell: "a".into() }],
        vec![Op::Retype { cell: "a".into(), kind: CellType::Markdown }],
        vec![Op::Move { cell: "a".into(), after: Some("c".into()) }],
        vec![Op::Delete { cell: "a".into() }],
        vec![Op::Move { cell: "c".into(), after: None }],
    ] {
        let base = state.version();
        submit(&mut state, base, ops.clone()).unwrap();
        assert_ne!(state.notebook().to_bytes(), before, "{ops:?}");
        state.undo(&Undo::Last, &ann(), 0).unwrap();
        let after = String::from_utf8(state.notebook().to_bytes()).unwrap();
        assert_eq!(after, String::from_utf8_lossy(&before), "{ops:?}");
    }
}

#[test]
fn changes_that_conflict_with_later_ones_stay_and_the_rest_is_taken_back() {
    let mut state = state(&["1", "2", "3"]);
    perform(&mut state, &bot("t"), &[edit("a", "one")]);
    perform(&mut state, &bot("t"), &[edit("b", "two")]);
    perform(&mut state, &ann(), &[edit("b", "TWO")]);
    let turn = Undo::Turn("t".into());
    assert!(matches!(state.undo(&turn, &bot("u"), 0), Err(Unchanged::Refused(_))));
    assert_eq!(texts(&state), ["a one", "b TWO", "c 3"]);
    let PartlyUndone { entries, kept } = state.undo_partly(&turn, &bot("u"), 0).unwrap().value;
    assert_eq!(texts(&state), ["a 1", "b TWO", "c 3"]);
    assert_eq!(entries.iter().map(|entry| entry.deeds().join(" ")).collect::<Vec<_>>(), ["edited cell a"]);
    assert_eq!(kept[0].0.deeds(), ["edited cell b"]);
    assert!(kept[0].1.to_string().contains("TWO"), "{}", kept[0].1);
    // Only the conflict is left.
    assert!(state.undo_partly(&turn, &bot("u"), 0).is_err());
}

#[test]
fn changes_of_one_actor_since_a_revision_are_taken_back() {
    let mut state = state(&["1", "2", "3"]);
    let since = |revision| Undo::Since { actor: "bot".into(), revision };
    perform(&mut state, &bot("t"), &[edit("a", "one")]);
    let told = state.tell(&bot("t").actor);
    perform(&mut state, &bot("t"), &[edit("b", "two")]);
    perform(&mut state, &ann(), &[edit("c", "three")]);
    perform(&mut state, &bot("u"), &[edit("a", "ONE")]);
    state.undo(&since(told), &bot("u"), 0).unwrap();
    assert_eq!(texts(&state), ["a one", "b 2", "c three"]);
    let nothing = state.undo(&since(told), &bot("u"), 0).unwrap_err();
    assert!(matches!(nothing, Unchanged::Nothing(NothingToUndo::NothingSince { .. })), "{nothing}");
    let unknown = since(Revision::of([&b"never"[..]]));
    let unknown = state.undo(&unknown, &bot("u"), 0).unwrap_err();
    assert!(matches!(unknown, Unchanged::Nothing(NothingToUndo::UnknownRevision { .. })), "{unknown}");
}
