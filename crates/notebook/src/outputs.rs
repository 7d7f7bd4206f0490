//! A cell's outputs: read from the file as data, and written into it as Jupyter writes them.

use std::borrow::Cow;

use cellist_output::{ByteString, MimeBundle, MimeData, Output, RawJson};

use crate::cell::Cell;
use crate::json::scan::array_at;
use crate::json::strict::strict;
use crate::json::tree::Node;
use crate::json::{Element, Span};
use crate::notebook::Notebook;

impl Cell {
    /// The outputs that the cell has. Outputs that nbformat 4 does not define are left out here; in the
    /// file it stays.
    pub fn outputs(&self) -> Vec<Output> {
        let Some(raw) = self.value("outputs") else {
            return Vec::new();
        };
        let shared = if raw.len() >= LARGE { self.shared("outputs") } else { None };
        let list = array_at(raw, Span { start: 0, end: raw.len() });
        let elements = list.map(|list| list.elements).unwrap_or_default();
        let read = |element: &Element| {
            let large = shared.as_ref().and_then(|shared| read_within(shared, element.value));
            large.or_else(|| read(element.value.of(raw)))
        };
        elements.iter().filter_map(read).collect()
    }
}

impl Notebook {
    /// Gives the cell at `index` these outputs and this execution count, and touches nothing else of it.
    pub fn set_outputs(&mut self, index: usize, outputs: &[Output], execution_count: Option<u64>) {
        let ascii = self.escapes_non_ascii();
        let mut list = Node::Array(outputs.iter().map(node).collect());
        list.sort();
        let cell = &mut self.edits.cells[index];
        cell.set_node("outputs", &list, ascii);
        let count = execution_count.map_or_else(Node::null, Node::number);
        cell.set_node("execution_count", &count, ascii);
    }
}

/// Outputs of this size are not copied where that can be.
const LARGE: usize = 1 << 20;

/// Reads an output whose large parts stay in the text that it is a part of.
fn read_within(text: &ByteString, span: Span) -> Option<Output> {
    Output::read_within(text.get(span.start..span.end)?, text).ok()
}

fn read(raw: &[u8]) -> Option<Output> {
    serde_json::from_slice(raw).or_else(|_| serde_json::from_slice(&strict(raw))).ok()
}

fn node(output: &Output) -> Node<'_> {
    let text = |text: &'static str| Node::text(text);
    let members = match output {
        Output::Stream { name, text: written } => vec![
            ("name", Node::text(name.to_string())),
            ("output_type", text("stream")),
            ("text", lines(written)),
        ],
        Output::Display { data, metadata, display_id: _ } => {
            vec![("data", bundle(data)), ("metadata", json(metadata)), ("output_type", text("display_data"))]
        }
        Output::Result { execution_count, data, metadata, display_id: _ } => vec![
            ("data", bundle(data)),
            ("execution_count", execution_count.map_or_else(Node::null, Node::number)),
            ("metadata", json(metadata)),
            ("output_type", text("execute_result")),
        ],
        Output::Error { name, message, traceback } => vec![
            ("ename", Node::text(name.as_str())),
            ("evalue", Node::text(message.as_str())),
            ("output_type", text("error")),
            ("traceback", Node::Array(traceback.iter().map(|line| Node::text(line.as_str())).collect())),
        ],
    };
    Node::Object(members.into_iter().map(|(key, value)| (Cow::Borrowed(key), value)).collect())
}

fn bundle(data: &MimeBundle) -> Node<'_> {
    let members = data.iter().map(|(mime, data)| {
        let value = match data {
            MimeData::Text(text) if is_split(mime) => lines(text),
            MimeData::Text(text) => Node::text(&**text),
            MimeData::Json(value) => json(value),
        };
        (Cow::Borrowed(mime), value)
    });
    Node::Object(members.collect())
}

fn json(value: &RawJson) -> Node<'_> {
    Node::of(value.get().as_bytes())
}

/// Whether Jupyter keeps a representation as a list of lines.
fn is_split(mime: &str) -> bool {
    mime.starts_with("text/") || matches!(mime, "application/javascript" | "image/svg+xml")
}

/// A text as Jupyter keeps it in outputs: cut where Python sees the end of a line.
fn lines(text: &str) -> Node<'_> {
    Node::Lines { text, cut: first_line }
}

/// How long the first line is, with its end.
fn first_line(text: &str) -> usize {
    let mut at = 0;
    while let Some(step) = maybe_end(&text.as_bytes()[at..]) {
        at += step;
        let end = text[at..].chars().next().filter(|letter| ends_line(*letter));
        if let Some(end) = end {
            let cut = at + end.len_utf8();
            return if text[at..].starts_with("\r\n") { cut + 1 } else { cut };
        }
        at += 1;
    }
    text.len()
}

/// Where a character may begin that ends a line.
fn maybe_end(bytes: &[u8]) -> Option<usize> {
    // As many as are looked at together without a branch: lines may be very long.
    const BLOCK: usize = 64;
    let may = |byte: &u8| matches!(byte, 0x0a..=0x0d | 0x1c..=0x1e | 0xc2 | 0xe2);
    let blocks =
        bytes.chunks(BLOCK).take_while(|block| !block.iter().fold(false, |any, byte| any | may(byte)));
    let skipped = bytes.len().min(blocks.count() * BLOCK);
    bytes[skipped..].iter().position(may).map(|at| skipped + at)
}

fn ends_line(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::first_line;

    proptest! {
        #[test]
        fn a_text_is_cut_where_python_cuts_it(
            parts in prop::collection::vec("[xé\u{a0}\u{20ac}]{0,70}(\r\n|[\n\r\u{b}\u{1e}\u{85}\u{2028}])?", 0..6),
        ) {
            let text = parts.concat();
            let (mut rest, mut lines) = (text.as_str(), Vec::new());
            while !rest.is_empty() {
                let (line, behind) = rest.split_at(first_line(rest));
                lines.push(line);
                rest = behind;
            }
            // Of a line all but its end is free of ends, and only the last may have none.
            let ends = ["\r\n", "\n", "\r", "\u{b}", "\u{1e}", "\u{85}", "\u{2028}"];
            for (at, line) in lines.iter().enumerate() {
                let end = ends.iter().find(|end| line.ends_with(**end));
                prop_assert!(end.is_some() || at + 1 == lines.len());
                let body = &line[..line.len() - end.map_or(0, |end| end.len())];
                prop_assert!(ends.iter().all(|end| !body.contains(end)), "{line:?}");
            }
            for pair in lines.windows(2) {
                prop_assert!(!(pair[0].ends_with('\r') && pair[1].starts_with('\n')));
            }
            prop_assert_eq!(lines.concat(), text);
        }
    }
}
