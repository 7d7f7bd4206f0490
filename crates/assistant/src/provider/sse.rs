//! An incremental parser of server-sent events.

use cellist_output::wire::PROVIDER_EVENT;
use cellist_platform::fault::{self, Site};

/// Splits a byte stream into events. Chunks may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    data: Vec<u8>,
    after_return: bool,
    /// The number of complete lines, for the timeout of silence.
    pub(super) lines: u64,
}

/// Why the stream cannot be parsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SseError {
    /// An event exceeds the limit.
    TooLong,
    /// An allocation failed.
    NoMemory,
}

impl SseParser {
    /// Takes a chunk. Returns the data of each event that it completes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, SseError> {
        let mut events = Vec::new();
        fault::reserve(Site::ProviderEvent, &mut self.line, bytes.len()).map_err(|_| SseError::NoMemory)?;
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    events.extend(self.end_line());
                }
                byte => {
                    self.after_return = false;
                    self.line.push(*byte);
                }
            }
            if self.line.len() + self.data.len() > PROVIDER_EVENT {
                return Err(SseError::TooLong);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<String> {
        self.lines += 1;
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let mut data = std::mem::take(&mut self.data);
            data.pop();
            return (!data.is_empty()).then(|| String::from_utf8_lossy(&data).into_owned());
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed_wherever_the_chunks_are_cut() {
        let text = "event: x\r\ndata: one\r\ndata:two\r\n\r\n: a word aside\n\ndata: é\n\ndata: cut";
        for size in 1..text.len() {
            let mut parser = SseParser::default();
            let found: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece).unwrap()).collect();
            assert_eq!(found, ["one\ntwo", "é"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_an_error() {
        let mut parser = SseParser::default();
        let piece = vec![b'x'; 1 << 20];
        let taken = (0..20).map(|_| parser.feed(&piece)).find(Result::is_err);
        assert_eq!(taken, Some(Err(SseError::TooLong)));
    }
}
