//! Finds credentials in long runs of base64 and hexadecimal digits, as in Kubernetes secrets,
//! Docker settings and cluster files.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

use super::values::{has_both_cases, has_digit, is_hex};
use super::{SecretSpan, positions, scan};

/// Bounds on the length of a run. Longer runs are pictures.
const SHORTEST: usize = 24;
const LONGEST: usize = 16 * 1024;

/// Layers of encoding that are undone.
const DEEPEST: usize = 2;

/// Finds encoded credentials in a text.
pub(super) fn find(text: &str, depth: usize) -> Vec<SecretSpan<'static>> {
    let mut found = Vec::new();
    if depth < DEEPEST {
        for run in runs(text.as_bytes()) {
            found.extend(look(text, run, depth));
        }
    }
    found
}

fn look(text: &str, run: Range<usize>, depth: usize) -> Option<SecretSpan<'static>> {
    let letters = &text[run.clone()];
    if text[run.end..].starts_with('.')
        && letters.len() < 32
        && matches!(letters.as_bytes()[0], b'M' | b'N' | b'O')
    {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let length = text.as_bytes()[run.start..].iter().take_while(is_part).count();
        let whole = run.start..run.start + length;
        if positions::is_discord(&text[whole.clone()]) {
            return Some(SecretSpan { range: whole, label: "Discord token" });
        }
    }
    let plain = match is_hex(letters) {
        true => hexadecimal(letters)?,
        // Names and words do not mix digits with letters of both cases.
        false if has_digit(letters) && has_both_cases(letters) => base64(letters)?,
        false => return None,
    };
    let inner = scan::plain(&plain, depth + 1);
    inner.into_iter().next().map(|inner| SecretSpan { range: run, label: inner.label })
}

/// The characters of base64, in both alphabets.
static PARTS: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte);
    std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(is_part))
});

/// Finds runs of encoded bytes. Samples one byte in `SHORTEST` until it hits a run.
fn runs(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_part = |byte: u8| PARTS[usize::from(byte)];
    let (mut at, mut seen) = (SHORTEST - 1, 0);
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !is_part(bytes[at]) {
                at += SHORTEST;
                continue;
            }
            let before = bytes[seen..at].iter().rev().take_while(|byte| is_part(**byte)).count();
            let behind = bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
            let padding = bytes[at + behind..].iter().take(2).take_while(|byte| **byte == b'=').count();
            let run = at - before..at + behind + padding;
            seen = run.end;
            at = run.end + SHORTEST - 1;
            if (SHORTEST..=LONGEST).contains(&run.len()) {
                return Some(run);
            }
        }
        None
    })
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes base64 in either alphabet. Returns `None` if the result is not text.
pub(super) fn base64(letters: &str) -> Option<String> {
    /// The first bytes show that most runs are not text.
    const FIRST: usize = 16;
    let letters: Cow<'_, str> = match letters.contains(['-', '_']) {
        true => letters.replace('-', "+").replace('_', "/").into(),
        false => letters.into(),
    };
    let decode = |letters: &str| {
        let plain = BASE64.decode(letters).ok()?;
        plain.iter().all(|byte| is_text(*byte)).then_some(plain)
    };
    decode(letters.get(..FIRST).unwrap_or_default())?;
    String::from_utf8(decode(&letters)?).ok()
}

fn hexadecimal(letters: &str) -> Option<String> {
    let digit = |letter: u8| char::from(letter).to_digit(16).map(|digit| digit as u8);
    let mut plain = Vec::with_capacity(letters.len() / 2);
    for pair in letters.as_bytes().chunks_exact(2) {
        let byte = digit(pair[0])? << 4 | digit(pair[1])?;
        plain.push(Some(byte).filter(|byte| is_text(*byte))?);
    }
    String::from_utf8(plain).ok().filter(|plain| has_digit(plain) || plain.contains(':'))
}

fn is_text(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || b"\t\n\r".contains(&byte)
}
