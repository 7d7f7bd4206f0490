//! What a page is given of a cell's outputs: bounded texts, and addresses for pictures and for what is large.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellist_notebook::{Cell, CellId};
use cellist_output::{Ansi, MimeBundle, MimeData, Output, clean};
use serde::Serialize;
use serde_json::value::RawValue;

/// How much of a text a page gets at once; half of it is from the end.
const MOST_TEXT: usize = 64 * 1024;
/// Larger values are fetched when they are shown.
const MOST_VALUE: usize = 256 * 1024;

/// What a cell showed.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pub(super) outputs: Vec<Piece>,
    pub(super) count: Option<i64>,
}

/// One output.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Piece {
    Stream { name: String, text: String, folded: Option<Folded> },
    Data { data: BTreeMap<String, Value>, is_result: bool },
    Error { name: String, message: String, traceback: String, folded: Option<Folded> },
}

/// One representation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Text { text: String },
    Json { json: Box<RawValue> },
    Address { address: String, bytes: usize },
}

/// How much of a text was left out, and where all of it is.
#[derive(Debug, Serialize)]
pub(super) struct Folded {
    pub(super) bytes: usize,
    pub(super) address: String,
}

/// What a code cell showed; nothing for one that showed nothing and was never counted.
pub(super) fn shown(path: &Path, cell: &Cell) -> Option<Shown> {
    let count = cell.execution_count();
    if !cell.has_outputs() && count.is_none() {
        return None;
    }
    let piece = |(at, output): (usize, Output)| piece(&Place { path, cell: cell.id(), at }, output);
    Some(Shown { outputs: cell.outputs().into_iter().enumerate().map(piece).collect(), count })
}

/// Which output of which cell.
struct Place<'a> {
    path: &'a Path,
    cell: &'a CellId,
    at: usize,
}

impl Place<'_> {
    /// Where one representation of it is. A sum is in it, so that another picture has another address and is fetched.
    fn address(&self, mime: &str, text: &str) -> String {
        let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let encode = |text: &str| encoded(text);
        format!(
            "/output?path={}&cell={}&output={}&type={}&is={sum:x}",
            encode(&self.path.to_string_lossy()),
            encode(&self.cell.to_string()),
            self.at,
            encode(mime)
        )
    }
}

fn piece(place: &Place<'_>, output: Output) -> Piece {
    let fold = |text: String| folded(text, |all| place.address("text/plain", all));
    match output {
        Output::Stream { name, text } => {
            let (text, folded) = fold(settled(text));
            Piece::Stream { name: name.to_string(), text, folded }
        }
        Output::Error { name, message, traceback } => {
            let (traceback, folded) = fold(traceback.join("\n"));
            Piece::Error { name, message, traceback, folded }
        }
        Output::Display { data, .. } => Piece::Data { data: values(place, &data), is_result: false },
        Output::Result { data, .. } => Piece::Data { data: values(place, &data), is_result: true },
    }
}

/// Text with carriage returns as a terminal leaves it. What goes up in the text is left to the page.
fn settled(text: String) -> String {
    let has_moves = text.contains("\u{1b}[") && text.contains(['A', 'F']);
    if text.contains(['\r', '\u{8}']) && !has_moves {
        return clean(text.as_bytes(), Ansi::KeepColour);
    }
    text
}

fn values(place: &Place<'_>, data: &MimeBundle) -> BTreeMap<String, Value> {
    let value = |mime: &str, data: &MimeData| match data {
        MimeData::Text(text) if mime.starts_with("image/") || text.len() > MOST_VALUE => {
            Value::Address { address: place.address(mime, text), bytes: text.len() }
        }
        MimeData::Text(text) => Value::Text { text: text.to_string() },
        MimeData::Json(json) if json.get().len() > MOST_VALUE => {
            Value::Address { address: place.address(mime, json.get()), bytes: json.get().len() }
        }
        MimeData::Json(json) => match json.parse() {
            Ok(json) => Value::Json { json },
            Err(_) => Value::Text { text: json.get().to_owned() },
        },
    };
    data.iter().map(|(mime, data)| (mime.to_owned(), value(mime, data))).collect()
}

/// Leaves out the middle of what is too long.
fn folded(text: String, address: impl FnOnce(&str) -> String) -> (String, Option<Folded>) {
    if text.len() <= MOST_TEXT {
        return (text, None);
    }
    let half = MOST_TEXT / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let bytes = tail - head;
    let folded = Folded { bytes, address: address(&text) };
    (format!("{}\n…\n{}", &text[..head], &text[tail..]), Some(folded))
}

