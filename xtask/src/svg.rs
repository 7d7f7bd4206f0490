//! A terminal's screen as a picture, drawn with the letters and colours that it has.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const WIDE: f64 = 8.4;
const HIGH: f64 = 18.0;
const MARGIN: f64 = 12.0;
const PAPER: &str = "#1e222a";
const INK: &str = "#dcdfe4";
/// The sixteen colours that a terminal names.
const NAMED: [&str; 16] = [
    "#1e222a", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4", "#7f848e",
    "#ef8890", "#b5e08d", "#f0d399", "#83c5ff", "#d99aee", "#7ad1dc", "#ffffff",
];

/// How a letter looks.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    ink: String,
    paper: Option<String>,
    is_bold: bool,
    is_dim: bool,
    is_italic: bool,
}

impl Look {
    fn of(cell: &Cell) -> Look {
        let (mut ink, mut paper) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        if cell.inverse() {
            (ink, paper) = (paper.or(Some(PAPER.into())), ink.or(Some(INK.into())));
        }
        Look {
            ink: ink.unwrap_or_else(|| INK.into()),
            paper,
            is_bold: cell.bold(),
            is_dim: cell.dim(),
            is_italic: cell.italic(),
        }
    }
}

fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Idx(index @ 0..16) => Some(NAMED[usize::from(index)].to_owned()),
        Color::Idx(index @ 16..232) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let index = index - 16;
            Some(hex(level(index / 36), level(index / 6 % 6), level(index % 6)))
        }
        Color::Idx(index) => {
            let level = 8 + 10 * (index - 232);
            Some(hex(level, level, level))
        }
        Color::Rgb(red, green, blue) => Some(hex(red, green, blue)),
    }
}

fn hex(red: u8, green: u8, blue: u8) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The rows of a screen down to the last that has letters. `shorter` is applied to texts that differ on each machine.
pub(crate) fn drawn(screen: &Screen, shorter: impl Fn(&str) -> String) -> String {
    let (rows, columns) = screen.size();
    let used = (0..rows).rev().find(|row| (0..columns).any(|column| is_seen(screen.cell(*row, column))));
    let used = used.map_or(0, |row| row + 1);
    let (width, height) = (f64::from(columns) * WIDE + 2.0 * MARGIN, f64::from(used) * HIGH + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for row in 0..used {
        for (column, text, look) in runs(screen, row, columns) {
            let text = shorter(&text);
            let (x, y) = (f64::from(column) * WIDE + MARGIN, f64::from(row) * HIGH + MARGIN);
            let wide = text.chars().count() as f64 * WIDE;
            if let Some(paper) = &look.paper {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HIGH}\" fill=\"{paper}\"/>"
                );
            }
            if text.trim().is_empty() {
                continue;
            }
            // Half blocks are areas: as letters they would leave gaps.
            if text.chars().all(|letter| letter == '▀') {
                let half = HIGH / 2.0;
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{half}\" fill=\"{}\"/>",
                    look.ink
                );
                continue;
            }
            let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
            let dim = if look.is_dim { " opacity=\"0.6\"" } else { "" };
            let italic = if look.is_italic { " font-style=\"italic\"" } else { "" };
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{wide:.1}\" xml:space=\"preserve\" fill=\"{}\"{bold}{dim}{italic}>{}</text>",
                y + 13.0,
                look.ink,
                escaped(&text)
            );
        }
    }
    svg + "</svg>\n"
}

fn is_seen(cell: Option<&Cell>) -> bool {
    cell.is_some_and(|cell| !cell.contents().trim().is_empty() || cell.bgcolor() != Color::Default)
}

/// A row as pieces of one look each, with the column where each begins.
fn runs(screen: &Screen, row: u16, columns: u16) -> Vec<(u16, String, Look)> {
    let mut runs: Vec<(u16, String, Look)> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let look = Look::of(cell);
        let letters = if cell.contents().is_empty() { " " } else { cell.contents() };
        match runs.last_mut() {
            Some((_, text, last)) if *last == look => text.push_str(letters),
            _ => runs.push((column, letters.to_owned(), look)),
        }
    }
    for (_, text, look) in &mut runs {
        if look.paper.is_none() {
            text.truncate(text.trim_end().len());
        }
    }
    runs
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::drawn;

    #[test]
    fn letters_stand_where_the_terminal_has_them_in_their_colours() {
        let mut terminal = vt100::Parser::new(4, 20, 0);
        terminal.process(b"a\x1b[1;32mb<\x1b[m\r\n \x1b[41mc\x1b[m");
        let svg = drawn(terminal.screen(), str::to_owned);
        let lines: Vec<&str> = svg.lines().skip(2).collect();
        assert!(lines[0].contains("x=\"12.0\" y=\"25.0\"") && lines[0].ends_with(">a</text>"), "{svg}");
        assert!(lines[1].contains("fill=\"#98c379\" font-weight=\"bold\">b&lt;</text>"), "{svg}");
        assert!(lines[2].starts_with("<rect x=\"20.4\" y=\"30.0\" width=\"8.4\""), "{svg}");
        assert!(svg.contains("height=\"60\""), "rows without letters are left out: {svg}");
    }
}
