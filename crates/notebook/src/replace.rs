//! Replacing one exact piece of a text.

use crate::error::{Error, Result};
use crate::id::distance;

/// `text` with its one occurrence of `old` replaced. None or several is an error that says where to look.
pub fn replace_once(text: &str, old: &str, new: &str) -> Result<String> {
    if old.is_empty() {
        return Err(Error::EmptyOld);
    }
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    let places = overlapping_matches(text, old);
    match places.as_slice() {
        [] => Err(Error::OldNotFound { nearest: nearest_line(text, old) }),
        [at] => Ok(format!("{}{new}{}", &text[..*at], &text[at + old.len()..])),
        several => Err(Error::OldNotUnique { lines: several.iter().map(|&at| line_of(at)).collect() }),
    }
}

/// Where `old` begins in `text`, overlapping occurrences included: each of them could be meant.
fn overlapping_matches(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        places.push(from + at);
        from += at + step;
    }
    places
}

/// The line of `text` that is most like the first line of `old` that says anything.
fn nearest_line(text: &str, old: &str) -> Option<(usize, String)> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    let far = wanted.chars().count().div_ceil(3);
    (text.lines().enumerate())
        .map(|(index, line)| (distance(line.trim(), wanted, far), index, line))
        .filter(|(distance, ..)| *distance <= far)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(_, index, line)| (index + 1, line.chars().take(200).collect()))
}
