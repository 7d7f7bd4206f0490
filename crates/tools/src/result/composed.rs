//! A reply as it is put together: lines, then a section for each cell with its pictures, then lines, and the summary.

use cellist_output::{CellEnding, RunSummary, notices};
use cellist_session::execution::Pictures;

use crate::answer::Refusal;
use crate::sent::OutputMark;

/// A reply before its pictures were made to fit and its text was cut to a budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composed {
    /// The failure, and notices about the kernel.
    pub(crate) top: Vec<String>,
    pub(crate) sections: Vec<Section>,
    /// Stale cells, the revision, the session.
    pub(crate) bottom: Vec<String>,
    /// How the cells ended, where there are several.
    pub(crate) summary: Option<RunSummary>,
    /// Whether a notebook has the pictures of the sections, too.
    pub(crate) is_in_notebook: bool,
    /// Where the whole of outputs is.
    pub(crate) artifacts: Vec<String>,
    pub(crate) is_failure: bool,
}

/// The part of a reply about one cell, or about several without output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// The cells, by the numbers that a reader knows.
    pub(crate) cells: Vec<usize>,
    pub(crate) heading: Option<String>,
    /// Its output.
    pub(crate) text: String,
    pub(crate) notices: Vec<String>,
    /// The error in a line, where it failed and nothing above says so.
    pub(crate) error: Option<String>,
    pub(crate) has_failed: bool,
    pub(crate) pictures: Pictures,
    /// Its outputs, where the section shows nothing else.
    pub(crate) mark: Option<OutputMark>,
    /// Whether a caller that was sent these outputs is told only that they are the same.
    pub(crate) may_be_skipped: bool,
}

impl Composed {
    /// A reply of one section.
    pub(crate) fn one(section: Section) -> Composed {
        Composed { sections: vec![section], ..Composed::default() }
    }

    /// A reply that is a text.
    pub(crate) fn text(text: String, is_failure: bool) -> Composed {
        Composed { top: vec![text], is_failure, ..Composed::default() }
    }

    /// A refusal before any of several cells ran.
    pub(crate) fn not_run(refusal: &Refusal, cells: impl IntoIterator<Item = usize>) -> Composed {
        let mut summary = RunSummary::default();
        cells.into_iter().for_each(|cell| summary.add(CellEnding::NotRun, cell));
        let mut composed = Composed::text(refusal.text(), true);
        composed.summary = Some(summary).filter(|summary| summary.count() > 1);
        composed
    }

    /// It is a failure, for another reason than that code failed.
    pub(crate) fn fail(&mut self, why: &str) {
        self.top.insert(0, format!("Error: {why}"));
        self.is_failure = true;
    }
}

/// Adds a line to a text.
pub(super) fn line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Adds a text of several lines, if there is anything to read in it.
pub(super) fn block(text: &mut String, block: &str) {
    if !block.trim().is_empty() {
        line(text, block.trim_end_matches('\n'));
    }
}

/// A text of at most so many bytes: its beginning and its end.
pub(crate) fn fit(text: impl AsRef<str>, bytes: usize) -> String {
    let text = text.as_ref();
    if text.len() <= bytes {
        return text.to_owned();
    }
    let gap = format!("\n{}\n", notices::GAP);
    let room = bytes.saturating_sub(gap.len());
    let head = &text[..text.floor_char_boundary(room / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - (room - room / 2))..];
    match room {
        0 => head.to_owned(),
        _ => format!("{head}{gap}{tail}"),
    }
}
