//! Tables: columns as wide as what is in them, made narrower where there is no room, and left out where even that does
//! not help, which is said.

use ratatui_core::text::{Line, Span};

use crate::look::Role;
use crate::text::{columns, fitting};

/// Columns are not made narrower than this while others are wider.
const NARROWEST: usize = 6;
const GAP: &str = "  ";

/// On which side of its column a text stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// At its beginning.
    #[default]
    Left,
    /// In its middle.
    Middle,
    /// At its end.
    Right,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the columns are called.
    pub head: Vec<String>,
    /// What is in them.
    pub rows: Vec<Vec<String>>,
    /// How the columns are aligned, as far as it is known.
    pub sides: Vec<Side>,
}

impl Table {
    /// Its lines, none wider than `width`.
    pub fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let count = self.rows.iter().map(Vec::len).chain([self.head.len()]).max().unwrap_or(0);
        let wanted: Vec<usize> = (0..count).map(|at| self.widest(at)).collect();
        let widths = shared(&wanted, width);
        let left_out = count - widths.len();
        let mut lines = Vec::with_capacity(self.rows.len() + 2);
        if self.head.iter().any(|name| !name.is_empty()) {
            lines.push(self.row(&self.head, &widths, Role::Title));
            let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
            lines.push(Line::from(Span::styled(rule.join(GAP), Role::Aside.style())));
        }
        lines.extend(self.rows.iter().map(|row| self.row(row, &widths, Role::Plain)));
        if left_out > 0 {
            let columns = if left_out == 1 { "column" } else { "columns" };
            let notice = fitting(&format!("… {left_out} more {columns}"), width);
            lines.push(Line::from(Span::styled(notice, Role::Aside.style())));
        }
        lines
    }

    fn widest(&self, column: usize) -> usize {
        let texts = self.rows.iter().chain([&self.head]).filter_map(|row| row.get(column));
        texts.map(|text| columns(text)).max().unwrap_or(0)
    }

    fn row(&self, texts: &[String], widths: &[usize], role: Role) -> Line<'static> {
        let mut line = String::new();
        for (at, wide) in widths.iter().enumerate() {
            if at > 0 {
                line.push_str(GAP);
            }
            let text = fitting(texts.get(at).map_or("", String::as_str), *wide);
            let free = wide - columns(&text);
            let before = match self.sides.get(at).copied().unwrap_or_default() {
                Side::Left => 0,
                Side::Middle => free / 2,
                Side::Right => free,
            };
            line.push_str(&" ".repeat(before));
            line.push_str(&text);
            line.push_str(&" ".repeat(free - before));
        }
        line.truncate(line.trim_end().len());
        Line::from(Span::styled(line, role.style()))
    }
}

/// How wide the columns are that fit: the widest give first.
fn shared(wanted: &[usize], width: usize) -> Vec<usize> {
    let mut widths = wanted.to_vec();
    let needed = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    while needed(&widths) > width {
        let widest = widths.iter().copied().max().unwrap_or(0);
        if widest <= NARROWEST.min(width) {
            widths.pop();
            continue;
        }
        // The columns that are widest come down to the next, or as far as is needed.
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
    use crate::text::{line_columns, to_plain};

    fn table() -> Table {
        let row = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Table {
            head: row(&["", "name", "what is known of it"]),
            rows: vec![
                row(&["0", "alpha", "1.5"]),
                row(&["10", "beta", "a much longer remark than the others"]),
            ],
            sides: vec![Side::Right, Side::Left, Side::Left],
        }
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        insta::assert_snapshot!(to_plain(&table().lines(80)), @"
            name   what is known of it
        ──  ─────  ────────────────────────────────────
         0  alpha  1.5
        10  beta   a much longer remark than the others
        ");
    }

    #[test]
    fn the_widest_column_gives_first_and_the_last_is_left_out_when_nothing_else_helps() {
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
            assert!(table().lines(width).iter().all(|line| line_columns(line) <= width), "{width}");
        }
    }
}
