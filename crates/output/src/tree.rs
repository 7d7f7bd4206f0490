//! JSON as an indented tree with limits. Works on the JSON text, one level at a time: numbers keep their
//! spelling, and depth costs no stack.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// How much of a tree is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Levels that are opened; deeper values are counted.
    pub depth: usize,
    /// Entries shown of one object or array.
    pub items: usize,
    /// Characters shown of one string.
    pub string: usize,
    /// Lines in all.
    pub lines: usize,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { depth: 6, items: 20, string: 200, lines: 200 }
    }
}

/// Renders JSON text as a tree with counts of omitted values. Text that is not JSON is shown as one string.
pub fn json_tree(json: &str, limits: TreeLimits) -> String {
    let mut tree = Tree { lines: Vec::new(), limits };
    tree.node(0, None, json);
    if tree.full() {
        tree.lines.truncate(limits.lines);
        tree.lines.push(format!("… cut after {} lines", limits.lines));
    }
    tree.lines.join("\n")
}

struct Tree {
    lines: Vec<String>,
    limits: TreeLimits,
}

/// One level of a value.
enum Level<'a> {
    Object(Vec<(String, &'a RawValue)>),
    Array(Vec<&'a RawValue>),
    String(String),
    /// A number, `true`, `false` or `null`, as written.
    Plain(&'a str),
}

impl Tree {
    /// Recursion ends at the depth limit, which is ours, not the input's.
    fn node(&mut self, depth: usize, label: Option<&str>, json: &str) {
        let entries: Vec<(String, &RawValue)> = match level(json) {
            Level::Plain(text) => return self.line(depth, label, &self.shortened(text)),
            Level::String(text) => return self.line(depth, label, &self.quoted(&text)),
            Level::Object(entries) if entries.is_empty() => return self.line(depth, label, "{}"),
            Level::Array(items) if items.is_empty() => return self.line(depth, label, "[]"),
            Level::Object(entries) => {
                self.opening(depth, label, "object", entries.len(), "key");
                entries
            }
            Level::Array(items) => {
                self.opening(depth, label, "array", items.len(), "item");
                items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
            }
        };
        if depth >= self.limits.depth {
            return;
        }
        for (label, value) in entries.iter().take(self.limits.items) {
            if self.full() {
                return;
            }
            let label = self.shortened(&escaped(label));
            self.node(depth + 1, Some(&label), value.get());
        }
        if let Some(more @ 1..) = entries.len().checked_sub(self.limits.items) {
            self.line(depth + 1, None, &format!("… {more} more"));
        }
    }

    fn opening(&mut self, depth: usize, label: Option<&str>, kind: &str, count: usize, unit: &str) {
        let plural = if count == 1 { "" } else { "s" };
        let closed = if depth >= self.limits.depth { " …" } else { "" };
        self.line(depth, label, &format!("{kind}, {count} {unit}{plural}{closed}"));
    }

    fn line(&mut self, depth: usize, label: Option<&str>, text: &str) {
        let indent = "  ".repeat(depth);
        self.lines.push(match label {
            Some(label) => format!("{indent}{label}: {text}"),
            None => format!("{indent}{text}"),
        });
    }

    fn full(&self) -> bool {
        self.lines.len() > self.limits.lines
    }

    fn quoted(&self, text: &str) -> String {
        match text.char_indices().nth(self.limits.string) {
            None => format!("\"{}\"", escaped(text)),
            Some((end, _)) => {
                let more = text[end..].chars().count();
                format!("\"{}\" … {more} more characters", escaped(&text[..end]))
            }
        }
    }

    /// For keys and numbers, which are rarely long.
    fn shortened(&self, text: &str) -> String {
        match text.char_indices().nth(self.limits.string) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        }
    }
}

/// Keeps a string on its line.
fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '"' || c == '\\' || c.is_control() {
            line.extend(c.escape_debug());
        } else {
            line.push(c);
        }
    }
    line
}

fn level(json: &str) -> Level<'_> {
    let json = json.trim_matches([' ', '\t', '\n', '\r']);
    match json.as_bytes().first() {
        Some(b'{') => serde_json::from_str::<Entries<'_>>(json).ok().map(|entries| Level::Object(entries.0)),
        Some(b'[') => serde_json::from_str(json).ok().map(Level::Array),
        Some(b'"') => serde_json::from_str(json).ok().map(Level::String),
        Some(_) => serde_json::from_str::<&RawValue>(json).ok().map(|plain| Level::Plain(plain.get())),
        None => None,
    }
    .unwrap_or_else(|| Level::String(json.to_owned()))
}

/// An object's entries in order, the values unread.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor).map(|entries| Entries(entries.0))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_tree_keeps_order_and_the_spelling_of_numbers() {
        let json = r#"{"name": "Ann", "n": 1e0, "big": 123456789012345678901234567890,
            "tags": ["a", {"deep": null}], "none": [], "empty": {}}"#;
        assert_snapshot!(json_tree(json, TreeLimits::default()), @r#"
        object, 6 keys
          name: "Ann"
          n: 1e0
          big: 123456789012345678901234567890
          tags: array, 2 items
            0: "a"
            1: object, 1 key
              deep: null
          none: []
          empty: {}
        "#);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let limits = TreeLimits { depth: 1, items: 2, string: 3, lines: 10 };
        let json = r#"{"a": [1, 2], "b": "abcdef", "c": 3, "d": 4}"#;
        assert_snapshot!(json_tree(json, limits), @r#"
        object, 4 keys
          a: array, 2 items …
          b: "abc" … 3 more characters
          … 2 more
        "#);
    }

    #[test]
    fn a_tree_is_cut_after_its_lines() {
        let limits = TreeLimits { lines: 3, ..TreeLimits::default() };
        assert_snapshot!(json_tree("[1,2,3,4,5]", limits), @r"
        array, 5 items
          0: 1
          1: 2
        … cut after 3 lines
        ");
    }

    #[test]
    fn a_tree_of_just_as_many_lines_as_allowed_is_whole() {
        let limits = TreeLimits { lines: 3, ..TreeLimits::default() };
        assert_snapshot!(json_tree("[1,2]", limits), @r"
        array, 2 items
          0: 1
          1: 2
        ");
    }

    #[test]
    fn a_string_stays_on_its_line() {
        assert_snapshot!(json_tree(r#"{"a\nb": "x\ny\"z\u001b\u00e9"}"#, TreeLimits::default()), @r#"
        object, 1 key
          a\nb: "x\ny\"z\u{1b}é"
        "#);
    }

    #[test]
    fn a_value_nested_a_hundred_thousand_deep_is_shown_to_its_limit() {
        let json = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_snapshot!(json_tree(&json, TreeLimits { depth: 2, ..TreeLimits::default() }), @r"
        array, 1 item
          0: array, 1 item
            0: array, 1 item …
        ");
    }

    #[test]
    fn text_that_is_not_json_is_shown_as_a_string() {
        assert_eq!(json_tree("{oh", TreeLimits::default()), "\"{oh\"");
    }
}
