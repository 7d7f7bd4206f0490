//! The styles of all text on the terminal.

use ratatui_core::style::{Color, Modifier, Style};

/// The meaning of a text, which decides its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// Ordinary text.
    Plain,
    /// A title or name.
    Title,
    /// A position, number or label.
    Position,
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// A warning.
    Warning,
    /// Less important text.
    Aside,
    /// The selected completion.
    Selected,
    /// A keyword of a programming language.
    Keyword,
    /// A string literal.
    Literal,
    /// A number or another constant.
    Constant,
    /// A function that is defined or called.
    Function,
    /// The name of a type.
    Type,
    /// A comment.
    Comment,
}

impl TextRole {
    /// The style. It uses only the 16 colours of the terminal's theme.
    pub fn style(self) -> Style {
        let style = Style::new();
        match self {
            TextRole::Plain => style,
            TextRole::Title => style.add_modifier(Modifier::BOLD),
            TextRole::Position | TextRole::Type => style.fg(Color::Cyan),
            TextRole::Good | TextRole::Literal => style.fg(Color::Green),
            TextRole::Bad => style.fg(Color::Red),
            TextRole::Warning => style.fg(Color::Yellow),
            TextRole::Aside => style.add_modifier(Modifier::DIM),
            TextRole::Selected => style.add_modifier(Modifier::REVERSED),
            TextRole::Keyword => style.fg(Color::Magenta),
            TextRole::Constant => style.fg(Color::Yellow),
            TextRole::Function => style.fg(Color::Blue),
            TextRole::Comment => style.fg(Color::DarkGray).add_modifier(Modifier::ITALIC),
        }
    }
}
