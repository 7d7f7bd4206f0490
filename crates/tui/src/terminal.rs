//! Detection of the terminal: its size and its support for images. Environment variables decide if they are enough;
//! otherwise the terminal is queried.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::graphics::{DEFAULT_CELL, ImageProtocol, ImageSupport};

/// The timeout of a query. A remote terminal on another continent takes about 250 ms.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);
/// Queries name and version, cell size and attributes. Every terminal answers the last one, so the wait is short.
const QUERIES: &[u8] = b"\x1b[>q\x1b[16t\x1b[c";

/// The columns and rows of the terminal on standard output, or 80 and 24.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// The columns of the terminal behind a stream, or 80.
pub fn width_of(stream: impl AsFd) -> usize {
    match tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

/// Detects the support for images. A protocol that the user has chosen takes precedence.
pub fn detect_images(
    chosen: Option<ImageProtocol>,
    variable: impl Fn(&str) -> Option<String>,
) -> ImageSupport {
    let hints = TerminalHints::read(variable);
    let measured = tcgetwinsize(std::io::stdout()).ok().and_then(|size| {
        let across = size.ws_xpixel.checked_div(size.ws_col).filter(|it| *it > 0)?;
        Some((across, size.ws_ypixel.checked_div(size.ws_row).filter(|it| *it > 0)?))
    });
    let guess = chosen.or(hints.protocol);
    let report = match guess {
        // These need no cell size.
        Some(ImageProtocol::HalfBlocks | ImageProtocol::Words) => TerminalReport::default(),
        Some(_) if measured.is_some() => TerminalReport::default(),
        _ => query().map(|bytes| TerminalReport::read(&bytes)).unwrap_or_default(),
    };
    let protocol = guess.or_else(|| report.protocol()).unwrap_or(ImageProtocol::HalfBlocks);
    let cell = measured.or(report.cell).unwrap_or(DEFAULT_CELL);
    ImageSupport { protocol, cell, in_tmux: hints.in_tmux, has_true_colour: hints.has_true_colour }
}

/// Facts about the terminal in environment variables.
#[derive(Debug, PartialEq, Eq)]
struct TerminalHints {
    protocol: Option<ImageProtocol>,
    in_tmux: bool,
    has_true_colour: bool,
}

impl TerminalHints {
    fn read(variable: impl Fn(&str) -> Option<String>) -> TerminalHints {
        let of = |name: &str| variable(name).unwrap_or_default().to_ascii_lowercase();
        let (term, program) = (of("TERM"), of("TERM_PROGRAM"));
        let in_tmux = !of("TMUX").is_empty();
        let is_set = |name: &str| !of(name).is_empty();
        let protocol = if term == "dumb" || term == "linux" {
            Some(ImageProtocol::Words)
        } else if is_set("KITTY_WINDOW_ID")
            || term.contains("kitty")
            || term.contains("ghostty")
            || program == "ghostty"
        {
            Some(ImageProtocol::Kitty)
        } else if in_tmux || term.starts_with("screen") {
            // tmux may be attached to another terminal at any time, and screen has no images.
            Some(ImageProtocol::HalfBlocks)
        } else if program == "iterm.app"
            || of("LC_TERMINAL") == "iterm2"
            || program == "wezterm"
            || program == "mintty"
            || is_set("KONSOLE_VERSION")
        {
            Some(ImageProtocol::Iterm)
        } else if term.starts_with("foot") || term.starts_with("mlterm") || term.starts_with("yaft") {
            Some(ImageProtocol::Sixel)
        } else if program == "apple_terminal" {
            Some(ImageProtocol::HalfBlocks)
        } else {
            None
        };
        let has_true_colour = matches!(of("COLORTERM").as_str(), "truecolor" | "24bit")
            || matches!(protocol, Some(ImageProtocol::Kitty | ImageProtocol::Iterm | ImageProtocol::Sixel));
        TerminalHints { protocol, in_tmux, has_true_colour }
    }
}

/// The terminal's answers to [`QUERIES`].
#[derive(Debug, Default, PartialEq, Eq)]
struct TerminalReport {
    name: String,
    cell: Option<(u16, u16)>,
    has_sixel: bool,
}

impl TerminalReport {
    fn read(bytes: &[u8]) -> TerminalReport {
        let text = String::from_utf8_lossy(bytes);
        let mut report = TerminalReport::default();
        if let Some((_, name)) = text.split_once("\x1bP>|") {
            report.name = name.split('\x1b').next().unwrap_or_default().to_ascii_lowercase();
        }
        for sequence in text.split("\x1b[").skip(1) {
            let end = sequence.find(|it: char| it.is_ascii_alphabetic());
            let Some((parameters, letter)) = end.map(|end| (&sequence[..end], &sequence[end..=end])) else {
                continue;
            };
            let numbers =
                || parameters.trim_start_matches('?').split(';').filter_map(|it| it.parse::<u16>().ok());
            match letter {
                // The first attribute is the terminal's class, not a feature.
                "c" if parameters.starts_with('?') => report.has_sixel = numbers().skip(1).any(|it| it == 4),
                "t" => {
                    let numbers: Vec<u16> = numbers().collect();
                    match numbers[..] {
                        [6, high, wide] if high > 0 && wide > 0 => report.cell = Some((wide, high)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        report
    }

    fn protocol(&self) -> Option<ImageProtocol> {
        let is = |name: &str| self.name.contains(name);
        if is("kitty") || is("ghostty") {
            Some(ImageProtocol::Kitty)
        } else if is("iterm2") || is("wezterm") || is("konsole") || is("mintty") {
            Some(ImageProtocol::Iterm)
        } else {
            self.has_sixel.then_some(ImageProtocol::Sixel)
        }
    }
}

/// Queries the terminal. Returns nothing after the timeout.
fn query() -> Option<Vec<u8>> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    let _raw = RawMode::new(&terminal)?;
    (&terminal).write_all(QUERIES).ok()?;
    let until = Instant::now() + QUERY_TIMEOUT;
    let mut answer = Vec::new();
    while !is_complete(&answer) {
        let left = until.checked_duration_since(Instant::now())?;
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut waiting = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
        if poll(&mut waiting, Some(&wait)).ok()? == 0 {
            return None;
        }
        let mut piece = [0; 256];
        let count = (&terminal).read(&mut piece).ok().filter(|count| *count > 0)?;
        answer.extend_from_slice(&piece[..count]);
    }
    Some(answer)
}

/// Whether the answer to the last query has arrived.
fn is_complete(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    text.rsplit_once("\x1b[?").is_some_and(|(_, last)| last.contains('c'))
}

/// Raw mode without echo, restored on drop. Unread input is discarded.
struct RawMode<'a> {
    terminal: &'a File,
    before: Termios,
}

impl RawMode<'_> {
    fn new(terminal: &File) -> Option<RawMode<'_>> {
        let before = tcgetattr(terminal).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
        Some(RawMode { terminal, before })
    }
}

impl Drop for RawMode<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(variables: &[(&str, &str)]) -> TerminalHints {
        TerminalHints::read(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn terminals_are_recognized_by_variables() {
        type Known<'a> = (&'a [(&'a str, &'a str)], Option<ImageProtocol>);
        let known: &[Known<'_>] = &[
            (&[("TERM", "xterm-kitty")], Some(ImageProtocol::Kitty)),
            (&[("TERM", "xterm-256color"), ("KITTY_WINDOW_ID", "1")], Some(ImageProtocol::Kitty)),
            (&[("TERM", "xterm-ghostty")], Some(ImageProtocol::Kitty)),
            (&[("TERM_PROGRAM", "iTerm.app")], Some(ImageProtocol::Iterm)),
            (&[("TERM_PROGRAM", "WezTerm")], Some(ImageProtocol::Iterm)),
            (&[("TERM", "foot")], Some(ImageProtocol::Sixel)),
            (
                &[("TERM", "tmux-256color"), ("TMUX", "/tmp/x"), ("TERM_PROGRAM", "tmux")],
                Some(ImageProtocol::HalfBlocks),
            ),
            (&[("TERM_PROGRAM", "Apple_Terminal")], Some(ImageProtocol::HalfBlocks)),
            (&[("TERM", "dumb")], Some(ImageProtocol::Words)),
            (&[("TERM", "xterm-256color")], None),
        ];
        for (variables, protocol) in known {
            assert_eq!(hints(variables).protocol, *protocol, "{variables:?}");
        }
        assert!(hints(&[("COLORTERM", "truecolor")]).has_true_colour);
        assert!(!hints(&[("TERM", "xterm-256color")]).has_true_colour);
    }

    #[test]
    fn answers_are_parsed_among_other_input() {
        let kitty = TerminalReport::read(b"typed\x1bP>|kitty(0.42.1)\x1b\\\x1b[6;20;10t\x1b[?62;c");
        assert_eq!((kitty.protocol(), kitty.cell), (Some(ImageProtocol::Kitty), Some((10, 20))));
        let xterm = TerminalReport::read(b"\x1bP>|XTerm(390)\x1b\\\x1b[?64;1;4;22c");
        assert_eq!((xterm.protocol(), xterm.cell), (Some(ImageProtocol::Sixel), None));
        // Class 4 does not mean sixels.
        assert_eq!(TerminalReport::read(b"\x1b[?4;1c").protocol(), None);
        assert_eq!(TerminalReport::read(b"\x1b[6;0;0t\x1b[").cell, None);
        assert!(is_complete(b"\x1b[6;20;10t\x1b[?62;c") && !is_complete(b"\x1b[6;20;10t\x1b[?62"));
    }
}
