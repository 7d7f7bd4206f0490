//! What each kind of text looks like. Everything that is drawn takes its style from here.

use ratatui_core::style::{Color, Modifier, Style};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Text without any meaning beside itself.
    Plain,
    /// What something is called.
    Title,
    /// Where something stands.
    Position,
    /// Something went well.
    Good,
    /// Something went wrong.
    Bad,
    /// Something to look at.
    Warning,
    /// What may be overlooked.
    Aside,
    /// What a search found.
    Found,
    /// A word of a language.
    Keyword,
    /// Text in quotes.
    Literal,
    /// A number or another constant.
    Constant,
    /// What is called.
    Function,
    /// The name of a type.
    Type,
    /// What only people read.
    Comment,
}

impl Role {
    /// Its style. Colours are the sixteen that every terminal lets its user choose.
    pub fn style(self) -> Style {
        let style = Style::new();
        match self {
            Role::Plain => style,
            Role::Title => style.add_modifier(Modifier::BOLD),
            Role::Position | Role::Type => style.fg(Color::Cyan),
            Role::Good | Role::Literal => style.fg(Color::Green),
            Role::Bad => style.fg(Color::Red),
            Role::Warning => style.fg(Color::Yellow),
            Role::Aside => style.add_modifier(Modifier::DIM),
            Role::Found => style.add_modifier(Modifier::REVERSED),
            Role::Keyword => style.fg(Color::Magenta),
            Role::Constant => style.fg(Color::Yellow),
            Role::Function => style.fg(Color::Blue),
            Role::Comment => style.fg(Color::DarkGray).add_modifier(Modifier::ITALIC),
        }
    }
}
