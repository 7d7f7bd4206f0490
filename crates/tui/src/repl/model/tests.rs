use cellist_output::{Output, StreamName};

use super::*;
use crate::screen;

fn model() -> ReplModel {
    ReplModel::new("work".into(), ImageSupport::WORDS, vec!["import os".into(), "x = 1".into()])
}

fn key(model: &mut ReplModel, code: KeyCode, modifiers: KeyModifiers) -> ReplAction {
    model.handle(&Event::Key(KeyEvent::new(code, modifiers)))
}

fn type_in(model: &mut ReplModel, text: &str) -> ReplAction {
    let mut action = ReplAction::Nothing;
    for letter in text.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        action = key(model, code, KeyModifiers::NONE);
    }
    action
}

fn shown(model: &mut ReplModel, width: u16, height: u16) -> String {
    screen::shown(width, height, |area, buffer| model.draw(area, buffer))
}

#[test]
fn code_of_several_lines_runs_when_it_is_complete() {
    let mut model = model();
    assert_eq!(type_in(&mut model, "if x:\nprint(x)\n"), ReplAction::Nothing);
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
    >>> if x:
    ...     print(x)
    ...
    work · Tab complete · name? help · Ctrl…
    ");
    assert_eq!(type_in(&mut model, "\n"), ReplAction::Run("if x:\n    print(x)".into()));
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
     ⣾
     │ if x:
     │     print(x)

    >>>
    work · Tab complete · name? help · Ctrl…
    ");
    assert_eq!(type_in(&mut model, "y\n"), ReplAction::Nothing, "something runs");
    assert_eq!(key(&mut model, KeyCode::Char('c'), KeyModifiers::CONTROL), ReplAction::Interrupt);
}

#[test]
fn earlier_code_is_recalled() {
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
fn tab_inserts_the_common_prefix_and_then_cycles_through_completions() {
    let mut model = model();
    type_in(&mut model, "os.pa");
    assert_eq!(key(&mut model, KeyCode::Tab, KeyModifiers::NONE), ReplAction::Complete("os.pa".into(), 5));
    model.complete(vec!["os.path".into(), "os.pathsep".into()], 0, 5, 5);
    assert_eq!(model.composer.editor().text(), "os.path");
    insta::assert_snapshot!(shown(&mut model, 40, 6), @"
    >>> os.path
        os.path
        os.pathsep
    work · Tab complete · name? help · Ctrl…
    ");
    key(&mut model, KeyCode::Tab, KeyModifiers::NONE);
    key(&mut model, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(model.composer.editor().text(), "os.pathsep");
    // The text has changed since this request.
    model.complete(vec!["os.sep".into()], 0, 5, 5);
    assert_eq!(model.composer.editor().text(), "os.pathsep");
}

#[test]
fn some_lines_are_commands_of_the_repl() {
    let mut model = model();
    assert_eq!(type_in(&mut model, "print?\n"), ReplAction::Inspect("print".into()));
    assert_eq!(type_in(&mut model, "%notebook out.ipynb\n"), ReplAction::Save("out.ipynb".into()));
    assert_eq!(type_in(&mut model, "%restart\n"), ReplAction::Restart);
    assert_eq!(type_in(&mut model, "%time f()\n"), ReplAction::Run("%time f()".into()));
    model.end_failed("no");
    assert_eq!(type_in(&mut model, "exit\n"), ReplAction::Leave);
    assert_eq!(key(&mut model, KeyCode::Char('d'), KeyModifiers::CONTROL), ReplAction::Leave);
}

#[test]
fn the_code_is_saved_as_a_notebook() {
    let mut model = model();
    type_in(&mut model, "print(1)\n");
    model.record.cells[0].outputs = vec![Output::stream(StreamName::Stdout, "1\n")];
    model.record.cells[0].count = Some(1);
    let notebook =
        cellist_notebook::Notebook::parse(model.notebook(), cellist_notebook::Ids::seeded(0)).unwrap();
    let cell = &notebook.cells()[0];
    assert_eq!((cell.source().as_ref(), cell.execution_count()), ("print(1)", Some(1)));
    assert_eq!(cell.outputs(), model.record.cells[0].outputs);
}

#[test]
fn a_narrow_terminal_shows_the_text_at_the_cursor() {
    let mut model = model();
    type_in(&mut model, "abcdefghijklmnopqrstuvwxyz");
    assert!(shown(&mut model, 16, 4).contains(">>> ") && shown(&mut model, 16, 4).contains("xyz"));
    for (width, height) in [(1, 1), (2, 2), (5, 1), (80, 2)] {
        shown(&mut model, width, height);
    }
}
