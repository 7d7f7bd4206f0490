//! JPEG images with every protocol.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use ratatui_core::text::Line;

use super::*;

/// The largest difference of a colour after JPEG compression.
const TOLERANCE: u8 = 6;

/// Four fields of colour, aligned with the blocks of JPEG, so that they do not blur.
fn fields(width: u32, height: u32) -> Pixels {
    let mut pixels = field(width, height);
    for pixel in pixels.rgba.chunks_exact_mut(4).filter(|pixel| pixel[3] == 0) {
        pixel.fill(255);
    }
    pixels
}

fn jpeg(pixels: &Pixels, exif: Option<Vec<u8>>) -> TerminalImage {
    let rgb: Vec<u8> = pixels.rgba.chunks_exact(4).flat_map(|it| [it[0], it[1], it[2]]).collect();
    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut file, 95);
    if let Some(exif) = exif {
        encoder.set_exif_metadata(exif).unwrap();
    }
    encoder.write_image(&rgb, pixels.width, pixels.height, ExtendedColorType::Rgb8).unwrap();
    TerminalImage::new(ImageType::Jpeg, file).unwrap()
}

#[track_caller]
fn assert_close(seen: &Pixels, wanted: &Pixels) {
    assert_eq!((seen.width, seen.height), (wanted.width, wanted.height));
    let worst = seen.rgba.iter().zip(&wanted.rgba).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
    assert!(worst <= TOLERANCE, "{worst}");
}

fn read_png(file: Vec<u8>) -> Pixels {
    TerminalImage::new(ImageType::Png, file).unwrap().pixels().unwrap().clone()
}

/// The pixels of half-block characters.
fn drawn_blocks(lines: &[Line<'_>]) -> Pixels {
    let part = |colour: Option<Color>| match colour {
        Some(Color::Rgb(r, g, b)) => [r, g, b, 255],
        _ => [0; 4],
    };
    let row = |line: &Line<'_>| {
        assert!(line.spans.iter().all(|span| span.content == "▀"), "{line:?}");
        let upper = line.spans.iter().flat_map(|span| part(span.style.fg));
        upper.chain(line.spans.iter().flat_map(|span| part(span.style.bg))).collect::<Vec<u8>>()
    };
    let rgba = lines.iter().flat_map(row).collect();
    Pixels { width: lines[0].spans.len() as u32, height: lines.len() as u32 * 2, rgba }
}

#[test]
fn every_protocol_shows_a_photo() {
    let pixels = fields(320, 160);
    let photograph = jpeg(&pixels, None);
    assert_eq!(photograph.size(), (320, 160));
    let prepared = |protocol| photograph.prepare(&by(protocol), 80).unwrap();

    let kitty = prepared(ImageProtocol::Kitty);
    let (keys, file) = sent_to_kitty(&kitty.before.unwrap());
    assert!(keys[0].contains(",f=100,") && keys[0].contains(",c=32,r=8,"), "{keys:?}");
    assert_close(&read_png(file), &pixels);
    assert_eq!((kitty.lines.len(), line_width(&kitty.lines[0])), (8, 32));

    let iterm = prepared(ImageProtocol::Iterm);
    let (keys, file) = sent_to_iterm(&iterm.over.unwrap());
    assert!(keys.contains("width=32;height=8"), "{keys}");
    assert_eq!(file, photograph.bytes());
    assert_eq!(iterm.lines.len(), 8);

    let sixel = prepared(ImageProtocol::Sixel);
    assert_close(&drawn_sixels(&sixel.over.unwrap()), &pixels);
    assert_eq!(sixel.lines.len(), 8);

    let half = prepared(ImageProtocol::HalfBlocks);
    assert_eq!((half.lines.len(), line_width(&half.lines[0])), (8, 32));
    assert_close(&drawn_blocks(&half.lines), &fields(32, 16));
}

#[test]
fn a_photo_is_sent_no_larger_than_its_visible_size() {
    let photograph = jpeg(&fields(640, 320), None);
    let kitty = photograph.prepare(&by(ImageProtocol::Kitty), 16).unwrap();
    let (keys, file) = sent_to_kitty(&kitty.before.unwrap());
    assert!(keys[0].contains(",c=16,r=4,"), "{keys:?}");
    assert_close(&read_png(file), &fields(160, 80));
    let sixel = photograph.prepare(&by(ImageProtocol::Sixel), 16).unwrap();
    assert_close(&drawn_sixels(&sixel.over.unwrap()), &fields(160, 80));
    assert_eq!(photograph.prepare(&by(ImageProtocol::HalfBlocks), 16).unwrap().lines.len(), 4);
}

#[test]
fn a_photo_is_rotated_by_its_exif_orientation() {
    // One entry: orientation 6, a quarter turn.
    let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    let photograph = jpeg(&fields(320, 160), Some(exif));
    assert_eq!(photograph.size(), (160, 320));
    let pixels = photograph.pixels().unwrap();
    let corner = |x: u32, y: u32| pixels.at(x, y).map(|it| it / 16);
    // The lower left corner moves to the upper left, and the upper left to the upper right.
    assert_eq!(corner(8, 8), [51, 102, 204, 255].map(|it: u8| it / 16));
    assert_eq!(corner(152, 8), [15, 0, 0, 15]);
}

#[test]
fn a_very_large_image_is_scaled_down() {
    let kept = fields(400, 200).at_most(20_000);
    assert_eq!(kept, fields(200, 100));
    assert_eq!(kept.clone().at_most(20_000), kept);
}

#[test]
fn a_truncated_photo_is_not_shown() {
    for bytes in [&b""[..], b"\xff\xd8", b"\xff\xd8\xff\xe0\x00\x04\x01\x02\xff\xc0\x00\x0b"] {
        assert_eq!(TerminalImage::new(ImageType::Jpeg, bytes.to_vec()), None);
    }
    let mut cut = jpeg(&fields(320, 160), None).bytes().to_vec();
    cut.truncate(cut.len() / 8);
    for protocol in [ImageProtocol::Kitty, ImageProtocol::Sixel, ImageProtocol::HalfBlocks] {
        let shown =
            TerminalImage::new(ImageType::Jpeg, cut.clone()).and_then(|it| it.prepare(&by(protocol), 80));
        assert_eq!(shown, None);
    }
}
