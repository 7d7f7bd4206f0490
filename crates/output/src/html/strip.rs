//! HTML without its tags: one pass, no tree, for input that can't be converted.

use memchr::memchr;

use super::pieces::{Piece, Pieces};

/// The readable text of HTML: block elements begin lines, cells are kept apart, white space is collapsed.
pub(super) fn strip_tags(html: &str) -> String {
    let mut text = String::new();
    for piece in Pieces::new(html) {
        match piece {
            Piece::Text(raw) => push_words(&mut text, raw),
            Piece::Start(tag) | Piece::End(tag) => match tag.name.as_str() {
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
