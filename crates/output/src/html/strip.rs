//! HTML without its tags: one pass, no tree, for what can't be converted.

use memchr::{memchr, memmem};

/// A part of HTML text.
pub(super) enum Piece<'a> {
    /// Text between tags, entities not decoded.
    Text(&'a str),
    /// A start tag, its name in lower case.
    Start { name: String, self_closing: bool },
    /// An end tag, its name in lower case.
    End { name: String },
}

/// Splits HTML into pieces. Comments and declarations are left out, and the content of elements that hold
/// code rather than text.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Skips past `end`, or to the end of the text.
    fn skip_past(&mut self, end: &str) {
        self.rest = match memmem::find(self.rest.as_bytes(), end.as_bytes()) {
            Some(at) => &self.rest[at + end.len()..],
            None => "",
        };
    }

    /// Skips to the end tag of an element that holds code.
    fn skip_code(&mut self, name: &str) {
        let mut from = 0;
        while let Some(at) = memmem::find(&self.rest.as_bytes()[from..], b"</") {
            from += at + 2;
            let found = self.rest.as_bytes().get(from..from + name.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
                self.rest = &self.rest[from - 2..];
                return;
            }
        }
        self.rest = "";
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            let text_end = match bytes.first()? {
                b'<' => 0,
                _ => memchr(b'<', bytes).unwrap_or(bytes.len()),
            };
            if text_end > 0 {
                let (text, rest) = self.rest.split_at(text_end);
                self.rest = rest;
                return Some(Piece::Text(text));
            }
            match bytes.get(1) {
                Some(b'!') if self.rest.starts_with("<!--") => self.skip_past("-->"),
                Some(b'!' | b'?') => self.skip_past(">"),
                Some(b'/') => {
                    let name = name_of(&self.rest[2..]);
                    self.skip_past(">");
                    return Some(Piece::End { name });
                }
                Some(byte) if byte.is_ascii_alphabetic() => {
                    let name = name_of(&self.rest[1..]);
                    let (tag, rest) = self.rest.split_at(tag_len(self.rest));
                    self.rest = rest;
                    if matches!(name.as_str(), "script" | "style" | "textarea" | "title") {
                        self.skip_code(&name);
                    }
                    return Some(Piece::Start { name, self_closing: tag.ends_with("/>") });
                }
                // A `<` that begins no tag.
                Some(_) | None => {
                    let (text, rest) = self.rest.split_at(1);
                    self.rest = rest;
                    return Some(Piece::Text(text));
                }
            }
        }
    }
}

/// The readable text of HTML: block elements begin lines, cells are kept apart, white space is collapsed.
pub(super) fn strip_tags(html: &str) -> String {
    let mut text = String::new();
    for piece in Pieces::new(html) {
        match piece {
            Piece::Text(raw) => push_words(&mut text, raw),
            Piece::Start { name, .. } | Piece::End { name } => match name.as_str() {
                "td" | "th" => push_space(&mut text),
                "br" | "p" | "div" | "tr" | "li" | "table" | "ul" | "ol" | "pre" | "h1" | "h2" | "h3"
                | "h4" | "h5" | "h6" | "section" | "article" | "blockquote" | "hr" => push_line(&mut text),
                _ => {}
            },
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn push_words(text: &mut String, raw: &str) {
    let decoded = decode_entities(raw);
    for (index, word) in decoded.split([' ', '\t', '\n', '\r', '\u{c}']).enumerate() {
        if index > 0 {
            push_space(text);
        }
        text.push_str(word);
    }
}

fn push_space(text: &mut String) {
    if !text.is_empty() && !text.ends_with([' ', '\n']) {
        text.push(' ');
    }
}

fn push_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn decode_entities(raw: &str) -> String {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((end, entity(&rest[1..end])?))) {
            Some((end, c)) => {
                decoded.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

fn name_of(tag: &str) -> String {
    let end = tag.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(tag.len());
    tag[..end].to_ascii_lowercase()
}

/// The length of a start tag, quoted attribute values passed over.
fn tag_len(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    tag.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &str) {
        assert_eq!(strip_tags(html), expected, "{html}");
    }

    #[test]
    fn tags_go_and_blocks_begin_lines() {
        check("<div>a<p>b</p>c</div>", "a\nb\nc");
        check("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3");
        check("a   b\n c", "a b c");
    }

    #[test]
    fn code_comments_and_declarations_are_not_text() {
        check("<!doctype html><style>p > a {}</style><!-- x > y -->a<SCRIPT>1 < 2</script >b", "ab");
        check("a<script>never closed", "a");
    }

    #[test]
    fn entities_are_decoded_and_stray_signs_kept() {
        check("&lt;b&gt; &amp;amp; &#65;&#x42; &nope; &", "<b> &amp; AB &nope; &");
        check("1 < 2 <3", "1 < 2 <3");
    }

    #[test]
    fn a_quoted_sign_does_not_end_a_tag() {
        check("<a title=\"x > y\">b</a>", "b");
    }
}
