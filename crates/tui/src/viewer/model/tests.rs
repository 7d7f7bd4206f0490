use cellist_host::{
    Bar, CellText, Change, Effect, FullNotebook, LastRun, NotebookUpdate, SentCellOutputs, SentOutputs,
};
use cellist_notebook::CellType;
use cellist_output::{Output, StreamName};
use crossterm::event::KeyModifiers;
use serde_json::json;

use super::*;
use crate::screen;

/// A notebook of cells by their sources; those that begin with `#` are prose.
fn whole(version: u64, sources: &[&str]) -> FullNotebook {
    let cell = |(at, source): (usize, &&str)| {
        let kind = if source.starts_with('#') { CellType::Markdown } else { CellType::Code };
        CellText { id: format!("c{at}").as_str().into(), kind, source: (*source).to_owned() }
    };
    let cells: Vec<CellText> = sources.iter().enumerate().map(cell).collect();
    let code = cells.iter().filter(|cell| cell.kind == CellType::Code);
    let kernel =
        json!({ "state": "none", "name": "", "id": null, "stuck": false, "stays": null, "gone": null });
    FullNotebook {
        path: "/nb.ipynb".into(),
        name: "nb.ipynb".into(),
        language: "python".into(),
        version,
        conditions: code.map(|cell| (cell.id.clone(), CellCondition::default())).collect(),
        cells,
        outputs: Default::default(),
        review: Default::default(),
        status: NotebookStatus { saved: version, ..NotebookStatus::default() },
        kernel: serde_json::from_value(kernel).unwrap(),
        participants: Vec::new(),
        heard: Default::default(),
    }
}

fn model(whole: &FullNotebook) -> ViewerModel {
    let mut model = ViewerModel::new("nb.ipynb".into(), ImageSupport::WORDS);
    model.load(whole.clone());
    model
}

