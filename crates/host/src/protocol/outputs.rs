//! The outputs of cells for clients: whole, or bounded for pages, with addresses for images and large values.

#![expect(missing_docs, reason = "the names of the fields explain them")]

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellist_notebook::{Cell, CellId};
use cellist_output::{Ansi, MimeBundle, MimeData, Output, clean};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Maximum bytes of a text for a page; half of them are from the end.
const MOST_TEXT: usize = 64 * 1024;
/// Larger values are fetched on display.
const MOST_VALUE: usize = 256 * 1024;

/// How outputs are sent to a client that follows a notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    /// As the notebook holds them.
    Whole,
    /// Bounded, with addresses for images and large values.
    Bounded,
}

/// The outputs of a cell, and its execution count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentCellOutputs {
    pub outputs: SentOutputs,
    pub count: Option<i64>,
}

/// Outputs in the requested form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentOutputs {
    Whole(Vec<Output>),
    Bounded(Vec<PageOutput>),
}

/// One output for a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageOutput {
    Stream { name: String, text: String, folded: Option<FoldedText> },
    Data { data: BTreeMap<String, PageValue>, is_result: bool },
    Error { name: String, message: String, traceback: String, folded: Option<FoldedText> },
}

/// One representation of an output.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageValue {
    Text(String),
    Json(Box<RawValue>),
    /// Fetched on display.
    Stored {
        address: String,
        bytes: usize,
    },
}

/// The number of bytes that are left out in the middle of a text, and the address of the whole text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoldedText {
    pub bytes: usize,
    pub address: String,
}

impl SentCellOutputs {
    /// The outputs of a code cell; `None` without outputs and execution count.
    pub(crate) fn of(form: OutputForm, path: &Path, cell: &Cell) -> Option<SentCellOutputs> {
        let count = cell.execution_count();
        let has_run = cell.has_outputs() || count.is_some();
        has_run.then(|| SentCellOutputs { outputs: SentOutputs::of(form, path, cell), count })
    }

    /// Empty outputs.
    pub(crate) fn none(form: OutputForm) -> SentCellOutputs {
        let outputs = match form {
            OutputForm::Whole => SentOutputs::Whole(Vec::new()),
            OutputForm::Bounded => SentOutputs::Bounded(Vec::new()),
        };
        SentCellOutputs { outputs, count: None }
    }
}

impl SentOutputs {
    fn of(form: OutputForm, path: &Path, cell: &Cell) -> SentOutputs {
        let outputs = cell.outputs();
        match form {
            OutputForm::Whole => SentOutputs::Whole(outputs),
            OutputForm::Bounded => {
                let bounded = |(at, output): (usize, Output)| {
                    bounded(&OutputLocation { path, cell: cell.id(), at }, output)
                };
                SentOutputs::Bounded(outputs.into_iter().enumerate().map(bounded).collect())
            }
        }
    }
}

/// The location of an output: notebook, cell and position.
struct OutputLocation<'a> {
    path: &'a Path,
    cell: &'a CellId,
    at: usize,
}

impl OutputLocation<'_> {
    /// The address of one representation. It includes a checksum, so that browsers fetch a changed image again.
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

fn bounded(place: &OutputLocation<'_>, output: Output) -> PageOutput {
    let fold = |text: String| folded(text, |all| place.address("text/plain", all));
    match output {
        Output::Stream { name, text } => {
            let (text, folded) = fold(settled(text));
            PageOutput::Stream { name: name.to_string(), text, folded }
        }
        Output::Error { name, message, traceback } => {
            let (traceback, folded) = fold(traceback.join("\n"));
            PageOutput::Error { name, message, traceback, folded }
        }
        Output::Display { data, .. } => PageOutput::Data { data: values(place, &data), is_result: false },
        Output::Result { data, .. } => PageOutput::Data { data: values(place, &data), is_result: true },
    }
}

/// Applies carriage returns as a terminal does. The page handles cursor movements.
fn settled(text: String) -> String {
    let has_moves = text.contains("\u{1b}[") && text.contains(['A', 'F']);
    if text.contains(['\r', '\u{8}']) && !has_moves {
        return clean(text.as_bytes(), Ansi::KeepColour);
    }
    text
}

