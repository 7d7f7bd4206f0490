//! The keys of the viewer: those of Jupyter's command mode and of vi.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The meaning of a key. Numbers are steps forward; negative ones go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewerCommand {
    /// Selects another cell.
    Step(isize),
    /// Scrolls by rows.
    Rows(isize),
    /// Scrolls by half screens.
    Halves(isize),
    First,
    Last,
    Toggle,
    ToggleAll,
    Search,
    /// Selects the next match of the search.
    Match(isize),
    /// Selects the next failed cell.
    Error(isize),
    /// Selects the next stale cell.
    Stale(isize),
    Run,
    RunAndAdvance,
    RunAll,
    Interrupt,
    Restart,
    Help,
    Leave,
}

/// The help screen.
pub(super) const HELP: &str = "\
| key | effect |
|---|---|
| j k ↓ ↑ | next cell, previous cell |
| gg G | first cell, last cell |
| J K Ctrl-E Ctrl-Y | scroll by a row |
| Ctrl-D Ctrl-U | scroll by half a screen |
| Space PgDn PgUp | scroll by a screen |
| o Enter Ctrl-O · O | fold or unfold a cell · all |
| / · n N | search · next, previous match |
| e E | next error, previous error |
| s S | next stale cell, previous one |
| r · Alt-Enter · R | run · run and advance · run all |
| ii · 00 | interrupt · restart the kernel |
| ? · q | this help · quit |";

/// The command of a key, after the key `before` it. Some commands need two keys.
pub(super) fn command(key: KeyEvent, before: Option<char>) -> Option<ViewerCommand> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let special = key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT);
    Some(match key.code {
        KeyCode::Char(letter) if control => match letter {
            'c' => ViewerCommand::Interrupt,
            'd' => ViewerCommand::Halves(1),
            'u' => ViewerCommand::Halves(-1),
            'f' => ViewerCommand::Halves(2),
            'b' => ViewerCommand::Halves(-2),
            'e' => ViewerCommand::Rows(1),
            'y' => ViewerCommand::Rows(-1),
            'o' => ViewerCommand::Toggle,
            _ => return None,
        },
        KeyCode::Char(letter) => match (before, letter) {
            (Some('g'), 'g') => ViewerCommand::First,
            (Some('i'), 'i') => ViewerCommand::Interrupt,
            (Some('0'), '0') => ViewerCommand::Restart,
            (_, 'j') => ViewerCommand::Step(1),
            (_, 'k') => ViewerCommand::Step(-1),
            (_, 'J') => ViewerCommand::Rows(1),
            (_, 'K') => ViewerCommand::Rows(-1),
            (_, ' ') => ViewerCommand::Halves(2),
            (_, 'G') => ViewerCommand::Last,
            (_, 'o') => ViewerCommand::Toggle,
            (_, 'O') => ViewerCommand::ToggleAll,
            (_, '/') => ViewerCommand::Search,
            (_, 'n') => ViewerCommand::Match(1),
            (_, 'N') => ViewerCommand::Match(-1),
            (_, 'e') => ViewerCommand::Error(1),
            (_, 'E') => ViewerCommand::Error(-1),
            (_, 's') => ViewerCommand::Stale(1),
            (_, 'S') => ViewerCommand::Stale(-1),
            (_, 'r') => ViewerCommand::Run,
            (_, 'R') => ViewerCommand::RunAll,
            (_, '?' | 'h') => ViewerCommand::Help,
            (_, 'q') => ViewerCommand::Leave,
            _ => return None,
        },
        KeyCode::Enter if control => ViewerCommand::Run,
        KeyCode::Enter if special => ViewerCommand::RunAndAdvance,
        KeyCode::Enter => ViewerCommand::Toggle,
        KeyCode::Down => ViewerCommand::Step(1),
        KeyCode::Up => ViewerCommand::Step(-1),
        KeyCode::PageDown => ViewerCommand::Halves(2),
        KeyCode::PageUp => ViewerCommand::Halves(-2),
        KeyCode::Home => ViewerCommand::First,
        KeyCode::End => ViewerCommand::Last,
        _ => return None,
    })
}
