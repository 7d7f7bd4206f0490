//! The output of code as a model reads it: text within a budget, the pictures of a cell after its
//! text. [`Budget::reading`] limits the text while it is collected; this module composes the reply.

mod draft;
mod gallery;
mod layout;
mod outputs;
mod picture;
mod reply;

use cellist_output::{CellEnding, RunSummary, notices};
use cellist_session::execution::{KernelReport, Pictures, Reading, Report, Status};

use crate::agent::Agent;
use crate::budget;
use crate::input::MaxOutput;
use crate::known_outputs::OutputMark;

pub(crate) use draft::{ReplyDraft, Section, fit};
pub(crate) use gallery::Gallery;
pub(crate) use outputs::{ShownOutputs, shown};
pub(crate) use reply::ToolReply;

/// Bytes reserved for a heading and a notice.
const SAID: usize = 256;

/// The size limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Bytes of text.
    pub(crate) bytes: usize,
    /// Whether the caller set the limit.
    is_asked: bool,
    /// Whether the caller wants pictures.
    images: bool,
}

impl Budget {
    /// Takes the limits of a call, or the defaults of its caller.
    pub(crate) fn of(agent: &Agent, max_output: Option<MaxOutput>, images: Option<bool>) -> Budget {
        let (bytes, is_asked) = match max_output {
            Some(wanted) => (budget::asked(wanted.0), true),
            None if agent.within().is_some() => (budget::WHOLE, true),
            None => (budget::USUAL, false),
        };
        Budget { bytes, is_asked, images: images.unwrap_or(true) }
    }

    /// Returns the limits for collecting output, with room for headings and notices.
    pub(crate) fn reading(self) -> Reading {
        // Room for a heading and notices; more in a larger answer.
        let said = (self.bytes / 4).clamp(SAID, 1024).min(self.bytes / 4 * 3);
        match self.is_asked {
            true => Reading::for_model(self.bytes - said),
            false => Reading::excerpt_for_model(self.bytes - said),
        }
    }
}

/// The result of one piece of code, or of several cells without output.
#[derive(Clone, Debug)]
pub(crate) struct CodeResult {
    /// The numbers of the cells, if there are several.
    cells: Vec<usize>,
    /// The line above the output, if there are several cells.
    pub(crate) heading: Option<String>,
    /// The location in an error, such as `nb.ipynb: cell 3 (abc)`.
    pub(crate) place: Option<String>,
    /// The output, without notices.
    text: String,
    notices: Vec<String>,
    ending: CellEnding,
    /// The exception, in a line.
    raised: Option<String>,
    pictures: Pictures,
    artifact: Option<String>,
    /// The outputs in the notebook.
    mark: Option<OutputMark>,
}

impl CodeResult {
    pub(crate) fn new(report: Report) -> CodeResult {
        let Report { status, text, notices, error, pictures, artifact, .. } = report;
        let said = notices.join("\n");
        let text = match text.strip_suffix(&said) {
            Some(rest) => rest.trim_end_matches('\n').to_owned(),
            // The text normally ends with the notices; any other text stays as it is.
            None => text,
        };
        let text = name_reading_tool(text, artifact.as_deref());
        let raised = error.map(|raised| {
            let message = raised.evalue.lines().next().unwrap_or_default();
            short(&cellist_output::notices::raised(&raised.ename, message), 200)
        });
        let (cells, heading, place, mark) = (Vec::new(), None, None, None);
        let ending = ending(status, false);
        CodeResult { cells, heading, place, text, notices, ending, raised, pictures, artifact, mark }
    }

    /// Sets the heading.
    pub(crate) fn with_heading(self, heading: impl Into<String>) -> CodeResult {
        CodeResult { heading: Some(heading.into()), ..self }
    }

    /// Sets the location.
    pub(crate) fn with_location(self, place: impl Into<String>) -> CodeResult {
        CodeResult { place: Some(place.into()), ..self }
    }

    /// Sets the number of the cell.
    pub(crate) fn with_number(self, cell: usize) -> CodeResult {
        CodeResult { cells: vec![cell], ..self }
    }

    /// Sets the outputs in the notebook.
    pub(crate) fn with_outputs(self, mark: OutputMark) -> CodeResult {
        CodeResult { mark: Some(mark), ..self }
    }

    /// Merges results without output into one.
    pub(crate) fn merged(
        all: Vec<CodeResult>,
        heading: impl FnOnce(&[usize]) -> String,
    ) -> Option<CodeResult> {
        let cells: Vec<usize> = all.iter().flat_map(|ran| ran.cells.iter().copied()).collect();
        let first = all.into_iter().next()?;
        Some(CodeResult { heading: Some(heading(&cells)), cells, ..first })
    }

