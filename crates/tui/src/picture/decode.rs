//! Files of pictures: how large they are, and their pixels.

use std::io::Cursor;

use cellist_output::ImageType;
use png::{ColorType, Decoder, Limits, Transformations};

use super::pixels::Pixels;

/// No more memory than this for one picture.
const MOST_BYTES: usize = 256 << 20;

/// Its width and height, read from its beginning.
pub(super) fn size(kind: ImageType, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        ImageType::Png => {
            let head = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
            let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
            (head.get(4..8)? == b"IHDR").then_some(())?;
            Some((number(8)?, number(12)?))
        }
        ImageType::Jpeg => jpeg_size(bytes),
    }
}

/// The frame header of a JPEG has its size.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let (&[0xff, marker], behind) = rest.split_first_chunk::<2>()? else { return None };
        // Fill bytes, and markers that nothing follows.
        if marker == 0xff {
            rest = &rest[1..];
            continue;
        }
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            rest = behind;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(*behind.first_chunk()?));
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let &[_, high, low, across, cross] = behind.get(2..7)?.first_chunk::<5>()?;
            return Some((
                u16::from_be_bytes([across, cross]).into(),
                u16::from_be_bytes([high, low]).into(),
            ));
        }
        rest = behind.get(length..)?;
    }
}

/// Its pixels. Of JPEG only those terminals show pictures that read it themselves.
pub(super) fn pixels(kind: ImageType, bytes: &[u8]) -> Option<Pixels> {
    match kind {
        ImageType::Png => png_pixels(bytes),
        ImageType::Jpeg => None,
    }
}

fn png_pixels(bytes: &[u8]) -> Option<Pixels> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: MOST_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let size = reader.output_buffer_size().filter(|size| *size <= MOST_BYTES)?;
    let mut buffer = vec![0; size];
    let frame = reader.next_frame(&mut buffer).ok()?;
    let raw = &buffer[..frame.buffer_size()];
    let rgba = match frame.color_type {
        ColorType::Rgba => raw.to_vec(),
        ColorType::Rgb => raw.chunks_exact(3).flat_map(|it| [it[0], it[1], it[2], 255]).collect(),
        ColorType::Grayscale => raw.iter().flat_map(|it| [*it, *it, *it, 255]).collect(),
        ColorType::GrayscaleAlpha => {
            raw.chunks_exact(2).flat_map(|it| [it[0], it[0], it[0], it[1]]).collect()
        }
        ColorType::Indexed => return None,
    };
    Some(Pixels { width: frame.width, height: frame.height, rgba })
}
