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

/// Comments and messages of TypeScript.
pub(crate) fn of_typescript(source: &str) -> Vec<Passage> {
    let passages = typescript_pieces(source).into_iter().filter_map(|piece| match piece.kind {
        PieceKind::Comment => Some(Passage { text: piece.text.to_owned(), line: piece.line }),
        PieceKind::Literal => message(piece.text, piece.line),
        PieceKind::Code => None,
    });
    passages.collect()
}

/// TypeScript without comments, and with a sign in the place of each literal. Lines keep their numbers.
pub(crate) fn without_typescript_text(source: &str) -> String {
    let pieces = typescript_pieces(source).into_iter().map(|piece| match piece.kind {
        PieceKind::Comment => newlines(piece.text, ""),
        PieceKind::Literal => newlines(piece.text, "_"),
        PieceKind::Code => piece.text.to_owned(),
    });
    pieces.collect()
}

/// Comments and docstrings of Python. Other literals of the runner are mostly Python's own words.
pub(crate) fn of_python(source: &str) -> Vec<Passage> {
    let passages = python_pieces(source).into_iter().filter_map(|piece| match piece.kind {
        PieceKind::Comment => Some(Passage { text: piece.text.to_owned(), line: piece.line }),
        PieceKind::Literal if is_triple(piece.text) => {
            Some(Passage { text: piece.text.to_owned(), line: piece.line })
        }
        PieceKind::Literal => message(piece.text, piece.line),
        PieceKind::Code => None,
    });
    passages.collect()
}

/// Python without comments and docstrings, and with brackets in the place of each literal. Lines keep their numbers.
pub(crate) fn without_python_text(source: &str) -> String {
    let mut code = String::new();
    for piece in python_pieces(source) {
        let on_its_own_line = code.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        match piece.kind {
            PieceKind::Comment => {}
            PieceKind::Literal if is_triple(piece.text) && on_its_own_line => {
                code.push_str(&newlines(piece.text, ""));
            }
            PieceKind::Literal => code.push_str(&format!("({})", newlines(piece.text, "_"))),
            PieceKind::Code => code.push_str(piece.text),
        }
    }
    code
}

/// A part of a script, and the line it begins on.
struct Piece<'a> {
    kind: PieceKind,
    text: &'a str,
    line: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Code,
    Comment,
    Literal,
}

/// Cuts TypeScript into pieces. Regular expressions are recognized by the sign before them, and are code.
fn typescript_pieces(source: &str) -> Vec<Piece<'_>> {
    let mut before = '\n';
    pieces(source, |rest| {
        let first = rest.chars().next().unwrap_or('\n');
        let found = if rest.starts_with("//") {
            (PieceKind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (PieceKind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if "'\"`".contains(first) {
            (PieceKind::Literal, quoted(rest, first))
        } else if first == '/' && "\n(,=:[!&|?{};".contains(before) {
            (PieceKind::Code, quoted(rest, first))
        } else {
            (PieceKind::Code, first.len_utf8())
        };
        if !first.is_whitespace() || first == '\n' {
            before = first;
        }
        found
    })
}

fn python_pieces(source: &str) -> Vec<Piece<'_>> {
    pieces(source, |rest| {
        let first = rest.chars().next().unwrap_or('\n');
        if first == '#' {
            (PieceKind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if is_triple(rest) {
            (PieceKind::Literal, rest[3..].find(&rest[..3]).map_or(rest.len(), |end| end + 6))
        } else if "'\"".contains(first) {
            (PieceKind::Literal, quoted(rest, first))
        } else {
            (PieceKind::Code, first.len_utf8())
        }
    })
}

/// Cuts a source text by a function that returns the kind and the length of the first piece.
fn pieces(source: &str, mut first: impl FnMut(&str) -> (PieceKind, usize)) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let (kind, length) = first(&source[at..]);
        let text = &source[at..at + length];
        found.push(Piece { kind, text, line });
        line += text.matches('\n').count();
        at += length;
    }
    found
}

fn is_triple(text: &str) -> bool {
    text.starts_with("\"\"\"") || text.starts_with("'''")
}

/// The line breaks of a text, with a sign on each line.
fn newlines(text: &str, sign: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|_| sign).collect();
    lines.join("\n")
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
