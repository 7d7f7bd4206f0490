//! What only a real terminal shows.

use std::process::Command;

use testkit::Terminal;

#[test]
fn a_terminal_is_given_back_after_a_panic_and_what_it_said_can_be_read() {
    let program = Command::new(env!("CARGO_BIN_EXE_cellist-tui-panics"));
    let (exit, ended) = Terminal::start(&program, (60, 20)).end();
    assert_ne!(exit, 0);
    assert!(ended.raw.contains("\x1b[?1049h"), "it was taken over: {:?}", ended.raw);
    assert!(ended.is_restored, "{:?}", ended.raw);
    assert!(ended.screen.contains("nobody thought of this"), "{}", ended.screen);
}
