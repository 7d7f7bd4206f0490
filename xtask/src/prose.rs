//! The prose of a file: comments, messages and Markdown, without the code between them.

use crate::tokens::{Lexeme, lexemes};

/// A passage of prose, and the line it begins on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A string literal with fewer words is a name or a key, not a message.
const MESSAGE_WORDS: usize = 3;

/// Tests stand last in a Rust file. Their literals are inputs, not messages.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

pub(crate) fn of_rust(source: &str, messages: bool) -> Vec<Passage> {
    let tests = source.find(TESTS).map_or(usize::MAX, |at| source[..at].lines().count());
    let passages = lexemes(source).into_iter().filter_map(|lexeme| match lexeme {
        Lexeme::Comment(text, line) => Some(Passage { text: text.to_owned(), line }),
        Lexeme::Literal(text, line) if messages && line <= tests => message(text, line),
        Lexeme::Literal(..) | Lexeme::Token(_) => None,
    });
    passages.collect()
}

/// Comments and messages of TypeScript. Regular expressions are recognized by the sign before them.
pub(crate) fn of_typescript(source: &str) -> Vec<Passage> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = '\n';
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let line = 1 + source[..at].matches('\n').count();
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            found.push(Passage { text: rest[..length].to_owned(), line });
            length
        } else if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            found.push(Passage { text: rest[..length].to_owned(), line });
            length
        } else if "'\"`".contains(first) || (first == '/' && "\n(,=:[!&|?{};".contains(before)) {
            let length = quoted(rest, first);
            if first != '/' {
                found.extend(message(&rest[..length], line));
            }
            length
        } else {
            first.len_utf8()
        };
        if !first.is_whitespace() || first == '\n' {
            before = first;
        }
        at += length;
    }
    found
}

/// Comments and docstrings of Python. Other literals of the runner are mostly Python's own words.
pub(crate) fn of_python(source: &str) -> Vec<Passage> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let line = 1 + source[..at].matches('\n').count();
        let triple = ["\"\"\"", "'''"].iter().find(|quotes| rest.starts_with(**quotes));
        at += if first == '#' {
            let length = rest.find('\n').unwrap_or(rest.len());
            found.push(Passage { text: rest[..length].to_owned(), line });
            length
        } else if let Some(quotes) = triple {
            let length = rest[3..].find(quotes).map_or(rest.len(), |end| end + 6);
            found.push(Passage { text: rest[..length].to_owned(), line });
            length
        } else if "'\"".contains(first) {
            let length = quoted(rest, first);
            found.extend(message(&rest[..length], line));
            length
        } else {
            first.len_utf8()
        };
    }
    found
}

/// The lines of a Markdown file outside code blocks and front matter.
pub(crate) fn of_markdown(text: &str) -> Vec<Passage> {
    let mut in_code = false;
    let mut found = Vec::new();
    let front_matter = if text.starts_with("---\n") {
        text.lines().skip(1).position(|line| line == "---").map_or(0, |end| end + 2)
    } else {
        0
    };
    for (index, line) in text.lines().enumerate().skip(front_matter) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.push(Passage { text: line.to_owned(), line: index + 1 });
        }
    }
    found
}

/// The words of a passage, in lower case, without code in backticks and placeholders in braces.
pub(crate) fn words(passage: &str) -> Vec<String> {
    let mut prose = String::new();
    for (index, part) in passage.split('`').enumerate() {
        if index % 2 == 0 {
            prose.push_str(part);
        }
        prose.push(' ');
    }
    let mut depth = 0usize;
    let outside: String = prose
        .chars()
        .map(|letter| {
            match letter {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 { letter } else { ' ' }
        })
        .collect();
    let words = outside.split(|letter: char| !letter.is_alphanumeric() && letter != '\'' && letter != '-');
    words.filter(|word| word.contains(char::is_alphabetic)).map(str::to_lowercase).collect()
}

fn message(literal: &str, line: usize) -> Option<Passage> {
    let inside = literal.trim_start_matches(['r', 'b', 'f', '#']).trim_matches(['"', '\'', '#', '`']);
    (inside.split_whitespace().count() >= MESSAGE_WORDS)
        .then(|| Passage { text: inside.replace('`', "'"), line })
}

/// The length of a literal that begins with the quote. One without an end takes the quote alone.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let mut in_class = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if quote == '/' => in_class = true,
            ']' if quote == '/' => in_class = false,
            '\n' if quote != '`' => return 1,
            _ if letter == quote && !in_class => return at + letter.len_utf8(),
            _ => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::{Passage, of_markdown, of_python, of_rust, of_typescript, words};

    #[track_caller]
    fn check(found: Vec<Passage>, expected: &[(usize, &str)]) {
        let found: Vec<(usize, &str)> =
            found.iter().map(|passage| (passage.line, passage.text.trim())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_and_messages_of_rust_are_prose() {
        let source = "/// One.\nfn a() { f(\"x\", \"three whole words\"); } // two\n\
            #[cfg(test)]\nmod tests { f(\"input of a test\"); }";
        check(of_rust(source, true), &[(1, "/// One."), (2, "three whole words"), (2, "// two")]);
        check(of_rust(source, false), &[(1, "/// One."), (2, "// two")]);
    }

    #[test]
    fn a_regular_expression_of_typescript_opens_no_string() {
        let source = "const a = /['/]+/g // one\nconst b = c / d / 'a message of four' /* two */";
        check(of_typescript(source), &[(1, "// one"), (2, "a message of four"), (2, "/* two */")]);
    }

    #[test]
    fn docstrings_of_python_are_prose() {
        let source = "'''One.'''\nx = '#'  # two\n";
        check(of_python(source), &[(1, "'''One.'''"), (2, "# two")]);
    }

    #[test]
    fn code_and_front_matter_of_markdown_are_no_prose() {
        check(of_markdown("a\n```sh\nwhat\n```\nb"), &[(1, "a"), (5, "b")]);
        check(of_markdown("---\nname: what\n---\na"), &[(4, "a")]);
    }

    #[test]
    fn code_and_placeholders_are_no_words() {
        assert_eq!(words("/// Don't say `what` of {what}, 7 times."), ["don't", "say", "of", "times"]);
    }
}
