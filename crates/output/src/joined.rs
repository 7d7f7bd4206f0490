//! A text as notebook files keep it, whole or as a list of its lines, read into one buffer.

use std::fmt;

use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Joined(pub(crate) String);

impl<'de> Deserialize<'de> for Joined {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::new();
        deserializer.deserialize_any(Lines(&mut text))?;
        Ok(Joined(text))
    }
}

/// Adds a text, or each of its lines.
struct Lines<'t>(&'t mut String);

impl<'de> Visitor<'de> for Lines<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of its lines")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<(), A::Error> {
        while lines.next_element_seed(JoinedLine(self.0))?.is_some() {}
        Ok(())
    }
}

/// Adds one line.
struct JoinedLine<'t>(&'t mut String);

impl<'de> DeserializeSeed<'de> for JoinedLine<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for JoinedLine<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line")
    }

    fn visit_str<E: Error>(self, line: &str) -> Result<(), E> {
        self.0.push_str(line);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_its_lines_are_the_same() {
        let read = |json: &str| serde_json::from_str::<Joined>(json).ok().map(|joined| joined.0);
        assert_eq!(read(r#""a\nb""#).as_deref(), Some("a\nb"));
        assert_eq!(read(r#"["a\n", "b"]"#).as_deref(), Some("a\nb"));
        assert_eq!(read("[]").as_deref(), Some(""));
        assert_eq!(read(r#"["a", 1]"#), None);
        assert_eq!(read(r#"["a", ["b"]]"#), None);
        assert_eq!(read("7"), None);
    }
}
