use cellist_link::{Bar, LastRun, NotebookAsk, NotebookCell, NotebookNewer, NotebookState};
use cellist_notebook::CellType;
use cellist_output::{Output, StreamName};
use crossterm::event::KeyModifiers;
use serde_json::json;

use super::*;
use crate::screen;

/// A notebook of cells by their sources; those that begin with `#` are prose.
fn state(version: u64, sources: &[&str]) -> NotebookState {
    let cell = |(at, source): (usize, &&str)| match source.starts_with('#') {
        true => json!({"cell_type": "markdown", "id": format!("c{at}"), "metadata": {}, "source": source}),
        false => json!({"cell_type": "code", "id": format!("c{at}"), "metadata": {}, "source": source,
            "execution_count": null, "outputs": []}),
    };
    let cells: Vec<_> = sources.iter().enumerate().map(cell).collect();
    let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string();
    let cells = sources.iter().enumerate().map(|(at, source)| {
        (CellId::from(format!("c{at}").as_str()), (!source.starts_with('#')).then(CellState::default))
    });
    NotebookState {
        news: NotebookNews { version, saved: version, ..NotebookNews::default() },
        revision: String::new(),
        text,
        review: Default::default(),
        cells: cells.collect(),
    }
}

fn model(state: &NotebookState) -> Model {
    let mut model = Model::new("nb.ipynb".into(), Picturing::WORDS);
    assert!(!model.update(state));
    model
}

fn press(model: &mut Model, keys: &str) -> Deed {
    let mut deed = Deed::Nothing;
    for letter in keys.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        deed = model.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
    deed
}

fn shown(model: &mut Model, width: u16, height: u16) -> String {
    screen::shown(width, height, |area, buffer| model.draw(area, buffer))
}

