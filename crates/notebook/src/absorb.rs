//! The values, beside the source, that a cell takes over from a cell merged into it.

use std::borrow::Cow;

use crate::cell::CellType;
use crate::error::Result;
use crate::json::tree::Node;
use crate::notebook::Notebook;
use crate::restore::alone;

impl Notebook {
    /// Gives the cell at `index` the values of a cell merged into it, which is given as [`crate::Cell::to_json`]:
    /// metadata that it lacks, the tags of both, attachments, and outputs behind its own.
    pub fn absorb(&mut self, index: usize, json: &str) -> Result<()> {
        let other = alone(json)?;
        let other = &other.cells()[0];
        let cell = &mut self.edits.cells[index];
        let mine = |key: &str| cell.value(key).map(<[u8]>::to_vec);
        let (metadata, attachments, outputs) = (mine("metadata"), mine("attachments"), mine("outputs"));
        let mut changed: Vec<(&str, Node<'_>)> = Vec::new();
        let metadata = united(metadata.as_deref(), other.value("metadata"), Same::Mine);
        changed.extend(metadata.map(|node| ("metadata", node)));
        if cell.cell_type() != CellType::Code {
            let attachments = united(attachments.as_deref(), other.value("attachments"), Same::Both);
            changed.extend(attachments.map(|node| ("attachments", node)));
        } else if other.cell_type() == CellType::Code {
            if let (Some(Node::Array(mut all)), Some(Node::Array(more))) =
                (outputs.as_deref().map(Node::of), other.value("outputs").map(Node::of))
                && !more.is_empty()
            {
                all.extend(more);
                changed.push(("outputs", Node::Array(all)));
            }
            if let Some(count) = other.value("execution_count").filter(|_| !cell.is_counted()) {
                changed.push(("execution_count", Node::of(count)));
            }
        }
        for (key, node) in changed {
            cell.set_node(key, &node, false);
        }
        Ok(())
    }
}

/// The rule for a key that both objects have with different values.
#[derive(Clone, Copy, PartialEq)]
enum Same {
    /// The first one's value stays. Of two lists of tags both stay.
    Mine,
    /// The other's value gets a name of its own.
    Both,
}

/// The members of both objects; `None` where the second adds nothing.
fn united<'a>(mine: Option<&'a [u8]>, other: Option<&'a [u8]>, same: Same) -> Option<Node<'a>> {
    let mut members = match mine.map(Node::of) {
        Some(Node::Object(members)) => members,
        Some(_) => return None,
        None => Vec::new(),
    };
    let Some(Node::Object(more)) = other.map(Node::of) else { return None };
    let mut is_changed = false;
    for (key, value) in more {
        let known = members.iter().position(|(known, _)| *known == key);
        match (known, same) {
            (None, _) => members.push((key, value)),
            (Some(at), Same::Mine) if key == "tags" => {
                let (Node::Array(tags), Node::Array(more)) = (&mut members[at].1, value) else { continue };
                let before = tags.len();
                for tag in more {
                    if !tags.iter().any(|known| written(known) == written(&tag)) {
                        tags.push(tag);
                    }
                }
                if tags.len() == before {
                    continue;
                }
            }
            (Some(_), Same::Mine) => continue,
            (Some(at), Same::Both) if written(&members[at].1) == written(&value) => continue,
            (Some(_), Same::Both) => {
                let free = |name: &String| members.iter().all(|(known, _)| known != name);
                let name = (2..).map(|number| numbered(&key, number)).find(free).unwrap_or_default();
                members.push((Cow::Owned(name), value));
            }
        }
        is_changed = true;
    }
    is_changed.then_some(Node::Object(members))
}

/// `picture.png` as `picture-2.png`.
fn numbered(name: &str, number: usize) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}-{number}.{ending}"),
        None => format!("{name}-{number}"),
    }
}

fn written(node: &Node<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    node.write(&crate::json::layout::Layout::default(), "", false, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::id::Ids;

    fn merged(first: &Value, second: &Value) -> Value {
        let text = json!({ "cells": [first], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let mut notebook = Notebook::parse(text.to_string().into_bytes(), Ids::seeded(0)).unwrap();
        notebook.absorb(0, &second.to_string()).unwrap();
        serde_json::from_slice::<Value>(&notebook.to_bytes()).unwrap()["cells"][0].take()
    }

    #[test]
    fn metadata_tags_and_outputs_of_both_cells_are_kept() {
        let output = |text: &str| json!({ "output_type": "stream", "name": "stdout", "text": text });
        let first = json!({ "cell_type": "code", "id": "a", "metadata": { "tags": ["x"], "k": 1 }, "source": "1",
            "execution_count": null, "outputs": [output("1")] });
        let second = json!({ "cell_type": "code", "id": "b", "metadata": { "tags": ["x", "y"], "k": 2, "l": 3 },
            "source": "2", "execution_count": 4, "outputs": [output("2")] });
        let expected = json!({ "cell_type": "code", "id": "a", "metadata": { "tags": ["x", "y"], "k": 1, "l": 3 },
            "source": "1", "execution_count": 4, "outputs": [output("1"), output("2")] });
        assert_eq!(merged(&first, &second), expected);
        let empty = json!({ "cell_type": "code", "id": "b", "metadata": {}, "source": "", "outputs": [],
            "execution_count": null });
        assert_eq!(merged(&first, &empty), first);
    }

    #[test]
    fn attachments_of_both_cells_are_kept_also_under_one_name() {
        let cell = |id: &str, attachments: Value| json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": id, "attachments": attachments });
        let first = cell("a", json!({ "p.png": { "image/png": "AA" }, "q.png": { "image/png": "QQ" } }));
        let second = cell("b", json!({ "p.png": { "image/png": "BB" }, "q.png": { "image/png": "QQ" } }));
        let all = json!({ "p.png": { "image/png": "AA" }, "q.png": { "image/png": "QQ" },
            "p-2.png": { "image/png": "BB" } });
        assert_eq!(merged(&first, &second), cell("a", all));
        let plain = json!({ "cell_type": "markdown", "id": "a", "metadata": {}, "source": "a" });
        assert_eq!(merged(&plain, &second), cell("a", second["attachments"].clone()));
    }
}
