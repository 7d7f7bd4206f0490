//! The script of a provider.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// The answer to one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Said {
    pub(super) pieces: Vec<String>,
    pub(super) calls: Vec<(String, Value)>,
    pub(super) ending: ScriptedEnding,
    /// Pause before each piece, in milliseconds.
    pace_ms: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptedEnding {
    #[default]
    Whole,
    /// The connection closes before the end.
    Cut,
    /// The last piece is invalid in every protocol.
    Garbled,
    /// The last piece waits for the test.
    Held,
    /// The answer ends at the limit on its length.
    TooLong,
    /// An error response with headers.
    Refused {
        status: u16,
        #[serde(default)]
        headers: Vec<(String, String)>,
        words: String,
    },
}

impl Default for Said {
    fn default() -> Said {
        Said::text(&[])
    }
}

impl Said {
    /// A text in these pieces.
    pub fn text(pieces: &[&str]) -> Said {
        let pieces = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        Said { pieces, calls: Vec::new(), ending: ScriptedEnding::Whole, pace_ms: 0 }
    }

    /// A tool call.
    pub fn call(tool: &str, arguments: Value) -> Said {
        Said::text(&[]).and_call(tool, arguments)
    }

    /// Adds a tool call.
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Said {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// Closes the connection after the pieces.
    pub fn cut(self) -> Said {
        Said { ending: ScriptedEnding::Cut, ..self }
    }

    /// Sends invalid bytes after the pieces.
    pub fn garbled(self) -> Said {
        Said { ending: ScriptedEnding::Garbled, ..self }
    }

    /// Holds the last piece and the end until [`release`](super::Models::release).
    pub fn held(self) -> Said {
        Said { ending: ScriptedEnding::Held, ..self }
    }

    /// Ends at the limit on the length of answers.
    pub fn too_long(self) -> Said {
        Said { ending: ScriptedEnding::TooLong, ..self }
    }

    /// An error response.
    pub fn refusal(status: u16, words: &str) -> Said {
        let ending = ScriptedEnding::Refused { status, headers: Vec::new(), words: words.to_owned() };
        Said { ending, ..Said::text(&[]) }
    }

    /// Adds a header to an error response.
    pub fn header(mut self, name: &str, value: &str) -> Said {
        if let ScriptedEnding::Refused { headers, .. } = &mut self.ending {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Pauses this many milliseconds before each piece.
    pub fn pace(self, pace_ms: u64) -> Said {
        Said { pace_ms, ..self }
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_millis(self.pace_ms)
    }
}