#[test]
fn cells_are_shown_with_how_they_stand() {
    let mut state = state(1, &["# Title", "x = 1", "x + 1"]);
    let last =
        Some(LastRun { order: Some(1), success: true, status: Status::Ok, duration_ms: 420, ended_ms: 0 });
    state.cells[1].1 = Some(CellState { last, ..CellState::default() });
    state.cells[2].1 = Some(CellState { activity: Activity::Pending, ..CellState::default() });
    let mut model = model(&state);
    insta::assert_snapshot!(shown(&mut model, 40, 10), @"
    ▎· [0]
    ▎  Title

     ✓ [1] 0.42 s
     │ x = 1

     ○ [2] waits
     │ x + 1

    nb.ipynb · cell 0 of 3 · ? helps, q lea…
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
     key                           does
     ────────────────────────────  ────────────────────────────
     j k ↓ ↑                       next cell, cell before
     J K Ctrl-E Ctrl-Y             one row
     Ctrl-D Ctrl-U, Space PgDn P…  half a screen, a screen
     gg G                          first cell, last cell
     o Enter Ctrl-O · O            unfold or fold a cell · all…
     / n N                         search, next and previous p…
     e E                           next and previous error
     s S                           next and previous stale cell
     r · Alt-Enter · R             run the cell · and go on · …
     ii · 00                       interrupt · restart the ker…
     ? q                           this help, leave


    nb.ipynb · cell 0 of 3 · ? helps, q leaves
    ");
}

#[test]
fn keys_move_as_in_vi_and_run_as_in_jupyter() {
    let mut model = model(&state(1, &["# Title", "x = 1", "y = 2"]));
    press(&mut model, "jj");
    assert_eq!(model.list.selected(), 2);
    assert_eq!(press(&mut model, "r"), Deed::Run(vec!["c2".into()]));
    press(&mut model, "gg");
    assert_eq!(model.list.selected(), 0);
    assert_eq!(press(&mut model, "r"), Deed::Nothing);
    assert!(shown(&mut model, 60, 5).contains("there is no code to run here"));
    press(&mut model, "G");
    assert_eq!(model.list.selected(), 2);
    assert_eq!(press(&mut model, "R"), Deed::Run(vec!["c1".into(), "c2".into()]));
    assert_eq!(press(&mut model, "ii"), Deed::Interrupt);
    assert_eq!(press(&mut model, "00"), Deed::Restart);
    assert_eq!(press(&mut model, "q"), Deed::Leave);
}

#[test]
fn a_search_goes_from_place_to_place_and_round() {
    let mut model = model(&state(1, &["alpha", "beta", "alphabet"]));
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
    let mut state = state(1, &["a", "b", "c"]);
    let last =
        Some(LastRun { order: None, success: false, status: Status::Error, duration_ms: 1, ended_ms: 0 });
    state.cells[1].1 = Some(CellState { last, ..CellState::default() });
    let mut model = model(&state);
    press(&mut model, "e");
    assert_eq!(model.list.selected(), 1);
    press(&mut model, "s");
    assert!(shown(&mut model, 60, 5).contains("no cell is stale"));
}

#[test]
fn what_others_change_is_taken_over_and_the_selection_stays_on_its_cell() {
    let mut model = model(&state(1, &["a", "b", "c"]));
    press(&mut model, "jj");
    let mut newer = state(3, &["b", "c"]);
    newer.cells[0].0 = "c1".into();
    newer.cells[1].0 = "c2".into();
    model.hear(&NotebookNews { version: 4, ..NotebookNews::default() });
    assert!(model.update(&newer), "there is something newer still");
    assert_eq!((model.list.len(), model.list.selected()), (2, 1));
    assert!(shown(&mut model, 40, 8).contains("▎│ c"));
}

#[test]
fn what_is_new_is_put_into_its_cells_and_the_rest_stays() {
    let mut model = model(&state(1, &["a", "b", "# c"]));
    assert!(matches!(model.question(), NotebookAsk::Newer { version: 1, answer: None }));
    press(&mut model, "j");
    let cell = |id: &str, source: &str, outputs: Vec<Output>| NotebookCell {
        id: id.into(),
        kind: CellType::Code,
        source: source.into(),
        execution_count: Some(7),
        outputs,
    };
    let newer = |version: u64| NotebookNewer {
        news: NotebookNews { version, saved: version, ..NotebookNews::default() },
        answer: version,
        order: None,
        cells: Vec::new(),
        states: Vec::new(),
    };
    // One that runs, one that is new, and one that is gone.
    let running = CellState { activity: Activity::Running, ..CellState::default() };
    let is_newer_known = model.renew(NotebookNewer {
        order: Some(["new", "c1", "c2"].map(CellId::from).to_vec()),
        cells: vec![
            cell("new", "x = 1", Vec::new()),
            cell("c1", "b", vec![Output::stream(StreamName::Stdout, "said\n")]),
        ],
        states: vec![("c1".into(), running)],
        ..newer(2)
    });
    assert!(!is_newer_known && model.is_moving());
    assert!(matches!(model.question(), NotebookAsk::Newer { version: 2, answer: Some(2) }));
    let seen = shown(&mut model, 40, 10);
    assert!(seen.starts_with(" ✓ [0] In[7]\n │ x = 1\n\n▎⣾ [1] In[7] "), "{seen}");
    assert!(seen.contains("▎│ b\n▎  said\n\n · [2]\n   c\n"), "{seen}");
    model.goes(Some("c1".into()), Some(&Bar { label: "rows".into(), done: 5.0, total: Some(10.0) }));
    assert!(shown(&mut model, 60, 12).contains("████████████░░░░░░░░░░░░ 5/10 rows"));
    // It has ended: nothing else is told.
    let last =
        Some(LastRun { order: Some(7), success: true, status: Status::Ok, duration_ms: 420, ended_ms: 0 });
    model.renew(NotebookNewer {
        states: vec![("c1".into(), CellState { last, ..CellState::default() })],
        ..newer(2)
    });
    assert!(!model.is_moving());
    let seen = shown(&mut model, 40, 10);
    assert!(seen.contains("▎✓ [1] In[7] 0.42 s") && !seen.contains("rows"), "{seen}");
}
