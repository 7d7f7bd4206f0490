//! Styled lines as text with ANSI escape sequences, for a scrolling terminal.

use std::fmt::Write;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;

use crate::block::RenderedLines;

/// Converts lines to text with escape sequences. Without colour, styles are dropped.
pub fn to_terminal(rendered: &RenderedLines, has_colour: bool) -> String {
    let mut text = rendered.before.concat();
    for (row, line) in rendered.lines.iter().enumerate() {
        for placed in rendered.placed.iter().filter(|it| it.row == row) {
            // Empty lines come first, so that the screen does not scroll while the image is drawn.
            let _ = write!(text, "{}\x1b[{}A", "\n".repeat(placed.rows), placed.rows);
            let _ = write!(text, "\x1b7\x1b[{}C{}\x1b8", placed.column.max(1), placed.payload);
        }
        match has_colour {
            true => write_line(&mut text, line),
            false => line.spans.iter().for_each(|span| text.push_str(&span.content)),
        }
        text.push('\n');
    }
    text
}

fn write_line(text: &mut String, line: &Line<'_>) {
    for span in &line.spans {
        let codes = codes(line.style.patch(span.style));
        match codes.is_empty() {
            true => text.push_str(&span.content),
            false => drop(write!(text, "\x1b[{}m{}\x1b[m", codes.join(";"), span.content)),
        }
    }
}

fn codes(style: Style) -> Vec<String> {
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    let set = modifiers.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let mut codes: Vec<String> = set.map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(style.fg.and_then(|colour| code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| code(colour, 40)));
    codes
}

fn code(colour: Color, base: u8) -> Option<String> {
    let plain = |number: u8| Some((base + number).to_string());
    let bright = |number: u8| Some((base + 60 + number).to_string());
    match colour {
        Color::Reset => None,
        Color::Black => plain(0),
        Color::Red => plain(1),
        Color::Green => plain(2),
        Color::Yellow => plain(3),
        Color::Blue => plain(4),
        Color::Magenta => plain(5),
        Color::Cyan => plain(6),
        Color::Gray => plain(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(number) => Some(format!("{};5;{number}", base + 8)),
        Color::Rgb(r, g, b) => Some(format!("{};2;{r};{g};{b}", base + 8)),
    }
}
