//! Every dependency, on every platform, comes under a licence that the project may ship with.

use crate::failure::Failure;
use crate::metadata::{Metadata, Package};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn problems(metadata: &Metadata) -> Result<Vec<String>, Failure> {
    Ok(metadata.packages.iter().filter_map(problem).collect())
}

fn problem(package: &Package) -> Option<String> {
    let Package { name, version, license, .. } = package;
    match license.as_deref().map(|expression| (expression, allowed(expression))) {
        None => Some(format!("{name} {version} states no licence")),
        Some((_, Some(true))) => None,
        Some((expression, Some(false))) => Some(format!("{name} {version} is under {expression}")),
        Some((expression, None)) => Some(format!("{name} {version} has an unreadable licence: {expression}")),
    }
}

/// Whether an SPDX expression lets us choose allowed licences only; nothing when it is none.
fn allowed(expression: &str) -> Option<bool> {
    // Packages from before the expressions wrote a slash for "or".
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.as_slice();
    let verdict = either(&mut words)?;
    words.is_empty().then_some(verdict)
}

// AND binds closer than OR.
fn either(words: &mut &[&str]) -> Option<bool> {
    let mut verdict = both(words)?;
    while next_is(words, "OR") {
        // Both sides are read before they are joined: a short cut would leave words behind.
        let other = both(words)?;
        verdict |= other;
    }
    Some(verdict)
}

fn both(words: &mut &[&str]) -> Option<bool> {
    let mut verdict = one(words)?;
    while next_is(words, "AND") {
        let other = one(words)?;
        verdict &= other;
    }
    Some(verdict)
}

fn one(words: &mut &[&str]) -> Option<bool> {
    if next_is(words, "(") {
        let verdict = either(words)?;
        return next_is(words, ")").then_some(verdict);
    }
    let (name, rest) = words.split_first()?;
    if ["AND", "OR", "WITH", ")"].contains(name) {
        return None;
    }
    *words = rest;
    if !next_is(words, "WITH") {
        return Some(ALLOWED.contains(name));
    }
    let (exception, rest) = words.split_first()?;
    *words = rest;
    Some(ALLOWED.contains(&format!("{name} WITH {exception}").as_str()))
}

fn next_is(words: &mut &[&str], expected: &str) -> bool {
    let found = words.first() == Some(&expected);
    if found {
        *words = &words[1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{allowed, problem};
    use crate::metadata::Package;

    #[test]
    fn expressions_are_judged_by_what_they_leave_to_choose() {
        for (expression, expected) in [
            ("MIT", Some(true)),
            ("GPL-3.0-only", Some(false)),
            ("MIT OR GPL-3.0-only", Some(true)),
            ("GPL-3.0-only OR MIT", Some(true)),
            ("MIT AND GPL-3.0-only", Some(false)),
            ("MIT/Apache-2.0", Some(true)),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
            ("(MIT OR Apache-2.0) AND NCSA", Some(false)),
            ("MIT OR Apache-2.0 AND GPL-3.0-only", Some(true)),
            ("GPL-3.0-only OR MIT AND ISC", Some(true)),
            ("Apache-2.0 WITH LLVM-exception OR MIT", Some(true)),
            ("GPL-2.0-only WITH Classpath-exception-2.0", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT Apache-2.0", None),
        ] {
            assert_eq!(allowed(expression), expected, "{expression:?}");
        }
    }

    #[test]
    fn a_package_without_a_licence_is_refused() {
        let package = Package { name: "x".to_owned(), version: "1.0.0".to_owned(), ..Package::default() };
        assert_eq!(problem(&package).as_deref(), Some("x 1.0.0 states no licence"));
    }

    #[test]
    fn a_package_under_another_licence_is_refused() {
        let license = Some("AGPL-3.0-only".to_owned());
        let package =
            Package { name: "x".to_owned(), version: "1.0.0".to_owned(), license, ..Package::default() };
        assert_eq!(problem(&package).as_deref(), Some("x 1.0.0 is under AGPL-3.0-only"));
    }
}
