//! Pictures of half blocks: each letter is two pixels, one above the other.

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use super::Cells;
use super::pixels::Pixels;

/// Below this a pixel is not seen.
const OPAQUE: u8 = 128;

pub(super) fn lines(pixels: &Pixels, cells: Cells) -> Vec<Line<'static>> {
    let small = pixels.scaled(cells.columns.into(), u32::from(cells.rows) * 2);
    let colour = |[r, g, b, a]: [u8; 4]| (a >= OPAQUE).then_some(Color::Rgb(r, g, b));
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