fn press(model: &mut ViewerModel, keys: &str) -> ViewerAction {
    let mut action = ViewerAction::Nothing;
    for letter in keys.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        action = model.handle(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
    action
}

fn shown(model: &mut ViewerModel, width: u16, height: u16) -> String {
    screen::shown(width, height, |area, buffer| model.draw(area, buffer))
}

#[test]
fn cells_are_shown_with_their_status() {
    let mut whole = whole(1, &["# Title", "x = 1", "x + 1"]);
    let last =
        Some(LastRun { order: Some(1), success: true, status: Status::Ok, duration_ms: 420, ended_ms: 0 });
    whole.conditions.insert("c1".into(), CellCondition { last, ..CellCondition::default() });
    whole
        .conditions
        .insert("c2".into(), CellCondition { activity: Activity::Pending, ..CellCondition::default() });
    let mut model = model(&whole);
    insta::assert_snapshot!(shown(&mut model, 40, 10), @"
    ▎· [0]
    ▎  Title

     ✓ [1] 0.42 s
     │ x = 1

     ○ [2] pending
     │ x + 1

    nb.ipynb · cell 0 of 3 · ? help · q quit
    ");
    insta::assert_snapshot!(shown(&mut model, 24, 6), @"
    ▎· [0]
    ▎  Title

     ✓ [1] 0.42 s
     │ x = 1
    nb.ipynb · cell 0 of 3 …
    ");
    press(&mut model, "?");
    insta::assert_snapshot!(shown(&mut model, 60, 16), @"
     key                 effect
     ──────────────────  ───────────────────────────────
     j k ↓ ↑             next cell, previous cell
     gg G                first cell, last cell
     J K Ctrl-E Ctrl-Y   scroll by a row
     Ctrl-D Ctrl-U       scroll by half a screen
     Space PgDn PgUp     scroll by a screen
     o Enter Ctrl-O · O  fold or unfold a cell · all
     / · n N             search · next, previous match
     e E                 next error, previous error
     s S                 next stale cell, previous one
     r · Alt-Enter · R   run · run and advance · run all
     ii · 00             interrupt · restart the kernel
     ? · q               this help · quit

    nb.ipynb · cell 0 of 3 · ? help · q quit
    ");
}

#[test]
fn keys_move_as_in_vi_and_run_as_in_jupyter() {
    let mut model = model(&whole(1, &["# Title", "x = 1", "y = 2"]));
    press(&mut model, "jj");
    assert_eq!(model.list.selected(), 2);
    assert_eq!(press(&mut model, "r"), ViewerAction::Run(vec!["c2".into()]));
    press(&mut model, "gg");
    assert_eq!(model.list.selected(), 0);
    assert_eq!(press(&mut model, "r"), ViewerAction::Nothing);
    assert!(shown(&mut model, 60, 5).contains("this cell has no code to run"));
    press(&mut model, "G");
    assert_eq!(model.list.selected(), 2);
    assert_eq!(press(&mut model, "R"), ViewerAction::Run(vec!["c1".into(), "c2".into()]));
    assert_eq!(press(&mut model, "ii"), ViewerAction::Interrupt);
    assert_eq!(press(&mut model, "00"), ViewerAction::Restart);
    assert_eq!(press(&mut model, "q"), ViewerAction::Leave);
}

#[test]
fn a_search_goes_from_match_to_match_and_wraps_around() {
    let mut model = model(&whole(1, &["alpha", "beta", "alphabet"]));
    press(&mut model, "/ALPHA\n");
    assert_eq!(model.list.selected(), 2);
    press(&mut model, "n");
    assert_eq!(model.list.selected(), 0);
    press(&mut model, "N");
    assert_eq!(model.list.selected(), 2);
    press(&mut model, "/nowhere\n");
    assert!(shown(&mut model, 60, 5).contains("not found: nowhere"));
}

#[test]
fn errors_and_stale_cells_are_jumped_to() {
    let mut whole = whole(1, &["a", "b", "c"]);
    let last =
        Some(LastRun { order: None, success: false, status: Status::Error, duration_ms: 1, ended_ms: 0 });
    whole.conditions.insert("c1".into(), CellCondition { last, ..CellCondition::default() });
    let mut model = model(&whole);
    press(&mut model, "e");
    assert_eq!(model.list.selected(), 1);
    press(&mut model, "s");
    assert!(shown(&mut model, 60, 5).contains("no cell is stale"));
}

/// A change of these effects.
fn change(version: u64, effects: Vec<Effect>) -> Change {
    let actor = serde_json::from_value(json!({ "id": "bot", "name": "bot", "kind": "agent" })).unwrap();
    Change { version, actor, turn: None, tag: None, effects }
}

fn news(version: u64, effects: Vec<Effect>) -> NotebookUpdate {
    NotebookUpdate { changes: vec![change(version, effects)], ..NotebookUpdate::default() }
}

#[test]
fn changes_by_others_are_applied_and_the_selection_stays_on_its_cell() {
    let mut model = model(&whole(1, &["a", "b", "c"]));
    press(&mut model, "jj");
    assert!(model.apply(news(2, vec![Effect::Deleted { cell: "c0".into() }])));
    assert_eq!((model.list.len(), model.list.selected()), (2, 1));
    let seen = shown(&mut model, 40, 8);
    assert!(seen.contains("▎│ c") && seen.contains("unsaved"), "{seen}");
    let status = NotebookStatus { saved: 2, ..NotebookStatus::default() };
    model.apply(NotebookUpdate { status: Some(status), ..NotebookUpdate::default() });
    assert!(!shown(&mut model, 40, 8).contains("unsaved"));
}

#[test]
fn changes_that_cannot_be_applied_need_the_whole_notebook() {
    let mut model = model(&whole(1, &["a"]));
    let long = serde_json::from_value(json!({ "effect": "changed", "cell": "c0", "change": [500] })).unwrap();
    let behind = NotebookUpdate { is_behind: true, ..NotebookUpdate::default() };
    for news in [behind, news(2, vec![Effect::Metadata { cell: None }]), news(2, vec![long])] {
        assert!(!model.apply(news.clone()), "{news:?}");
    }
    model.load(whole(3, &["b", "c"]));
    assert!(shown(&mut model, 40, 8).contains("▎│ b"));
}

#[test]
fn new_outputs_and_states_go_into_their_cells_and_the_rest_stays() {
    let mut model = model(&whole(1, &["a", "b", "# c"]));
    press(&mut model, "j");
    let outputs = |text: &str| {
        let outputs = SentOutputs::Whole(vec![Output::stream(StreamName::Stdout, text)]);
        SentCellOutputs { outputs, count: Some(7) }
    };
    // One cell runs, one is new, and one is deleted.
    let new = Effect::Inserted {
        cell: "new".into(),
        after: None,
        kind: CellType::Code,
        source: "x = 1".to_owned(),
    };
    let effects = vec![new, Effect::Deleted { cell: "c0".into() }, Effect::Outputs { cell: "c1".into() }];
    let running = CellCondition { activity: Activity::Running, ..CellCondition::default() };
    assert!(model.apply(NotebookUpdate {
        outputs: [("c1".into(), outputs("said\n"))].into(),
        conditions: [("c1".into(), Some(running)), ("new".into(), Some(CellCondition::default()))].into(),
        ..news(2, effects)
    }));
    assert!(model.is_running());
    let seen = shown(&mut model, 40, 10);
    assert!(seen.starts_with(" · [0]\n │ x = 1\n\n▎⣾ [1] In[7] "), "{seen}");
    assert!(seen.contains("▎│ b\n▎  said\n\n · [2]\n   c\n"), "{seen}");
    model.set_progress(Some("c1".into()), Some(&Bar { label: "rows".into(), done: 5.0, total: Some(10.0) }));
    assert!(shown(&mut model, 60, 12).contains("████████████░░░░░░░░░░░░ 5/10 rows"));
    // The run ends, and only the state changes.
    let last =
        Some(LastRun { order: Some(7), success: true, status: Status::Ok, duration_ms: 420, ended_ms: 0 });
    let rests = CellCondition { last, ..CellCondition::default() };
    model.apply(NotebookUpdate {
        conditions: [("c1".into(), Some(rests))].into(),
        ..NotebookUpdate::default()
    });
    assert!(!model.is_running());
    let seen = shown(&mut model, 40, 10);
    assert!(seen.contains("▎✓ [1] In[7] 0.42 s") && !seen.contains("rows"), "{seen}");
    // The text changes and the output stays.
    let typed = serde_json::from_value(json!({ "effect": "changed", "cell": "c1", "change": [1, [0, "2"]] }));
    model.apply(news(3, vec![typed.unwrap()]));
    assert!(shown(&mut model, 40, 10).contains("▎│ b2\n▎  said\n"));
}
