//! Budgets for names, prose and sizes: vague nouns, type names, lines of Markdown, files, functions and subjects of
//! commits. CONTRIBUTING.md has the rules behind them.

mod commits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::tracked;
use crate::failure::Failure;
use crate::metadata::Metadata;
use crate::process::text;
use crate::product::product;
use crate::prose::{self, Passage};
use crate::size::{self, Size};
use crate::tokens::tokens;

/// Words that stand where the name of a thing should. "those who" is counted by its second word.
const VAGUE: &[&str] = &["what", "who", "whoever", "whom", "someone", "somebody"];

/// Vague nouns per 1,000 words.
const VAGUE_BUDGET: f64 = 3.0;

/// The share of type names, in percent, that may be used in more than one crate.
const SHARED_BUDGET: f64 = 20.0;

/// Columns of a Markdown line, except in tables, code and lines with a link.
const COLUMNS: usize = 100;

/// Lines of code of a file.
const FILE_LINES: usize = 400;

/// Lines of a function. Those of tests are often tables, and may be longer.
const FUNCTION_LINES: usize = 100;

/// Files, and functions as `FILE:NAME`, that may be larger.
const LARGE: &[&str] = &[
    // Code that runs among the user's variables: one function keeps its own names out of them.
    "crates/kernel/src/jupyter/start.py:order",
    "crates/kernel/src/jupyter/start.py:start",
    "crates/tools/src/tool/get_variables/variables.py:_cellist_variables",
];

pub(super) fn problems(_: &Metadata) -> Result<Vec<String>, Failure> {
    let survey = Survey::make()?;
    let mut problems = Vec::new();
    for (area, prose) in &survey.prose {
        if prose.rate() > VAGUE_BUDGET {
            problems.push(format!("{area}: {:.1} vague nouns per 1,000 words", prose.rate()));
            problems.extend(prose.vague.iter().cloned());
        }
    }
    for (area, names) in &survey.types {
        let doubled = names.iter().filter(|(_, count)| **count > 1);
        problems.extend(doubled.map(|(name, count)| format!("{area}: {count} types are called {name}")));
    }
    if survey.shared() > SHARED_BUDGET {
        problems.push(format!("{:.0} % of type names are used in more than one crate", survey.shared()));
    }
    problems.extend(
        survey.long_lines.iter().map(|(file, line)| format!("{file}:{line}: longer than {COLUMNS} columns")),
    );
    let large = survey.large().into_iter().filter(|(name, _)| !LARGE.contains(&name.as_str()));
    problems.extend(large.map(|(name, lines)| format!("{name}: {lines} lines")));
    let subjects = commits::long_subjects()?.into_iter();
    problems.extend(subjects.map(|commit| format!("{commit}: subject longer than {}", commits::SUBJECT)));
    Ok(problems)
}

const HEADER: &str =
    "area          words  vague  per 1,000  types  not unique  largest file  longest function\n";

/// A table of all figures.
pub(crate) fn figures() -> Result<String, Failure> {
    let survey = Survey::make()?;
    let mut table = String::from(HEADER);
    let areas: BTreeSet<&String> = survey.prose.keys().chain(survey.types.keys()).collect();
    for area in areas {
        let none = Prose::default();
        let prose = survey.prose.get(area).unwrap_or(&none);
        let (types, doubled) = survey.types.get(area).map_or((0, 0), |names| {
            let doubled: usize = names.values().filter(|count| **count > 1).sum();
            (names.values().sum(), doubled)
        });
        let (words, vague, rate) = (prose.words, prose.vague.len(), prose.rate());
        let (file, function) = survey.largest(area);
        let _ = writeln!(
            table,
            "{area:<12}{words:>7}{vague:>7}{rate:>10.1}{types:>8}{doubled:>11}{file:>15}{function:>18}"
        );
    }
    let shared = survey.shared();
    let _ = writeln!(table, "type names used in more than one crate: {shared:.0} %");
    let mut long: BTreeMap<&str, usize> = BTreeMap::new();
    survey.long_lines.iter().for_each(|(file, _)| *long.entry(file).or_default() += 1);
    for (file, lines) in long {
        let _ = writeln!(table, "{file}: {lines} lines over {COLUMNS} columns");
    }
    for (name, lines) in survey.large() {
        let allowed = if LARGE.contains(&name.as_str()) { " (allowed)" } else { "" };
        let _ = writeln!(table, "{name}: {lines} lines{allowed}");
    }
    Ok(table)
}

