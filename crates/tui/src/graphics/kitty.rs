//! Kitty's protocol with Unicode placeholders. The file is sent once under an id. Placeholder characters mark its place, so
//! the image moves with the text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellist_output::ImageType;
use png::{BitDepth, ColorType, Encoder};
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use super::{CellArea, ImageSupport, Pixels, TerminalImage, through_tmux};

/// The placeholder of one cell.
const PLACEHOLDER: char = '\u{10eeee}';
/// Maximum base64 bytes in one sequence.
const CHUNK: usize = 4096;

/// The combining characters for row and column numbers, in the order of kitty's table.
const DIACRITICS: [char; 128] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}', '\u{346}',
    '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}', '\u{35b}', '\u{363}',
    '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}', '\u{36a}', '\u{36b}', '\u{36c}',
    '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}', '\u{485}', '\u{486}', '\u{487}', '\u{592}',
    '\u{593}', '\u{594}', '\u{595}', '\u{597}', '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}',
    '\u{59f}', '\u{5a0}', '\u{5a1}', '\u{5a8}', '\u{5a9}', '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}',
    '\u{610}', '\u{611}', '\u{612}', '\u{613}', '\u{614}', '\u{615}', '\u{616}', '\u{617}', '\u{657}',
    '\u{658}', '\u{659}', '\u{65a}', '\u{65b}', '\u{65d}', '\u{65e}', '\u{6d6}', '\u{6d7}', '\u{6d8}',
    '\u{6d9}', '\u{6da}', '\u{6db}', '\u{6dc}', '\u{6df}', '\u{6e0}', '\u{6e1}', '\u{6e2}', '\u{6e4}',
    '\u{6e7}', '\u{6e8}', '\u{6eb}', '\u{6ec}', '\u{730}', '\u{732}', '\u{733}', '\u{735}', '\u{736}',
    '\u{73a}', '\u{73d}', '\u{73f}', '\u{740}', '\u{741}', '\u{743}', '\u{745}', '\u{747}', '\u{749}',
    '\u{74a}', '\u{7eb}', '\u{7ec}', '\u{7ed}', '\u{7ee}', '\u{7ef}', '\u{7f0}', '\u{7f1}', '\u{7f3}',
    '\u{816}', '\u{817}', '\u{818}', '\u{819}', '\u{81b}', '\u{81c}', '\u{81d}', '\u{81e}', '\u{81f}',
    '\u{820}', '\u{821}', '\u{822}', '\u{823}', '\u{825}', '\u{826}', '\u{827}', '\u{829}', '\u{82a}',
    '\u{82b}', '\u{82c}',
];

/// The lines of placeholders. Columns beyond the table have no number; the terminal continues counting.
pub(super) fn placeholders(id: u32, cells: CellArea) -> Option<Vec<Line<'static>>> {
    let [_, r, g, b] = id.to_be_bytes();
    let style = Style::new().fg(Color::Rgb(r, g, b));
    let row = |row: u16| {
        let mark = DIACRITICS.get(usize::from(row))?;
        let letters: String = (0..cells.columns)
            .map(|column| match DIACRITICS.get(usize::from(column)) {
                Some(across) => format!("{PLACEHOLDER}{mark}{across}"),
                None => PLACEHOLDER.to_string(),
            })
            .collect();
        Some(Line::from(Span::styled(letters, style)))
    };
    (0..cells.rows).map(row).collect()
}

/// The sequences that transmit the image and its size in cells. Each is wrapped for tmux separately.
pub(super) fn transmission(
    picture: &TerminalImage,
    cells: CellArea,
    support: &ImageSupport,
) -> Option<String> {
    let file = match picture.kind() {
        ImageType::Png => STANDARD.encode(picture.bytes()),
        // Kitty does not read JPEG. A photo is large as a PNG, so it is scaled to the visible size.
        ImageType::Jpeg => {
            let (width, height) = cells.pixels(support.cell);
            STANDARD.encode(as_png(&picture.pixels()?.within(width, height))?)
        }
    };
    let (id, CellArea { columns, rows }) = (picture.id(), cells);
    let mut sent = String::with_capacity(file.len() + 256);
    let chunks: Vec<&[u8]> = file.as_bytes().chunks(CHUNK).collect();
    for (at, chunk) in chunks.iter().enumerate() {
        let more = u8::from(at + 1 < chunks.len());
        let keys = match at {
            0 => format!("a=T,U=1,f=100,t=d,q=2,i={id},c={columns},r={rows},m={more}"),
            _ => format!("q=2,m={more}"),
        };
        let sequence = format!("\x1b_G{keys};{}\x1b\\", std::str::from_utf8(chunk).ok()?);
        sent.push_str(&if support.in_tmux { through_tmux(&sequence) } else { sequence });
    }
    Some(sent)
}

fn as_png(pixels: &Pixels) -> Option<Vec<u8>> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width, pixels.height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.write_header().ok()?.write_image_data(&pixels.rgba).ok()?;
    Some(file)
}
