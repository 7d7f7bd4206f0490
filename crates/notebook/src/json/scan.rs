//! One pass over a JSON text that checks it whole and remembers where things are.
//! It does not recurse, so no depth of nesting can exhaust the stack. Besides JSON it takes `NaN`,
//! `Infinity` and `-Infinity`, which Python writes.

use super::{Array, Element, Kind, Member, Object, Span};

/// Where a text stops being JSON, and the token that was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub(crate) at: usize,
    pub(crate) problem: &'static str,
}

/// Reads a text from left to right. Every method leaves the position after the part it read.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Scanned<T> = Result<T, Syntax>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Scanner { bytes, at }
    }

    /// Skips white space and returns the kind of the value that begins here.
    pub(crate) fn kind(&mut self) -> Scanned<Kind> {
        self.space();
        match self.peek() {
            None => Err(self.error("the text ends where a value was expected")),
            Some(_) => Ok(Kind::of(&self.bytes[self.at..])),
        }
    }

    /// Refuses anything but white space up to the end.
    pub(crate) fn end(&mut self) -> Scanned<()> {
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("there is more text after the end of the value")),
        }
    }

    /// Reads an object; `value` reads each value and must return its span.
    pub(crate) fn object(
        &mut self,
        mut value: impl FnMut(&mut Self, Span) -> Scanned<Span>,
    ) -> Scanned<Object> {
        let start = self.at;
        self.at += 1;
        let mut members = Vec::new();
        loop {
            let lead = self.at;
            self.space();
            if members.is_empty() && self.peek() == Some(b'}') {
                break;
            }
            let key = self.key()?;
            self.space();
            let value = value(self, key)?;
            if members.is_empty() {
                members.reserve_exact(MEMBERS);
            }
            members.push(Member { lead, key, value });
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.error("expected ',' or '}'")),
            }
        }
        self.at += 1;
        Ok(Object { span: Span { start, end: self.at }, members })
    }

    /// Reads an array; `value` reads each element and must return its span.
    pub(crate) fn array(&mut self, mut value: impl FnMut(&mut Self) -> Scanned<Span>) -> Scanned<Array> {
        let mut elements = Vec::new();
        let span = self.elements(|scanner, lead| {
            let value = value(scanner)?;
            elements.push(Element { lead, value });
            Ok(())
        })?;
        Ok(Array { span, elements })
    }

    /// Reads an array; `element` reads each element, and is told where the white space before it begins.
    fn elements(&mut self, mut element: impl FnMut(&mut Self, usize) -> Scanned<()>) -> Scanned<Span> {
        let start = self.at;
        self.at += 1;
        let mut is_first = true;
        loop {
            let lead = self.at;
            self.space();
            if is_first && self.peek() == Some(b']') {
                break;
            }
            is_first = false;
            element(self, lead)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.error("expected ',' or ']'")),
            }
        }
        self.at += 1;
        Ok(Span { start, end: self.at })
    }

    /// Checks one whole value, however deep, and returns its span.
    pub(crate) fn value(&mut self) -> Scanned<Span> {
        self.space();
        let start = self.at;
        let mut open: Vec<Close> = Vec::new();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        self.space();
                        open.push(Close::Brace);
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'[') => {
                    self.at += 1;
                    self.space();
                    if self.peek() != Some(b']') {
                        open.push(Close::Bracket);
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                _ => self.scalar()?,
            }
            loop {
                let Some(close) = open.last() else {
                    return Ok(Span { start, end: self.at });
                };
                self.space();
                match (self.peek(), close) {
                    (Some(b','), Close::Brace) => {
                        self.at += 1;
                        self.space();
                        self.key()?;
                        self.space();
                        break;
                    }
                    (Some(b','), Close::Bracket) => {
                        self.at += 1;
                        self.space();
                        break;
                    }
                    (Some(b'}'), Close::Brace) | (Some(b']'), Close::Bracket) => {
                        self.at += 1;
                        open.pop();
                    }
                    (_, Close::Brace) => return Err(self.error("expected ',' or '}'")),
                    (_, Close::Bracket) => return Err(self.error("expected ',' or ']'")),
                }
            }
        }
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Scanned<Span> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a key in double quotes"));
        }
        let key = self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.error("expected ':' after a key"));
        }
        self.at += 1;
        Ok(key)
    }

    fn string(&mut self) -> Scanned<Span> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at = end_of_plain_run(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span { start, end: self.at });
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.error("a control character in a string must be escaped")),
                None => return Err(Syntax { at: start, problem: "this string has no end" }),
            }
        }
    }

    fn escape(&mut self) -> Scanned<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.error("expected four hexadecimal digits after '\\u'"));
                }
                self.at += 6;
            }
            _ => return Err(self.error("unknown escape in a string")),
        }
        Ok(())
    }

    fn scalar(&mut self) -> Scanned<()> {
        for word in [&b"true"[..], b"false", b"null", b"NaN", b"Infinity", b"-Infinity"] {
            if self.bytes[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        self.number()
    }

    fn number(&mut self) -> Scanned<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            None => return Err(self.error("the text ends where a value was expected")),
            Some(_) => return Err(self.error("expected a value")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Scanned<()> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.error("expected a digit"));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn error(&self, problem: &'static str) -> Syntax {
        Syntax { at: self.at, problem }
    }
}

/// How many members a cell has.
pub(crate) const MEMBERS: usize = 6;

enum Close {
    Brace,
    Bracket,
}

/// The index of the first byte from `at` on that a string cannot simply contain: a quote, a backslash or
/// a control character. Blocks are tested whole, which compilers turn into vector instructions.
pub(crate) fn end_of_plain_run(bytes: &[u8], mut at: usize) -> usize {
    const BLOCK: usize = 64;
    const WORDS: usize = BLOCK / size_of::<u64>();
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    loop {
        // Most runs are short and end here; long ones go on in blocks that the compiler makes wide steps of.
        for _ in 0..WORDS {
            let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                let rest = bytes.get(at..).unwrap_or_default();
                return at + rest.iter().position(|&byte| special(byte)).unwrap_or(rest.len());
            };
            if let Some(offset) = first_special(*word) {
                return at + offset;
            }
            at += word.len();
        }
        while let Some(block) = bytes.get(at..at + BLOCK)
            && !block.iter().fold(false, |any, &byte| any | special(byte))
        {
            at += BLOCK;
        }
    }
}

