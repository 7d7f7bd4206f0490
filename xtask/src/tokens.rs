//! A lexer for Rust: tokens for rules about code, comments and string literals for rules about prose.

/// A word or a sign, and the line it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// An identifier or keyword, `::`, or a single sign.
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Token {
    /// Whether it is an identifier or a keyword.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// A part of a source file.
pub(crate) enum Lexeme<'a> {
    Token(Token),
    /// A comment with its signs, and the line it begins on.
    Comment(&'a str, usize),
    /// A literal with its quotes, and the line it begins on.
    Literal(&'a str, usize),
}

/// Cuts source text into tokens, without comments and literals.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let tokens = lexemes(source).into_iter().filter_map(|lexeme| match lexeme {
        Lexeme::Token(token) => Some(token),
        Lexeme::Comment(..) | Lexeme::Literal(..) => None,
    });
    tokens.collect()
}

/// Cuts source text into tokens, comments and literals.
pub(crate) fn lexemes(source: &str) -> Vec<Lexeme<'_>> {
    let mut reader = Reader { rest: source, line: 1 };
    let mut found = Vec::new();
    while let Some(first) = reader.rest.chars().next() {
        let line = reader.line;
        let start = reader.rest;
        if reader.rest.starts_with("//") {
            reader.skip_to("\n");
            found.push(Lexeme::Comment(reader.since(start), line));
        } else if reader.rest.starts_with("/*") {
            reader.block_comment();
            found.push(Lexeme::Comment(reader.since(start), line));
        } else if let Some(hashes) = raw_string(reader.rest) {
            reader.raw_string(hashes);
            found.push(Lexeme::Literal(reader.since(start), line));
        } else if let Some(prefix) =
            ["b'", "b\"", "c\"", "'", "\""].iter().find(|start| reader.rest.starts_with(**start))
        {
            reader.quoted(prefix);
            found.push(Lexeme::Literal(reader.since(start), line));
        } else if first.is_alphabetic() || first == '_' {
            // A raw identifier is the same name with armour.
            if reader.rest.starts_with("r#") {
                reader.advance(2);
            }
            let text = reader.take(word_length(reader.rest));
            found.push(Lexeme::Token(Token { text, line }));
        } else if first.is_ascii_digit() {
            reader.take(word_length(reader.rest));
        } else if reader.rest.starts_with("::") {
            found.push(Lexeme::Token(Token { text: reader.take(2), line }));
        } else {
            let text = reader.take(first.len_utf8());
            if !first.is_whitespace() {
                found.push(Lexeme::Token(Token { text, line }));
            }
        }
    }
    found
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn since(&self, start: &'a str) -> &'a str {
        &start[..start.len() - self.rest.len()]
    }

    fn take(&mut self, length: usize) -> String {
        let taken = self.rest[..length].to_owned();
        self.advance(length);
        taken
    }

    fn advance(&mut self, length: usize) {
        self.line += self.rest[..length].matches('\n').count();
        self.rest = &self.rest[length..];
    }

    // To the end of the mark, or of the text.
    fn skip_to(&mut self, mark: &str) {
        let length = self.rest.find(mark).map_or(self.rest.len(), |at| at + mark.len());
        self.advance(length);
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.advance(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.advance(2);
            } else if let Some(next) = self.rest.chars().next() {
                self.advance(next.len_utf8());
            }
            if depth == 0 || self.rest.is_empty() {
                return;
            }
        }
    }

    fn raw_string(&mut self, hashes: usize) {
        self.skip_to("\"");
        self.skip_to(&format!("\"{}", "#".repeat(hashes)));
    }

    fn quoted(&mut self, prefix: &str) {
        self.advance(prefix.len());
        let quote = if prefix.ends_with('"') { '"' } else { '\'' };
        if prefix == "'" && is_lifetime(self.rest) {
            let length = word_length(self.rest);
            self.advance(length);
            return;
        }
        while let Some(next) = self.rest.chars().next() {
            self.advance(next.len_utf8());
            if next == quote {
                return;
            }
            if next == '\\'
                && let Some(escaped) = self.rest.chars().next()
            {
                self.advance(escaped.len_utf8());
            }
        }
    }
}

fn word_length(text: &str) -> usize {
    text.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(text.len())
}

// `'a` is a lifetime unless a quote follows the one letter.
fn is_lifetime(after_quote: &str) -> bool {
    let mut letters = after_quote.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_') && letters.next() != Some('\'')
}

// The number of hashes, when a raw string starts here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = ["r", "br", "cr"].iter().find_map(|prefix| {
        let rest = text.strip_prefix(prefix)?;
        rest.starts_with(['#', '"']).then_some(rest)
    })?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let words: Vec<String> = tokens(source).into_iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn comments_and_literals_leave_nothing() {
        check("a // std::fs\nb /* x /* y */ std */ c", "a b c");
        check(
            r####"a("std\"", r#"st"d"#, b"x", br##"y"#"##, c"z", 'q', '\'', b'\\', "\\") b"####,
            "a ( , , , , , , , , ) b",
        );
        check("1_000u32 + 0xff + 1.5e3", "+ + .");
    }

    #[test]
    fn lifetimes_are_no_characters() {
        check(
            "fn f<'a>(x: &'a str, y: &'static str) -> 'b' { z }",
            "fn f < > ( x : & str , y : & str ) - > { z }",
        );
    }

    #[test]
    fn raw_identifiers_are_their_names() {
        check("r#std::fs", "std :: fs");
    }

    #[test]
    fn lines_count_inside_comments_and_strings_too() {
        let found = tokens("/* 1\n */ a \"\n\" b\nr\"\n\"\nc");
        let lines: Vec<_> = found.iter().map(|token| (token.text.as_str(), token.line)).collect();
        assert_eq!(lines, [("a", 2), ("b", 3), ("c", 6)]);
    }
}
