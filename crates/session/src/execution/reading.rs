//! Decides how much of an execution's output a reader gets, and how several pieces of code share the limit.

use cellist_output::{Ansi, Limits};
use serde::{Deserialize, Serialize};

/// How much output is kept, and for which reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Limits of the text.
    pub limits: Limits,
    /// Whether colours stay in the text.
    pub ansi: Ansi,
    /// Person or model; the limits apply differently.
    #[serde(default)]
    pub reader: Reader,
}

/// The reader of an execution's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// A person or a program. The limits apply to each piece of code.
    #[default]
    Person,
    /// A model.
    ///
    /// - The limits apply to all pieces of a call together.
    /// - Library frames in tracebacks are folded.
    /// - Pictures are returned beside the text.
    Model,
}

impl Reading {
    /// For a person or a program.
    pub const fn new(limits: Limits, ansi: Ansi) -> Reading {
        Reading { limits, ansi, reader: Reader::Person }
    }

    /// For a model that asked for a number of bytes.
    pub const fn for_model(max_bytes: usize) -> Reading {
        let limits = Limits::new(max_bytes, Limits::for_model().max_lines);
        Reading { limits, ansi: Ansi::Remove, reader: Reader::Model }
    }

    /// For a model that set no limit. Long text is cut to a short head and tail.
    pub const fn excerpt_for_model(max_bytes: usize) -> Reading {
        let limits = Limits::new(max_bytes, WHOLE_LINES).cut_to(EXCERPT_LINES);
        Reading { limits, ..Reading::for_model(max_bytes) }
    }

    /// Returns the share of the next piece of a call, after earlier pieces have shown `shown` bytes.
    ///
    /// - A piece gets half of the rest, so later pieces have room.
    /// - The last piece gets all of the rest.
    /// - No piece gets less than a quarter of the whole, up to 4 KiB. A later piece may fail, and its error needs
    ///   room.
    #[must_use]
    pub fn next(self, shown: usize, is_last: bool) -> Reading {
        match self.reader {
            Reader::Person => self,
            Reader::Model => {
                let left = self.limits.max_bytes.saturating_sub(shown);
                let share = if is_last { left } else { left / 2 };
                let least = (self.limits.max_bytes / 4).clamp(LEAST_SHARE, MOST_LEAST_SHARE);
                let Limits { max_bytes, max_lines, cut_lines, .. } = self.limits;
                let limits = Limits::new(share.max(least.min(max_bytes)), max_lines).cut_to(cut_lines);
                Reading { limits, ..self }
            }
        }
    }
}

/// Bytes that a piece may always show within the limit of the call: enough for an error message.
const LEAST_SHARE: usize = 400;
const MOST_LEAST_SHARE: usize = 4096;

/// A model gets a text of up to this many lines whole. A longer text is cut to its first quarter and last lines.
const WHOLE_LINES: usize = 120;
const EXCERPT_LINES: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_share_the_limit_of_a_model_and_a_person_reads_each_in_full() {
        let share = |reading: Reading, shown, is_last| reading.next(shown, is_last).limits.max_bytes;
        let model = Reading::for_model(8000);
        assert_eq!(share(model, 0, true), 8000);
        assert_eq!(share(model, 0, false), 4000);
        assert_eq!(share(model, 7000, false), 2000);
        assert_eq!(share(model, 9000, true), 2000);
        assert_eq!(share(Reading::for_model(800), 800, true), LEAST_SHARE);
        assert_eq!(share(Reading::for_model(300), 300, true), 300);
        assert_eq!(share(Reading::for_model(100_000), 100_000, true), MOST_LEAST_SHARE);
        let person = Reading::new(Limits::for_screen(), Ansi::Remove);
        assert_eq!(person.next(1_000_000, false), person);
    }
}
