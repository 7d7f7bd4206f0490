//! Tables on standard output. On a terminal they fit its width.

use std::io::{self, IsTerminal};

use cellist_tui::{ColumnAlignment, RenderedLines, Table, size, to_terminal, visible};

use crate::paint::{ColourMode, Paint, own};

/// Formats a table; without `head` it has no header row.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows = rows.into_iter().map(|row| row.iter().map(|text| visible(text)).collect()).collect();
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    let width = if io::stdout().is_terminal() { size().0 } else { usize::MAX };
    let lines = Table { head, rows, alignments: vec![ColumnAlignment::Left] }.lines(width);
    own(&to_terminal(
        &RenderedLines { lines, ..RenderedLines::default() },
        Paint::for_stdout(ColourMode::Auto).is_on(),
    ))
}
