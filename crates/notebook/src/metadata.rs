//! Metadata of the notebook and of its cells: read as values, written key by key.

use std::borrow::Cow;

use serde_json::Value;

use crate::cell::Cell;
use crate::json::Span;
use crate::json::layout::Layout;
use crate::json::scan::object_at;
use crate::json::strict::strict;
use crate::json::tree::Node;
use crate::notebook::Notebook;

impl Notebook {
    /// The notebook's metadata; an empty object where it has none that can be read.
    pub fn metadata(&self) -> Value {
        self.value("metadata").map_or_else(empty, value_of)
    }

    /// Gives one key of the notebook's metadata a value. A key that has this value already keeps its bytes.
    pub fn set_metadata(&mut self, key: &str, value: &Value) {
        if self.metadata().get(key) == Some(value) {
            return;
        }
        let layout = self.layout();
        let before = self.value("metadata").unwrap_or(b"{}");
        let bytes = with_key(before, key, value, &layout, &layout.inside(""));
        self.edits.changed.retain(|(changed, _)| changed != "metadata");
        self.edits.changed.push(("metadata".to_owned(), bytes));
    }

    /// Gives one key of a cell's metadata a value.
    pub fn set_cell_metadata(&mut self, index: usize, key: &str, value: &Value) {
        let cell = &mut self.edits.cells[index];
        if cell.metadata().get(key) == Some(value) {
            return;
        }
        let layout = cell.layout();
        let before = cell.value("metadata").unwrap_or(b"{}");
        let bytes = with_key(before, key, value, &layout, &cell.member_indent("metadata"));
        cell.set("metadata", Some(bytes));
    }
}

impl Cell {
    /// The cell's metadata; an empty object where it has none that can be read.
    pub fn metadata(&self) -> Value {
        self.value("metadata").map_or_else(empty, value_of)
    }

    /// Whether the cell carries a tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        let metadata = self.metadata();
        let tags = metadata.get("tags").and_then(Value::as_array);
        tags.is_some_and(|tags| tags.iter().any(|known| known == tag))
    }
}

fn empty() -> Value {
    Value::Object(serde_json::Map::new())
}

fn value_of(raw: &[u8]) -> Value {
    let value = serde_json::from_slice(raw).or_else(|_| serde_json::from_slice(&strict(raw)));
    value.ok().filter(Value::is_object).unwrap_or_else(empty)
}

/// An object with one key more, or with another value for it; all other bytes stay.
fn with_key(object: &[u8], key: &str, value: &Value, layout: &Layout, indent: &str) -> Vec<u8> {
    let text = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
    let mut node = Node::of(&text);
    node.sort();
    let whole = Span { start: 0, end: object.len() };
    let known = object_at(object, whole).and_then(|found| found.get(object, key).map(|member| member.value));
    let mut bytes = Vec::new();
    match known {
        Some(span) => {
            bytes.extend_from_slice(&object[..span.start]);
            node.write(layout, &layout.inside(indent), false, &mut bytes);
            bytes.extend_from_slice(&object[span.end..]);
        }
        None => {
            let mut members = match Node::of(object) {
                Node::Object(members) => members,
                Node::Array(_) | Node::Lines { .. } | Node::Raw(_) | Node::Text(_) => Vec::new(),
            };
            let at = members.iter().position(|(known, _)| **known > *key).unwrap_or(members.len());
            members.insert(at, (Cow::Borrowed(key), node));
            Node::Object(members).write(layout, indent, false, &mut bytes);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Ids;

    fn notebook(metadata: &str) -> Notebook {
        let text = format!(
            "{{\n \"cells\": [\n  {{\n   \"cell_type\": \"raw\",\n   \"id\": \"a\",\n   \"metadata\": {{}},\n   \
             \"source\": []\n  }}\n ],\n \"metadata\": {metadata},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}}\n"
        );
        Notebook::parse(text.into_bytes(), Ids::seeded(0)).unwrap()
    }

    #[test]
    fn a_new_key_takes_its_place_in_the_order_and_a_known_one_is_rewritten_alone() {
        let mut notebook = notebook("{\n  \"a\": 1e0,\n  \"z\": [1,2]\n }");
        notebook.set_metadata("language_info", &json!({ "name": "python" }));
        let text = String::from_utf8(notebook.to_bytes()).unwrap();
        assert!(
            text.contains("\"a\": 1e0,\n  \"language_info\": {\n   \"name\": \"python\"\n  },\n"),
            "{text}"
        );
        notebook.set_metadata("language_info", &json!({ "name": "R" }));
        let again = String::from_utf8(notebook.to_bytes()).unwrap();
        assert_eq!(again, text.replace("python", "R"));
    }

    #[test]
    fn a_value_that_is_there_already_changes_no_byte() {
        let mut notebook = notebook("{\"language_info\":{\"name\":\"python\",   \"v\":1}}");
        notebook.set_metadata("language_info", &json!({ "v": 1, "name": "python" }));
        assert!(!notebook.is_changed());
        notebook.set_metadata("language_info", &json!(null));
        assert!(String::from_utf8(notebook.to_bytes()).unwrap().contains("{\"language_info\":null}"));
    }

    #[test]
    fn a_tag_can_be_given_and_found() {
        let mut notebook = notebook("{}");
        assert!(!notebook.cells()[0].has_tag("parameters"));
        notebook.set_cell_metadata(0, "tags", &json!(["x", "parameters"]));
        assert!(notebook.cells()[0].has_tag("parameters"));
        let text = String::from_utf8(notebook.to_bytes()).unwrap();
        assert!(
            text.contains(
                "   \"metadata\": {\n    \"tags\": [\n     \"x\",\n     \"parameters\"\n    ]\n   },"
            ),
            "{text}"
        );
    }
}
