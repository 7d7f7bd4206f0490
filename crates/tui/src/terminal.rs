//! What the terminal can do: its size, and which pictures it shows. Known by its name where that says enough, otherwise
//! it is asked.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::picture::{Picturing, Protocol, USUAL_CELL};

/// How long a terminal may take to say what it is. One across an ocean takes a quarter of a second.
const PATIENCE: Duration = Duration::from_millis(500);
/// Its name and version, the size of a letter, and what it can do. Every terminal answers the last, so nobody waits long.
const QUESTIONS: &[u8] = b"\x1b[>q\x1b[16t\x1b[c";

/// Columns and rows of the terminal on standard output.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// Columns of the terminal behind a stream.
pub fn width_of(stream: impl AsFd) -> usize {
    match tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

/// How pictures can be shown here. `wanted` is what the user says; without it, what the terminal can do.
pub fn picturing(wanted: Option<Protocol>, variable: impl Fn(&str) -> Option<String>) -> Picturing {
    let told = Told::read(variable);
    let measured = tcgetwinsize(std::io::stdout()).ok().and_then(|size| {
        let across = size.ws_xpixel.checked_div(size.ws_col).filter(|it| *it > 0)?;
        Some((across, size.ws_ypixel.checked_div(size.ws_row).filter(|it| *it > 0)?))
    });
    let guess = wanted.or(told.protocol);
    let answers = match guess {
        // Two pixels a letter, or none: nothing is left to ask.
        Some(Protocol::HalfBlocks | Protocol::Words) => Answers::default(),
        Some(_) if measured.is_some() => Answers::default(),
        _ => ask().map(|bytes| Answers::read(&bytes)).unwrap_or_default(),
    };
    let protocol = guess.or_else(|| answers.protocol()).unwrap_or(Protocol::HalfBlocks);
    let cell = measured.or(answers.cell).unwrap_or(USUAL_CELL);
    Picturing { protocol, cell, in_tmux: told.in_tmux, has_all_colours: told.has_all_colours }
}

/// What the environment tells of a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    protocol: Option<Protocol>,
    in_tmux: bool,
    has_all_colours: bool,
}

impl Told {
    fn read(variable: impl Fn(&str) -> Option<String>) -> Told {
        let of = |name: &str| variable(name).unwrap_or_default().to_ascii_lowercase();
        let (term, program) = (of("TERM"), of("TERM_PROGRAM"));
        let in_tmux = !of("TMUX").is_empty();
        let is_set = |name: &str| !of(name).is_empty();
        let protocol = if term == "dumb" || term == "linux" {
            Some(Protocol::Words)
        } else if is_set("KITTY_WINDOW_ID")
            || term.contains("kitty")
            || term.contains("ghostty")
            || program == "ghostty"
        {
            Some(Protocol::Kitty)
        } else if in_tmux || term.starts_with("screen") {
            // Which terminal tmux is shown on may change at any time, and screen shows no pictures.
            Some(Protocol::HalfBlocks)
        } else if program == "iterm.app"
            || of("LC_TERMINAL") == "iterm2"
            || program == "wezterm"
            || program == "mintty"
            || is_set("KONSOLE_VERSION")
        {
            Some(Protocol::Iterm)
        } else if term.starts_with("foot") || term.starts_with("mlterm") || term.starts_with("yaft") {
            Some(Protocol::Sixel)
        } else if program == "apple_terminal" {
            Some(Protocol::HalfBlocks)
        } else {
            None
        };
        let has_all_colours = matches!(of("COLORTERM").as_str(), "truecolor" | "24bit")
            || matches!(protocol, Some(Protocol::Kitty | Protocol::Iterm | Protocol::Sixel));
        Told { protocol, in_tmux, has_all_colours }
    }
}

/// What a terminal says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    name: String,
    cell: Option<(u16, u16)>,
    has_sixel: bool,
}

