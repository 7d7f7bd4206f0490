//! How much of something a model is shown.

/// How many bytes an answer has when nothing is said.
pub(crate) const USUAL: usize = 16 * 1024;
const LEAST: usize = 256;
const MOST: usize = 1024 * 1024;
/// How many bytes code gets, which takes in what a model cannot. Still bounded: memory is.
pub(crate) const WHOLE: usize = 64 * 1024 * 1024;

/// How many bytes an answer may have for a caller that says so.
pub(crate) fn asked(wanted: i64) -> usize {
    usize::try_from(wanted).unwrap_or(MOST).clamp(LEAST, MOST)
}

/// The beginning of a text, up to so many bytes and not within a character.
pub(crate) fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// A text of at most so many characters, and a mark where more follow.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text, cut where it is longer than so many bytes; what was left out is said.
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
    fn a_text_is_cut_between_characters_and_says_how_much_is_missing() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("aéé", 2), "a… [4 more bytes]");
        assert_eq!(cut("aéé", 3), "aé… [2 more bytes]");
    }
}