    /// Allows the cell to fail.
    pub(crate) fn allowed_to_fail(self) -> CodeResult {
        let ending = match self.ending {
            CellEnding::Failed => CellEnding::FailedAllowed,
            other => other,
        };
        CodeResult { ending, ..self }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.ending, CellEnding::Failed | CellEnding::TimedOut | CellEnding::Interrupted)
    }

    /// Returns whether there is nothing to show.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.trim().is_empty() && self.notices.is_empty() && self.pictures.list.is_empty()
    }

    /// Takes the error as one line, and removes it from the end of the text or from the notices.
    fn take_error(&mut self) -> String {
        let is_stopped = matches!(self.ending, CellEnding::TimedOut | CellEnding::Interrupted);
        let raised = self.raised.clone().filter(|_| !is_stopped);
        let said = self.notices.iter().position(|said| !said.starts_with('['));
        match (raised, said) {
            (Some(raised), _) => {
                let text = self.text.trim_end_matches('\n');
                let rest = text.strip_suffix(&raised).map(without_module);
                let rest = rest.filter(|rest| rest.is_empty() || rest.ends_with('\n'));
                if let Some(rest) = rest {
                    self.text = rest.to_owned();
                }
                raised
            }
            (None, Some(said)) => self.notices.remove(said),
            (None, None) => "the code failed".to_owned(),
        }
    }

    /// Returns the error in a line, if the code failed.
    fn error(&self) -> Option<String> {
        self.has_failed().then(|| self.clone().take_error())
    }

    fn into_section(self) -> Section {
        const LONG: usize = 400;
        let (error, has_failed) = (self.error(), self.has_failed());
        let is_long = self.text.len() > LONG || !self.pictures.list.is_empty();
        Section {
            cells: self.cells,
            heading: self.heading,
            text: self.text,
            notices: self.notices,
            error,
            has_failed,
            pictures: self.pictures,
            mark: self.mark,
            may_be_skipped: self.ending == CellEnding::Ok && is_long,
        }
    }
}

/// Describes the interpreter of a kernel that the caller has not seen yet.
pub(crate) fn introduction(kernel: &KernelReport) -> Option<String> {
    let python = kernel.python.as_ref()?;
    Some(format!("[{} {}]", kernel.backend, python.display()))
}

/// Adds the name of the reading tool to a notice that names an artifact.
fn name_reading_tool(text: String, artifact: Option<&str>) -> String {
    let named = artifact.map(|id| format!("{}]", notices::artifact(id)));
    match named.and_then(|named| text.strip_suffix(&named)) {
        Some(rest) => format!("{rest}{} (read_artifact)]", notices::artifact(artifact.unwrap_or_default())),
        None => text,
    }
}

/// Cuts a text to `bytes` bytes.
pub(crate) fn short(text: &str, bytes: usize) -> String {
    match text.len() <= bytes {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes)]),
    }
}

/// Composes a reply from results, with lines before and after them.
pub(crate) fn compose(before: Vec<String>, mut ran: Vec<CodeResult>, behind: Vec<String>) -> ReplyDraft {
    let mut composed = ReplyDraft { bottom: behind, ..ReplyDraft::default() };
    let failed = ran.iter().position(CodeResult::has_failed);
    composed.is_failure = failed.is_some();
    if let Some(failed) = failed.and_then(|at| ran.get_mut(at)) {
        let error = failed.take_error();
        composed.top.push(match &failed.place {
            Some(place) => format!("Error: {place}: {error}"),
            None => format!("Error: {error}"),
        });
    }
    composed.top.extend(before);
    let is_single = ran.len() == 1;
    for (at, mut ran) in ran.into_iter().enumerate() {
        if ran.is_silent() && is_single {
            ran.text = notices::no_output();
        }
        composed.artifacts.extend(ran.artifact.take());
        let mut section = ran.into_section();
        // The first line has the error already.
        section.error = section.error.filter(|_| failed != Some(at));
        composed.sections.push(section);
    }
    composed
}

/// Summarises how the cells ended.
pub(crate) fn summary<'a>(ran: impl IntoIterator<Item = &'a CodeResult>) -> RunSummary {
    let mut summary = RunSummary::default();
    for ran in ran {
        ran.cells.iter().for_each(|cell| summary.add(ran.ending, *cell));
    }
    summary
}

/// Returns how a cell ended, for the summary.
pub(crate) fn ending(status: Status, is_expected: bool) -> CellEnding {
    match status {
        Status::Ok => CellEnding::Ok,
        Status::Error if is_expected => CellEnding::FailedAllowed,
        Status::Error => CellEnding::Failed,
        Status::Timeout => CellEnding::TimedOut,
        Status::Cancelled => CellEnding::Interrupted,
    }
}

/// Strips the module path before the name of an exception, such as `json.decoder.`.
fn without_module(text: &str) -> &str {
    match text.strip_suffix('.') {
        Some(path) => path.trim_end_matches(|letter: char| letter.is_alphanumeric() || "._".contains(letter)),
        None => text,
    }
}

#[cfg(test)]
mod tests;
