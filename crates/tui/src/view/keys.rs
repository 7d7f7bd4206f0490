//! Which key does what: Jupyter's command mode, and vi's ways to move.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The next cell, or one before.
    Step(isize),
    /// So many rows on.
    Rows(isize),
    /// So many halves of a screen on.
    Halves(isize),
    First,
    Last,
    Toggle,
    ToggleAll,
    Search,
    /// The next place that a search found, or the one before.
    Found(isize),
    /// The next cell that failed, or the one before.
    Error(isize),
    /// The next cell that is stale, or the one before.
    Stale(isize),
    Run,
    RunAndGoOn,
    RunAll,
    Interrupt,
    Restart,
    Help,
    Leave,
}

/// Every key, for people.
pub(super) const HELP: &str = "\
| key | does |
|---|---|
| j k ↓ ↑ | next cell, cell before |
| J K Ctrl-E Ctrl-Y | one row |
| Ctrl-D Ctrl-U, Space PgDn PgUp | half a screen, a screen |
| gg G | first cell, last cell |
| o Enter Ctrl-O · O | unfold or fold a cell · all cells |
| / n N | search, next and previous place |
| e E | next and previous error |
| s S | next and previous stale cell |
| r · Alt-Enter · R | run the cell · and go on · run all |
| ii · 00 | interrupt · restart the kernel |
| ? q | this help, leave |";

/// What a key means behind the one before it.
pub(super) fn wish(key: KeyEvent, before: Option<char>) -> Option<Wish> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let special = key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Char(letter) if control => match letter {
            'c' => Wish::Interrupt,
            'd' => Wish::Halves(1),
            'u' => Wish::Halves(-1),
            'f' => Wish::Halves(2),
            'b' => Wish::Halves(-2),
            'e' => Wish::Rows(1),
            'y' => Wish::Rows(-1),
            'o' => Wish::Toggle,
            _ => return None,
        },
        KeyCode::Char(letter) => match (before, letter) {
            (Some('g'), 'g') => Wish::First,
            (Some('i'), 'i') => Wish::Interrupt,
            (Some('0'), '0') => Wish::Restart,
            (_, 'j') => Wish::Step(1),
            (_, 'k') => Wish::Step(-1),
            (_, 'J') => Wish::Rows(1),
            (_, 'K') => Wish::Rows(-1),
            (_, ' ') => Wish::Halves(2),
            (_, 'G') => Wish::Last,
            (_, 'o') => Wish::Toggle,
            (_, 'O') => Wish::ToggleAll,
            (_, '/') => Wish::Search,
            (_, 'n') => Wish::Found(1),
            (_, 'N') => Wish::Found(-1),
            (_, 'e') => Wish::Error(1),
            (_, 'E') => Wish::Error(-1),
            (_, 's') => Wish::Stale(1),
            (_, 'S') => Wish::Stale(-1),
            (_, 'r') => Wish::Run,
            (_, 'R') => Wish::RunAll,
            (_, '?' | 'h') => Wish::Help,
            (_, 'q') => Wish::Leave,
            _ => return None,
        },
        KeyCode::Enter if control => Wish::Run,
        KeyCode::Enter if special => Wish::RunAndGoOn,
        KeyCode::Enter => Wish::Toggle,
        KeyCode::Down => Wish::Step(1),
        KeyCode::Up => Wish::Step(-1),
        KeyCode::PageDown => Wish::Halves(2),
        KeyCode::PageUp => Wish::Halves(-2),
        KeyCode::Home => Wish::First,
        KeyCode::End => Wish::Last,
        _ => return None,
    })
}
