//! The project speaks of itself alone: no place on somebody's machine, no paper that a reader does not have.

use std::fs;

use super::tracked;
use crate::failure::Failure;
use crate::metadata::Metadata;

// In two halves each, so that this file does not hold what it looks for.
const WORDS: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a folder of somebody's machine"),
    (concat!("/ro", "ot/"), "a folder of somebody's machine"),
    (concat!("/opt/wh", "eels"), "a folder of somebody's machine"),
    (concat!("index-", "url"), "a package registry's address"),
    (concat!("index_", "url"), "a package registry's address"),
    (concat!("find-", "links"), "a package registry's address"),
    (concat!("shared/", "contract"), "a paper that is not in the repository"),
    (concat!("shared/", "style"), "a paper that is not in the repository"),
    (concat!("shared/", "architecture"), "a paper that is not in the repository"),
    (concat!("contract", ".md"), "a paper that is not in the repository"),
];

pub(super) fn problems(_: &Metadata) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for file in tracked()? {
        let bytes = fs::read(testkit::repo_root().join(&file))
            .map_err(|error| Failure::new(format!("{} cannot be read: {error}", file.display())))?;
        let found = scan(&String::from_utf8_lossy(&bytes));
        problems.extend(found.into_iter().map(|(line, what)| format!("{}:{line}: {what}", file.display())));
    }
    Ok(problems)
}

fn scan(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // Matched without case, since prose starts sentences.
        let line = line.to_lowercase();
        for (word, what) in WORDS {
            if line.contains(word) {
                found.push((index + 1, format!("{word} is {what}")));
            }
        }
        if follows(&line, concat!("iss", "ue"), |rest| {
            rest.trim_start_matches('#').starts_with(|c: char| c.is_ascii_digit())
        }) {
            found.push((index + 1, "a numbered task of somebody's list".to_owned()));
        }
        if follows(&line, concat!("cont", "ract"), numbered_clause) {
            found.push((index + 1, "a clause of a paper that is not in the repository".to_owned()));
        }
    }
    found
}

// Whether the word, as a whole, is followed by one space and then by what `rest` accepts.
fn follows(line: &str, word: &str, rest: fn(&str) -> bool) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].strip_prefix(' ');
        !before.is_some_and(char::is_alphanumeric) && after.is_some_and(rest)
    })
}

fn numbered_clause(rest: &str) -> bool {
    let mut letters = rest.chars();
    letters.next().is_some_and(|c| c.is_ascii_lowercase())
        && letters.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{WORDS, scan};

    #[test]
    fn every_word_of_the_list_is_found() {
        for (word, what) in WORDS {
            assert_eq!(scan(&format!("a\nsee {word}x")), [(2, format!("{word} is {what}"))]);
        }
    }

    #[test]
    fn numbered_tasks_and_clauses_are_found() {
        for number in ["7", "#7"] {
            let line = format!("See {}sue {number}.", "Is");
            assert_eq!(scan(&line), [(1, "a numbered task of somebody's list".to_owned())]);
        }
        let line = format!("({}tract A1)", "con");
        assert_eq!(scan(&line), [(1, "a clause of a paper that is not in the repository".to_owned())]);
    }

    #[test]
    fn plain_prose_is_let_through() {
        assert_eq!(
            scan("the network/path issues 3 tokens; an issue of trust; tissue 3; contract a server"),
            []
        );
    }
}
