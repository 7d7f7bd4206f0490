//! A text that is being put together, and what goes with it.

use cellist_output::notices;
use cellist_session::execution::Pictures;

use super::Budget;
use crate::answer::{Answer, Block};

/// What a model gets, before pictures were made to fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composed {
    pub(crate) text: String,
    pub(crate) pictures: Pictures,
    /// Where the whole of outputs is.
    pub(crate) artifacts: Vec<String>,
    pub(crate) is_failure: bool,
}

impl Composed {
    /// Adds a line.
    pub(crate) fn line(&mut self, line: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// Adds a text of several lines, if there is anything to read in it.
    pub(crate) fn block(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.line(text.trim_end_matches('\n'));
        }
    }

    /// It is a failure, for another reason than that code failed.
    pub(crate) fn fail(&mut self, why: &str) {
        self.text = format!("Error: {why}\n{}", self.text);
        self.is_failure = true;
    }

    /// The answer, without its pictures: the text within the budget, and links to artifacts.
    pub(crate) fn into_answer(self, budget: Budget) -> Answer {
        let Composed { text, artifacts, is_failure, .. } = self;
        let mut blocks = vec![Block::Text(fit(text, budget.bytes()))];
        blocks.extend(artifacts.into_iter().map(|id| Block::Link {
            uri: notices::artifact(&id),
            name: format!("output {id}"),
            mime: "text/plain".to_owned(),
        }));
        Answer { blocks, is_failure, keys: None }
    }
}

/// A text of at most so many bytes: its beginning and its end. Output was cut before, so this meets only a great many
/// notices or headings.
pub(crate) fn fit(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let gap = format!("\n{}\n", notices::GAP);
    let room = bytes.saturating_sub(gap.len());
    let head = &text[..text.floor_char_boundary(room / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - (room - room / 2))..];
    format!("{head}{gap}{tail}")
}
