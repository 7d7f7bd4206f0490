//! Pictures as kitty takes them: the file is sent once under a number, and letters of a private plane stand where its
//! parts are seen. What moves the letters moves the picture.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cellist_output::ImageType;
use png::{BitDepth, ColorType, Encoder};
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use super::{Cells, Picture, Picturing, Pixels, through_tmux};

/// The letter that stands for a part of a picture.
const PLACEHOLDER: char = '\u{10eeee}';
/// How much of a file one sequence may carry.
const CHUNK: usize = 4096;

/// Marks that number rows and columns, in the order of kitty's table.
const MARKS: [char; 128] = [
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

/// The letters of a picture. Only the first of a row says which row it is; the terminal counts on from there.
pub(super) fn placeholders(id: u32, cells: Cells) -> Option<Vec<Line<'static>>> {
    let [_, r, g, b] = id.to_be_bytes();
    let style = Style::new().fg(Color::Rgb(r, g, b));
    let row = |row: u16| {
        let mark = MARKS.get(usize::from(row))?;
        let letters: String = (0..cells.columns)
            .map(|column| match MARKS.get(usize::from(column)) {
                Some(across) => format!("{PLACEHOLDER}{mark}{across}"),
                None => PLACEHOLDER.to_string(),
            })
            .collect();
        Some(Line::from(Span::styled(letters, style)))
    };
    (0..cells.rows).map(row).collect()
}

/// What sends the picture and says how many cells it fills. Each sequence goes through tmux by itself.
pub(super) fn transmission(picture: &Picture, cells: Cells, picturing: &Picturing) -> Option<String> {
    let file = match picture.kind() {
        ImageType::Png => STANDARD.encode(picture.bytes()),
        // It reads no JPEG. As a PNG a photograph is large, so it gets no more of it than is seen.
        ImageType::Jpeg => {
            let (width, height) = cells.pixels(picturing.cell);
            STANDARD.encode(as_png(&picture.pixels()?.within(width, height))?)
        }
    };
    let (id, Cells { columns, rows }) = (picture.id(), cells);
    let mut sent = String::with_capacity(file.len() + 256);
    let chunks: Vec<&[u8]> = file.as_bytes().chunks(CHUNK).collect();
    for (at, chunk) in chunks.iter().enumerate() {
        let more = u8::from(at + 1 < chunks.len());
        let keys = match at {
            0 => format!("a=T,U=1,f=100,t=d,q=2,i={id},c={columns},r={rows},m={more}"),
            _ => format!("q=2,m={more}"),
        };
        let sequence = format!("\x1b_G{keys};{}\x1b\\", std::str::from_utf8(chunk).ok()?);
        sent.push_str(&if picturing.in_tmux { through_tmux(&sequence) } else { sequence });
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
