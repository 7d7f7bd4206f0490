//! Replacing an exact piece of a text, once or wherever it occurs.

use crate::error::{Error, Result};
use crate::id::distance;
use crate::text::is_marker;

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

/// Replaces every occurrence of `old`. Fails as [`replace_once`] does where there is none.
pub fn replace_all(text: &str, old: &str, new: &str) -> Result<String> {
    match (old.is_empty(), text.contains(old)) {
        (true, _) => Err(Error::EmptyOld),
        (false, false) => Err(Error::OldNotFound { nearest: nearest_line(text, old) }),
        (false, true) => Ok(text.replace(old, new)),
    }
}

/// As [`replace_all`] in the cells of cell-marked text: marker lines stay.
pub fn replace_all_in_cells(text: &str, old: &str, new: &str) -> Result<String> {
    let mut changed = String::with_capacity(text.len());
    let mut cell = String::new();
    let mut found = false;
    let mut flush = |cell: &mut String, changed: &mut String| {
        found |= !old.is_empty() && cell.contains(old);
        changed.push_str(&if old.is_empty() { cell.clone() } else { cell.replace(old, new) });
        cell.clear();
    };
    for line in text.split_inclusive('\n') {
        if is_marker(line.trim_end_matches(['\n', '\r'])) {
            flush(&mut cell, &mut changed);
            changed.push_str(line);
        } else {
            cell.push_str(line);
        }
    }
    flush(&mut cell, &mut changed);
    match (old.is_empty(), found) {
        (true, _) => Err(Error::EmptyOld),
        (false, false) => Err(Error::OldNotFound { nearest: nearest_line(text, old) }),
        (false, true) => Ok(changed),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_is_replaced_or_the_nearest_line_is_named() {
        assert_eq!(replace_all("a b a", "a", "aa").unwrap(), "aa b aa");
        assert!(matches!(replace_all("a", "", "x"), Err(Error::EmptyOld)));
        assert!(matches!(replace_all("total", "totl", "x"), Err(Error::OldNotFound { nearest: Some(_) })));
    }

    #[test]
    fn marker_lines_of_cells_stay() {
        let text = "# %% [code] cell:0\ncode = 'cell:0'\n# %%% [code]\n# %% [code] cell:1\ncode\n";
        let changed = replace_all_in_cells(text, "code", "x").unwrap();
        assert_eq!(changed, "# %% [code] cell:0\nx = 'cell:0'\n# %%% [x]\n# %% [code] cell:1\nx\n");
        assert!(replace_all_in_cells("# %% [code] cell:0\nx\n", "code", "y").is_err());
    }
}
