//! Tables for people: as wide as what is in them, on a terminal no wider than that.

use std::io::{self, IsTerminal};

use cellist_tui::{ColumnAlignment, RenderedLines, Table, size, to_terminal, visible};

use crate::paint::{Paint, When, own};

/// A table for standard output. Without names for its columns it has no head.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows = rows.into_iter().map(|row| row.iter().map(|text| visible(text)).collect()).collect();
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    let width = if io::stdout().is_terminal() { size().0 } else { usize::MAX };
    let lines = Table { head, rows, alignments: vec![ColumnAlignment::Left] }.lines(width);
    own(&to_terminal(
        &RenderedLines { lines, ..RenderedLines::default() },
        Paint::for_stdout(When::Auto).is_on(),
    ))
}
