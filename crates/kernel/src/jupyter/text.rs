//! A long JSON string, read in pieces: a stream's text may be as large as memory allows once, but not twice.

use bytes::{Buf, Bytes};
use cellist_output::json_escape;

/// The rest of a JSON string, without its quotes and still escaped.
#[derive(Clone, Debug)]
pub(super) struct JsonText(Bytes);

impl JsonText {
    /// How many bytes of JSON a piece is made of, at most.
    pub(super) const PIECE: usize = 128 * 1024;

    /// Takes a JSON string with its quotes, which must be one.
    pub(super) fn new(json: Bytes) -> JsonText {
        let end = json.len().saturating_sub(1).max(1);
        JsonText(if json.len() < 2 { Bytes::new() } else { json.slice(1..end) })
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The next piece, as UTF-8; none at the end.
    pub(super) fn next_piece(&mut self) -> Option<Bytes> {
        if self.0.is_empty() {
            return None;
        }
        let end = piece_end(&self.0, Self::PIECE);
        let piece = unescape(&self.0[..end]);
        self.0.advance(end);
        Some(Bytes::from(piece))
    }
}

/// Where a piece may end: behind `most` bytes or a little earlier, never inside an escape sequence or between
/// two that make one character together.
fn piece_end(json: &[u8], most: usize) -> usize {
    if json.len() <= most {
        return json.len();
    }
    let mut at = 0;
    while at < most {
        let Some(found) = memchr::memchr(b'\\', &json[at..most]) else { return most };
        let start = at + found;
        let (_, length) = escape(&json[start..]);
        if start + length > most && start > 0 {
            return start;
        }
        at = start + length;
    }
    at
}

fn unescape(json: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(json.len());
    let mut rest = json;
    while let Some(found) = memchr::memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..found]);
        let (character, length) = escape(&rest[found..]);
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[found + length..];
    }
    text.extend_from_slice(rest);
    text
}

/// The character that stands at the start, where a backslash is, and how many bytes it takes.
fn escape(json: &[u8]) -> (char, usize) {
    let (character, length) = json_escape(json);
    (character.unwrap_or(char::REPLACEMENT_CHARACTER), length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(json: &str) -> (String, usize) {
        let mut text = JsonText::new(Bytes::from(json.to_owned()));
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some(piece) = text.next_piece() {
            all.extend_from_slice(&piece);
            count += 1;
        }
        (String::from_utf8(all).unwrap(), count)
    }

    #[test]
    fn escapes_are_read_as_json_has_them() {
        let json = r#""a\n\t\r\b\f\"\\\/\u00e9\ud83d\ude00é😀""#;
        assert_eq!(pieces(json).0, "a\n\t\r\u{8}\u{c}\"\\/é😀é😀");
        assert_eq!(pieces(r#""\ud83dx\ude00""#).0, "\u{fffd}x\u{fffd}");
        assert_eq!(pieces(r#""""#), (String::new(), 0));
    }

    #[test]
    fn a_long_text_comes_in_pieces_and_no_escape_is_cut() {
        for shift in 0..14 {
            let text = format!("{}{}", "x".repeat(shift), "\u{1}\n\\n".repeat(JsonText::PIECE));
            let json = serde_json::to_string(&text).unwrap();
            let (read, count) = pieces(&json);
            assert_eq!(read, text);
            assert!(count >= json.len() / JsonText::PIECE);
        }
        let json = format!("\"{}\"", r"\ud83d\ude00".repeat(JsonText::PIECE / 6));
        assert_eq!(pieces(&json).0, "😀".repeat(JsonText::PIECE / 6));
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_a_json_library_reads_it(text: String, most in 12_usize..40) {
            let json = serde_json::to_string(&text).unwrap();
            let mut rest = &json.as_bytes()[1..json.len() - 1];
            let mut read = Vec::new();
            while !rest.is_empty() {
                let end = piece_end(rest, most);
                read.extend(unescape(&rest[..end]));
                rest = &rest[end..];
            }
            prop_assert_eq!(String::from_utf8(read).unwrap(), text);
        }

        #[test]
        fn nothing_breaks_the_reader(json: Vec<u8>, most in 12_usize..40) {
            let mut rest = json.as_slice();
            while !rest.is_empty() {
                let end = piece_end(rest, most);
                prop_assert!(end > 0 && end <= rest.len());
                unescape(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
}
