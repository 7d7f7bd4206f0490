//! Outputs as a terminal shows them: text, Markdown, a tree, an image, an error.

use cellist_host::Report;
use cellist_output::preference::TERMINAL;
use cellist_output::{
    Ansi, Beside, MimeBundle, Output, StatusEvent, StreamName, clean, html_to_markdown, notices,
};

use crate::graphics::TerminalImage;

/// A part of a cell's output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputPiece {
    /// Standard output or plain text. Control sequences other than colours are removed.
    Text(String),
    /// Standard error.
    Stderr(String),
    /// Markdown, also for HTML tables.
    Markdown(String),
    /// JSON text, shown as a tree.
    Json(String),
    /// An image, with a text for terminals without images.
    Image(TerminalImage, String),
    /// A text in place of an image that no terminal can show.
    ImageNotice(String),
    /// An exception.
    Error {
        /// The exception's type.
        name: String,
        /// The message.
        message: String,
        /// The traceback, with colours.
        traceback: String,
    },
    /// Status events of helper functions, in order.
    Status(Vec<StatusEvent>),
    /// A notice for the reader.
    Warning(String),
}

/// Converts outputs, in order. Status events are collected at the end.
pub fn output_pieces<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Vec<OutputPiece> {
    let (mut pieces, mut events) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            Output::Stream { name, text } => {
                let text = clean(text.as_bytes(), Ansi::KeepColour);
                pieces.push(match name {
                    StreamName::Stdout => OutputPiece::Text(text),
                    StreamName::Stderr => OutputPiece::Stderr(text),
                });
            }
            Output::Display { data, .. } | Output::Result { data, .. } => {
                push_display(data, &mut pieces, &mut events)
            }
            Output::Error { name, message, traceback } => {
                let traceback = clean(traceback.join("\n").as_bytes(), Ansi::KeepColour);
                let one = |text: &str| clean(text.as_bytes(), Ansi::Remove);
                pieces.push(OutputPiece::Error { name: one(name), message: one(message), traceback });
            }
        }
    }
    if !events.is_empty() {
        pieces.push(OutputPiece::Status(events));
    }
    pieces
}

/// Converts the report of a run: its outputs, then its notices.
pub fn report_pieces(report: &Report) -> Vec<OutputPiece> {
    let cut = report.truncated.as_ref().map(|cut| notices::truncated(cut, report.artifact.as_deref()));
    let mut pieces = output_pieces(&report.outputs);
    pieces.extend(cut.into_iter().chain(report.notices.iter().cloned()).map(OutputPiece::Warning));
    pieces
}

fn push_display(data: &MimeBundle, pieces: &mut Vec<OutputPiece>, events: &mut Vec<StatusEvent>) {
    let mut has_more = false;
    for beside in data.beside() {
        match beside {
            Beside::Json(json) => {
                pieces.push(OutputPiece::Json(json.get().to_owned()));
                has_more = true;
            }
            Beside::Image(_) => {}
            Beside::Status(event) => {
                events.push(event);
                has_more = true;
            }
        }
    }
    if let Some(piece) = TERMINAL.into_iter().find_map(|mime| piece_of(data, mime)) {
        return pieces.push(piece);
    }
    let plain = data.get_text("text/plain");
    if let Some((mime, picture)) = data.picture() {
        let text = plain.filter(|plain| !plain.starts_with("<IPython."));
        pieces.extend(text.map(|plain| OutputPiece::Text(clean(plain.as_bytes(), Ansi::KeepColour))));
        let bytes = if mime == "image/svg+xml" { picture.len() } else { picture.len() / 4 * 3 };
        pieces.push(OutputPiece::ImageNotice(notices::unshown_image(mime, bytes)));
    } else if !has_more || plain.is_some_and(|plain| !plain.starts_with('<')) {
        let is_html =
            plain.is_none_or(|plain| plain.starts_with("<IPython.")) && data.get_text("text/html").is_some();
        let text = clean(data.readable().as_bytes(), Ansi::KeepColour);
        match text.is_empty() {
            true => {}
            false if is_html => pieces.push(OutputPiece::Markdown(text)),
            false => pieces.push(OutputPiece::Text(text)),
        }
    }
}

/// The piece for one MIME type, if a terminal can show it.
fn piece_of(data: &MimeBundle, mime: &str) -> Option<OutputPiece> {
    let text = data.get_text(mime)?;
    match mime {
        "text/markdown" => Some(OutputPiece::Markdown(text.to_owned())),
        "text/html" => text.contains("<table").then(|| OutputPiece::Markdown(html_to_markdown(text))),
        _ => {
            let image = data.image_of(mime)?;
            Some(OutputPiece::Image(
                TerminalImage::from_output(&image)?,
                notices::image(mime, image.decoded_len()),
            ))
        }
    }
}