/// What stands behind an address: its type, and its bytes.
pub(super) fn value(cell: &Cell, at: usize, mime: &str) -> Option<(String, Vec<u8>)> {
    let output = cell.outputs().into_iter().nth(at)?;
    match output {
        Output::Stream { text, .. } => Some((PLAIN.into(), text.into_bytes())),
        Output::Error { traceback, .. } => {
            Some((PLAIN.into(), clean(traceback.join("\n").as_bytes(), Ansi::Remove).into_bytes()))
        }
        Output::Display { data, .. } | Output::Result { data, .. } => Some(match data.get(mime)? {
            // Only pictures are what they say they are; all else is text, and never markup.
            MimeData::Text(text) if mime == "image/svg+xml" => (mime.into(), text.as_bytes().to_vec()),
            MimeData::Text(text) if mime.starts_with("image/") => (mime.into(), base64(text)?),
            MimeData::Text(text) => (PLAIN.into(), text.as_bytes().to_vec()),
            MimeData::Json(json) => (PLAIN.into(), json.get().as_bytes().to_vec()),
        }),
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

/// The bytes that a text of base64 stands for. Notebooks break its lines.
fn base64(text: &str) -> Option<Vec<u8>> {
    let letters: String = text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    STANDARD.decode(letters).ok()
}

/// A text as it may stand in an address.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use cellist_notebook::{Ids, Notebook};
    use serde_json::json;

    use super::*;

    fn cell(outputs: serde_json::Value) -> Notebook {
        let cell = json!({ "id": "a", "cell_type": "code", "metadata": {}, "source": "x", "execution_count": 3, "outputs": outputs });
        let notebook = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        Notebook::parse(notebook.to_string().into_bytes(), Ids::seeded(1)).unwrap()
    }

    fn check(output: serde_json::Value, expected: serde_json::Value) {
        let notebook = cell(json!([output]));
        let shown = shown(Path::new("/a b.ipynb"), &notebook.cells()[0]).unwrap();
        assert_eq!(serde_json::to_value(&shown.outputs[0]).unwrap(), expected);
        assert_eq!(shown.count, Some(3));
    }

    #[test]
    fn texts_are_given_as_a_terminal_leaves_them() {
        check(
            json!({ "output_type": "stream", "name": "stdout", "text": "10%\r20%\r\u{1b}[31mdone\u{1b}[0m\n" }),
            json!({ "kind": "stream", "name": "stdout", "text": "\u{1b}[0;31mdone\u{1b}[0m\n", "folded": null }),
        );
    }

    #[test]
    fn small_values_are_there_and_pictures_have_an_address() {
        let data = json!({ "image/png": "aGk=", "text/plain": "x", "application/json": { "a": [1.50] } });
        let notebook = cell(json!([{ "output_type": "display_data", "metadata": {}, "data": data }]));
        let shown = shown(Path::new("/a b.ipynb"), &notebook.cells()[0]).unwrap();
        let shown = serde_json::to_value(&shown.outputs[0]).unwrap();
        assert_eq!(shown["data"]["text/plain"], json!({ "text": "x" }));
        assert_eq!(shown["data"]["application/json"], json!({ "json": { "a": [1.50] } }));
        let address = shown["data"]["image/png"]["address"].as_str().unwrap();
        assert!(
            address.starts_with("/output?path=/a%20b.ipynb&cell=a&output=0&type=image/png&is="),
            "{address}"
        );
        assert_eq!(
            value(&notebook.cells()[0], 0, "image/png").unwrap(),
            ("image/png".into(), b"hi".to_vec())
        );
        assert!(value(&notebook.cells()[0], 0, "text/html").is_none());
    }

    #[test]
    fn markup_of_others_is_never_served_as_markup() {
        let html = "<script>x</script>".repeat(20_000);
        let notebook =
            cell(json!([{ "output_type": "display_data", "metadata": {}, "data": { "text/html": html } }]));
        let (mime, bytes) = value(&notebook.cells()[0], 0, "text/html").unwrap();
        assert_eq!((mime.as_str(), bytes.len()), (PLAIN, html.len()));
    }

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        let text = "é".repeat(MOST_TEXT);
        let (short, fold) = folded(text.clone(), |_| "there".into());
        assert!(short.len() <= MOST_TEXT + 10);
        assert_eq!(fold.unwrap().bytes, text.len() - (short.len() - "\n…\n".len()));
    }
}
