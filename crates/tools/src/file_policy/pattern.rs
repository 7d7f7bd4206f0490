//! Matches names and paths against patterns. `*` matches any characters and `?` a single one. Case
//! and invisible characters are ignored, as file systems may ignore them.

use std::path::Path;

/// Returns whether a user's pattern covers a file: by the name of the file or a folder above it, or
/// as the start of its path.
pub(super) fn is_named(path: &Path, pattern: &str) -> bool {
    let pattern = pattern.trim_end_matches('/');
    match pattern.starts_with('/') && !pattern.contains(['*', '?']) {
        true => path.starts_with(pattern),
        false => has(&names(path), pattern),
    }
}

/// Returns whether a name, or consecutive names separated by `/`, occur in a path.
pub(super) fn has(names: &[String], pattern: &str) -> bool {
    let wanted: Vec<String> = pattern.split('/').filter(|name| !name.is_empty()).map(folded).collect();
    let is_there = |row: &[String]| row.iter().zip(&wanted).all(|(name, pattern)| matches(pattern, name));
    !wanted.is_empty() && names.windows(wanted.len()).any(is_there)
}

/// Splits a path into names, folded for comparison.
pub(super) fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .map(|part| folded(&part.as_os_str().to_string_lossy()))
        .collect()
}

/// Returns whether the user allowed a path. Each entry is an absolute path; a folder covers
/// everything below it.
pub(super) fn is_allowed(path: &Path, allowed: &[String]) -> bool {
    let whole = path.to_string_lossy();
    allowed.iter().filter(|pattern| pattern.starts_with('/')).any(|pattern| {
        let pattern = pattern.trim_end_matches("**").trim_end_matches('/');
        match pattern.contains(['*', '?']) {
            // A wildcard stays within one name.
            true => {
                let (wanted, is): (Vec<&str>, Vec<&str>) =
                    (pattern.split('/').collect(), whole.split('/').collect());
                wanted.len() <= is.len()
                    && wanted.iter().zip(&is).all(|(pattern, name)| matches(pattern, name))
            }
            // Only the root is left of the pattern.
            false => path.starts_with(if pattern.is_empty() { "/" } else { pattern }),
        }
    })
}

/// Folds a name for comparison: lower case, without invisible characters.
fn folded(name: &str) -> String {
    let is_seen = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen: String = name.chars().filter(is_seen).flat_map(char::to_lowercase).collect();
    match seen.trim_end_matches(['.', ' ']) {
        "" => seen,
        kept => kept.to_owned(),
    }
}

/// Returns whether a name matches a pattern.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    at = place + 1;
                    read = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}
