//! Colour for people: where it is wanted, and what has which.

use std::env;
use std::io::{self, IsTerminal};

pub(crate) use cellist_tui::visible;
use clap::ValueEnum;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set.
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
    pub(crate) fn for_stdout(when: When) -> Paint {
        let on = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
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
        if self.on { format!("\x1b[{code}m{text}\x1b[m") } else { text.to_owned() }
    }
}
