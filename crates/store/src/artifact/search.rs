//! Searches the lines of an artifact by a regular expression, in constant memory for files of any
//! size.

use cellist_output::{Ansi, clean};
use memchr::memchr;
use regex::bytes::Regex;
use serde::Serialize;

use super::reader::ArtifactReader;
use super::{ArtifactError, ArtifactId, Artifacts};

/// Longer lines are searched in chunks of this size.
const LONGEST: usize = 1024 * 1024;
/// Bytes that two chunks share, so that a match across their border is found.
const OVERLAP: usize = 4096;
/// Limits on the excerpt of a matching line: its length, and the part before the match.
const SHOWN: usize = 400;
const SHOWN_BEFORE: usize = 100;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchResult {
    /// The first matching lines.
    pub hits: Vec<LineMatch>,
    /// The number of all matching lines.
    pub matching_lines: u64,
    /// The number of lines in the artifact.
    pub total_lines: u64,
}

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineMatch {
    /// The line number, from 1.
    pub line: u64,
    /// The line without escape sequences. A long line is cut around the match.
    pub text: String,
}

impl Artifacts {
    /// Finds the lines that match a regular expression. Returns the text of the first `max` ones
    /// and counts all.
    pub fn search(&self, id: &ArtifactId, pattern: &str, max: usize) -> Result<SearchResult, ArtifactError> {
        let regex = Regex::new(pattern).map_err(|error| bad_pattern(pattern, &error))?;
        let mut reader = ArtifactReader::open(self, id)?;
        let mut search = LineSearch {
            regex,
            max,
            found: SearchResult { hits: Vec::new(), matching_lines: 0, total_lines: 0 },
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

struct LineSearch {
    regex: Regex,
    max: usize,
    found: SearchResult,
    /// Whether an earlier chunk of the current line was searched, and whether it matched.
    is_within: bool,
    has_matched: bool,
}

impl LineSearch {
    /// Searches the lines in a buffer. Returns the number of bytes that are done.
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
                self.found.hits.push(LineMatch { line: self.found.total_lines, text });
            }
        }
    }
}

/// The excerpt of a line around a match.
fn shown(line: &[u8], at: usize) -> String {
    let from = if line.len() <= SHOWN { 0 } else { at.saturating_sub(SHOWN_BEFORE) };
    let to = line.len().min(from + SHOWN);
    let text = clean(&line[from..to], Ansi::Remove);
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    format!("{before}{text}{after}")
}

fn bad_pattern(pattern: &str, error: &regex::Error) -> ArtifactError {
    let reason = match error {
        // The last line of the message has the reason. The others show the pattern with a marker.
        regex::Error::Syntax(text) => {
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
        other => other.to_string(),
    };
    ArtifactError::BadPattern { pattern: pattern.to_owned(), reason }
}
