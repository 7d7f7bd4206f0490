//! The parts of a reply: lines, a section for each cell with its pictures, more lines, and the
//! summary.

use cellist_output::{CellEnding, RunSummary, notices};
use cellist_session::execution::Pictures;

use crate::answer::ToolRefusal;
use crate::known_outputs::OutputMark;

/// A reply before pictures are converted and text is cut to a budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyDraft {
    /// The failure, and notices about the kernel.
    pub(crate) top: Vec<String>,
    pub(crate) sections: Vec<Section>,
    /// Stale cells, the revision, the session.
    pub(crate) bottom: Vec<String>,
    /// How the cells ended, if there are several.
    pub(crate) summary: Option<RunSummary>,
    /// Whether the notebook has the pictures of the sections too.
    pub(crate) is_in_notebook: bool,
    /// The artifacts with whole outputs.
    pub(crate) artifacts: Vec<String>,
    pub(crate) is_failure: bool,
}

/// The part of a reply about one cell, or about several without output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    /// The numbers of the cells.
    pub(crate) cells: Vec<usize>,
    pub(crate) heading: Option<String>,
    /// The output.
    pub(crate) text: String,
    pub(crate) notices: Vec<String>,
    /// The error in a line, unless the top lines have it.
    pub(crate) error: Option<String>,
    pub(crate) has_failed: bool,
    pub(crate) pictures: Pictures,
    /// The outputs in the notebook, if the section shows nothing else.
    pub(crate) mark: Option<OutputMark>,
    /// Whether a caller that has these outputs gets only a note that they are unchanged.
    pub(crate) may_be_skipped: bool,
}

impl ReplyDraft {
    /// Creates a reply of one section.
    pub(crate) fn one(section: Section) -> ReplyDraft {
        ReplyDraft { sections: vec![section], ..ReplyDraft::default() }
    }

    /// Creates a reply of one text.
    pub(crate) fn text(text: String, is_failure: bool) -> ReplyDraft {
        ReplyDraft { top: vec![text], is_failure, ..ReplyDraft::default() }
    }

    /// Creates a refusal before any of several cells ran.
    pub(crate) fn not_run(refusal: &ToolRefusal, cells: impl IntoIterator<Item = usize>) -> ReplyDraft {
        let mut summary = RunSummary::default();
        cells.into_iter().for_each(|cell| summary.add(CellEnding::NotRun, cell));
        let mut composed = ReplyDraft::text(refusal.text(), true);
        composed.summary = Some(summary).filter(|summary| summary.count() > 1);
        composed
    }

    /// Marks the reply as failed for a reason other than the code.
    pub(crate) fn fail(&mut self, why: &str) {
        self.top.insert(0, format!("Error: {why}"));
        self.is_failure = true;
    }
}

/// Appends a line.
pub(super) fn line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// Appends a text of several lines, unless it is blank.
pub(super) fn block(text: &mut String, block: &str) {
    if !block.trim().is_empty() {
        line(text, block.trim_end_matches('\n'));
    }
}

/// Cuts a text to `bytes` bytes: its start and its end.
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
