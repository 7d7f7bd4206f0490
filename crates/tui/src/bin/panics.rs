//! Takes the terminal over and panics, for a test of what is left of it then.

fn main() {
    let _screen = cellist_tui::Screen::take(true).expect("it runs on a terminal");
    panic!("nobody thought of this");
}
