//! Whole cells: an undone operation leaves the file with the same bytes.

use cellist_notebook::Ids;

use super::*;
use crate::journal::Journal;
use crate::review::Review;
use crate::state::tests::{ann, texts};
use crate::{Effect, Undo};

/// A file of format 4.4 without ids, in an unusual layout, with everything a cell can have.
const OLD: &str = r##"{
   "nbformat_minor": 4, "nbformat": 4,
   "metadata": {},
   "cells": [
      {"source": ["x = 1\n", "print(x)"], "cell_type": "code", "execution_count": 3,
       "metadata": {"tags": ["keep"], "n": 1e0}, "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}]},
      {"source": "![p](attachment:p.png)", "cell_type": "markdown",
       "attachments": {"p.png": {"image/png": "AAAA"}}, "metadata": {"slideshow": {"slide_type": "skip"}}},
      {"source": "y = 2", "cell_type": "code", "outputs": [], "metadata": {}, "execution_count": 4},
      {"source": "# end", "cell_type": "markdown", "metadata": {}, "attachments": {"q.png": {"image/png": "QQ=="}}}
   ]
}
"##;

/// The same cells with ids, as Jupyter writes them.
fn new() -> String {
    let mut notebook: serde_json::Value = serde_json::from_str(OLD).unwrap();
    notebook["nbformat_minor"] = 5.into();
    for (at, cell) in notebook["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
        cell["id"] = format!("cell-{at}").into();
    }
    format!("{notebook:#}\n")
}

fn open(text: &str) -> State {
    let notebook = Notebook::parse(text.as_bytes().to_vec(), Ids::seeded(1)).unwrap();
    State::new(notebook, 100, Journal::default(), Review::default())
}

fn bytes(state: &State) -> String {
    String::from_utf8(state.notebook().to_bytes()).unwrap()
}

fn submit(state: &mut State, ops: Vec<Op>) -> Result<u64, SubmissionRefusal> {
    let base = state.version();
    state.submit(Submission { base, tag: None, ops }, &ann(), 0)
}

fn id(state: &State, at: usize) -> CellId {
    state.notebook().cells()[at].id().clone()
}

fn delete(state: &State, at: usize) -> Op {
    Op::Delete { cell: id(state, at) }
}

/// The operation that brings back a cell, made while the cell is there.
fn restore(state: &State, at: usize) -> Op {
    let cell = &state.notebook().cells()[at];
    Op::Insert {
        cell: Some(cell.id().clone()),
        after: before(state.notebook(), at),
        kind: cell.cell_type(),
        source: cell.source().into_owned(),
        content: Some(Content::Cell { cell: cell.id().clone(), outputs: true }),
    }
}

fn write(state: &State, at: usize, source: &str) -> Op {
    Op::Write { cell: id(state, at), source: source.into() }
}

/// Applies operations and undoes them, twice: in separate submissions and in one.
#[track_caller]
fn cancels(text: &str, done: impl Fn(&State) -> Vec<Op>, back: impl Fn(&State) -> Vec<Op>) {
    let mut state = open(text);
    let (done, back) = (done(&state), back(&state));
    for _ in 0..2 {
        submit(&mut state, done.clone()).unwrap();
        assert_ne!(bytes(&state), text);
        submit(&mut state, back.clone()).unwrap();
        assert_eq!(bytes(&state), text);
    }
    submit(&mut state, done.into_iter().chain(back).collect()).unwrap();
    assert_eq!(bytes(&state), text);
}

