//! Judges a value by its characters: random, a password, or a placeholder such as `your-token`.

/// Returns the Shannon entropy, in bits per byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = text.len().max(1) as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    shares.map(|share| -share * share.log2()).sum()
}

pub(super) fn always(_: &str) -> bool {
    true
}

pub(super) fn has_digit(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit())
}

pub(super) fn has_letter(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_alphabetic())
}

pub(super) fn has_both_cases(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_lowercase())
        && text.contains(|letter: char| letter.is_ascii_uppercase())
}

pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a long run mixes letters and digits as no word does.
pub(super) fn is_random(text: &str) -> bool {
    const LONG: usize = 12;
    let is_mixed = |piece: &str| piece.len() >= LONG && has_digit(piece) && has_letter(piece);
    is_not_placeholder(text) && text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_mixed)
}

pub(super) fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.split('-').all(is_hex) && has_digit(text)
}

/// Counts the changes from letter to digit and back.
pub(super) fn alternations(text: &str) -> usize {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
    text.as_bytes()
        .windows(2)
        .filter(|pair| {
            matches!((kind(pair[0]), kind(pair[1])), ((true, _), (_, true)) | ((_, true), (true, _)))
        })
        .count()
}

/// Returns whether a text could be a password: not a word, number, constant or placeholder.
pub(super) fn is_password(text: &str) -> bool {
    let is_word = text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
        || text.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        || text.chars().all(|letter| letter.is_ascii_digit());
    let is_constant = || {
        let is_part = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
        text.contains('_')
            && text.starts_with(|letter: char| letter.is_ascii_uppercase())
            && text.chars().all(is_part)
    };
    !is_word && !is_constant() && is_not_placeholder(text)
}

/// Returns whether a text is not a placeholder.
pub(super) fn is_not_placeholder(text: &str) -> bool {
    const WORDS: [&str; 8] = ["password", "passwd", "pass", "pwd", "secret", "token", "user", "changeme"];
    const PARTS: [&str; 11] =
        ["your", "example", "placeholder", "xxxx", "****", "....", "{", "<", "%s", "%(", "redacted"];
    let plain = text.to_ascii_lowercase();
    !text.starts_with('$')
        && !WORDS.contains(&plain.as_str())
        && !PARTS.iter().any(|part| plain.contains(part))
}

/// Returns whether a text is a path or a URL rather than a secret.
pub(super) fn is_path(text: &str) -> bool {
    let is_rooted = text.starts_with(['/', '~', '.', '@']) || text.contains(":\\") || text.contains("://");
    is_rooted && !text.split('/').any(is_random)
}

/// How far a check reads from a keyword: a text may be one long line.
const FAR: usize = 256;

/// Returns the start of the line up to a position, at most `FAR` bytes.
pub(super) fn line_before(text: &str, at: usize) -> &str {
    let near = &text[text.floor_char_boundary(at.saturating_sub(FAR))..at];
    near.rsplit('\n').next().unwrap_or_default()
}

/// Returns the rest of the line from a position, at most `FAR` bytes.
pub(super) fn line_behind(text: &str, at: usize) -> &str {
    let near = &text[at..text.floor_char_boundary((at + FAR).min(text.len()))];
    near.split(['\n', '\r']).next().unwrap_or_default()
}
