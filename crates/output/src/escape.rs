//! Escapes in JSON strings, read without a second copy of the text.

/// The character that stands at the start, where a backslash is, and how many bytes it takes. None for half of a pair
/// that stands alone, and for an invalid escape.
pub fn json_escape(json: &[u8]) -> (Option<char>, usize) {
    let simple = |character| (Some(character), 2);
    match json.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'u') => {
            let unit = |at: usize| {
                let digits = std::str::from_utf8(json.get(at..at + 4)?).ok()?;
                u16::from_str_radix(digits, 16).ok()
            };
            let Some(first) = unit(2) else { return (None, json.len().min(6)) };
            if let Some(character) = char::from_u32(u32::from(first)) {
                return (Some(character), 6);
            }
            let second = if json.get(6..8) == Some(b"\\u".as_slice()) { unit(8) } else { None };
            let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
            pair.map_or((None, 6), |character| (Some(character), 12))
        }
        Some(other) => simple(char::from(*other)),
        None => (None, 1),
    }
}

/// The text of a JSON string without its quotes; none where it holds half of a pair.
pub(crate) fn unescape(json: &str) -> Option<String> {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(found) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..found]);
        let (character, length) = json_escape(&rest.as_bytes()[found..]);
        text.push(character?);
        rest = rest.get(found + length..)?;
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_of_a_pair_is_no_text() {
        assert_eq!(unescape(r"a\ud83d\ude00\n\u00e9\/").as_deref(), Some("a😀\né/"));
        assert_eq!(unescape(r"\ud83dx"), None);
        assert_eq!(unescape(r"\ude00\ud83d"), None);
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_a_json_library_reads_it(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescape(&json[1..json.len() - 1]), Some(text));
        }

        #[test]
        fn nothing_breaks_the_reader(text: String) {
            let _ = unescape(&text);
        }
    }
}