/// The first of eight bytes that a string cannot hold as it is: a control character, a quote or a backslash.
fn first_special(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES * 0x80;
    let word = u64::from_le_bytes(word);
    // Sets the high bit of each byte below `limit`; of those behind the first it may be wrong.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let found = below(word, 0x20) | equal(b'"') | equal(b'\\');
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// Gives each element of an array that is known to be JSON to `element`, in order.
pub(crate) fn each_element<'a>(array: &'a [u8], mut element: impl FnMut(&'a [u8])) {
    // Only an array has elements.
    let _ = Scanner::new(array, 0).elements(|scanner, _| {
        let value = scanner.value()?;
        element(value.of(array));
        Ok(())
    });
}

/// The members of an object that is known to be JSON.
pub(crate) fn object_at(bytes: &[u8], span: Span) -> Option<Object> {
    (Kind::of(span.of(bytes)) == Kind::Object)
        .then(|| Scanner::new(bytes, span.start).object(|scanner, _| scanner.value()).ok())?
}

/// The elements of an array that is known to be JSON.
pub(crate) fn array_at(bytes: &[u8], span: Span) -> Option<Array> {
    (Kind::of(span.of(bytes)) == Kind::Array)
        .then(|| Scanner::new(bytes, span.start).array(|scanner| scanner.value()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), Syntax> {
        let mut scanner = Scanner::new(text.as_bytes(), 0);
        scanner.value()?;
        scanner.end()
    }

    #[test]
    fn accepts_what_python_writes_beyond_json() {
        for text in ["NaN", "[Infinity, -Infinity]", "{\"a\": NaN}"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn names_the_place_and_the_problem() {
        for (text, at, problem) in [
            ("", 0, "the text ends where a value was expected"),
            ("[1, 2", 5, "expected ',' or ']'"),
            ("{\"a\": 1", 7, "expected ',' or '}'"),
            ("{'a': 1}", 1, "expected a key in double quotes"),
            ("{\"a\" 1}", 5, "expected ':' after a key"),
            ("[1,]", 3, "expected a value"),
            ("\"abc", 0, "this string has no end"),
            ("\"a\nb\"", 2, "a control character in a string must be escaped"),
            ("\"\\x\"", 1, "unknown escape in a string"),
            ("\"\\u12G4\"", 1, "expected four hexadecimal digits after '\\u'"),
            ("01", 1, "there is more text after the end of the value"),
            ("1.", 2, "expected a digit"),
            ("-", 1, "the text ends where a value was expected"),
            ("nul", 0, "expected a value"),
        ] {
            assert_eq!(check(text), Err(Syntax { at, problem }), "{text}");
        }
    }

    #[test]
    fn a_plain_run_ends_at_the_first_special_byte_wherever_it_stands() {
        let plain: Vec<u8> = (0x20..=0xff).filter(|byte| ![b'"', b'\\'].contains(byte)).collect();
        for length in 0..300 {
            let run: Vec<u8> = plain.iter().copied().cycle().take(length).collect();
            assert_eq!(end_of_plain_run(&run, 0), length);
            for special in (0..0x20).chain([b'"', b'\\']) {
                let text = [&run[..], &[special], &run[..], b"\""].concat();
                assert_eq!(end_of_plain_run(&text, length / 3), length, "{special:#x} at {length}");
            }
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(check(&deep), Ok(()));
        let open = "{\"a\":".repeat(1_000_000);
        assert!(check(&open).is_err());
    }
}
