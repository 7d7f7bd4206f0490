//! The sequences for a terminal are decoded again and compared with the image.

mod jpeg;
mod sixels;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Encoder};
use ratatui_core::style::Color;

use super::*;
use crate::text::line_width;
use sixels::drawn_sixels;

/// Four fields of colour, the last one transparent.
fn field(width: u32, height: u32) -> Pixels {
    let colour = |x: u32, y: u32| match (x * 2 / width, y * 2 / height) {
        (0, 0) => [255, 0, 0, 255],
        (1, 0) => [0, 255, 0, 255],
        (0, 1) => [51, 102, 204, 255],
        _ => [0, 0, 0, 0],
    };
    let rgba = (0..height).flat_map(|y| (0..width).flat_map(move |x| colour(x, y))).collect();
    Pixels { width, height, rgba }
}

fn file(pixels: &Pixels) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width, pixels.height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.write_header().unwrap().write_image_data(&pixels.rgba).unwrap();
    file
}

fn image(width: u32, height: u32) -> TerminalImage {
    TerminalImage::new(ImageType::Png, file(&field(width, height))).unwrap()
}

fn by(protocol: ImageProtocol) -> ImageSupport {
    ImageSupport { protocol, cell: (10, 20), in_tmux: false, has_true_colour: true }
}

#[test]
fn an_image_takes_the_cells_of_its_pixels_and_at_most_the_available_ones() {
    for ((width, height), most, columns, rows) in [
        ((100, 100), 80, 10, 5),
        ((101, 101), 80, 11, 6),
        ((1000, 500), 50, 50, 13),
        ((100, 10_000), 80, 1, 24),
        ((1, 1), 80, 1, 1),
    ] {
        assert_eq!(
            image(width, height).cells((10, 20), most),
            CellArea { columns, rows },
            "{width}x{height}"
        );
    }
}

/// The keys of each sequence for kitty, and the transmitted file.
fn sent_to_kitty(sent: &str) -> (Vec<String>, Vec<u8>) {
    let (mut keys, mut data) = (Vec::new(), String::new());
    for sequence in sent.split("\x1b\\").filter(|it| !it.is_empty()) {
        let (key, chunk) = sequence.strip_prefix("\x1b_G").unwrap().split_once(';').unwrap();
        assert!(chunk.len() <= 4096);
        keys.push(key.to_owned());
        data.push_str(chunk);
    }
    (keys, STANDARD.decode(data).unwrap())
}

#[test]
fn kitty_gets_the_file_in_chunks_and_numbered_placeholders() {
    let shown = image(300, 100);
    let prepared = shown.prepare(&by(ImageProtocol::Kitty), 80).unwrap();
    let (keys, file) = sent_to_kitty(&prepared.before.unwrap());
    assert_eq!(file, shown.bytes());
    let id = shown.id();
    assert!(keys[0].starts_with(&format!("a=T,U=1,f=100,t=d,q=2,i={id},c=30,r=5,m=")), "{keys:?}");
    assert!(keys.last().unwrap().ends_with("m=0"));
    assert_eq!(prepared.lines.len(), 5);
    for (row, line) in prepared.lines.iter().enumerate() {
        assert_eq!(line_width(line), 30);
        let [_, r, g, b] = id.to_be_bytes();
        assert_eq!(line.spans[0].style.fg, Some(Color::Rgb(r, g, b)));
        assert_eq!(
            line.spans[0].content.chars().nth(1),
            Some(['\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}'][row])
        );
    }
}

#[test]
fn each_sequence_of_a_large_file_is_wrapped_for_tmux() {
    // Noise does not compress.
    let mut state = 1u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    let noise: Vec<u8> = (0..100 * 100 * 4).map(|_| next()).collect();
    let shown =
        TerminalImage::new(ImageType::Png, file(&Pixels { width: 100, height: 100, rgba: noise })).unwrap();
    let support = ImageSupport { in_tmux: true, ..by(ImageProtocol::Kitty) };
    let sent = shown.prepare(&support, 80).unwrap().before.unwrap();
    assert!(sent.matches("\x1bPtmux;\x1b\x1b_G").count() > 1);
    let plain = shown.prepare(&by(ImageProtocol::Kitty), 80).unwrap().before.unwrap();
    let unwrapped =
        sent.replace("\x1bPtmux;", "").replace("\x1b\x1b\\\x1b\\", "\x1b\\").replace("\x1b\x1b_", "\x1b_");
    assert_eq!(unwrapped, plain);
}

