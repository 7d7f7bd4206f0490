//! Colours for text output. Our own escape sequences are marked until they are printed, which tells them from
//! those in foreign text.

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

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ink {
    Title,
    Position,
    Added,
    Removed,
    Aside,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output. Under git's pager that is a pipe, and git sets a variable.
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

    #[cfg(test)]
    pub(crate) fn never() -> Paint {
        Paint { on: false }
    }

    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// Colours a line without its newline.
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

/// Replaces the escape character in our own text. It is random, so no file or server can forge it.
static MARK: OnceLock<String> = OnceLock::new();

fn mark() -> &'static str {
    MARK.get_or_init(|| format!("\u{fdd0}{:016x}\u{fdd1}", RandomState::new().hash_one(0)))
}

/// Marks the escape sequences of text that we drew or cleaned.
pub(crate) fn own(text: &str) -> String {
    if text.contains('\x1b') { text.replace('\x1b', mark()) } else { text.to_owned() }
}

/// Prepares text for a terminal: spells out control characters except our own sequences.
pub(crate) fn for_terminal(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    lines.join("\n").replace(mark(), "\x1b").into_bytes()
}

/// Prepares text for a pipe or file: every byte is kept, and our own sequences are restored.
pub(crate) fn for_pipe(text: &[u8]) -> Cow<'_, [u8]> {
    // Uncoloured text needs no search, however long it is.
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
