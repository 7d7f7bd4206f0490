use super::*;
use crate::ChangeSet;

fn author(kind: ActorKind, id: &str) -> Author {
    Actor::new(kind, id).into()
}

fn edited(cell: &str, before: &str, after: &str) -> Vec<Act> {
    let change = Some(ChangeSet::between(before, after));
    vec![Act::Edited { cell: cell.into(), before: before.into(), after: after.into(), change }]
}

#[test]
fn continuous_typing_is_one_entry_and_each_agent_edit_is_its_own() {
    let mut journal = Journal::default();
    let (ann, bot) = (author(ActorKind::Person, "ann"), author(ActorKind::Agent, "bot"));
    journal.note(&ann, edited("a", "", "x"), Vec::new(), 0);
    journal.note(&ann, edited("a", "x", "xy"), Vec::new(), 4_000);
    journal.note(&ann, edited("b", "", "z"), Vec::new(), 5_000);
    journal.note(&ann, edited("b", "z", "zz"), Vec::new(), 15_000);
    journal.note(&bot, edited("a", "xy", "1"), Vec::new(), 15_001);
    journal.note(&bot, edited("a", "1", "2"), Vec::new(), 15_002);
    let told: Vec<(&str, u64)> =
        journal.entries().iter().map(|entry| (entry.actor.id.as_str(), entry.at)).collect();
    assert_eq!(told, [("ann", 0), ("ann", 5_000), ("ann", 15_000), ("bot", 15_001), ("bot", 15_002)]);
    let Act::Edited { before, after, .. } = &journal.entries()[0].acts[0] else { panic!("no edit") };
    assert_eq!((before.as_str(), after.as_str()), ("", "xy"));
    assert_eq!(journal.entries()[0].deeds(), ["edited cell a"]);
}

#[test]
fn a_turn_is_named_by_its_author_or_formed_by_close_changes() {
    let mut journal = Journal::default();
    let bot = author(ActorKind::Agent, "bot");
    let said = Author { turn: Some("mine".into()), ..bot.clone() };
    let mut turn = |author: &Author, now| journal.note(author, edited("a", "", "x"), Vec::new(), now);
    assert_eq!(turn(&bot, 0), "t0");
    assert_eq!(turn(&bot, 60_000), "t0");
    assert_eq!(turn(&bot, 120_001), "t2");
    assert_eq!(turn(&said, 120_002), "mine");
    assert_eq!(turn(&author(ActorKind::Agent, "other"), 120_003), "t4");
    assert_eq!(turn(&bot, 120_004), "t5");
}

#[test]
fn an_undone_change_is_undone_again_only_after_a_redo() {
    let mut journal = Journal::default();
    let ann = author(ActorKind::Person, "ann");
    journal.note(&ann, edited("a", "", "x"), Vec::new(), 0);
    journal.note(&ann, edited("b", "", "y"), Vec::new(), 0);
    let last = |journal: &Journal| journal.chosen(&Undo::Last).map(|entries| entries[0].number);
    assert_eq!(last(&journal), Ok(1));
    journal.note(&ann, edited("b", "y", ""), vec![1], 0);
    assert_eq!(last(&journal), Ok(0));
    assert_eq!(journal.chosen(&Undo::Entry(1)), Err(NothingToUndo::EntryUndone { number: 1 }));
    journal.note(&ann, edited("b", "", "y"), vec![2], 0);
    assert_eq!(last(&journal), Ok(1));
    assert_eq!(journal.chosen(&Undo::LastOf("bob".into())), Err(NothingToUndo::NoChange));
    assert_eq!(
        journal.chosen(&Undo::Turn("t9".into())),
        Err(NothingToUndo::NoSuchTurn { turn: "t9".into() })
    );
}

#[test]
fn a_journal_has_an_end_and_survives_a_journey_as_json() {
    let mut journal = Journal::default();
    let bot = author(ActorKind::Agent, "bot");
    for number in 0..MOST_ENTRIES + 10 {
        journal.note(&bot, edited("a", &number.to_string(), ""), Vec::new(), 0);
    }
    assert_eq!((journal.entries().len(), journal.entries()[0].number), (MOST_ENTRIES, 10));
    journal.note(&bot, edited("a", &"x".repeat(MOST_BYTES), ""), Vec::new(), 0);
    assert_eq!(journal.entries().len(), 1);
    let replaced = Act::Edited { cell: "a".into(), before: "".into(), after: "x".into(), change: None };
    let mut journal = Journal::default();
    journal.note(&bot, vec![replaced], Vec::new(), 0);
    assert_eq!((journal.take_noted().len(), journal.take_noted().len()), (1, 0));
    let json = serde_json::to_string(&journal).unwrap();
    assert_eq!(serde_json::from_str::<Journal>(&json).unwrap(), journal);
}