/// The keys for iTerm2, and the transmitted file.
fn sent_to_iterm(sent: &str) -> (String, Vec<u8>) {
    let sent = sent.strip_prefix("\x1b]1337;File=").unwrap().strip_suffix('\x07').unwrap();
    let (keys, data) = sent.split_once(':').unwrap();
    (keys.to_owned(), STANDARD.decode(data).unwrap())
}

#[test]
fn iterm_gets_the_file_and_its_size_in_cells() {
    let shown = image(300, 100);
    let prepared = shown.prepare(&by(ImageProtocol::Iterm), 20).unwrap();
    let (keys, file) = sent_to_iterm(&prepared.over.unwrap());
    assert_eq!(file, shown.bytes());
    assert!(keys.contains("inline=1") && keys.contains("width=20;height=4"), "{keys}");
    assert_eq!(prepared.lines.len(), 4);
}

#[test]
fn sixels_decode_to_the_pixels_of_the_image() {
    let pixels = field(40, 26);
    let sent = image(40, 26).prepare(&by(ImageProtocol::Sixel), 80).unwrap().over.unwrap();
    assert_eq!(drawn_sixels(&sent), pixels);
    // 26 pixels need two cells of 20.
    assert_eq!(image(40, 26).prepare(&by(ImageProtocol::Sixel), 80).unwrap().lines.len(), 2);
    // Without room the image is scaled down.
    let small = drawn_sixels(&image(400, 200).prepare(&by(ImageProtocol::Sixel), 10).unwrap().over.unwrap());
    assert_eq!((small.width, small.height), (100, 50));
    assert_eq!(small, field(100, 50));
}

#[test]
fn too_many_colours_for_sixels_are_approximated() {
    let rgba: Vec<u8> =
        (0..64u32 * 64).flat_map(|at| [(at % 64 * 4) as u8, (at / 64 * 4) as u8, 128, 255]).collect();
    let pixels = Pixels { width: 64, height: 64, rgba };
    let shown = TerminalImage::new(ImageType::Png, file(&pixels)).unwrap();
    let seen = drawn_sixels(&shown.prepare(&by(ImageProtocol::Sixel), 80).unwrap().over.unwrap());
    let apart = |a: u8, b: u8| u32::from(a.abs_diff(b));
    let worst = seen.rgba.iter().zip(&pixels.rgba).map(|(a, b)| apart(*a, *b)).max().unwrap();
    assert!(worst <= 24, "{worst}");
}

#[test]
fn half_blocks_show_two_pixels_each() {
    let lines = image(40, 40).prepare(&by(ImageProtocol::HalfBlocks), 80).unwrap().lines;
    assert_eq!(lines.len(), 2);
    assert_eq!(line_width(&lines[0]), 4);
    let (red, green, blue) = (Color::Rgb(255, 0, 0), Color::Rgb(0, 255, 0), Color::Rgb(51, 102, 204));
    let seen = |row: usize, column: usize| {
        let span = &lines[row].spans[column];
        (span.content.to_string(), span.style.fg, span.style.bg)
    };
    assert_eq!(seen(0, 0), ("▀".into(), Some(red), Some(red)));
    assert_eq!(seen(0, 3), ("▀".into(), Some(green), Some(green)));
    assert_eq!(seen(1, 1), ("▀".into(), Some(blue), Some(blue)));
    assert_eq!(seen(1, 2), (" ".into(), None, None));
    let few = ImageSupport { has_true_colour: false, ..by(ImageProtocol::HalfBlocks) };
    let few = image(40, 40).prepare(&few, 80).unwrap().lines;
    assert_eq!(few[0].spans[0].style.fg, Some(Color::Indexed(16 + 5 * 36)));
    assert_eq!(few[1].spans[0].style.fg, Some(Color::Indexed(16 + 36 + 6 + 4)));
}

#[test]
fn invalid_files_are_not_shown() {
    for bytes in
        [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\x01"]
    {
        assert_eq!(TerminalImage::new(ImageType::Png, bytes.to_vec()), None);
    }
    // A truncated file has a size but no pixels.
    let mut cut = file(&field(300, 300));
    cut.truncate(60);
    let shown = TerminalImage::new(ImageType::Png, cut).unwrap();
    assert_eq!(shown.prepare(&by(ImageProtocol::HalfBlocks), 80), None);
}