#[test]
fn undone_operations_on_whole_cells_leave_every_byte() {
    for text in [OLD, &new()] {
        for at in 0..4 {
            cancels(text, |state| vec![delete(state, at)], |state| vec![restore(state, at)]);
        }
        // All of them.
        cancels(
            text,
            |state| (0..4).map(|at| delete(state, at)).collect(),
            |state| (0..4).map(|at| restore(state, at)).collect(),
        );
        let retype = |state: &State, at, kind| Op::Retype { cell: id(state, at), kind };
        let refit = |state: &State, at| Op::Refit { cell: id(state, at) };
        for at in [0, 2] {
            cancels(
                text,
                |state| vec![retype(state, at, CellType::Markdown)],
                |state| vec![retype(state, at, CellType::Code), refit(state, at)],
            );
            cancels(text, |state| vec![Op::Clear { cell: id(state, at) }], |state| vec![refit(state, at)]);
        }
        let move_ = |state: &State, at, after: Option<usize>| Op::Move {
            cell: id(state, at),
            after: after.map(|at| id(state, at)),
        };
        cancels(text, |state| vec![move_(state, 0, Some(3))], |state| vec![move_(state, 0, None)]);
        // A split: the lower part keeps the outputs, the upper one gets the metadata.
        let upper = |state: &State| Op::Insert {
            cell: Some("upper".into()),
            after: None,
            kind: CellType::Code,
            source: "x = 1".into(),
            content: Some(Content::Cell { cell: id(state, 0), outputs: false }),
        };
        cancels(
            text,
            |state| vec![write(state, 0, "print(x)"), upper(state)],
            |state| vec![Op::Delete { cell: "upper".into() }, write(state, 0, "x = 1\nprint(x)")],
        );
        // Merges, of code and of Markdown.
        for (first, second) in [(0, 2), (1, 3)] {
            let absorb = |state: &State| Op::Absorb { cell: id(state, first), from: vec![id(state, second)] };
            let source = |state: &State| state.notebook().cells()[first].source().into_owned();
            cancels(
                text,
                |state| vec![write(state, first, "merged"), absorb(state), delete(state, second)],
                |state| {
                    vec![restore(state, second), refit(state, first), write(state, first, &source(state))]
                },
            );
        }
    }
}

#[test]
fn a_merge_and_a_split_keep_outputs_metadata_and_attachments() {
    let mut state = open(&new());
    let merge = vec![
        Op::Absorb { cell: id(&state, 0), from: vec![id(&state, 2)] },
        delete(&state, 2),
        Op::Absorb { cell: id(&state, 1), from: vec![id(&state, 3)] },
        delete(&state, 3),
    ];
    submit(&mut state, merge).unwrap();
    let cells = serde_json::from_str::<serde_json::Value>(&bytes(&state)).unwrap()["cells"].take();
    assert_eq!(cells[0]["outputs"].as_array().unwrap().len(), 1);
    assert_eq!(cells[1]["attachments"].as_object().unwrap().len(), 2);
    let content = Some(Content::Cell { cell: id(&state, 0), outputs: false });
    let (cell, kind, source) = (Some("upper".into()), CellType::Code, String::new());
    submit(&mut state, vec![Op::Insert { cell, after: None, kind, source, content }]).unwrap();
    let cells = serde_json::from_str::<serde_json::Value>(&bytes(&state)).unwrap()["cells"].take();
    assert_eq!(cells[0]["metadata"], cells[1]["metadata"]);
    assert_eq!(
        (cells[0]["execution_count"].is_null(), cells[0]["outputs"].as_array().unwrap().len()),
        (true, 0)
    );
    testkit::validate_bytes(&state.notebook().to_bytes()).unwrap();
}

