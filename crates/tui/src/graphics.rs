//! Images on a terminal: their size in cells, and the protocols to show them.

mod decode;
mod half_blocks;
mod iterm;
mod kitty;
mod pixels;
mod sixel;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use cellist_output::{Image, ImageType};
use ratatui_core::text::Line;

use decode::size;
pub use pixels::Pixels;

/// A protocol to show images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageProtocol {
    /// Kitty's graphics protocol, with placeholder characters, so that the image scrolls with the text.
    Kitty,
    /// iTerm2's protocol, also in WezTerm, Konsole and mintty.
    Iterm,
    /// Sixel graphics.
    Sixel,
    /// Block characters with two pixels each. They need only colours.
    HalfBlocks,
    /// No images; a text describes each.
    Words,
}

/// A terminal's support for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSupport {
    /// The protocol.
    pub protocol: ImageProtocol,
    /// The width and height of a cell in pixels.
    pub cell: (u16, u16),
    /// Whether the terminal is behind tmux.
    pub in_tmux: bool,
    /// Whether it has more than 256 colours.
    pub has_true_colour: bool,
}

/// The cell size of a terminal that does not report one.
pub const DEFAULT_CELL: (u16, u16) = (8, 16);
/// Maximum rows of an image, so that the text around it stays visible.
const HIGHEST: u16 = 24;
/// Maximum pixels of an image that is decoded.
const MOST_PIXELS: u64 = 64 << 20;
/// Maximum pixels that are kept in memory, about as many as a terminal shows.
const KEPT_PIXELS: u64 = 4 << 20;

impl ImageSupport {
    /// No images.
    pub const WORDS: ImageSupport = ImageSupport {
        protocol: ImageProtocol::Words,
        cell: DEFAULT_CELL,
        in_tmux: false,
        has_true_colour: false,
    };
}

/// An image file. Cheap to clone. It is decoded on first use.
#[derive(Clone)]
pub struct TerminalImage(Arc<ImageContent>);

struct ImageContent {
    kind: ImageType,
    bytes: Vec<u8>,
    width: u32,
    height: u32,
    id: u32,
    pixels: OnceLock<Option<Pixels>>,
}

/// A size in columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellArea {
    /// The number of columns.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
}

impl CellArea {
    /// The size in pixels.
    fn pixels(self, (across, down): (u16, u16)) -> (u32, u32) {
        (u32::from(self.columns) * u32::from(across), u32::from(self.rows) * u32::from(down))
    }
}

/// An image for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedImage {
    /// The lines at the image's place: characters that show it, or empty lines.
    pub lines: Vec<Line<'static>>,
    /// A sequence to send once, before the lines.
    pub before: Option<String>,
    /// A sequence to send after the lines, with the cursor at the image's first cell.
    pub over: Option<String>,
}

impl TerminalImage {
    /// Reads the image of an output. Returns nothing if its format is not supported.
    pub fn from_output(image: &Image<'_>) -> Option<TerminalImage> {
        let digits: Vec<u8> = image.base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let bytes = GeneralPurpose::new(&base64::alphabet::STANDARD, lenient).decode(digits).ok()?;
        TerminalImage::new(image.kind, bytes)
    }

    /// Reads an image file.
    pub fn new(kind: ImageType, bytes: Vec<u8>) -> Option<TerminalImage> {
        let (width, height) = size(kind, &bytes)?;
        if width == 0 || height == 0 || u64::from(width) * u64::from(height) > MOST_PIXELS {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        // Kitty reads the id from a 24-bit colour; 0 means no image.
        let id = ((hasher.finish() & 0xff_ffff) as u32).max(1);
        Some(TerminalImage(Arc::new(ImageContent {
            kind,
            bytes,
            width,
            height,
            id,
            pixels: OnceLock::new(),
        })))
    }

    /// The width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.0.width, self.0.height)
    }

    /// The file format.
    pub fn kind(&self) -> ImageType {
        self.0.kind
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The id for the terminal, a hash of the file.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// The decoded pixels, or nothing if the file is damaged. A very large image is scaled down.
    pub fn pixels(&self) -> Option<&Pixels> {
        let read = || Some(decode::pixels(self.0.kind, &self.0.bytes)?.at_most(KEPT_PIXELS));
        self.0.pixels.get_or_init(read).as_ref()
    }

    /// The size in cells: the original size, or smaller to fit.
    pub fn cells(&self, cell: (u16, u16), most_columns: u16) -> CellArea {
        let (across, down) = (f64::from(cell.0.max(1)), f64::from(cell.1.max(1)));
        let (wide, high) = (f64::from(self.0.width), f64::from(self.0.height));
        let most_wide = f64::from(most_columns.max(1)) * across;
        let most_high = f64::from(HIGHEST) * down;
        let scale = (most_wide / wide).min(most_high / high).min(1.0);
        let count = |pixels: f64, each: f64| ((pixels * scale / each).ceil() as u16).max(1);
        CellArea {
            columns: count(wide, across).min(most_columns.max(1)),
            rows: count(high, down).min(HIGHEST),
        }
    }

    /// Prepares the image for a terminal. Returns nothing if only a text can be shown.
    pub fn prepare(&self, support: &ImageSupport, most_columns: u16) -> Option<PreparedImage> {
        let cells = self.cells(support.cell, most_columns);
        let room = || vec![Line::default(); usize::from(cells.rows)];
        let passed = |payload: String| if support.in_tmux { through_tmux(&payload) } else { payload };
        match support.protocol {
            ImageProtocol::Words => None,
            ImageProtocol::HalfBlocks => {
                let lines = half_blocks::lines(self.pixels()?, cells, support.has_true_colour);
                Some(PreparedImage { lines, before: None, over: None })
            }
            ImageProtocol::Kitty => {
                let lines = kitty::placeholders(self.id(), cells)?;
                let before = Some(kitty::transmission(self, cells, support)?);
                Some(PreparedImage { lines, before, over: None })
            }
            ImageProtocol::Iterm => {
                let over = Some(passed(iterm::payload(self, cells)));
                Some(PreparedImage { lines: room(), before: None, over })
            }
            ImageProtocol::Sixel => {
                let (width, height) = cells.pixels(support.cell);
                let over = Some(passed(sixel::payload(&self.pixels()?.within(width, height))));
                Some(PreparedImage { lines: room(), before: None, over })
            }
        }
    }
}

impl fmt::Debug for TerminalImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TerminalImage({} {}x{})", self.0.kind.mime(), self.0.width, self.0.height)
    }
}

impl PartialEq for TerminalImage {
    fn eq(&self, other: &TerminalImage) -> bool {
        self.0.id == other.0.id && self.0.bytes == other.0.bytes
    }
}

/// Wraps a sequence so that tmux passes it on to the terminal.
fn through_tmux(payload: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", payload.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests;
