//! JSON strings: decoding, comparing and writing them.

use std::borrow::Cow;

use super::scan::end_of_plain_run;

/// Whether a string as written in JSON, quotes included, spells `text`.
pub(crate) fn is(raw: &[u8], text: &str) -> bool {
    match raw.len().checked_sub(text.len() + 2) {
        // An escape is longer than the character it stands for.
        None => false,
        Some(0) => &raw[1..raw.len() - 1] == text.as_bytes(),
        Some(_) => raw.contains(&b'\\') && decode(raw) == text,
    }
}

/// The text of a string as written in JSON, quotes included. Half a surrogate pair, which no Unicode text
/// can hold, reads as U+FFFD.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, str> {
    let inner = inner(raw);
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    unescape(inner, &mut text);
    Cow::Owned(text)
}

/// As [`decode`], put behind `text`.
pub(crate) fn decode_into(raw: &[u8], text: &mut String) {
    unescape(inner(raw), text);
}

/// The text between the quotes.
fn inner(raw: &[u8]) -> &str {
    std::str::from_utf8(&raw[1..raw.len() - 1]).unwrap_or_default()
}

fn unescape(mut rest: &str, text: &mut String) {
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, used) = escape(&rest.as_bytes()[at..]);
        text.push(character);
        rest = &rest[at + used..];
    }
    text.push_str(rest);
}

/// Whether a string holds half a surrogate pair, so that its text is not all that it says.
pub(crate) fn has_lone_surrogate(raw: &[u8]) -> bool {
    let mut at = 0;
    while let Some(step) = memchr::memchr(b'\\', &raw[at..]) {
        at += step;
        let (_, used) = escape(&raw[at..]);
        if used == 6 && hex(&raw[at..]).is_some_and(|unit| (0xd800..0xe000).contains(&unit)) {
            return true;
        }
        at += used;
    }
    false
}

/// Decodes the escape at the start of `bytes`, and says how many bytes it took.
fn escape(bytes: &[u8]) -> (char, usize) {
    let simple = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'u') => return unicode_escape(bytes),
        Some(&other) => char::from(other),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (simple, 2)
}

fn unicode_escape(bytes: &[u8]) -> (char, usize) {
    let Some(first) = hex(bytes) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    let second = bytes.get(6..).and_then(hex).filter(|unit| (0xdc00..0xe000).contains(unit));
    match second {
        Some(second) if first < 0xdc00 => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Writes `text` as a JSON string, the way Python does: `ascii` escapes all that is not ASCII.
pub(crate) fn encode(text: &str, ascii: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let plain = end_of_plain_run(rest.as_bytes(), 0);
        if ascii {
            rest[..plain].chars().for_each(|character| encode_ascii(character, out));
        } else {
            out.extend_from_slice(&rest.as_bytes()[..plain]);
        }
        rest = &rest[plain..];
        if let Some(special) = rest.bytes().next() {
            encode_special(special, out);
            rest = &rest[1..];
        }
    }
    out.push(b'"');
}

fn encode_ascii(character: char, out: &mut Vec<u8>) {
    if (' '..='~').contains(&character) {
        out.push(character as u8);
    } else {
        for unit in character.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

fn encode_special(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_joins_surrogate_pairs_and_replaces_halves() {
        for (raw, text) in [
            (r#""plain""#, "plain"),
            (r#""\u00e9\/\"""#, "é/\""),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83d!""#, "\u{fffd}!"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
        ] {
            assert_eq!(decode(raw.as_bytes()), text, "{raw}");
        }
    }

    #[test]
    fn encoding_escapes_as_python_does() {
        let check = |ascii, expected: &str| {
            let mut out = Vec::new();
            encode("é\"\\\n\t\u{1b}\u{7f}😀", ascii, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(false, "\"é\\\"\\\\\\n\\t\\u001b\u{7f}😀\"");
        check(true, "\"\\u00e9\\\"\\\\\\n\\t\\u001b\\u007f\\ud83d\\ude00\"");
    }
}