impl Answers {
    fn read(bytes: &[u8]) -> Answers {
        let text = String::from_utf8_lossy(bytes);
        let mut answers = Answers::default();
        if let Some((_, name)) = text.split_once("\x1bP>|") {
            answers.name = name.split('\x1b').next().unwrap_or_default().to_ascii_lowercase();
        }
        for sequence in text.split("\x1b[").skip(1) {
            let end = sequence.find(|it: char| it.is_ascii_alphabetic());
            let Some((parameters, letter)) = end.map(|end| (&sequence[..end], &sequence[end..=end])) else {
                continue;
            };
            let numbers =
                || parameters.trim_start_matches('?').split(';').filter_map(|it| it.parse::<u16>().ok());
            match letter {
                // Those of the first attribute are a class, not what it can do.
                "c" if parameters.starts_with('?') => answers.has_sixel = numbers().skip(1).any(|it| it == 4),
                "t" => {
                    let numbers: Vec<u16> = numbers().collect();
                    match numbers[..] {
                        [6, high, wide] if high > 0 && wide > 0 => answers.cell = Some((wide, high)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        answers
    }

    fn protocol(&self) -> Option<Protocol> {
        let is = |name: &str| self.name.contains(name);
        if is("kitty") || is("ghostty") {
            Some(Protocol::Kitty)
        } else if is("iterm2") || is("wezterm") || is("konsole") || is("mintty") {
            Some(Protocol::Iterm)
        } else {
            self.has_sixel.then_some(Protocol::Sixel)
        }
    }
}

/// Asks the terminal, and gives up on one that does not answer.
fn ask() -> Option<Vec<u8>> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    let _quiet = Quiet::new(&terminal)?;
    (&terminal).write_all(QUESTIONS).ok()?;
    let until = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    while !is_answered(&heard) {
        let left = until.checked_duration_since(Instant::now())?;
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut waiting = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
        if poll(&mut waiting, Some(&wait)).ok()? == 0 {
            return None;
        }
        let mut piece = [0; 256];
        let count = (&terminal).read(&mut piece).ok().filter(|count| *count > 0)?;
        heard.extend_from_slice(&piece[..count]);
    }
    Some(heard)
}

/// Whether the answer to the last question is there.
fn is_answered(heard: &[u8]) -> bool {
    let text = String::from_utf8_lossy(heard);
    text.rsplit_once("\x1b[?").is_some_and(|(_, last)| last.contains('c'))
}

/// A terminal that does not show what is typed and hands it over at once, until this is dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl Quiet<'_> {
    fn new(terminal: &File) -> Option<Quiet<'_>> {
        let before = tcgetattr(terminal).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
        Some(Quiet { terminal, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)]) -> Told {
        Told::read(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn terminals_are_known_by_their_names() {
        type Known<'a> = (&'a [(&'a str, &'a str)], Option<Protocol>);
        let known: &[Known<'_>] = &[
            (&[("TERM", "xterm-kitty")], Some(Protocol::Kitty)),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(Protocol::Kitty)),
            (&[("TERM", "xterm-ghostty")], Some(Protocol::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(Protocol::Iterm)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(Protocol::Iterm)),
            (&[("TERM", "foot")], Some(Protocol::Sixel)),
            (
                &[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("TERM_PROGRAM", "tmux")],
                Some(Protocol::HalfBlocks),
            ),
            (&[("TERM_PROGRAM", "Apple_Terminal")], Some(Protocol::HalfBlocks)),
            (&[("TERM", "dumb")], Some(Protocol::Words)),
            (&[("TERM", "xterm-256color")], None),
        ];
        for (variables, protocol) in known {
            assert_eq!(told(variables).protocol, *protocol, "{variables:?}");
        }
        assert!(told(&[("COLORTERM", "truecolor")]).has_all_colours);
        assert!(!told(&[("TERM", "xterm-256color")]).has_all_colours);
    }

    #[test]
    fn what_a_terminal_answers_is_read_whatever_else_comes_with_it() {
        let kitty = Answers::read(b"typed\x1bP>|kitty(0.42.1)\x1b\\\x1b[6;20;10t\x1b[?62;c");
        assert_eq!((kitty.protocol(), kitty.cell), (Some(Protocol::Kitty), Some((10, 20))));
        let xterm = Answers::read(b"\x1bP>|XTerm(390)\x1b\\\x1b[?64;1;4;22c");
        assert_eq!((xterm.protocol(), xterm.cell), (Some(Protocol::Sixel), None));
        // A terminal of class 4 is not one that has sixels.
        assert_eq!(Answers::read(b"\x1b[?4;1c").protocol(), None);
        assert_eq!(Answers::read(b"\x1b[6;0;0t\x1b[").cell, None);
        assert!(is_answered(b"\x1b[6;20;10t\x1b[?62;c") && !is_answered(b"\x1b[6;20;10t\x1b[?62"));
    }
}