#[test]
fn whole_cells_are_pasted_under_free_names_and_other_json_is_refused() {
    let mut state = open(&new());
    let json = state.contents(&[id(&state, 0), "never".into()]);
    let [Some(json), None] = json.as_slice() else { panic!("{json:?}") };
    let paste = |name: &str, json: &str| Op::Insert {
        cell: Some(name.into()),
        after: None,
        kind: CellType::Code,
        source: "x = 1\nprint(x)".into(),
        content: Some(Content::Json(json.to_owned())),
    };
    submit(&mut state, vec![paste("mine", json)]).unwrap();
    let expected = json.replace("\"cell-0\"", "\"mine\"");
    assert_eq!(state.notebook().cells()[0].to_json(), expected);
    let change = state.since(100).unwrap().pop().unwrap();
    assert!(change.effects.contains(&Effect::Outputs { cell: "mine".into() }));
    assert!(matches!(
        submit(&mut state, vec![paste("cell-1", json)]),
        Err(SubmissionRefusal::BadName { .. })
    ));
    let before = bytes(&state);
    for bad in ["", "[]", "{}", "{\"cell_type\":\"code\",\"source\":\"\",\"outputs\":[{}]}"] {
        assert!(matches!(
            submit(&mut state, vec![paste("bad", bad)]),
            Err(SubmissionRefusal::BadContent { .. })
        ));
    }
    let large = json.replace("\"1\\n\"", &format!("\"{}\"", "x".repeat(MOST_CONTENT)));
    assert!(matches!(
        submit(&mut state, vec![paste("bad", &large)]),
        Err(SubmissionRefusal::BadContent { .. })
    ));
    assert_eq!(bytes(&state), before);
    // A cut and a paste of the same cell.
    let at = state.notebook().position(&"cell-0".into()).unwrap();
    let cut = vec![delete(&state, at)];
    submit(&mut state, cut).unwrap();
    let back = Op::Insert {
        cell: Some("cell-0".into()),
        after: Some("mine".into()),
        kind: CellType::Code,
        source: "x = 1\nprint(x)".into(),
        content: Some(Content::Json(json.clone())),
    };
    submit(&mut state, vec![back]).unwrap();
    assert_eq!(bytes(&state), before);
}

#[test]
fn one_step_after_the_other_is_taken_back() {
    let text = new();
    let mut state = open(&text);
    let (first, second) = (id(&state, 0), id(&state, 2));
    let absorb = Op::Absorb { cell: first.clone(), from: vec![second] };
    let (clear, refit) = (Op::Clear { cell: first.clone() }, Op::Refit { cell: first });
    submit(&mut state, vec![absorb.clone()]).unwrap();
    let absorbed = bytes(&state);
    for _ in 0..2 {
        submit(&mut state, vec![clear.clone()]).unwrap();
        assert_ne!(bytes(&state), absorbed);
        submit(&mut state, vec![refit.clone()]).unwrap();
        assert_eq!(bytes(&state), absorbed);
    }
    submit(&mut state, vec![refit]).unwrap();
    assert_eq!(bytes(&state), text);
    submit(&mut state, vec![absorb]).unwrap();
    assert_eq!(bytes(&state), absorbed);
}

#[test]
fn later_changes_are_not_overwritten() {
    let mut state = open(&new());
    let cell = id(&state, 0);
    submit(&mut state, vec![Op::Clear { cell: cell.clone() }]).unwrap();
    let ran =
        [cellist_output::Output::Stream { name: cellist_output::StreamName::Stdout, text: "new\n".into() }];
    assert!(state.set_outputs(&cell, &ran, Some(9), &ann(), 0));
    let before = bytes(&state);
    submit(&mut state, vec![Op::Refit { cell: cell.clone() }]).unwrap();
    assert_eq!(bytes(&state), before);
    // The host's undo of a merge also restores everything.
    let mut state = open(&new());
    let merge = vec![
        write(&state, 1, "merged"),
        Op::Absorb { cell: id(&state, 1), from: vec![id(&state, 3)] },
        delete(&state, 3),
    ];
    submit(&mut state, merge).unwrap();
    state.undo(&Undo::Last, &ann(), 0).unwrap();
    assert_eq!(bytes(&state), new());
    // A cell restored by two clients is restored once.
    let base = state.version();
    let (deleted, back) = (vec![delete(&state, 0)], vec![restore(&state, 0)]);
    submit(&mut state, deleted).unwrap();
    submit(&mut state, back.clone()).unwrap();
    let late = state.submit(Submission { base: base + 1, tag: None, ops: back }, &ann(), 0);
    assert!(matches!(late, Err(SubmissionRefusal::Behind { .. })));
    assert_eq!(texts(&state).len(), 4);
}
