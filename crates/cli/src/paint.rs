//! Colour for people: where it is wanted, and what has which. Escape sequences of ours are marked until they are printed, so
//! that those of anyone else can be told from them.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::env;
use std::hash::BuildHasher;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

pub(crate) use cellist_tui::visible;
use clap::ValueEnum;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourMode {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    Title,
    Position,
    Added,
    Removed,
    Aside,
}

/// Colours text, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output. Below git's pager that is a pipe, and git says so in the environment.
    pub(crate) fn for_stdout(when: ColourMode) -> Paint {
        let on = match when {
            ColourMode::Always => true,
            ColourMode::Never => false,
            ColourMode::Auto => {
                let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
                let plain = set("NO_COLOR") || env::var_os("TERM").is_some_and(|term| term == "dumb");
                !plain && (io::stdout().is_terminal() || set("GIT_PAGER_IN_USE"))
            }
        };
        Paint { on }
    }

    /// No colour at all.
    #[cfg(test)]
    pub(crate) fn never() -> Paint {
        Paint { on: false }
    }

    /// Whether there is colour.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// A line in its colour, without the line's end.
    pub(crate) fn line(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Title => "1",
            Ink::Position => "36",
            Ink::Added => "32",
            Ink::Removed => "31",
            Ink::Aside => "2",
        };
        if self.on { format!("{0}[{code}m{text}{0}[m", mark()) } else { text.to_owned() }
    }
}

/// Stands for the escape character in text of ours. No file or server can know it.
static MARK: OnceLock<String> = OnceLock::new();

fn mark() -> &'static str {
    MARK.get_or_init(|| format!("\u{fdd0}{:016x}\u{fdd1}", RandomState::new().hash_one(0)))
}

/// Text with escape sequences that may reach a terminal: drawn by us, or cleaned.
pub(crate) fn own(text: &str) -> String {
    if text.contains('\x1b') { text.replace('\x1b', mark()) } else { text.to_owned() }
}

/// Any text as it goes to a terminal: control characters are spelled out, but for our own sequences.
pub(crate) fn for_terminal(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    lines.join("\n").replace(mark(), "\x1b").into_bytes()
}

/// Any text as it goes to a pipe or a file: byte for byte, with our own sequences.
pub(crate) fn for_pipe(text: &[u8]) -> Cow<'_, [u8]> {
    // Where nothing was coloured there is nothing to look for, however long the text is.
    let Some(mark) = MARK.get().map(String::as_bytes) else { return text.into() };
    let Some(first) = position(text, mark) else { return text.into() };
    let mut out = text[..first].to_vec();
    let mut rest = &text[first..];
    while let Some(at) = position(rest, mark) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\x1b');
        rest = &rest[at + mark.len()..];
    }
    out.extend_from_slice(rest);
    out.into()
}

fn position(text: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_terminal_only_our_own_sequences_are_left() {
        let foreign = "\x1b]0;title\x07 \x1b[8m \u{9b}2J \u{fdd0}0000000000000000\u{fdd1}[31m \u{202e}";
        let text = format!("{}\n{foreign}\tend", Paint { on: true }.line(Ink::Added, foreign));
        let shown = String::from_utf8(for_terminal(text.as_bytes())).unwrap();
        assert_eq!(shown.matches('\x1b').count(), 2, "{shown:?}");
        assert!(shown.starts_with("\x1b[32m^[]0;title^G ^[[8m \\u{9b}2J"), "{shown:?}");
        assert!(shown.ends_with("\tend") && !shown.contains('\u{202e}'), "{shown:?}");
    }

    #[test]
    fn a_pipe_gets_every_byte() {
        let painted = Paint { on: true }.line(Ink::Added, "x");
        let bytes = [painted.as_bytes(), b"\xff\x1b[2J", painted.as_bytes()].concat();
        assert_eq!(&*for_pipe(&bytes), b"\x1b[32mx\x1b[m\xff\x1b[2J\x1b[32mx\x1b[m");
        assert_eq!(&*for_pipe(b"\xfe\x1b"), b"\xfe\x1b");
    }
}
