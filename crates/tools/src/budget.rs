//! Limits on the amount of text that a model reads.

/// Bytes of an answer by default.
pub(crate) const USUAL: usize = 16 * 1024;
const LEAST: usize = 256;
const MOST: usize = 1024 * 1024;
/// Bytes of an answer for code, which can process more than a model. Bounded to protect memory.
pub(crate) const WHOLE: usize = 64 * 1024 * 1024;

/// Converts the limit that a caller asked for.
pub(crate) fn asked(wanted: i64) -> usize {
    usize::try_from(wanted).unwrap_or(MOST).clamp(LEAST, MOST)
}

/// Returns the start of a text: at most `most` bytes, cut between characters.
pub(crate) fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Cuts a text to `most` characters and marks the cut with `…`.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Cuts a text to `most` bytes and states the number of bytes left out.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let shown = head(text, most);
    match text.len() - shown.len() {
        0 => text.to_owned(),
        left => format!("{shown}… [{left} more bytes]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_states_the_missing_bytes() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("aéé", 2), "a… [4 more bytes]");
        assert_eq!(cut("aéé", 3), "aé… [2 more bytes]");
    }
}
