//! Ownership of the terminal: raw mode and the alternate screen, restored on drop, on a panic and on exit signals.

use std::io::{self, Stdout, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, poll, read};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use tokio::sync::mpsc::{Receiver, channel};

/// The capacity of the channel of keys. A screen is drawn faster than a user types.
const KEYS: usize = 256;
/// How often the thread for keys checks whether its receiver is gone.
const POLL: Duration = Duration::from_millis(100);

/// Whether the terminal is in raw mode.
static IS_RAW: AtomicBool = AtomicBool::new(false);
/// Whether the alternate screen is shown.
static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);

/// Restores the terminal on drop.
pub(crate) struct TerminalGuard;

impl TerminalGuard {
    /// Enters raw mode.
    pub(crate) fn raw_mode() -> io::Result<TerminalGuard> {
        restore_on_panic();
        enable_raw_mode()?;
        IS_RAW.store(true, Ordering::SeqCst);
        let guard = TerminalGuard;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(guard)
    }

    /// Enters raw mode and the alternate screen.
    fn full_screen() -> io::Result<TerminalGuard> {
        let guard = TerminalGuard::raw_mode()?;
        IS_ALTERNATE.store(true, Ordering::SeqCst);
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(guard)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// The full screen of the terminal. Dropping it restores the user's screen.
pub struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_colour: bool,
    /// The hashes of sequences that the terminal has already received.
    sent: Vec<u64>,
    _guard: TerminalGuard,
}

impl TerminalScreen {
    /// Takes over the terminal.
    pub fn take(has_colour: bool) -> io::Result<TerminalScreen> {
        let guard = TerminalGuard::full_screen()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(TerminalScreen { terminal, has_colour, sent: Vec::new(), _guard: guard })
    }

    /// Draws a frame. `draw` fills the buffer and returns the sequences and the cursor of the frame.
    pub fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer) -> FrameOutput) -> io::Result<()> {
        let (has_colour, sent) = (self.has_colour, &mut self.sent);
        self.terminal.draw(|frame| {
            let area = frame.area();
            let FrameOutput { before, cursor } = draw(area, frame.buffer_mut());
            if !has_colour {
                frame
                    .buffer_mut()
                    .content
                    .iter_mut()
                    .for_each(|cell| (cell.fg, cell.bg) = (Color::Reset, Color::Reset));
            }
            let mut out = io::stdout().lock();
            for payload in before {
                let hash = hash(&payload);
                if !sent.contains(&hash) {
                    // A failed write costs only the image.
                    let _ = out.write_all(payload.as_bytes());
                    sent.push(hash);
                }
            }
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }

    /// Clears the screen, so that the next frame is drawn completely.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

/// The parts of a frame beside its buffer.
#[derive(Debug, Default)]
pub struct FrameOutput {
    /// Escape sequences to send before the frame. Each is sent once.
    pub before: Vec<String>,
    /// The position of the visible cursor.
    pub cursor: Option<Position>,
}

/// Starts a thread that reads the events of the terminal, so that slow work never delays keys. It ends when the receiver is
/// dropped.
pub fn events() -> Receiver<Event> {
    let (sender, receiver) = channel(KEYS);
    let reading = move || {
        while !sender.is_closed() {
            match poll(POLL) {
                Ok(false) => {}
                Ok(true) => match read() {
                    Ok(event) => {
                        if sender.blocking_send(event).is_err() {
                            return;
                        }
                    }
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    };
    // Without a thread the channel is closed, and the screen ends at once.
    drop(thread::Builder::new().name("keys".into()).spawn(reading));
    receiver
}

fn hash(payload: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    hasher.finish()
}

/// Restores the terminal. Further calls have no effect.
pub fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, DisableBracketedPaste);
        if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
            let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
        }
        let _ = disable_raw_mode();
    }
}

/// Restores the terminal before a panic is printed.
fn restore_on_panic() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if !IS_SET.swap(true, Ordering::SeqCst) {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
            // Other tasks would still draw on the restored terminal.
            std::process::exit(101);
        }));
    }
}

/// The text of a screen, for tests.
#[cfg(test)]
pub(crate) fn shown(width: u16, height: u16, draw: impl FnOnce(Rect, &mut Buffer) -> FrameOutput) -> String {
    let area = Rect { x: 0, y: 0, width, height };
    let mut buffer = Buffer::empty(area);
    draw(area, &mut buffer);
    let row =
        |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(row).collect()
}
