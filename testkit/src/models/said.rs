//! What a test writes for a provider to say.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// What is said to one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Said {
    pub(super) pieces: Vec<String>,
    pub(super) calls: Vec<(String, Value)>,
    pub(super) ending: Ending,
    /// How long it pauses before each piece.
    pace_ms: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    #[default]
    Whole,
    /// The connection is closed before the end.
    Cut,
    /// What comes last is no answer in any protocol.
    Garbled,
    /// The last piece comes when the test lets it.
    Held,
    /// The length of answers is limited, and this one reached it.
    TooLong,
    /// No answer but a refusal, with headers.
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
    /// A text, in these pieces.
    pub fn text(pieces: &[&str]) -> Said {
        let pieces = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        Said { pieces, calls: Vec::new(), ending: Ending::Whole, pace_ms: 0 }
    }

    /// A call of a tool.
    pub fn call(tool: &str, arguments: Value) -> Said {
        Said::text(&[]).and_call(tool, arguments)
    }

    /// Also a call of a tool.
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Said {
        self.calls.push((tool.to_owned(), arguments));
        self
    }

    /// The connection breaks after the pieces.
    pub fn cut(self) -> Said {
        Said { ending: Ending::Cut, ..self }
    }

    /// What comes after the pieces is no answer.
    pub fn garbled(self) -> Said {
        Said { ending: Ending::Garbled, ..self }
    }

    /// The last piece, and the end, come when [`release`](super::Models::release) is called.
    pub fn held(self) -> Said {
        Said { ending: Ending::Held, ..self }
    }

    /// It stops because answers may not be longer.
    pub fn too_long(self) -> Said {
        Said { ending: Ending::TooLong, ..self }
    }

    /// A refusal.
    pub fn refusal(status: u16, words: &str) -> Said {
        let ending = Ending::Refused { status, headers: Vec::new(), words: words.to_owned() };
        Said { ending, ..Said::text(&[]) }
    }

    /// With a header, for a refusal.
    pub fn header(mut self, name: &str, value: &str) -> Said {
        if let Ending::Refused { headers, .. } = &mut self.ending {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// With a pause of so many milliseconds before each piece.
    pub fn pace(self, pace_ms: u64) -> Said {
        Said { pace_ms, ..self }
    }

    pub(super) fn pause(&self) -> Duration {
        Duration::from_millis(self.pace_ms)
    }
}
