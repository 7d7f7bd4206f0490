//! Pictures on a terminal: what there is to show, how many cells it takes, and the ways to show it.

mod decode;
mod half;
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

/// A way to show pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Kitty's, with letters that stand for parts of the picture, so that it scrolls with the text.
    Kitty,
    /// That of iTerm2, which others have too.
    Iterm,
    /// Sixel, as old terminals drew.
    Sixel,
    /// Two pixels a letter, which every terminal with colours can do.
    HalfBlocks,
    /// No pictures: what would be shown is said.
    Words,
}

/// How pictures are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picturing {
    /// The way.
    pub protocol: Protocol,
    /// How many pixels a letter is wide and high.
    pub cell: (u16, u16),
    /// Whether tmux stands between us and the terminal.
    pub in_tmux: bool,
    /// Whether it shows more than 256 colours.
    pub has_all_colours: bool,
}

/// What a letter measures where the terminal does not say.
pub const USUAL_CELL: (u16, u16) = (8, 16);
/// Pictures are not higher than this, so that text around them stays in sight.
const HIGHEST: u16 = 24;
/// Larger pictures are not decoded.
const MOST_PIXELS: u64 = 64 << 20;
/// As many of them are kept as a terminal can show: a notebook may have many photographs.
const KEPT_PIXELS: u64 = 4 << 20;

impl Picturing {
    /// No pictures.
    pub const WORDS: Picturing =
        Picturing { protocol: Protocol::Words, cell: USUAL_CELL, in_tmux: false, has_all_colours: false };
}

/// A picture as it came. Cheap to clone.
#[derive(Clone)]
pub struct Picture(Arc<Inner>);

struct Inner {
    kind: ImageType,
    bytes: Vec<u8>,
    width: u32,
    height: u32,
    id: u32,
    pixels: OnceLock<Option<Pixels>>,
}

/// How many columns and rows something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

impl Cells {
    /// How many pixels they are wide and high.
    fn pixels(self, (across, down): (u16, u16)) -> (u32, u32) {
        (u32::from(self.columns) * u32::from(across), u32::from(self.rows) * u32::from(down))
    }
}

/// A picture made ready for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Lines that stand where the picture is: letters that show it, or room for it.
    pub lines: Vec<Line<'static>>,
    /// Sent once before the lines are.
    pub before: Option<String>,
    /// Sent with the cursor where the picture begins, once its room is there.
    pub over: Option<String>,
}

impl Picture {
    /// The picture of an output, if it is one that can be shown.
    pub fn read(image: &Image<'_>) -> Option<Picture> {
        let digits: Vec<u8> = image.base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let bytes = GeneralPurpose::new(&base64::alphabet::STANDARD, lenient).decode(digits).ok()?;
        Picture::new(image.kind, bytes)
    }

    /// A picture of these bytes.
    pub fn new(kind: ImageType, bytes: Vec<u8>) -> Option<Picture> {
        let (width, height) = size(kind, &bytes)?;
        if width == 0 || height == 0 || u64::from(width) * u64::from(height) > MOST_PIXELS {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        // A colour of 24 bits carries it, and 0 means none.
        let id = ((hasher.finish() & 0xff_ffff) as u32).max(1);
        Some(Picture(Arc::new(Inner { kind, bytes, width, height, id, pixels: OnceLock::new() })))
    }

    /// Its width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.0.width, self.0.height)
    }

    /// Its format.
    pub fn kind(&self) -> ImageType {
        self.0.kind
    }

    /// Its file.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// What names it on a terminal.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// Its pixels, if it can be read; of a very large picture as many as a terminal can show.
    pub fn pixels(&self) -> Option<&Pixels> {
        let read = || Some(decode::pixels(self.0.kind, &self.0.bytes)?.at_most(KEPT_PIXELS));
        self.0.pixels.get_or_init(read).as_ref()
    }

    /// How many cells it takes in its own size, or in as much of it as there is room for.
    pub fn cells(&self, cell: (u16, u16), most_columns: u16) -> Cells {
        let (across, down) = (f64::from(cell.0.max(1)), f64::from(cell.1.max(1)));
        let (wide, high) = (f64::from(self.0.width), f64::from(self.0.height));
        let most_wide = f64::from(most_columns.max(1)) * across;
        let most_high = f64::from(HIGHEST) * down;
        let scale = (most_wide / wide).min(most_high / high).min(1.0);
        let count = |pixels: f64, each: f64| ((pixels * scale / each).ceil() as u16).max(1);
        Cells { columns: count(wide, across).min(most_columns.max(1)), rows: count(high, down).min(HIGHEST) }
    }

    /// The picture for a terminal, or nothing where only words can be shown.
    pub fn prepare(&self, picturing: &Picturing, most_columns: u16) -> Option<Prepared> {
        let cells = self.cells(picturing.cell, most_columns);
        let room = || vec![Line::default(); usize::from(cells.rows)];
        let passed = |payload: String| if picturing.in_tmux { through_tmux(&payload) } else { payload };
        match picturing.protocol {
            Protocol::Words => None,
            Protocol::HalfBlocks => {
                let lines = half::lines(self.pixels()?, cells, picturing.has_all_colours);
                Some(Prepared { lines, before: None, over: None })
            }
            Protocol::Kitty => {
                let lines = kitty::placeholders(self.id(), cells)?;
                let before = Some(kitty::transmission(self, cells, picturing)?);
                Some(Prepared { lines, before, over: None })
            }
            Protocol::Iterm => {
                let over = Some(passed(iterm::payload(self, cells)));
                Some(Prepared { lines: room(), before: None, over })
            }
            Protocol::Sixel => {
                let (width, height) = cells.pixels(picturing.cell);
                let over = Some(passed(sixel::payload(&self.pixels()?.within(width, height))));
                Some(Prepared { lines: room(), before: None, over })
            }
        }
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({} {}x{})", self.0.kind.mime(), self.0.width, self.0.height)
    }
}

impl PartialEq for Picture {
    fn eq(&self, other: &Picture) -> bool {
        self.0.id == other.0.id && self.0.bytes == other.0.bytes
    }
}

/// Lets tmux hand something on to the terminal that it is shown on.
fn through_tmux(payload: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", payload.replace('\x1b', "\x1b\x1b"))
}

#[cfg(test)]
mod tests;
