//! The progress of a run as plain text.

use std::time::Duration;

use cellist_session::execution::{CellReport, Status};
use cellist_session::sessions::CellStep;

use crate::clock::format_duration;
use crate::paint::{Ink, Paint, visible};

/// The maximum length of a line, in characters.
const LONGEST_LINE: usize = 4000;

/// The line at the start of a cell.
pub(super) fn opening(step: &CellStep, paint: Paint) -> String {
    let head = format!("[{}/{}] cell {}", step.position + 1, step.count, step.index);
    format!("{} {}\n", paint.line(Ink::Position, &head), title(&step.title))
}

/// The output of a finished cell, and its status.
pub(super) fn closing(report: &CellReport, paint: Paint) -> String {
    let time = format_duration(Duration::from_millis(report.report.duration_ms));
    let word = match report.report.status {
        Status::Error if report.may_fail => "failed (allowed)",
        status => status.word(),
    };
    let text = report.report.text.trim_end_matches('\n');
    let mut block = String::new();
    if !text.is_empty() {
        text.split('\n').for_each(|line| block.push_str(&format!("{}\n", clamped(line))));
    }
    block.push_str(&format!("  {}\n", paint.line(Ink::Aside, &format!("{word}, {time}"))));
    block
}

/// Truncates a title.
fn title(words: &str) -> String {
    const LONGEST: usize = 60;
    let words = visible(words);
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

fn clamped(line: &str) -> &str {
    line.char_indices().nth(LONGEST_LINE).map_or(line, |(end, _)| &line[..end])
}
