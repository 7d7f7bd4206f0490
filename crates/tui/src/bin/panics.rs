//! Takes over the terminal and panics, for a test of its restoration.

fn main() {
    let _screen = cellist_tui::TerminalScreen::take(true).expect("the test runs on a terminal");
    panic!("deliberate panic");
}