/// All that the budgets are about, by area: a crate, `docs`, `web` or another folder.
#[derive(Default)]
struct Survey {
    prose: BTreeMap<String, Prose>,
    types: BTreeMap<String, BTreeMap<String, usize>>,
    long_lines: Vec<(String, usize)>,
    /// The area, the name and the size of each source file.
    sizes: Vec<(String, String, Size)>,
}

#[derive(Default)]
struct Prose {
    words: usize,
    /// The places of vague nouns.
    vague: Vec<String>,
}

impl Prose {
    fn rate(&self) -> f64 {
        self.vague.len() as f64 * 1000.0 / self.words.max(1) as f64
    }

    fn add(&mut self, file: &str, passages: &[Passage]) {
        for passage in passages {
            for word in prose::words(&passage.text) {
                self.words += 1;
                if VAGUE.contains(&word.as_str()) {
                    self.vague.push(format!("{file}:{}: {word}", passage.line));
                }
            }
        }
    }
}

impl Survey {
    fn make() -> Result<Self, Failure> {
        let mut survey = Self::default();
        for file in tracked()? {
            let Some((area, is_test)) = area(&file) else { continue };
            let name = file.to_string_lossy().into_owned();
            let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if !["rs", "ts", "tsx", "mjs", "py", "md"].contains(&extension) {
                continue;
            }
            let source = text(&testkit::repo_root().join(&file))?;
            // The texts of a generated file count where they are written.
            if source.lines().take(3).any(|line| line.contains("Generated from")) {
                continue;
            }
            let passages = match extension {
                "rs" => prose::of_rust(&source, !is_test),
                "py" => prose::of_python(&source),
                "md" => prose::of_markdown(&source),
                _ => prose::of_typescript(&source),
            };
            if extension == "rs" && !is_test {
                let names = survey.types.entry(area.clone()).or_default();
                type_names(&source).into_iter().for_each(|name| *names.entry(name).or_default() += 1);
            }
            let size = match extension {
                "rs" => Some(size::of_rust(&source)),
                "py" => Some(size::of_python(&source)),
                "md" => None,
                _ => Some(size::of_typescript(&source)),
            };
            if let Some(mut size) = size {
                if is_test {
                    size.functions.clear();
                }
                survey.sizes.push((area.clone(), name.clone(), size));
            }
            if extension == "md" {
                survey.long_lines.extend(long_lines(&passages).into_iter().map(|line| (name.clone(), line)));
            }
            survey.prose.entry(area).or_default().add(&name, &passages);
        }
        Ok(survey)
    }

    /// Files and functions beyond the limits, and their lines.
    fn large(&self) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        for (_, file, size) in &self.sizes {
            if size.code_lines > FILE_LINES {
                found.push((file.clone(), size.code_lines));
            }
            let long = size.functions.iter().filter(|function| function.lines > FUNCTION_LINES);
            found.extend(long.map(|function| (format!("{file}:{}", function.name), function.lines)));
        }
        found
    }

    /// The lines of the largest file and of the longest function of an area.
    fn largest(&self, area: &str) -> (usize, usize) {
        let sizes = || self.sizes.iter().filter(|(other, ..)| other == area).map(|(.., size)| size);
        let files = sizes().map(|size| size.code_lines);
        let functions = sizes().flat_map(|size| &size.functions).map(|function| function.lines);
        (files.max().unwrap_or(0), functions.max().unwrap_or(0))
    }

    /// The share, in percent, of types whose name another crate uses too.
    fn shared(&self) -> f64 {
        let crates = |name: &String| self.types.values().filter(|names| names.contains_key(name)).count();
        let all = self.types.values().flatten();
        let (mut total, mut shared) = (0, 0);
        for (name, count) in all {
            total += count;
            if crates(name) > 1 {
                shared += count;
            }
        }
        f64::from(u32::try_from(shared * 100).unwrap_or(u32::MAX)) / total.max(1) as f64
    }
}

