//! What an output is on a screen: text, prose, a tree, a table, a picture, an error.

use cellist_host::Report;
use cellist_output::preference::TERMINAL;
use cellist_output::{
    Ansi, Beside, MimeBundle, Output, StatusEvent, StreamName, clean, html_to_markdown, notices,
};

use crate::picture::Picture;

/// A part of what a cell showed.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// What a program wrote, cleaned, with its colours.
    Text(String),
    /// What it wrote to standard error.
    Aside(String),
    /// Prose and tables.
    Markdown(String),
    /// JSON text, to be shown as a tree.
    Json(String),
    /// A picture, with what is said where it cannot be shown.
    Picture(Picture, String),
    /// What is said of a picture that no terminal shows.
    Unshown(String),
    /// What was raised.
    Error {
        /// The exception's type.
        name: String,
        /// Its message.
        message: String,
        /// The traceback, cleaned, with its colours.
        traceback: String,
    },
    /// What helpers did, in order.
    Status(Vec<StatusEvent>),
    /// What the reader should know.
    Warning(String),
}

/// What outputs are on a screen, in their order; status events are gathered at the end.
pub fn pieces<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Vec<Piece> {
    let (mut pieces, mut events) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            Output::Stream { name, text } => {
                let text = clean(text.as_bytes(), Ansi::KeepColour);
                pieces.push(match name {
                    StreamName::Stdout => Piece::Text(text),
                    StreamName::Stderr => Piece::Aside(text),
                });
            }
            Output::Display { data, .. } | Output::Result { data, .. } => {
                shown(data, &mut pieces, &mut events)
            }
            Output::Error { name, message, traceback } => {
                let traceback = clean(traceback.join("\n").as_bytes(), Ansi::KeepColour);
                let one = |text: &str| clean(text.as_bytes(), Ansi::Remove);
                pieces.push(Piece::Error { name: one(name), message: one(message), traceback });
            }
        }
    }
    if !events.is_empty() {
        pieces.push(Piece::Status(events));
    }
    pieces
}

/// What is seen of a piece of code that ran: its outputs, and what its reader should know.
pub fn report_pieces(report: &Report) -> Vec<Piece> {
    let cut = report.truncated.as_ref().map(|cut| notices::truncated(cut, report.artifact.as_deref()));
    let mut pieces = pieces(&report.outputs);
    pieces.extend(cut.into_iter().chain(report.notices.iter().cloned()).map(Piece::Warning));
    pieces
}

fn shown(data: &MimeBundle, pieces: &mut Vec<Piece>, events: &mut Vec<StatusEvent>) {
    let mut has_more = false;
    for beside in data.beside() {
        match beside {
            Beside::Json(json) => {
                pieces.push(Piece::Json(json.get().to_owned()));
                has_more = true;
            }
            Beside::Image(_) => {}
            Beside::Status(event) => {
                events.push(event);
                has_more = true;
            }
        }
    }
    if let Some(piece) = TERMINAL.into_iter().find_map(|mime| drawn(data, mime)) {
        return pieces.push(piece);
    }
    let plain = data.get_text("text/plain");
    if let Some((mime, picture)) = data.picture() {
        let said = plain.filter(|plain| !plain.starts_with("<IPython."));
        pieces.extend(said.map(|plain| Piece::Text(clean(plain.as_bytes(), Ansi::KeepColour))));
        let bytes = if mime == "image/svg+xml" { picture.len() } else { picture.len() / 4 * 3 };
        pieces.push(Piece::Unshown(notices::unshown_image(mime, bytes)));
    } else if !has_more || plain.is_some_and(|plain| !plain.starts_with('<')) {
        let is_html =
            plain.is_none_or(|plain| plain.starts_with("<IPython.")) && data.get_text("text/html").is_some();
        let text = clean(data.readable().as_bytes(), Ansi::KeepColour);
        match text.is_empty() {
            true => {}
            false if is_html => pieces.push(Piece::Markdown(text)),
            false => pieces.push(Piece::Text(text)),
        }
    }
}

/// A representation as the terminal draws it, where it can.
fn drawn(data: &MimeBundle, mime: &str) -> Option<Piece> {
    let text = data.get_text(mime)?;
    match mime {
        "text/markdown" => Some(Piece::Markdown(text.to_owned())),
        "text/html" => text.contains("<table").then(|| Piece::Markdown(html_to_markdown(text))),
        _ => {
            let image = data.image_of(mime)?;
            Some(Piece::Picture(Picture::read(&image)?, notices::image(mime, image.decoded_len())))
        }
    }
}
