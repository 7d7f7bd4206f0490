//! What a call of a tool is answered with, and what is heard before: nothing but what a model reads or a person looks at.

use std::borrow::Cow;

use cellist_session::orders::CannotOrder;
use cellist_session::sessions::SessionError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::redaction::Redaction;

/// The answer to a call. One that is a failure says so in its text, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its content, in order. A text behind an image goes on with the text before it, a text behind a text says
    /// something about it.
    pub blocks: Vec<Block>,
    /// Whether what was asked for was not done, or failed.
    pub is_failure: bool,
    /// The same as data, for the tools that promise keys.
    pub keys: Option<Value>,
    /// The path to whose change a person would have to consent, where that is why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_consent: Option<Box<str>>,
}

/// Why a call was not carried out: the fact, and advice. At the edge it becomes an answer that is a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) what: String,
    keys: Option<Value>,
    needs_consent: Option<Box<str>>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// What it is.
        mime: String,
        /// Its bytes, in base64.
        data: String,
    },
    /// Something that can be read on its own.
    Link {
        /// Its address.
        uri: String,
        /// What to call it.
        name: String,
        /// What it is.
        mime: String,
    },
}

/// How far a call is. Only the newest counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What it does, in a line.
    pub message: String,
    /// How much is done, where the code tells.
    pub done: Option<f64>,
    /// How much there is.
    pub total: Option<f64>,
}

impl Answer {
    /// A text.
    pub fn text(text: impl Into<String>) -> Answer {
        Answer { blocks: vec![Block::Text(text.into())], ..Answer::default() }
    }

    /// A failure: what, where, and what would be right.
    pub fn failure(what: impl std::fmt::Display) -> Answer {
        Answer { is_failure: true, ..Answer::text(format!("Error: {what}")) }
    }

    /// Without what no model is to read. Pictures stay as they are.
    #[must_use]
    pub fn redacted(mut self, redaction: &Redaction) -> Answer {
        for block in &mut self.blocks {
            match block {
                Block::Text(text) => {
                    if let Cow::Owned(shown) = redaction.text(text) {
                        *text = shown;
                    }
                }
                Block::Image { .. } | Block::Link { .. } => {}
            }
        }
        if let Some(keys) = &mut self.keys {
            redaction.json(keys);
        }
        self
    }

    /// The text, and the remarks about it.
    pub fn text_and_about(&self) -> (String, String) {
        let (mut text, mut about) = (Vec::new(), Vec::new());
        let mut goes_on = true;
        for block in &self.blocks {
            match block {
                Block::Text(said) if goes_on => text.push(said.as_str()),
                Block::Text(said) => about.push(said.as_str()),
                Block::Image { .. } | Block::Link { .. } => {}
            }
            goes_on = matches!(block, Block::Image { .. });
        }
        (text.join("\n"), about.join("\n"))
    }

    /// Its texts, one after the other.
    pub fn all_text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Image { .. } | Block::Link { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Refusal {
    /// For a reason.
    pub(crate) fn new(what: impl std::fmt::Display) -> Refusal {
        Refusal { what: what.to_string(), keys: None, needs_consent: None }
    }

    /// With a hint behind the reason, in the same line where the reason is one line.
    pub(crate) fn hinted(what: impl std::fmt::Display, hint: Option<String>) -> Refusal {
        let what = what.to_string();
        Refusal::new(match hint {
            None => what,
            Some(hint) if what.contains('\n') => format!("{what}\n{hint}"),
            Some(hint) => format!("{what}; {hint}"),
        })
    }

    /// With advice in a line of its own.
    pub(crate) fn advised(what: impl std::fmt::Display, advice: Option<String>) -> Refusal {
        match advice {
            Some(advice) => Refusal::new(format_args!("{what}\n{advice}")),
            None => Refusal::new(what),
        }
    }

    /// One that the consent of a person to a path would lift.
    #[must_use]
    pub(crate) fn needing(self, path: &std::path::Path) -> Refusal {
        // A path that is no text has no name that a person could consent to.
        Refusal { needs_consent: path.to_str().map(Box::from), ..self }
    }

    /// With the state as data, for the tools that promise keys.
    #[must_use]
    pub(crate) fn with_keys(self, keys: Value) -> Refusal {
        Refusal { keys: Some(keys), ..self }
    }

    /// With lines behind it.
    #[must_use]
    pub(crate) fn followed_by(mut self, lines: &[String]) -> Refusal {
        for line in lines {
            self.what.push('\n');
            self.what.push_str(line);
        }
        self
    }

    /// The text of the answer.
    pub(crate) fn text(&self) -> String {
        format!("Error: {}", self.what)
    }
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Refusal {
        Refusal::advised(&error, error.hint())
    }
}

impl From<CannotOrder> for Refusal {
    fn from(error: CannotOrder) -> Refusal {
        Refusal::advised(&error, error.hint())
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let Refusal { what, keys, needs_consent } = refusal;
        Answer { keys, needs_consent, ..Answer::failure(what) }
    }
}

impl Progress {
    /// Without what no model is to read.
    #[must_use]
    pub fn redacted(self, redaction: &Redaction) -> Progress {
        Progress { message: redaction.text(&self.message).into_owned(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_behind_an_image_and_otherwise_is_about_the_text_before_it() {
        let text = |text: &str| Block::Text(text.to_owned());
        let image = || Block::Image { mime: "image/png".to_owned(), data: "A".to_owned() };
        let parts = |blocks| Answer { blocks, ..Answer::default() }.text_and_about();
        let told = |text: &str, about: &str| (text.to_owned(), about.to_owned());
        assert_eq!(parts(vec![text("a"), text("about")]), told("a", "about"));
        assert_eq!(parts(vec![text("a"), image(), image(), text("b")]), told("a\nb", ""));
        assert_eq!(parts(vec![image(), text("b"), text("about")]), told("b", "about"));
    }
}
