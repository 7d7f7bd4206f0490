//! An output as a reader gets it: one text, and beside it the data that text cannot carry.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::embedded::without_data;
use crate::html;
use crate::mime::{MimeBundle, MimeData, RawJson};
use crate::notices;
use crate::output::Output;
use crate::preference::{PICTURES, TEXT};
use crate::status::StatusEvent;
use crate::tree::{TreeLimits, json_tree};

/// The parts of an output beside its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Beside<'a> {
    /// JSON to be shown as a tree.
    Json(&'a RawJson),
    /// An image.
    Image(Image<'a>),
    /// Something a helper in the kernel did.
    Status(StatusEvent),
}

/// An image as it came: base64 text, not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Its format.
    pub kind: ImageType,
    /// Its bytes in base64; may contain line ends.
    pub base64: &'a str,
}

/// The image formats that travel as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImageType {
    /// `image/png`
    #[serde(rename = "image/png")]
    Png,
    /// `image/jpeg`
    #[serde(rename = "image/jpeg")]
    Jpeg,
}

impl ImageType {
    const ALL: [ImageType; 2] = [ImageType::Png, ImageType::Jpeg];

    /// The MIME type.
    pub fn mime(self) -> &'static str {
        match self {
            ImageType::Png => "image/png",
            ImageType::Jpeg => "image/jpeg",
        }
    }
}

impl Image<'_> {
    /// How many bytes the base64 text stands for.
    pub fn decoded_len(&self) -> usize {
        let digits = self.base64.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').count();
        digits * 3 / 4
    }
}

impl Output {
    /// The text for a reader, not yet cleaned or cut; empty where there is nothing to read.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Output::Stream { text, .. } => Cow::Borrowed(text),
            Output::Display { data, .. } | Output::Result { data, .. } => data.readable(),
            Output::Error { name, message, traceback } if traceback.is_empty() => {
                Cow::Owned(notices::raised(name, message))
            }
            Output::Error { traceback, .. } => Cow::Owned(traceback.join("\n")),
        }
    }

    /// The data beside the text.
    pub fn beside(&self) -> Vec<Beside<'_>> {
        self.data().map(MimeBundle::beside).unwrap_or_default()
    }
}

impl MimeBundle {
    /// The text for a reader: the best representation that can be read, else a line about the others. Status events
    /// have none.
    pub fn readable(&self) -> Cow<'_, str> {
        if let Some(text) = TEXT.into_iter().find_map(|mime| self.readable_as(mime)) {
            return text;
        }
        if let Some(plain) = self.get_text("text/plain") {
            return Cow::Borrowed(plain);
        }
        if let Some((mime, data)) = self.picture() {
            return Cow::Owned(notices::image(mime, data.len()));
        }
        match self.iter().map(|(mime, _)| mime).find(|mime| !StatusEvent::is_status(mime)) {
            Some("text/html") | None => Cow::Borrowed(""),
            Some(mime) => Cow::Owned(notices::no_text(mime)),
        }
    }

    /// One representation as text, where it says something.
    fn readable_as(&self, mime: &str) -> Option<Cow<'_, str>> {
        match (mime, self.get(mime)?) {
            ("text/markdown", MimeData::Text(markdown)) => Some(without_data(Cow::Borrowed(markdown))),
            ("text/plain", MimeData::Text(plain)) if is_stand_in(plain) => None,
            ("text/html", MimeData::Text(html)) => {
                let markdown = html::to_markdown(html);
                (!markdown.is_empty()).then(|| without_data(Cow::Owned(markdown)))
            }
            ("application/json", MimeData::Json(json)) => {
                Some(Cow::Owned(json_tree(json.get(), TreeLimits::default())))
            }
            ("application/json", MimeData::Text(_)) | (_, MimeData::Json(_)) => None,
            (mime, MimeData::Text(text)) => Some(match self.image_of(mime) {
                Some(image) => Cow::Owned(notices::image(mime, image.decoded_len())),
                None => Cow::Borrowed(text),
            }),
        }
    }

    /// The data beside the text, in the order JSON, images, status.
    pub fn beside(&self) -> Vec<Beside<'_>> {
        let json = match self.get("application/json") {
            Some(MimeData::Json(json)) => Some(Beside::Json(json)),
            Some(MimeData::Text(_)) | None => None,
        };
        let images = PICTURES.into_iter().filter_map(|mime| self.image_of(mime)).map(Beside::Image);
        json.into_iter().chain(images).chain(StatusEvent::find(self).map(Beside::Status)).collect()
    }

    /// The picture that a reader of pictures gets, and its type: base64, or the text of a drawing.
    pub fn picture(&self) -> Option<(&str, &str)> {
        PICTURES.into_iter().find_map(|mime| Some((mime, self.get_text(mime)?)))
    }

    /// Takes all pictures out, and says how many bytes they had.
    pub fn take_pictures(&mut self) -> usize {
        let bytes = self.picture_bytes();
        self.retain(|mime| !PICTURES.contains(&mime));
        bytes
    }

    /// How many bytes the pictures have, as they are written here.
    pub fn picture_bytes(&self) -> usize {
        PICTURES.into_iter().filter_map(|mime| self.get_text(mime)).map(str::len).sum()
    }

    /// The image of a type, where it is one that travels as data.
    pub fn image_of(&self, mime: &str) -> Option<Image<'_>> {
        let kind = ImageType::ALL.into_iter().find(|kind| kind.mime() == mime)?;
        self.get_text(mime).map(|base64| Image { kind, base64 })
    }
}

/// Whether a plain text only names a display object of IPython, as `<IPython.core.display.HTML object>` does.
fn is_stand_in(plain: &str) -> bool {
    plain.starts_with("<IPython.core.display.") && plain.ends_with(" object>") && !plain.contains('\n')
}
