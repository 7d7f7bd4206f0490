//! The answer to a tool call, and the progress reported before it.

use std::borrow::Cow;

use cellist_session::orders::CannotOrder;
use cellist_session::sessions::SessionError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::redaction::Redaction;

/// The answer to a tool call.
///
/// An answer is complete and owned: nothing follows it, and it may be kept, sent or dropped.
/// Failures and refusals are answers too. They set `is_failure`, and their text starts with
/// `Error:`, so that a model can act on them. `Toolbox::call` redacts an answer before it leaves
/// the toolbox, except for code in a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// The content, in order. A text after an image continues the text before the image. A text
    /// after a text is a remark about it.
    pub blocks: Vec<AnswerBlock>,
    /// Whether the call was refused or failed.
    pub is_failure: bool,
    /// The same content as JSON, for tools that promise keys.
    pub keys: Option<Value>,
    /// The path that needs a user's consent, if that is the reason of the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_consent: Option<Box<str>>,
}

/// The reason why a call was not carried out, with a hint. At the edge it becomes a failed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolRefusal {
    pub(crate) problem: String,
    keys: Option<Value>,
    needs_consent: Option<Box<str>>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerBlock {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// The MIME type.
        mime: String,
        /// The bytes, in base64.
        data: String,
    },
    /// A link to a resource that can be read separately.
    Link {
        /// The address.
        uri: String,
        /// The display name.
        name: String,
        /// The MIME type.
        mime: String,
    },
}

/// The progress of a call. Only the newest report counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallProgress {
    /// The current step, in a line.
    pub message: String,
    /// The amount done, if the code reports it.
    pub done: Option<f64>,
    /// The total amount.
    pub total: Option<f64>,
}

impl ToolAnswer {
    /// Creates an answer of one text.
    pub fn text(text: impl Into<String>) -> ToolAnswer {
        ToolAnswer { blocks: vec![AnswerBlock::Text(text.into())], ..ToolAnswer::default() }
    }

    /// Creates a failed answer. `problem` states the fact and a hint.
    pub fn failure(problem: impl std::fmt::Display) -> ToolAnswer {
        ToolAnswer { is_failure: true, ..ToolAnswer::text(format!("Error: {problem}")) }
    }

    /// Replaces credentials in texts and keys. Pictures stay as they are.
    #[must_use]
    pub fn redacted(mut self, redaction: &Redaction) -> ToolAnswer {
        for block in &mut self.blocks {
            match block {
                AnswerBlock::Text(text) => {
                    if let Cow::Owned(shown) = redaction.text(text) {
                        *text = shown;
                    }
                }
                AnswerBlock::Image { .. } | AnswerBlock::Link { .. } => {}
            }
        }
        if let Some(keys) = &mut self.keys {
            redaction.json(keys);
        }
        self
    }

    /// Returns the text and the remarks about it.
    pub fn text_and_about(&self) -> (String, String) {
        let (mut text, mut about) = (Vec::new(), Vec::new());
        let mut goes_on = true;
        for block in &self.blocks {
            match block {
                AnswerBlock::Text(said) if goes_on => text.push(said.as_str()),
                AnswerBlock::Text(said) => about.push(said.as_str()),
                AnswerBlock::Image { .. } | AnswerBlock::Link { .. } => {}
            }
            goes_on = matches!(block, AnswerBlock::Image { .. });
        }
        (text.join("\n"), about.join("\n"))
    }

    /// Joins all texts.
    pub fn all_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            AnswerBlock::Text(text) => Some(text.as_str()),
            AnswerBlock::Image { .. } | AnswerBlock::Link { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl ToolRefusal {
    pub(crate) fn new(problem: impl std::fmt::Display) -> ToolRefusal {
        ToolRefusal { problem: problem.to_string(), keys: None, needs_consent: None }
    }

    /// Adds a hint: on the same line if the problem is a single line.
    pub(crate) fn hinted(problem: impl std::fmt::Display, hint: Option<String>) -> ToolRefusal {
        let problem = problem.to_string();
        ToolRefusal::new(match hint {
            None => problem,
            Some(hint) if problem.contains('\n') => format!("{problem}\n{hint}"),
            Some(hint) => format!("{problem}; {hint}"),
        })
    }

    /// Adds a hint on a line of its own.
    pub(crate) fn advised(problem: impl std::fmt::Display, advice: Option<String>) -> ToolRefusal {
        match advice {
            Some(advice) => ToolRefusal::new(format_args!("{problem}\n{advice}")),
            None => ToolRefusal::new(problem),
        }
    }

    /// Names the path whose change needs a user's consent.
    #[must_use]
    pub(crate) fn needing(self, path: &std::path::Path) -> ToolRefusal {
        // A path that is not UTF-8 cannot be shown for consent.
        ToolRefusal { needs_consent: path.to_str().map(Box::from), ..self }
    }

    /// Adds the state as JSON, for tools that promise keys.
    #[must_use]
    pub(crate) fn with_keys(self, keys: Value) -> ToolRefusal {
        ToolRefusal { keys: Some(keys), ..self }
    }

    /// Appends lines.
    #[must_use]
    pub(crate) fn followed_by(mut self, lines: &[String]) -> ToolRefusal {
        for line in lines {
            self.problem.push('\n');
            self.problem.push_str(line);
        }
        self
    }

    /// Returns the text of the answer.
    pub(crate) fn text(&self) -> String {
        format!("Error: {}", self.problem)
    }
}

impl From<SessionError> for ToolRefusal {
    fn from(error: SessionError) -> ToolRefusal {
        ToolRefusal::advised(&error, error.hint())
    }
}

impl From<CannotOrder> for ToolRefusal {
    fn from(error: CannotOrder) -> ToolRefusal {
        ToolRefusal::advised(&error, error.hint())
    }
}

impl From<ToolRefusal> for ToolAnswer {
    fn from(refusal: ToolRefusal) -> ToolAnswer {
        let ToolRefusal { problem, keys, needs_consent } = refusal;
        ToolAnswer { keys, needs_consent, ..ToolAnswer::failure(problem) }
    }
}

impl CallProgress {
    /// Replaces credentials in the message.
    #[must_use]
    pub fn redacted(self, redaction: &Redaction) -> CallProgress {
        CallProgress { message: redaction.text(&self.message).into_owned(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_after_an_image_continues_and_a_text_after_a_text_is_a_remark() {
        let text = |text: &str| AnswerBlock::Text(text.to_owned());
        let image = || AnswerBlock::Image { mime: "image/png".to_owned(), data: "A".to_owned() };
        let parts = |blocks| ToolAnswer { blocks, ..ToolAnswer::default() }.text_and_about();
        let told = |text: &str, about: &str| (text.to_owned(), about.to_owned());
        assert_eq!(parts(vec![text("a"), text("about")]), told("a", "about"));
        assert_eq!(parts(vec![text("a"), image(), image(), text("b")]), told("a\nb", ""));
        assert_eq!(parts(vec![image(), text("b"), text("about")]), told("b", "about"));
    }
}
