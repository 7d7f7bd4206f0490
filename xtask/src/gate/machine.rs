//! The project speaks of itself alone: no paths of a developer's machine, no private task lists.

use std::fs;

use super::tracked;
use crate::failure::Failure;
use crate::metadata::Metadata;

/// Folders of a developer's own files, by the first name of an absolute path. Invented names, such as `me` in an
/// example, are allowed.
const HOMES: &[&str] = &["home", "users", "root", "work", "workspace"];
const NOBODY: &[&str] = &["me", "you", "user", "u", "é"];

/// Options of package installers that name a registry, in parts that a dash or an underscore joins.
const REGISTRY: &[[&str; 2]] = &[["index", "url"], ["find", "links"]];

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
        if let Some(folder) = HOMES.iter().find(|folder| is_in(&line, folder)) {
            found.push((index + 1, format!("/{folder}/ is a folder of a developer's machine")));
        }
        for [first, second] in REGISTRY {
            if ["-", "_"].iter().any(|joint| line.contains(&format!("{first}{joint}{second}"))) {
                found.push((index + 1, "a package registry's address".to_owned()));
            }
        }
        if ["issue", "ticket"].iter().any(|word| is_numbered(&line, word)) {
            found.push((index + 1, "a numbered task of a private list".to_owned()));
        }
    }
    found
}

/// Whether an absolute path leads into a folder, and there to a developer's file.
fn is_in(line: &str, folder: &str) -> bool {
    let start = format!("/{folder}/");
    line.match_indices(&start).any(|(at, _)| {
        let is_start = !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~}/".contains(c));
        let name: String = line[at + start.len()..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || "._-".contains(*c))
            .collect();
        is_start && !name.is_empty() && !NOBODY.contains(&name.as_str())
    })
}

/// Whether the word, as a whole, is followed by a number.
fn is_numbered(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_start = !line[..at].ends_with(char::is_alphanumeric);
        let rest = line[at + word.len()..].strip_prefix(' ').map(|rest| rest.trim_start_matches('#'));
        is_start && rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::{HOMES, REGISTRY, scan};

    #[test]
    fn folders_of_somebodys_machine_are_found() {
        for folder in HOMES {
            let what = format!("/{folder}/ is a folder of a developer's machine");
            assert_eq!(scan(&format!("a\nsee `/{folder}/anna/x`")), [(2, what.clone())]);
            assert_eq!(scan(&format!("PATH=/{folder}/bin").to_uppercase()), [(1, what)]);
        }
    }

    #[test]
    fn addresses_of_registries_are_found() {
        for [first, second] in REGISTRY {
            for joint in ["-", "_"] {
                let line = format!("pip --extra-{first}{joint}{second} x");
                assert_eq!(scan(&line), [(1, "a package registry's address".to_owned())]);
            }
        }
    }

    #[test]
    fn numbered_tasks_are_found() {
        for (word, number) in [("Issue", "7"), ("issue", "#7"), ("ticket", "12")] {
            let line = format!("See {word} {number}.");
            assert_eq!(scan(&line), [(1, "a numbered task of a private list".to_owned())]);
        }
    }

    #[test]
    fn plain_prose_and_made_up_paths_are_let_through() {
        let prose = "the network/path issues 3 tokens; an issue of trust; tissue 3";
        assert_eq!(scan(prose), []);
        for path in ["/{}/me/lib", "~/{}/x", "a/{}/x", "the folder /{}/"] {
            for folder in HOMES {
                assert_eq!(scan(&path.replace("{}", folder)), [], "{path}");
            }
        }
    }
}
