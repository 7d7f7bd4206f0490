//! Images of half-block characters: each character shows two pixels, one above the other.

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use super::CellArea;
use super::pixels::Pixels;

/// Minimum alpha of a visible pixel.
const OPAQUE: u8 = 128;

pub(super) fn lines(pixels: &Pixels, cells: CellArea, has_true_colour: bool) -> Vec<Line<'static>> {
    let small = pixels.scaled(cells.columns.into(), u32::from(cells.rows) * 2);
    let shown = |r, g, b| if has_true_colour { Color::Rgb(r, g, b) } else { nearest(r, g, b) };
    let colour = |[r, g, b, a]: [u8; 4]| (a >= OPAQUE).then(|| shown(r, g, b));
    let letter = |x: u32, row: u32| {
        let (upper, lower) = (colour(small.at(x, row * 2)), colour(small.at(x, row * 2 + 1)));
        match (upper, lower) {
            (None, None) => Span::raw(" "),
            (Some(upper), None) => Span::styled("▀", Style::new().fg(upper)),
            (None, Some(lower)) => Span::styled("▄", Style::new().fg(lower)),
            (Some(upper), Some(lower)) => Span::styled("▀", Style::new().fg(upper).bg(lower)),
        }
    };
    let line = |row: u32| Line::from((0..small.width).map(|x| letter(x, row)).collect::<Vec<_>>());
    (0..u32::from(cells.rows)).map(line).collect()
}

/// The nearest colour of the 6×6×6 cube in the 256-colour palette.
fn nearest(r: u8, g: u8, b: u8) -> Color {
    // The levels of the cube are 0, 95, 135, 175, 215, 255.
    let step = |value: u8| match value {
        0..48 => 0,
        48..115 => 1,
        _ => (value - 35) / 40,
    };
    Color::Indexed(16 + 36 * step(r) + 6 * step(g) + step(b))
}
