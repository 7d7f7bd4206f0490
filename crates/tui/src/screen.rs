//! The whole terminal, taken over and given back: also when the program panics or is asked to end.

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

/// Keys that were pressed and not taken yet. Nobody types faster than a screen is drawn.
const KEYS: usize = 256;
/// How often the thread that reads keys looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(100);

/// Whether the terminal is ours.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether another screen than the user's is shown.
static IS_OTHER: AtomicBool = AtomicBool::new(false);

/// A terminal of which something is ours until this is dropped.
pub(crate) struct Taken;

impl Taken {
    /// Takes the keys.
    pub(crate) fn keys() -> io::Result<Taken> {
        restore_on_panic();
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        let taken = Taken;
        execute!(io::stdout(), EnableBracketedPaste)?;
        Ok(taken)
    }

    /// Takes the keys and all that is seen.
    fn all() -> io::Result<Taken> {
        let taken = Taken::keys()?;
        IS_OTHER.store(true, Ordering::SeqCst);
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that is ours until this is dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    has_colour: bool,
    /// What was sent already and need not be sent again.
    sent: Vec<u64>,
    _taken: Taken,
}

impl Screen {
    /// Takes the terminal over.
    pub fn take(has_colour: bool) -> io::Result<Screen> {
        let taken = Taken::all()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Screen { terminal, has_colour, sent: Vec::new(), _taken: taken })
    }

    /// Draws a frame: what it returns is sent before it, once, and where the cursor stands.
    pub fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer) -> Drawing) -> io::Result<()> {
        let (has_colour, sent) = (self.has_colour, &mut self.sent);
        self.terminal.draw(|frame| {
            let area = frame.area();
            let Drawing { before, cursor } = draw(area, frame.buffer_mut());
            if !has_colour {
                frame
                    .buffer_mut()
                    .content
                    .iter_mut()
                    .for_each(|cell| (cell.fg, cell.bg) = (Color::Reset, Color::Reset));
            }
            let mut out = io::stdout().lock();
            for payload in before {
                let name = named(&payload);
                if !sent.contains(&name) {
                    // A picture that cannot be sent is a picture that is not seen.
                    let _ = out.write_all(payload.as_bytes());
                    sent.push(name);
                }
            }
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })?;
        Ok(())
    }

    /// Draws everything anew with the next frame.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }
}

/// What comes with a frame.
#[derive(Debug, Default)]
pub struct Drawing {
    /// Sent before it, once.
    pub before: Vec<String>,
    /// Where the cursor is seen.
    pub cursor: Option<Position>,
}

/// What happens at a terminal, read by a thread of its own so that nothing keeps keys from being heard.
pub fn events() -> Receiver<Event> {
    let (tell, told) = channel(KEYS);
    let reading = move || {
        while !tell.is_closed() {
            match poll(LOOK) {
                Ok(false) => {}
                Ok(true) => match read() {
                    Ok(event) => {
                        if tell.blocking_send(event).is_err() {
                            return;
                        }
                    }
                    Err(_) => return,
                },
                Err(_) => return,
            }
        }
    };
    // Without a thread no key is ever heard: the channel is closed, and the screen with it.
    drop(thread::Builder::new().name("keys".into()).spawn(reading));
    told
}

fn named(payload: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    hasher.finish()
}

/// Gives the terminal back, once.
pub fn restore() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, DisableBracketedPaste);
        if IS_OTHER.swap(false, Ordering::SeqCst) {
            let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
        }
        let _ = disable_raw_mode();
    }
}

/// What a panic says is to be read on the terminal as it was before.
fn restore_on_panic() {
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if !IS_SET.swap(true, Ordering::SeqCst) {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |why| {
            restore();
            before(why);
            // Whatever went on would draw on a terminal that was given back.
            std::process::exit(101);
        }));
    }
}

/// What a screen of a size shows, as text.
#[cfg(test)]
pub(crate) fn shown(width: u16, height: u16, draw: impl FnOnce(Rect, &mut Buffer) -> Drawing) -> String {
    let area = Rect { x: 0, y: 0, width, height };
    let mut buffer = Buffer::empty(area);
    draw(area, &mut buffer);
    let row =
        |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n";
    (0..height).map(row).collect()
}
