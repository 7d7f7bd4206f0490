//! Undoes the encodings of a text: JSON and Python escapes, percent signs, HTML entities,
//! quoted-printable lines, terminal colours and zero-width characters. Maps each position back to
//! the original.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Layers of encoding that are undone: JSON in JSON in JSON.
const DEEPEST: usize = 3;

/// A decoded text.
pub(super) struct DecodedText {
    pub(super) text: String,
    /// The starts of pieces, in the view and in the original. Within a piece the characters are the
    /// same.
    pieces: Vec<(usize, usize)>,
}

/// Returns the parts of a text around its encodings. Most of a long text has none.
pub(super) fn parts(text: &str) -> Vec<Range<usize>> {
    const AROUND: usize = 512;
    let mut parts: Vec<Range<usize>> = Vec::new();
    for mark in TELLING.find_iter(text) {
        let (start, end) = (mark.start().saturating_sub(AROUND), (mark.end() + AROUND).min(text.len()));
        match parts.last_mut().filter(|last| start <= last.end) {
            Some(last) if end <= last.end => {}
            Some(last) if letter(&text[mark.start()..]).is_some() => last.end = whole(text, end),
            None if letter(&text[mark.start()..]).is_some() => {
                parts.push(text.floor_char_boundary(start)..whole(text, end));
            }
            _ => {}
        }
    }
    parts
}

/// Returns the end of the word at `end`, unless the word is very long.
fn whole(text: &str, end: usize) -> usize {
    const FAR: usize = 256;
    let end = text.ceil_char_boundary(end);
    let near = &text[end..text.floor_char_boundary((end + FAR).min(text.len()))];
    end + near.find(char::is_whitespace).unwrap_or(near.len())
}

/// Decodes a text. Returns `None` if nothing is encoded.
pub(super) fn view(text: &str) -> Option<DecodedText> {
    let mut view = decode_layer(text)?;
    for _ in 1..DEEPEST {
        let Some(next) = decode_layer(&view.text) else { break };
        let pieces = next.pieces.iter().map(|(here, there)| (*here, view.original(*there)));
        view = DecodedText { pieces: pieces.collect(), text: next.text };
    }
    Some(view)
}

impl DecodedText {
    /// Maps a range of the view to the original.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        // The range ends with its last character, not at the start of the next one.
        let last = self.text[range.clone()].chars().next_back().map_or(0, char::len_utf8);
        let piece = self.piece(range.end - last);
        let next = self.pieces.get(piece + 1);
        let (here, there) = self.pieces[piece];
        let end = there + (range.end - here);
        let end = match next {
            Some((begin, original)) if *begin == range.end => (*original).max(end),
            _ => end,
        };
        self.original(range.start)..end
    }

    fn original(&self, at: usize) -> usize {
        let (here, there) = self.pieces[self.piece(at)];
        there + (at - here)
    }

    fn piece(&self, at: usize) -> usize {
        self.pieces.partition_point(|(here, _)| *here <= at).saturating_sub(1)
    }
}

/// Undoes one layer.
fn decode_layer(text: &str) -> Option<DecodedText> {
    let mut view: Option<DecodedText> = None;
    let mut copied = 0;
    for mark in ALL.find_iter(text) {
        let next = mark.start();
        let Some((length, letter)) =
            Some(next).filter(|next| *next >= copied).and_then(|next| letter(&text[next..]))
        else {
            continue;
        };
        let view = view.get_or_insert_with(|| DecodedText {
            text: String::with_capacity(text.len()),
            pieces: vec![(0, 0)],
        });
        view.text.push_str(&text[copied..next]);
        if let Some(letter) = letter {
            view.pieces.push((view.text.len(), next));
            view.text.push(letter);
        }
        copied = next + length;
        view.pieces.push((view.text.len(), copied));
    }
    if let Some(view) = &mut view {
        view.text.push_str(&text[copied..]);
    }
    view
}

/// Possible starts of an encoded character.
const MARKS: [&str; 13] = [
    "%", "&", "=\n", "=\r\n", "=3D", "\u{1b}", "\u{200b}", "\u{200c}", "\u{200d}", "\u{2060}", "\u{feff}",
    "\u{ad}", "\\",
];

