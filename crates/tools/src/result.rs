//! What a model reads of what code has shown: one text within a budget, and pictures beside it. The text of a piece of code
//! was cut when it was collected, by the limits that [`Budget::reading`] gives; here it is put together.

mod composed;
mod gallery;
mod outputs;
mod picture;

use cellist_output::notices;
use cellist_session::execution::{KernelReport, Pictures, Reading, Report, Status};

use crate::arguments::Arguments;
use crate::budget::budget;

pub(crate) use composed::{Composed, fit};
pub(crate) use gallery::Gallery;
pub(crate) use outputs::shown;

/// What a heading and a notice take at most.
const SAID: usize = 256;

/// How many bytes of text an answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(usize);

impl Budget {
    /// What a call asks for, or what is usual.
    pub(crate) fn of(arguments: &Arguments) -> Budget {
        Budget(budget(arguments))
    }

    /// All of it.
    pub(crate) fn bytes(self) -> usize {
        self.0
    }

    /// How output is collected so that there is room for what is said about it.
    pub(crate) fn reading(self) -> Reading {
        // A heading and what is said of output that was cut, and more of that where there is much of it.
        let said = (self.0 / 4).clamp(SAID, 1024).min(self.0 / 4 * 3);
        Reading::for_model(self.0 - said)
    }
}

/// Code that ran, as it is told.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// Stands above it, where there are several.
    pub(crate) heading: Option<String>,
    /// What it was called, for a failure: `nb.ipynb: cell 3 (abc)`.
    pub(crate) place: Option<String>,
    /// What it showed, without notices.
    text: String,
    notices: Vec<String>,
    status: Status,
    /// What was raised, in a line.
    raised: Option<String>,
    /// Whether that line is all that the text says of it.
    is_raised_bare: bool,
    pictures: Pictures,
    artifact: Option<String>,
    /// Whether it may fail.
    is_expected: bool,
}

impl Ran {
    pub(crate) fn new(report: Report) -> Ran {
        let Report { status, text, notices, error, pictures, artifact, .. } = report;
        let said = notices.join("\n");
        let text = match text.strip_suffix(&said) {
            Some(rest) => rest.trim_end_matches('\n').to_owned(),
            // Notices are the end of the text; were they not, nothing is said twice.
            None => text,
        };
        let is_raised_bare = error.as_ref().is_some_and(|raised| raised.traceback.is_empty());
        let raised = error.map(|raised| {
            let message = raised.evalue.lines().next().unwrap_or_default();
            short(&cellist_output::notices::raised(&raised.ename, message), 200)
        });
        let (heading, place, is_expected) = (None, None, false);
        Ran { heading, place, text, notices, status, raised, is_raised_bare, pictures, artifact, is_expected }
    }

    /// Under a heading.
    pub(crate) fn under(self, heading: impl Into<String>) -> Ran {
        Ran { heading: Some(heading.into()), ..self }
    }

    /// As part of something that has a name.
    pub(crate) fn at(self, place: impl Into<String>) -> Ran {
        Ran { place: Some(place.into()), ..self }
    }

    /// It shows what it had shown before, which is not repeated where it is long.
    pub(crate) fn unchanged(mut self) -> Ran {
        const LONG: usize = 400;
        if self.status == Status::Ok && (self.text.len() > LONG || !self.pictures.list.is_empty()) {
            self.pictures = Pictures::default();
            let what = match self.text.is_empty() {
                true => "[Its pictures are those of the run before]".to_owned(),
                false => "[Output unchanged since the run before]".to_owned(),
            };
            self.text = what;
        }
        self
    }

    /// It may fail without that being a failure.
    pub(crate) fn expected(self) -> Ran {
        Ran { is_expected: true, ..self }
    }

    pub(crate) fn has_failed(&self) -> bool {
        match self.status {
            Status::Ok => false,
            Status::Error => !self.is_expected,
            Status::Timeout | Status::Cancelled => true,
        }
    }

    /// Whether there is nothing to read of it.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.trim().is_empty() && self.notices.is_empty() && self.pictures.list.is_empty()
    }

    /// What went wrong, in a line. A notice that says so is taken for it.
    fn failure(&mut self) -> String {
        let raised = match self.status {
            Status::Timeout | Status::Cancelled => None,
            Status::Ok | Status::Error => self.raised.clone(),
        };
        let said = self.notices.iter().position(|said| !said.starts_with('['));
        let what = match (raised, said) {
            (Some(raised), _) => {
                let text = self.text.trim_end_matches('\n');
                let rest = text.strip_suffix(&raised).filter(|rest| rest.is_empty() || rest.ends_with('\n'));
                // What stands in the first line is not said again in the last.
                if let Some(rest) = rest.filter(|_| self.is_raised_bare) {
                    self.text = rest.to_owned();
                }
                raised
            }
            (None, Some(said)) => self.notices.remove(said),
            (None, None) => "the code failed".to_owned(),
        };
        match &self.place {
            Some(place) => format!("Error: {place}: {what}"),
            None => format!("Error: {what}"),
        }
    }
}

/// The interpreter of a kernel that nothing was told of yet.
pub(crate) fn introduced(kernel: &KernelReport) -> Option<String> {
    let python = kernel.python.as_ref()?;
    Some(format!("[{} {}]", kernel.backend, python.display()))
}

/// A text of at most so many bytes.
pub(crate) fn short(text: &str, bytes: usize) -> String {
    match text.len() <= bytes {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes)]),
    }
}

/// Puts what ran into one text, with what is said before and behind it.
pub(crate) fn compose(before: Vec<String>, mut ran: Vec<Ran>, behind: Vec<String>) -> Composed {
    let mut composed = Composed::default();
    let failed = ran.iter_mut().find(|ran| ran.has_failed());
    composed.is_failure = failed.is_some();
    if let Some(failed) = failed {
        composed.line(&failed.failure());
    }
    before.iter().for_each(|line| composed.line(line));
    let is_single = ran.len() == 1;
    for ran in ran {
        let is_silent = ran.is_silent();
        let Ran { heading, text, notices, pictures, artifact, .. } = ran;
        if let Some(heading) = &heading {
            composed.line(heading);
        }
        if is_silent && is_single {
            composed.line(&notices::no_output());
        }
        composed.block(&text);
        notices.iter().for_each(|notice| composed.line(notice));
        composed.pictures.list.extend(pictures.list);
        composed.pictures.left_out += pictures.left_out;
        composed.artifacts.extend(artifact);
    }
    behind.iter().for_each(|line| composed.line(line));
    composed
}

#[cfg(test)]
mod tests;
