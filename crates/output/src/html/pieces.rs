//! HTML split into text and tags, as a browser would split it, in one pass and without a tree.

use memchr::{memchr, memmem};

/// A part of HTML text.
pub(super) enum Piece<'a> {
    /// Text between tags, entities not decoded.
    Text(&'a str),
    /// A start tag.
    Start(Tag),
    /// An end tag.
    End(Tag),
}

/// A tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    pub(super) attributes: usize,
    pub(super) self_closing: bool,
    /// Whether it is a script that a browser may end elsewhere than we do.
    pub(super) uncertain: bool,
}

/// Iterates over the pieces of HTML. Comments and declarations are left out, and the content of elements that
/// hold something other than HTML.
pub(super) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Skips past the first of two marks, or to the end of the text.
    fn skip_past(&mut self, marks: [&str; 2]) {
        let bytes = self.rest.as_bytes();
        let end =
            marks.iter().filter_map(|mark| Some(memmem::find(bytes, mark.as_bytes())? + mark.len())).min();
        self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
    }

    /// Skips the content of an element that ends only at its own end tag, and returns it.
    fn skip_content(&mut self, name: &str) -> &'a str {
        let whole = self.rest;
        let mut from = 0;
        while let Some(at) = memmem::find(&whole.as_bytes()[from..], b"</") {
            let end = from + at;
            from = end + 2;
            let after = from + name.len();
            let named =
                whole.as_bytes().get(from..after).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()));
            let ended =
                whole.as_bytes().get(after).is_some_and(|it| it.is_ascii_whitespace() || b"/>".contains(it));
            if named && ended {
                self.rest = &whole[end..];
                return &whole[..end];
            }
        }
        self.rest = "";
        whole
    }

    /// Takes the tag at the start of the rest, whose name begins after `prefix` bytes.
    fn take_tag(&mut self, prefix: usize) -> Tag {
        let (tag, len) = read_tag(&self.rest.as_bytes()[prefix..]);
        self.rest = &self.rest[prefix + len..];
        tag
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let bytes = self.rest.as_bytes();
            let text_end = memchr(b'<', bytes).unwrap_or(bytes.len());
            let text_end = match (bytes.first()?, bytes.get(1), bytes.get(2)) {
                (b'<', Some(b'!'), _) if self.rest.starts_with("<!--") => {
                    // `<!-->` is a whole comment.
                    self.rest = &self.rest[2..];
                    self.skip_past(["-->", "--!>"]);
                    continue;
                }
                (b'<', Some(b'/'), Some(byte)) if byte.is_ascii_alphabetic() => {
                    return Some(Piece::End(self.take_tag(2)));
                }
                (b'<', Some(b'!' | b'?' | b'/'), _) => {
                    self.skip_past([">", ">"]);
                    continue;
                }
                (b'<', Some(byte), _) if byte.is_ascii_alphabetic() => {
                    let mut tag = self.take_tag(1);
                    match tag.name.as_str() {
                        "plaintext" => self.rest = "",
                        "script" => tag.uncertain = self.skip_content("script").contains("<!--"),
                        "style" | "textarea" | "title" | "xmp" | "iframe" | "noembed" | "noframes"
                        | "noscript" => {
                            self.skip_content(&tag.name);
                        }
                        _ => {}
                    }
                    return Some(Piece::Start(tag));
                }
                // A `<` that begins no tag.
                (b'<', _, _) => 1,
                _ => text_end,
            };
            let (text, rest) = self.rest.split_at(text_end);
            self.rest = rest;
            return Some(Piece::Text(text));
        }
    }
}

/// Reads a tag from its name on, and says how long it is. An unfinished one takes all there is.
fn read_tag(bytes: &[u8]) -> (Tag, usize) {
    /// Where in a tag we are: a quote means something only where a value begins.
    enum At {
        TagName,
        BeforeName,
        Name,
        AfterName,
        BeforeValue,
        Quoted(u8),
        Unquoted,
    }

    let name_len = bytes.iter().position(|byte| byte.is_ascii_whitespace() || b"/>".contains(byte));
    let name = String::from_utf8_lossy(&bytes[..name_len.unwrap_or(bytes.len())]).to_ascii_lowercase();
    let mut tag = Tag { name, attributes: 0, self_closing: false, uncertain: false };
    let mut at = At::TagName;
    for (index, byte) in bytes.iter().copied().enumerate() {
        at = match (at, byte) {
            (At::Quoted(quote), byte) if byte == quote => At::BeforeName,
            (At::Quoted(quote), _) => At::Quoted(quote),
            (At::BeforeValue, b'"' | b'\'') => At::Quoted(byte),
            (_, b'>') => {
                tag.self_closing = index > 0 && bytes[index - 1] == b'/';
                return (tag, index + 1);
            }
            (At::TagName | At::BeforeName, b'/') => At::BeforeName,
            (At::TagName | At::BeforeName, _) if byte.is_ascii_whitespace() => At::BeforeName,
            (At::TagName, _) => At::TagName,
            (At::Name | At::AfterName, b'=') => At::BeforeValue,
            (At::Name | At::AfterName, b'/') => At::BeforeName,
            (At::Name | At::AfterName, _) if byte.is_ascii_whitespace() => At::AfterName,
            (At::Name, _) => At::Name,
            (At::BeforeName | At::AfterName, _) => {
                tag.attributes += 1;
                At::Name
            }
            (At::BeforeValue, _) if byte.is_ascii_whitespace() => At::BeforeValue,
            (At::Unquoted, _) if byte.is_ascii_whitespace() => At::BeforeName,
            (At::BeforeValue | At::Unquoted, _) => At::Unquoted,
        };
    }
    (tag, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, name: &str, attributes: usize, self_closing: bool, len: usize) {
        let tag = Tag { name: name.to_owned(), attributes, self_closing, uncertain: false };
        assert_eq!(read_tag(html.as_bytes()), (tag, len), "{html}");
    }

    #[test]
    fn a_tag_ends_where_a_browser_ends_it() {
        check("DIV>x", "div", 0, false, 4);
        check("br/>x", "br", 0, true, 4);
        check("a href=\"x>y\" b>z", "a", 2, false, 15);
        check("a href = 'x>y'b>z", "a", 2, false, 16);
        check("a b\">\"", "a", 1, false, 5);
        check("a =\">\"", "a", 1, false, 5);
        check("a b=c\">\"", "a", 1, false, 7);
        check("a/b/c>", "a", 2, false, 6);
        check("a never ended", "a", 2, false, 13);
    }
}
