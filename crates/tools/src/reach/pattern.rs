//! Names and paths against patterns, in which `*` is any letters and `?` is one. Case does not count, nor letters that
//! file systems ignore.

use std::path::Path;

/// Whether a pattern of a person means a file: a file or folder of that name, or a path that it begins with.
pub(super) fn is_named(path: &Path, pattern: &str) -> bool {
    let pattern = pattern.trim_end_matches('/');
    match pattern.starts_with('/') && !pattern.contains(['*', '?']) {
        true => path.starts_with(pattern),
        false => has(&names(path), pattern),
    }
}

/// Whether a name, or several in a row with `/` between them, is among those of a path.
pub(super) fn has(names: &[String], pattern: &str) -> bool {
    let wanted: Vec<String> = pattern.split('/').filter(|name| !name.is_empty()).map(folded).collect();
    let is_there = |row: &[String]| row.iter().zip(&wanted).all(|(name, pattern)| matches(pattern, name));
    !wanted.is_empty() && names.windows(wanted.len()).any(is_there)
}

/// The names of a path, from its root on, as they are compared.
pub(super) fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .map(|part| folded(&part.as_os_str().to_string_lossy()))
        .collect()
}

/// Whether a path is among those that a person allowed: each is a path from the root on, or a folder with all below it.
pub(super) fn is_allowed(path: &Path, allowed: &[String]) -> bool {
    let whole = path.to_string_lossy();
    allowed.iter().filter(|pattern| pattern.starts_with('/')).any(|pattern| {
        let pattern = pattern.trim_end_matches("**").trim_end_matches('/');
        match pattern.contains(['*', '?']) {
            // What a pattern leaves open stays within one name.
            true => {
                let (wanted, is): (Vec<&str>, Vec<&str>) =
                    (pattern.split('/').collect(), whole.split('/').collect());
                wanted.len() <= is.len()
                    && wanted.iter().zip(&is).all(|(pattern, name)| matches(pattern, name))
            }
            // All but the root was cut off.
            false => path.starts_with(if pattern.is_empty() { "/" } else { pattern }),
        }
    })
}

/// A name as it is compared: file systems know no case, and ignore letters that nobody sees.
fn folded(name: &str) -> String {
    let is_seen = |letter: &char| !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let seen: String = name.chars().filter(is_seen).flat_map(char::to_lowercase).collect();
    match seen.trim_end_matches(['.', ' ']) {
        "" => seen,
        kept => kept.to_owned(),
    }
}

/// Whether a name fits a pattern.
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
