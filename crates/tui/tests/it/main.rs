//! Tests on a real terminal.

use std::process::Command;

use testkit::Terminal;

#[test]
fn the_terminal_is_restored_after_a_panic_and_shows_its_message() {
    let program = Command::new(env!("CARGO_BIN_EXE_cellist-tui-panics"));
    let (exit, ended) = Terminal::start(&program, (60, 20)).end();
    assert_ne!(exit, 0);
    assert!(ended.raw.contains("\x1b[?1049h"), "no full screen: {:?}", ended.raw);
    assert!(ended.is_restored, "{:?}", ended.raw);
    assert!(ended.screen.contains("deliberate panic"), "{}", ended.screen);
}
