use cellist_output::{Output, StreamName};

use super::*;
use crate::screen;

fn model() -> Model {
    Model::new("work".into(), Picturing::WORDS, vec!["import os".into(), "x = 1".into()])
}

fn key(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) -> Deed {
    model.take(&Event::Key(KeyEvent::new(code, modifiers)))
}

fn type_in(model: &mut Model, text: &str) -> Deed {
    let mut deed = Deed::Nothing;
    for letter in text.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        deed = key(model, code, KeyModifiers::NONE);
    }
    deed
}

fn shown(model: &mut Model, width: u16, height: u16) -> String {
    screen::shown(width, height, |area, buffer| model.draw(area, buffer))
}

#[test]
fn code_of_several_lines_runs_when_it_is_whole() {
    let mut model = model();
    assert_eq!(type_in(&mut model, "if x:\nprint(x)\n"), Deed::Nothing);
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
    >>> if x:
    ...     print(x)
    ...
    work · Tab completes · name? explains ·…
    ");
    assert_eq!(type_in(&mut model, "\n"), Deed::Run("if x:\n    print(x)".into()));
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
     ⣾
     │ if x:
     │     print(x)

    >>>
    work · Tab completes · name? explains ·…
    ");
    assert_eq!(type_in(&mut model, "y\n"), Deed::Nothing, "something runs");
    assert_eq!(key(&mut model, KeyCode::Char('c'), KeyModifiers::CONTROL), Deed::Interrupt);
}

#[test]
fn what_was_run_before_comes_back() {
    let mut model = model();
    type_in(&mut model, "half");
    key(&mut model, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(model.composer.editor().text(), "x = 1");
    key(&mut model, KeyCode::Up, KeyModifiers::NONE);
    key(&mut model, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(model.composer.editor().text(), "import os");
    key(&mut model, KeyCode::Down, KeyModifiers::NONE);
    key(&mut model, KeyCode::Down, KeyModifiers::NONE);
    assert_eq!(model.composer.editor().text(), "half");
}

#[test]
fn a_completion_is_taken_over_as_far_as_it_is_sure_and_then_chosen() {
    let mut model = model();
    type_in(&mut model, "os.pa");
    assert_eq!(key(&mut model, KeyCode::Tab, KeyModifiers::NONE), Deed::Complete("os.pa".into(), 5));
    model.complete(vec!["os.path".into(), "os.pathsep".into()], 0, 5, 5);
    assert_eq!(model.composer.editor().text(), "os.path");
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
    >>> os.path
        os.path
        os.pathsep
    work · Tab completes · name? explains ·…
    ");
    key(&mut model, KeyCode::Tab, KeyModifiers::NONE);
    key(&mut model, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(model.composer.editor().text(), "os.pathsep");
    // Too late: it was about another text.
    model.complete(vec!["os.sep".into()], 0, 5, 5);
    assert_eq!(model.composer.editor().text(), "os.pathsep");
}

#[test]
fn some_lines_are_for_us() {
    let mut model = model();
    assert_eq!(type_in(&mut model, "print?\n"), Deed::Inspect("print".into()));
    assert_eq!(type_in(&mut model, "%notebook out.ipynb\n"), Deed::Save("out.ipynb".into()));
    assert_eq!(type_in(&mut model, "%restart\n"), Deed::Restart);
    assert_eq!(type_in(&mut model, "%time f()\n"), Deed::Run("%time f()".into()));
    model.failed("no");
    assert_eq!(type_in(&mut model, "exit\n"), Deed::Leave);
    assert_eq!(key(&mut model, KeyCode::Char('d'), KeyModifiers::CONTROL), Deed::Leave);
}

#[test]
fn what_was_run_is_a_notebook() {
    let mut model = model();
    type_in(&mut model, "print(1)\n");
    model.ran[0].outputs = vec![Output::stream(StreamName::Stdout, "1\n")];
    model.ran[0].count = Some(1);
    let notebook =
        cellist_notebook::Notebook::parse(model.notebook(), cellist_notebook::Ids::seeded(0)).unwrap();
    let cell = &notebook.cells()[0];
    assert_eq!((cell.source().as_ref(), cell.execution_count()), ("print(1)", Some(1)));
    assert_eq!(cell.outputs(), model.ran[0].outputs);
}

#[test]
fn a_narrow_terminal_shows_what_is_typed() {
    let mut model = model();
    type_in(&mut model, "abcdefghijklmnopqrstuvwxyz");
    assert!(shown(&mut model, 16, 4).contains(">>> ") && shown(&mut model, 16, 4).contains("xyz"));
    for (width, height) in [(1, 1), (2, 2), (5, 1), (80, 2)] {
        shown(&mut model, width, height);
    }
}
