//! Server-sent events, taken apart as their bytes come.

use cellist_output::wire::PROVIDER_EVENT;
use cellist_platform::fault::{self, Site};

/// The bytes that did not make an event yet.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    after_return: bool,
    /// How many lines have ended.
    pub(super) lines: u64,
}

/// Why an event cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is too long.
    TooLong,
    /// There is no memory for it.
    NoMemory,
}

impl Events {
    /// Takes bytes and gives the data of each event that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<String>, Unread> {
        let mut events = Vec::new();
        fault::reserve(Site::ProviderEvent, &mut self.line, bytes.len()).map_err(|_| Unread::NoMemory)?;
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
                return Err(Unread::TooLong);
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
    fn events_are_found_however_their_bytes_are_cut() {
        let text = "event: x\r\ndata: one\r\ndata:two\r\n\r\n: a word aside\n\ndata: é\n\ndata: cut";
        for size in 1..text.len() {
            let mut events = Events::default();
            let found: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|piece| events.take(piece).unwrap()).collect();
            assert_eq!(found, ["one\ntwo", "é"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        let taken = (0..20).map(|_| events.take(&piece)).find(Result::is_err);
        assert_eq!(taken, Some(Err(Unread::TooLong)));
    }
}