/// Marks that make decoding worthwhile. The search of the plain text handles simple escapes.
static TELLING: LazyLock<AhoCorasick> =
    LazyLock::new(|| search(MARKS[..12].iter().copied().chain(["\\x", "\\u", "\\033["])));
static ALL: LazyLock<AhoCorasick> = LazyLock::new(|| search(MARKS.into_iter()));

fn search(marks: impl Iterator<Item = &'static str>) -> AhoCorasick {
    let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(marks);
    search.expect("a test makes this one")
}

/// Decodes the start of a text. Returns the length of the encoding and its character, if any.
fn letter(text: &str) -> Option<(usize, Option<char>)> {
    let bytes = text.as_bytes();
    match bytes[0] {
        b'\\' => escape(text),
        b'%' => hex(text, 1, 2).map(|letter| (3, Some(letter))),
        b'&' => entity(text),
        b'=' if bytes.get(1) == Some(&b'\n') => Some((2, None)),
        b'=' if text.starts_with("=\r\n") => Some((3, None)),
        b'=' if text.starts_with("=3D") => Some((3, Some('='))),
        0x1b => Some((colour(bytes), None)),
        b'=' => None,
        // Only zero-width characters are left.
        _ => text.chars().next().map(|first| (first.len_utf8(), None)),
    }
}

fn escape(text: &str) -> Option<(usize, Option<char>)> {
    let wide = |length| hex(text, 2, length).map(|letter| (2 + length, Some(letter)));
    match text.as_bytes().get(1)? {
        b'n' => Some((2, Some('\n'))),
        b'r' => Some((2, Some('\r'))),
        b't' => Some((2, Some('\t'))),
        letter @ (b'"' | b'\'' | b'/' | b'\\') => Some((2, Some(char::from(*letter)))),
        b'x' => wide(2),
        b'u' => wide(4),
        b'0' if text.starts_with("\\033[") => Some((4, Some('\u{1b}'))),
        b'\n' => Some((2, None)),
        _ => None,
    }
}

fn hex(text: &str, at: usize, length: usize) -> Option<char> {
    let digits =
        text.get(at..at + length).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let letter = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    // A byte beyond ASCII is part of a character.
    (letter.is_ascii() || length == 4).then_some(letter)
}

fn entity(text: &str) -> Option<(usize, Option<char>)> {
    const LONGEST: usize = 10;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';')?;
    let letter = match &text[1..end] {
        "quot" => '"',
        "apos" => '\'',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "equals" => '=',
        "colon" => ':',
        name => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((end + 1, Some(letter)))
}

/// Returns the length of a terminal escape sequence.
fn colour(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => {
            let inner = bytes[2..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            let is_ended = bytes.get(2 + inner).is_some_and(|byte| (0x40..0x7f).contains(byte));
            2 + inner + usize::from(is_ended)
        }
        Some(byte) if byte.is_ascii() => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::view;

    #[test]
    fn decoded_text_maps_back_to_the_original() {
        for (text, plain) in [
            (r#"{\"a\": \"b\u003d\"}"#, r#"{"a": "b="}"#),
            (r#"\\\"a\\\"%3d"#, "\"a\"="),
            ("a%3Db%26c", "a=b&c"),
            ("a&quot;b&#61;&#x3d;", "a\"b=="),
            ("a\u{1b}[31mb\u{1b}[0mc", "abc"),
            ("a\u{200b}b", "ab"),
            ("one=\ntwo=3D", "onetwo="),
            (r"\u0061\x62", "ab"),
        ] {
            assert_eq!(view(text).unwrap().text, plain, "{text}");
        }
        let text = "xy%3Dab%26\u{1b}[1mcd\u{1b}[0mé";
        let seen = view(text).unwrap();
        assert_eq!(seen.text, "xy=ab&cdé");
        for (part, expected) in [("xy", "xy"), ("=", "%3D"), ("ab", "ab"), ("b&c", "b%26\u{1b}[1mc")] {
            let at = seen.text.find(part).unwrap();
            assert_eq!(&text[seen.range(at..at + part.len())], expected, "{part}");
        }
        assert!(view("plain = 1, 100 % and more & so on").is_none());
        let cut = "\u{1b}[3";
        assert_eq!(view(cut).unwrap().text, "");
    }
}
