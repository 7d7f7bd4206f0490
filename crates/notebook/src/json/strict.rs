//! JSON as strict readers want it.

/// The text of a JSON value with Python's extensions replaced: `NaN` and the infinities become `null`,
/// half a surrogate pair becomes U+FFFD. Nothing else changes.
pub(crate) fn strict(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    let mut in_string = false;
    while at < value.len() {
        let rest = &value[at..];
        if in_string {
            let (bytes, used) = string_part(rest);
            out.extend_from_slice(bytes);
            in_string = rest[0] != b'"';
            at += used;
            continue;
        }
        let word = [&b"NaN"[..], b"Infinity", b"-Infinity"].into_iter().find(|word| rest.starts_with(word));
        match word {
            Some(word) => {
                out.extend_from_slice(b"null");
                at += word.len();
            }
            None => {
                in_string = rest[0] == b'"';
                out.push(rest[0]);
                at += 1;
            }
        }
    }
    out
}

/// The replacement for the start of a string's inside, and how many bytes that covers.
fn string_part(rest: &[u8]) -> (&[u8], usize) {
    if rest[0] != b'\\' {
        return (&rest[..1], 1);
    }
    let unit = |at: usize| -> Option<u32> {
        let digits = rest.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (&rest[..12], 12),
        (Some(0xd800..0xe000), _) => (b"\\ufffd", 6),
        _ => {
            let used = rest.len().min(2);
            (&rest[..used], used)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_python_alone_writes_is_changed() {
        for (before, after) in [
            (r#"[NaN, -Infinity, Infinity, 1e0]"#, r#"[null, null, null, 1e0]"#),
            (r#"{"NaN": "Infinity \" NaN"}"#, r#"{"NaN": "Infinity \" NaN"}"#),
            (r#""\ud83d\ude00 \ud83d \\ud83d""#, r#""\ud83d\ude00 \ufffd \\ud83d""#),
            (r#""\\""#, r#""\\""#),
        ] {
            assert_eq!(String::from_utf8(strict(before.as_bytes())).unwrap(), after);
        }
    }
}
