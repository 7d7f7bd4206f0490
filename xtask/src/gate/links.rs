//! Links between the documents of the repository lead somewhere, and `docs/security.md` names files that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::metadata::Metadata;

const SECURITY: &str = "docs/security.md";

pub(super) fn problems(_: &Metadata) -> Result<Vec<String>, Failure> {
    let root = testkit::repo_root();
    let mut problems = Vec::new();
    for file in super::tracked()? {
        if file.extension().is_none_or(|extension| extension != "md") || file.starts_with("fixtures") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        let folder = root.join(&file).parent().map(Path::to_path_buf).unwrap_or_default();
        let broken = targets(&text).into_iter().filter(|target| !leads_somewhere(&folder, target, &text));
        problems.extend(broken.map(|target| format!("{}: no target for the link {target}", file.display())));
        if file == Path::new(SECURITY) {
            let missing = named_files(&text).into_iter().filter(|name| !is_file(&root, name));
            problems.extend(missing.map(|name| format!("{SECURITY}: no file {name}")));
        }
    }
    Ok(problems)
}

/// The targets of links outside code, without those to other sites.
fn targets(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let parts = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.extend(parts.filter(|target| !target.contains(':') && !target.is_empty()));
    }
    targets
}

fn leads_somewhere(folder: &Path, target: &str, own_text: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = folder.join(path);
    if anchor.is_empty() {
        return file.exists();
    }
    let text = if path.is_empty() { Some(own_text.to_owned()) } else { fs::read_to_string(file).ok() };
    text.is_some_and(|text| {
        text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
    })
}

/// The anchor that sites make from a heading.
fn slug(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    title.chars().filter(|character| character.is_alphanumeric() || "-_".contains(*character)).collect()
}

/// Files in code spans, such as `serve/users.rs`.
fn named_files(text: &str) -> Vec<&str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| span.contains('/') && (span.ends_with(".rs") || span.ends_with(".mjs"))).collect()
}

/// Names are shortened as the document's introduction tells.
fn is_file(root: &Path, name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let places: [PathBuf; 4] = [
        name.into(),
        Path::new("crates").join(name),
        Path::new("crates").join(first).join("tests/it/attacks").join(rest),
        Path::new("web/test/page").join(rest),
    ];
    places.iter().any(|place| root.join(place).is_file())
}

#[cfg(test)]
mod tests {
    use super::{slug, targets};

    #[test]
    fn links_in_code_and_to_other_sites_are_left_alone() {
        let text = "[a](docs/a.md#one-two) and [b](https://example.org)\n```\n[c](d)\n```\n![e](e.png)\n";
        assert_eq!(targets(text), ["docs/a.md#one-two", "e.png"]);
        assert_eq!(slug("## One, two: `three`"), "one-two-three");
    }
}