/// The area of a file, and whether it is one of tests. Fixtures and examples are data.
fn area(file: &Path) -> Option<(String, bool)> {
    let mut parts = file.iter().map(|part| part.to_string_lossy().into_owned());
    let first = parts.next()?;
    let rest: Vec<String> = parts.collect();
    let is_test = rest.iter().any(|part| ["tests", "tests.rs", "test"].contains(&part.as_str()));
    match first.as_str() {
        // Prompts and snapshots are texts for models.
        "crates" if file.extension().is_some_and(|extension| extension == "md") && rest.len() > 2 => None,
        "crates" => Some((rest.first()?.clone(), is_test)),
        "fixtures" | "examples" => None,
        "web" if rest.first().is_some_and(|part| part == "dist") => None,
        _ if rest.is_empty() => Some(("docs".to_owned(), is_test)),
        _ => Some((first, is_test)),
    }
}

/// The names of the structs, enums and traits that ship.
fn type_names(source: &str) -> Vec<String> {
    let (tokens, _) = product(tokens(source));
    let pairs = tokens.windows(2).filter(|pair| {
        ["struct", "enum", "trait"].contains(&pair[0].text.as_str())
            && pair[1].text.starts_with(|first: char| first.is_uppercase())
    });
    pairs.map(|pair| pair[1].text.clone()).collect()
}

fn long_lines(passages: &[Passage]) -> Vec<usize> {
    let long = passages.iter().filter(|passage| {
        let text = passage.text.trim_start();
        let exempt =
            text.starts_with('|') || text.starts_with('<') || text.contains("](") || text.contains("://");
        passage.text.chars().count() > COLUMNS && !exempt
    });
    long.map(|passage| passage.line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Prose, area, long_lines, type_names};
    use crate::prose::of_markdown;

    #[test]
    fn vague_nouns_are_counted_with_their_places() {
        let mut prose = Prose::default();
        prose.add("a.md", &of_markdown("The host\nsays what it does."));
        assert_eq!((prose.words, prose.vague.clone()), (6, vec!["a.md:2: what".to_owned()]));
        assert!((prose.rate() - 1000.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn types_of_tests_and_associated_types_are_not_named() {
        let source = "pub struct A; enum B {} impl C for A { type Error = B; }\n\
            #[cfg(test)]\nmod tests { struct D; }\ntrait E {}";
        assert_eq!(type_names(source), ["A", "B", "E"]);
    }

    #[test]
    fn tables_code_and_links_may_be_long() {
        let long = "x".repeat(101);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\n[a]({long})\n");
        assert_eq!(long_lines(&of_markdown(&text)), [1]);
    }

    #[test]
    fn each_crate_is_an_area_and_data_is_none() {
        let of = |path| area(Path::new(path));
        assert_eq!(of("crates/kernel/tests/it.rs"), Some(("kernel".to_owned(), true)));
        assert_eq!(of("crates/kernel/runner/a.py"), Some(("kernel".to_owned(), false)));
        assert_eq!(of("README.md"), Some(("docs".to_owned(), false)));
        assert_eq!(of("docs/agents.md"), Some(("docs".to_owned(), false)));
        assert_eq!(of("fixtures/make.py"), None);
    }
}
