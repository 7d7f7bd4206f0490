//! No test is skipped and nothing is left to do: an ignored test or an unwritten body looks like success.

use super::tracked;
use crate::failure::Failure;
use crate::metadata::Metadata;
use crate::process::text;
use crate::tokens::{Token, tokens};

pub(super) fn problems(_: &Metadata) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for file in tracked()?.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let source = text(&testkit::repo_root().join(file))?;
        problems.extend(
            scan(&source).into_iter().map(|(line, what)| format!("{}:{line}: {what}", file.display())),
        );
    }
    Ok(problems)
}

fn scan(source: &str) -> Vec<(usize, String)> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = |offset: usize| tokens.get(index + offset).map_or("", |token| token.text.as_str());
        if ["todo", "unimplemented"].contains(&token.text.as_str()) && next(1) == "!" {
            found.push((token.line, format!("{}! stands for code that is missing", token.text)));
        }
        if token.text == "#"
            && (next(1) == "[" || next(1) == "!" && next(2) == "[")
            && attribute_ignores(&tokens[index..])
        {
            found.push((token.line, "an ignored test".to_owned()));
        }
    }
    for (index, line) in source.lines().enumerate() {
        let documented = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        let fence = documented.and_then(|text| text.trim_start().strip_prefix("```"));
        if fence.is_some_and(|words| words.split(',').any(|word| word.trim().starts_with("ignore"))) {
            found.push((index + 1, "an ignored example".to_owned()));
        }
    }
    found
}

// Within `#[test] #[ignore = "…"]` or `#[cfg_attr(…, ignore)]`.
fn attribute_ignores(tokens: &[Token]) -> bool {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "[" => depth += 1,
            "]" => depth -= 1,
            "ignore" if depth == 1 => {
                let named = ["(", ",", "["].contains(&tokens[index - 1].text.as_str());
                let ended =
                    [")", ",", "]", "="].contains(&tokens.get(index + 1).map_or("", |next| &next.text));
                if named && ended {
                    return true;
                }
            }
            _ => {}
        }
        if depth == 0 && index > 1 {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::scan;

    #[track_caller]
    fn check(source: &str, expected: &[(usize, &str)]) {
        let found = scan(source);
        let found: Vec<(usize, &str)> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn ignored_tests_are_found_however_they_are_written() {
        check("#[test]\n#[ignore]\nfn a() {}", &[(2, "an ignored test")]);
        check("#[test]\n#[ignore = \"slow\"]\nfn a() {}", &[(2, "an ignored test")]);
        check("#[cfg_attr(miri, ignore)]\nfn a() {}", &[(1, "an ignored test")]);
        check("/// ```ignore\n/// x\n/// ```", &[(1, "an ignored example")]);
        check("//! ```rust,ignore", &[(1, "an ignored example")]);
    }

    #[test]
    fn code_that_is_missing_is_found() {
        check("fn a() { todo!() }", &[(1, "todo! stands for code that is missing")]);
        check("fn a() {\n unimplemented!(\"x\") }", &[(2, "unimplemented! stands for code that is missing")]);
    }

    #[test]
    fn the_words_alone_are_no_problem() {
        check("let ignore = [1]; // #[ignore] todo!()\nlet todo = \"#[ignore] todo!()\";", &[]);
        check("#[serde(default)]\nfn ignore() { list[ignore] }", &[]);
    }
}
