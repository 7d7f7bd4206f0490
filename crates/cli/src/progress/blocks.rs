//! One cell as a block of text: what it is, what it showed, how it ended.

use std::time::Duration;

use cellist_output::notices;
use cellist_session::run::{CellReport, Status, Step};

use crate::clock::spoken;
use crate::paint::{Ink, Paint};

/// Lines of a cell's output on a screen, where the rest is in the file.
const PREVIEW: usize = 20;
/// No line is longer than this, in characters.
const LONGEST_LINE: usize = 4000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    paint: Paint,
    is_screen: bool,
}

impl Blocks {
    pub(super) fn new(paint: Paint, is_screen: bool) -> Blocks {
        Blocks { paint, is_screen }
    }

    /// What a pipe gets when a cell begins.
    pub(super) fn opening(&self, step: &Step) -> String {
        let head = format!("[{}/{}] cell {}", step.position + 1, step.count, step.index);
        format!("{} {}\n", self.paint.line(Ink::Position, &head), title(&step.title))
    }

    /// What is shown when it has ended; on a screen this includes what it is.
    pub(super) fn closing(&self, step: Option<&Step>, report: &CellReport) -> String {
        let time = spoken(Duration::from_millis(report.report.duration_ms));
        let (mark, word, ink) = match report.report.status {
            Status::Ok => ("✓", "ok", Ink::Added),
            Status::Error if report.may_fail => ("✗", "failed, as it may", Ink::Aside),
            Status::Error => ("✗", "failed", Ink::Removed),
            Status::Timeout => ("✗", "timed out", Ink::Removed),
            Status::Cancelled => ("✗", "cancelled", Ink::Removed),
        };
        let text = report.report.text.trim_end_matches('\n');
        let mut lines: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split('\n').collect() };
        if !self.is_screen {
            let mut block = String::new();
            lines.iter().for_each(|line| block.push_str(&format!("{}\n", clamped(line))));
            block.push_str(&format!("  {}\n", self.paint.line(Ink::Aside, &format!("{word}, {time}"))));
            return block;
        }
        let (index, words) = step.map_or((report.index, ""), |step| (step.index, step.title.as_str()));
        let state = match report.report.status {
            Status::Ok => String::new(),
            _ => format!("{} ", self.paint.line(ink, word)),
        };
        let mut block = format!(
            "{} {} {} {state}{}\n",
            self.paint.line(ink, mark),
            self.paint.line(Ink::Position, &format!("{index:>3}")),
            self.paint.line(Ink::Title, &title(words)),
            self.paint.line(Ink::Aside, &time)
        );
        let hidden = lines.len().saturating_sub(PREVIEW);
        if hidden > 0 {
            let notice = notices::hidden_lines(hidden as u64, "the file");
            block.push_str(&format!("      {}\n", self.paint.line(Ink::Aside, &notice)));
            lines.drain(..hidden);
        }
        lines.iter().for_each(|line| block.push_str(&format!("      {}\n", clamped(line))));
        block
    }
}

/// A title of a length that fits beside a number and a time.
pub(super) fn title(words: &str) -> String {
    const LONGEST: usize = 60;
    let words = crate::paint::visible(words);
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

fn clamped(line: &str) -> &str {
    line.char_indices().nth(LONGEST_LINE).map_or(line, |(end, _)| &line[..end])
}