fn values(place: &OutputLocation<'_>, data: &MimeBundle) -> BTreeMap<String, PageValue> {
    let value = |mime: &str, data: &MimeData| match data {
        MimeData::Text(text) if mime.starts_with("image/") || text.len() > MOST_VALUE => {
            PageValue::Stored { address: place.address(mime, text), bytes: text.len() }
        }
        MimeData::Text(text) => PageValue::Text(text.to_string()),
        MimeData::Json(json) if json.get().len() > MOST_VALUE => {
            PageValue::Stored { address: place.address(mime, json.get()), bytes: json.get().len() }
        }
        MimeData::Json(json) => match json.parse() {
            Ok(json) => PageValue::Json(json),
            Err(_) => PageValue::Text(json.get().to_owned()),
        },
    };
    data.iter().map(|(mime, data)| (mime.to_owned(), value(mime, data))).collect()
}

/// Leaves out the middle of a long text.
fn folded(text: String, address: impl FnOnce(&str) -> String) -> (String, Option<FoldedText>) {
    if text.len() <= MOST_TEXT {
        return (text, None);
    }
    let half = MOST_TEXT / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let bytes = tail - head;
    let folded = FoldedText { bytes, address: address(&text) };
    (format!("{}\n…\n{}", &text[..head], &text[tail..]), Some(folded))
}

/// The value of an output at an address: its type, and its bytes.
pub fn stored_value(cell: &Cell, at: usize, mime: &str) -> Option<(String, Vec<u8>)> {
    let output = cell.outputs().into_iter().nth(at)?;
    match output {
        Output::Stream { text, .. } => Some((PLAIN.into(), text.into_bytes())),
        Output::Error { traceback, .. } => {
            Some((PLAIN.into(), clean(traceback.join("\n").as_bytes(), Ansi::Remove).into_bytes()))
        }
        Output::Display { data, .. } | Output::Result { data, .. } => Some(match data.get(mime)? {
            // Only images keep their type. Everything else is plain text, never markup.
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
pub fn encoded(text: &str) -> String {
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
        let (shown, count) = shown(&notebook);
        assert_eq!((shown, count), (expected, Some(3)));
    }

    /// The first output of the cell as JSON, and its count.
    fn shown(notebook: &Notebook) -> (serde_json::Value, Option<i64>) {
        let path = Path::new("/a b.ipynb");
        let shown = SentCellOutputs::of(OutputForm::Bounded, path, &notebook.cells()[0]).unwrap();
        let mut json = serde_json::to_value(&shown).unwrap();
        assert!(serde_json::from_value::<SentCellOutputs>(json.clone()).is_ok());
        (json["outputs"]["bounded"][0].take(), shown.count)
    }

    #[test]
    fn texts_are_given_as_a_terminal_leaves_them() {
        check(
            json!({ "output_type": "stream", "name": "stdout", "text": "10%\r20%\r\u{1b}[31mdone\u{1b}[0m\n" }),
            json!({ "stream": { "name": "stdout", "text": "\u{1b}[0;31mdone\u{1b}[0m\n", "folded": null } }),
        );
    }

    #[test]
    fn small_values_are_there_and_pictures_have_an_address() {
        let data = json!({ "image/png": "aGk=", "text/plain": "x", "application/json": { "a": [1.50] } });
        let notebook = cell(json!([{ "output_type": "display_data", "metadata": {}, "data": data }]));
        let data = &shown(&notebook).0["data"]["data"];
        assert_eq!(data["text/plain"], json!({ "text": "x" }));
        assert_eq!(data["application/json"], json!({ "json": { "a": [1.50] } }));
        let address = data["image/png"]["stored"]["address"].as_str().unwrap();
        assert!(
            address.starts_with("/output?path=/a%20b.ipynb&cell=a&output=0&type=image/png&is="),
            "{address}"
        );
        assert_eq!(
            stored_value(&notebook.cells()[0], 0, "image/png").unwrap(),
            ("image/png".into(), b"hi".to_vec())
        );
        assert!(stored_value(&notebook.cells()[0], 0, "text/html").is_none());
    }

    #[test]
    fn markup_of_others_is_never_served_as_markup() {
        let html = "<script>x</script>".repeat(20_000);
        let notebook =
            cell(json!([{ "output_type": "display_data", "metadata": {}, "data": { "text/html": html } }]));
        let (mime, bytes) = stored_value(&notebook.cells()[0], 0, "text/html").unwrap();
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
