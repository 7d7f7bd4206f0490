//! Finding lines of an artifact by a regular expression, in a file of any size with little memory.

use cellist_output::{Ansi, clean};
use memchr::memchr;
use regex::bytes::Regex;
use serde::Serialize;

use super::reading::Reader;
use super::{ArtifactError, ArtifactId, Artifacts};

/// A longer line is searched in pieces of this size.
const LONGEST: usize = 1024 * 1024;
/// What two such pieces have in common, so that a match between them is found.
const OVERLAP: usize = 4096;
/// How much of a line is shown, and how much of that before the match.
const SHOWN: usize = 400;
const SHOWN_BEFORE: usize = 100;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The first lines that match.
    pub hits: Vec<Hit>,
    /// How many lines match in all.
    pub matching_lines: u64,
    /// How many lines there are.
    pub total_lines: u64,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Its number, counted from 1.
    pub line: u64,
    /// The line as a reader sees it; of a long one the part around the match.
    pub text: String,
}

impl Artifacts {
    /// Finds the lines that match a regular expression, and shows up to `max` of them.
    pub fn search(&self, id: &ArtifactId, pattern: &str, max: usize) -> Result<Found, ArtifactError> {
        let regex = Regex::new(pattern).map_err(|error| bad_pattern(pattern, &error))?;
        let mut reader = Reader::open(self, id)?;
        let mut search = Search {
            regex,
            max,
            found: Found { hits: Vec::new(), matching_lines: 0, total_lines: 0 },
            is_within: false,
            has_matched: false,
        };
        let mut buffer = vec![0; LONGEST];
        let mut filled = 0;
        loop {
            let read = reader.read(&mut buffer[filled..])?;
            filled += read;
            let taken = search.take(&buffer[..filled], read == 0);
            if read == 0 {
                return Ok(search.found);
            }
            buffer.copy_within(taken..filled, 0);
            filled -= taken;
        }
    }
}

struct Search {
    regex: Regex,
    max: usize,
    found: Found,
    /// Whether a part of the line at hand was searched already, and whether it matched.
    is_within: bool,
    has_matched: bool,
}

impl Search {
    /// Searches the lines in a buffer. Returns how much of it is done with.
    fn take(&mut self, buffer: &[u8], is_last: bool) -> usize {
        let mut from = 0;
        while let Some(length) = memchr(b'\n', &buffer[from..]) {
            self.look(&buffer[from..from + length]);
            self.is_within = false;
            from += length + 1;
        }
        let rest = &buffer[from..];
        if is_last {
            if !rest.is_empty() {
                self.look(rest);
            }
            return buffer.len();
        }
        if rest.len() == LONGEST {
            self.look(rest);
            self.is_within = true;
            return from + rest.len() - OVERLAP;
        }
        from
    }

    fn look(&mut self, line: &[u8]) {
        if !self.is_within {
            self.found.total_lines += 1;
            self.has_matched = false;
        }
        if self.has_matched {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(matched) = self.regex.find(line) {
            self.has_matched = true;
            self.found.matching_lines += 1;
            if self.found.hits.len() < self.max {
                let text = shown(line, matched.start());
                self.found.hits.push(Hit { line: self.found.total_lines, text });
            }
        }
    }
}

/// The part of a line around a match.
fn shown(line: &[u8], at: usize) -> String {
    let from = if line.len() <= SHOWN { 0 } else { at.saturating_sub(SHOWN_BEFORE) };
    let to = line.len().min(from + SHOWN);
    let text = clean(&line[from..to], Ansi::Remove);
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    format!("{before}{text}{after}")
}

fn bad_pattern(pattern: &str, error: &regex::Error) -> ArtifactError {
    let reason = match error {
        // The first lines show the pattern with a mark below it; the last says what is wrong.
        regex::Error::Syntax(text) => {
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
        other => other.to_string(),
    };
    ArtifactError::BadPattern { pattern: pattern.to_owned(), reason }
}
