//! Decoding of PNG and JPEG files.

use std::io::Cursor;

use cellist_output::ImageType;
use image::codecs::jpeg::JpegDecoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder};
use png::{ColorType, Decoder, Limits, Transformations};

use super::pixels::Pixels;

/// Maximum memory for one image.
const MOST_BYTES: usize = 256 << 20;

/// The width and height, from the header of the file.
pub(super) fn size(kind: ImageType, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        ImageType::Png => {
            let head = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
            let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
            (head.get(4..8)? == b"IHDR").then_some(())?;
            Some((number(8)?, number(12)?))
        }
        ImageType::Jpeg => {
            let (decoder, orientation) = jpeg(bytes)?;
            let (width, height) = decoder.dimensions();
            use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
            match orientation {
                Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH => Some((height, width)),
                _ => Some((width, height)),
            }
        }
    }
}

/// Decodes the pixels.
pub(super) fn pixels(kind: ImageType, bytes: &[u8]) -> Option<Pixels> {
    match kind {
        ImageType::Png => png_pixels(bytes),
        ImageType::Jpeg => jpeg_pixels(bytes),
    }
}

/// A decoder of a JPEG file, and the orientation from its EXIF data.
fn jpeg(bytes: &[u8]) -> Option<(JpegDecoder<Cursor<&[u8]>>, Orientation)> {
    let mut decoder = JpegDecoder::new(Cursor::new(bytes)).ok()?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Some((decoder, orientation))
}

fn jpeg_pixels(bytes: &[u8]) -> Option<Pixels> {
    let (decoder, orientation) = jpeg(bytes)?;
    if decoder.total_bytes() > MOST_BYTES as u64 {
        return None;
    }
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    image.apply_orientation(orientation);
    let rgba = image.into_rgba8();
    Some(Pixels { width: rgba.width(), height: rgba.height(), rgba: rgba.into_raw() })
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
