//! Tables for a terminal. Columns shrink to fit the width. If that is not enough, a line replaces the last columns.

use ratatui_core::text::{Line, Span};

use crate::style::TextRole;
use crate::text::{display_width, fit_to_width};

/// Minimum width of a shrunk column.
const NARROWEST: usize = 6;
const GAP: &str = "  ";

/// The alignment of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnAlignment {
    /// Left-aligned.
    #[default]
    Left,
    /// Centred.
    Centre,
    /// Right-aligned.
    Right,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The texts, row by row.
    pub rows: Vec<Vec<String>>,
    /// The alignments. Missing ones are left-aligned.
    pub alignments: Vec<ColumnAlignment>,
}

impl Table {
    /// Renders the table. No line is wider than `width`.
    pub fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let count = self.rows.iter().map(Vec::len).chain([self.head.len()]).max().unwrap_or(0);
        let wanted: Vec<usize> = (0..count).map(|at| self.widest(at)).collect();
        let widths = fit_widths(&wanted, width);
        let left_out = count - widths.len();
        let mut lines = Vec::with_capacity(self.rows.len() + 2);
        if self.head.iter().any(|name| !name.is_empty()) {
            lines.push(self.row(&self.head, &widths, TextRole::Title));
            let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
            lines.push(Line::from(Span::styled(rule.join(GAP), TextRole::Aside.style())));
        }
        lines.extend(self.rows.iter().map(|row| self.row(row, &widths, TextRole::Plain)));
        if left_out > 0 {
            let columns = if left_out == 1 { "column" } else { "columns" };
            let notice = fit_to_width(&format!("… {left_out} more {columns}"), width);
            lines.push(Line::from(Span::styled(notice, TextRole::Aside.style())));
        }
        lines
    }

    fn widest(&self, column: usize) -> usize {
        let texts = self.rows.iter().chain([&self.head]).filter_map(|row| row.get(column));
        texts.map(|text| display_width(text)).max().unwrap_or(0)
    }

    fn row(&self, texts: &[String], widths: &[usize], role: TextRole) -> Line<'static> {
        let mut line = String::new();
        for (at, wide) in widths.iter().enumerate() {
            if at > 0 {
                line.push_str(GAP);
            }
            let text = fit_to_width(texts.get(at).map_or("", String::as_str), *wide);
            let free = wide - display_width(&text);
            let before = match self.alignments.get(at).copied().unwrap_or_default() {
                ColumnAlignment::Left => 0,
                ColumnAlignment::Centre => free / 2,
                ColumnAlignment::Right => free,
            };
            line.push_str(&" ".repeat(before));
            line.push_str(&text);
            line.push_str(&" ".repeat(free - before));
        }
        line.truncate(line.trim_end().len());
        Line::from(Span::styled(line, role.style()))
    }
}

/// The widths of the columns that fit. The widest shrink first.
fn fit_widths(wanted: &[usize], width: usize) -> Vec<usize> {
    let mut widths = wanted.to_vec();
    let needed = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    while needed(&widths) > width {
        let widest = widths.iter().copied().max().unwrap_or(0);
        if widest <= NARROWEST.min(width) {
            widths.pop();
            continue;
        }
        // The widest columns shrink to the next width, or as far as needed.
        let next =
            widths.iter().copied().filter(|wide| *wide < widest).max().unwrap_or(0).max(NARROWEST.min(width));
        let many = widths.iter().filter(|wide| **wide == widest).count();
        let too_much = needed(&widths) - width;
        let down = (widest - next).min(too_much.div_ceil(many)).max(1);
        widths.iter_mut().filter(|wide| **wide == widest).for_each(|wide| *wide -= down);
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{line_width, to_plain};

    fn table() -> Table {
        let row = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Table {
            head: row(&["", "name", "what is known of it"]),
            rows: vec![
                row(&["0", "alpha", "1.5"]),
                row(&["10", "beta", "a much longer remark than the others"]),
            ],
            alignments: vec![ColumnAlignment::Right, ColumnAlignment::Left, ColumnAlignment::Left],
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        insta::assert_snapshot!(to_plain(&table().lines(80)), @"
            name   what is known of it
        ──  ─────  ────────────────────────────────────
         0  alpha  1.5
        10  beta   a much longer remark than the others
        ");
    }

    #[test]
    fn the_widest_column_shrinks_first_and_the_last_is_dropped_if_needed() {
        insta::assert_snapshot!(to_plain(&table().lines(24)), @"
            name   what is know…
        ──  ─────  ─────────────
         0  alpha  1.5
        10  beta   a much longe…
        ");
        insta::assert_snapshot!(to_plain(&table().lines(12)), @"
            name
        ──  ─────
         0  alpha
        10  beta
        … 1 more co…
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_room() {
        for width in 0..60 {
            assert!(table().lines(width).iter().all(|line| line_width(line) <= width), "{width}");
        }
    }
}
