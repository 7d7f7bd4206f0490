//! Shrinks PNG and JPEG pictures.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat, ImageReader, Limits, Rgb, RgbImage};

use super::{MAX_BYTES, MAX_SIDE, png_rows};

/// Pixels of a picture at most, to bound the time.
const MAX_PIXELS: u64 = 64 * 1024 * 1024;
/// Pixels decoded at once at most, to bound memory: each takes three or four bytes.
const MAX_AT_ONCE: u64 = 24 * 1024 * 1024;

/// An encoded picture.
pub(super) struct EncodedPicture {
    pub(super) mime: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) size: (u32, u32),
}

/// Reads width and height from the header.
pub(super) fn size(mime: &str, bytes: &[u8]) -> Result<(u32, u32), String> {
    reader(mime, bytes)?.into_dimensions().map_err(|error| cannot(&error))
}

/// Shrinks a picture to the limits.
pub(super) fn make(mime: &str, bytes: &[u8]) -> Result<EncodedPicture, String> {
    let (width, height) = size(mime, bytes)?;
    let (pixels, too_many) =
        (u64::from(width) * u64::from(height), || format!("too large: {width}×{height} pixels"));
    if pixels > MAX_PIXELS {
        return Err(too_many());
    }
    let wanted = within(width, height);
    let by_rows = match mime {
        "image/png" if wanted != (width, height) => png_rows::shrink(bytes, wanted)?,
        _ => None,
    };
    let image = match by_rows {
        Some(image) => image,
        None if pixels > MAX_AT_ONCE => return Err(too_many()),
        None => {
            let mut reader = reader(mime, bytes)?;
            let mut limits = Limits::default();
            limits.max_alloc = Some(8 * MAX_AT_ONCE + MAX_BYTES as u64);
            reader.limits(limits);
            let image = reader.decode().map_err(|error| cannot(&error))?;
            if wanted == (width, height) { image } else { image.thumbnail_exact(wanted.0, wanted.1) }
        }
    };
    let size = (image.width(), image.height());
    let image = match image.color().has_alpha() {
        true => DynamicImage::from(image.into_rgba8()),
        false => DynamicImage::from(image.into_rgb8()),
    };
    if mime == "image/png" {
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).map_err(|error| cannot(&error))?;
        if png.get_ref().len() <= MAX_BYTES {
            return Ok(EncodedPicture { mime: "image/png", bytes: png.into_inner(), size });
        }
    }
    let image = on_white(image);
    for quality in [85, 60, 30] {
        let mut bytes = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
        image.write_with_encoder(encoder).map_err(|error| cannot(&error))?;
        if bytes.len() <= MAX_BYTES {
            return Ok(EncodedPicture { mime: "image/jpeg", bytes, size });
        }
    }
    Err("cannot be shrunk enough".to_owned())
}

/// Scales a size down until the longer side fits.
fn within(width: u32, height: u32) -> (u32, u32) {
    let longest = u64::from(width.max(height));
    if longest <= u64::from(MAX_SIDE) {
        return (width, height);
    }
    let side = |side: u32| {
        let side = (u64::from(side) * u64::from(MAX_SIDE) + longest / 2) / longest;
        u32::try_from(side).unwrap_or(MAX_SIDE).max(1)
    };
    (side(width), side(height))
}

fn reader<'a>(mime: &str, bytes: &'a [u8]) -> Result<ImageReader<Cursor<&'a [u8]>>, String> {
    let format = ImageFormat::from_mime_type(mime).ok_or_else(|| format!("{mime} is not supported"))?;
    Ok(ImageReader::with_format(Cursor::new(bytes), format))
}

/// Removes transparency: puts the picture on white.
fn on_white(image: DynamicImage) -> RgbImage {
    let DynamicImage::ImageRgba8(image) = image else { return image.into_rgb8() };
    let (width, height) = image.dimensions();
    RgbImage::from_fn(width, height, |x, y| {
        let [red, green, blue, alpha] = image.get_pixel(x, y).0.map(u32::from);
        let mixed =
            |colour: u32| u8::try_from((colour * alpha + 255 * (255 - alpha)) / 255).unwrap_or(u8::MAX);
        Rgb([mixed(red), mixed(green), mixed(blue)])
    })
}

fn cannot(error: &image::ImageError) -> String {
    format!("cannot be read: {error}")
}
