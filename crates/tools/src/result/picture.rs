//! Converts pictures for a model: small ones stay as they are, large ones shrink, SVG becomes PNG.
//! Decoding takes time and memory: callers use a blocking thread and one picture at a time.

use cellist_session::execution::Picture;

#[cfg(feature = "images")]
mod png_rows;
#[cfg(feature = "images")]
mod shrink;
#[cfg(feature = "images")]
mod svg;

/// The longest side that models use; they shrink larger pictures themselves.
#[cfg(feature = "images")]
pub(crate) const MAX_SIDE: u32 = 1568;
/// Bytes of one picture.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// A picture for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FittedPicture {
    pub(crate) mime: &'static str,
    /// The bytes, in base64.
    pub(crate) data: String,
    /// The conversion, if any.
    pub(crate) changed: Option<String>,
}

/// Converts a picture, or returns why it cannot be shown. Decodes only if needed.
pub(crate) fn fit(picture: &Picture) -> Result<FittedPicture, String> {
    match picture.mime.as_str() {
        "image/png" => raster("image/png", &picture.data),
        "image/jpeg" => raster("image/jpeg", &picture.data),
        "image/webp" => as_it_is("image/webp", &picture.data),
        "image/gif" => as_it_is("image/gif", &picture.data),
        "image/svg+xml" => drawing(&picture.data),
        other => Err(format!("{other} is not supported")),
    }
}

/// Returns the bytes of a picture as a file has them.
pub(crate) fn original(picture: &Picture) -> Vec<u8> {
    match picture.mime.as_str() {
        "image/svg+xml" => picture.data.clone().into_bytes(),
        _ => decoded(&one_line(&picture.data)).unwrap_or_else(|_| picture.data.clone().into_bytes()),
    }
}

fn as_it_is(mime: &'static str, data: &str) -> Result<FittedPicture, String> {
    let data = one_line(data);
    let bytes = data.len() / 4 * 3;
    match bytes <= MAX_BYTES {
        true => Ok(FittedPicture { mime, data, changed: None }),
        false => Err(format!("too large: {bytes} bytes")),
    }
}

#[cfg(not(feature = "images"))]
fn raster(mime: &'static str, data: &str) -> Result<FittedPicture, String> {
    as_it_is(mime, data)
}

#[cfg(not(feature = "images"))]
fn drawing(_: &str) -> Result<FittedPicture, String> {
    Err("SVG is not supported".to_owned())
}

#[cfg(feature = "images")]
fn raster(mime: &'static str, data: &str) -> Result<FittedPicture, String> {
    let data = one_line(data);
    let bytes = decoded(&data)?;
    let (width, height) = shrink::size(mime, &bytes)?;
    if width.max(height) <= MAX_SIDE && bytes.len() <= MAX_BYTES {
        return Ok(FittedPicture { mime, data, changed: None });
    }
    drop(data);
    let shrink::EncodedPicture { mime, bytes, size } = shrink::make(mime, &bytes)?;
    let changed = match (width, height) == size {
        true => format!("{width}×{height}, recompressed"),
        false => format!("{width}×{height}, shown at {}×{}", size.0, size.1),
    };
    Ok(FittedPicture { mime, data: encoded(&bytes), changed: Some(changed) })
}

#[cfg(feature = "images")]
fn drawing(text: &str) -> Result<FittedPicture, String> {
    let shrink::EncodedPicture { mime, bytes, size } = svg::draw(text)?;
    Ok(FittedPicture {
        mime,
        data: encoded(&bytes),
        changed: Some(format!("SVG rendered at {}×{}", size.0, size.1)),
    })
}

#[cfg(feature = "images")]
fn encoded(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn decoded(data: &str) -> Result<Vec<u8>, String> {
    use base64::Engine as _;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    LENIENT.decode(data).map_err(|error| format!("not base64: {error}"))
}

/// Removes the line ends that Python puts into base64.
fn one_line(data: &str) -> String {
    data.split_ascii_whitespace().collect()
}

#[cfg(test)]
#[cfg(feature = "images")]
mod tests {
    use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};

    use super::*;

    fn picture(image: &DynamicImage, format: ImageFormat, mime: &str) -> Picture {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        Picture { mime: mime.to_owned(), data: encoded(bytes.get_ref()) }
    }

    fn size(fitted: &FittedPicture) -> (u32, u32) {
        shrink::size(fitted.mime, &decoded(&fitted.data).unwrap()).unwrap()
    }

    /// Noise, which does not compress.
    fn noise(width: u32, height: u32) -> RgbImage {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        RgbImage::from_fn(width, height, |_, _| image::Rgb([next(), next(), next()]))
    }

    #[test]
    fn a_small_picture_stays_byte_for_byte() {
        let small = picture(&RgbaImage::new(30, 20).into(), ImageFormat::Png, "image/png");
        let fitted = fit(&small).unwrap();
        assert_eq!((fitted.mime, &fitted.data, &fitted.changed), ("image/png", &small.data, &None));
        let (start, end) = small.data.split_at(10);
        let lines = Picture { data: format!("{start}\n{end}\n"), ..small.clone() };
        assert_eq!(fit(&lines).unwrap(), fitted);
        assert_eq!(original(&lines), original(&small));
    }

    #[test]
    fn a_picture_of_fifty_megapixels_shrinks() {
        let large = picture(&RgbImage::new(10_000, 5000).into(), ImageFormat::Png, "image/png");
        let fitted = fit(&large).unwrap();
        assert_eq!((size(&fitted), fitted.mime), ((1568, 784), "image/png"));
        assert_eq!(fitted.changed.as_deref(), Some("10000×5000, shown at 1568×784"));
        // A JPEG is decoded whole, so a large one is refused.
        let jpeg = picture(&RgbImage::new(6000, 5000).into(), ImageFormat::Jpeg, "image/jpeg");
        assert_eq!(fit(&jpeg).unwrap_err(), "too large: 6000×5000 pixels");
        let jpeg = picture(&RgbImage::new(2000, 3000).into(), ImageFormat::Jpeg, "image/jpeg");
        assert_eq!(size(&fit(&jpeg).unwrap()), (1045, 1568));
    }

    #[test]
    fn a_picture_of_too_many_bytes_is_compressed_further() {
        let large = picture(&noise(1200, 900).into(), ImageFormat::Png, "image/png");
        let fitted = fit(&large).unwrap();
        assert!(decoded(&fitted.data).unwrap().len() <= MAX_BYTES);
        assert_eq!(fitted.mime, "image/jpeg");
        assert!(fitted.changed.unwrap().starts_with("1200×900, "));
    }

    #[test]
    fn too_many_pixels_are_refused_by_the_header() {
        // A header that claims more pixels than the data has.
        let mut bytes =
            decoded(&picture(&RgbImage::new(9, 9).into(), ImageFormat::Png, "image/png").data).unwrap();
        bytes[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
        bytes[20..24].copy_from_slice(&100_000_u32.to_be_bytes());
        let sum = crc(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        let huge = Picture { mime: "image/png".to_owned(), data: encoded(&bytes) };
        assert_eq!(fit(&huge).unwrap_err(), "too large: 100000×100000 pixels");
    }

    fn crc(bytes: &[u8]) -> u32 {
        let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        !bytes.iter().fold(!0, |crc: u32, byte| (0..8).fold(crc ^ u32::from(*byte), step))
    }

    #[test]
    fn broken_pictures_are_refused() {
        for (mime, data) in [
            ("image/png", "AAAA"),
            ("image/png", "not base64!"),
            ("image/jpeg", ""),
            ("image/svg+xml", "<svg"),
            ("image/tiff", "AAAA"),
        ] {
            let broken = Picture { mime: mime.to_owned(), data: data.to_owned() };
            assert!(!fit(&broken).unwrap_err().is_empty(), "{mime} {data}");
        }
        let webp = Picture { mime: "image/webp".to_owned(), data: "AAAA".to_owned() };
        assert_eq!(fit(&webp).unwrap().data, "AAAA");
    }

    #[test]
    fn svg_is_rendered_without_reading_files() {
        let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">
            <image href="/etc/passwd" width="10" height="10"/>
            <rect x="100" width="300" height="200" fill="red"/><text x="20" y="20">words</text></svg>"#;
        let fitted = fit(&Picture { mime: "image/svg+xml".to_owned(), data: svg.to_owned() }).unwrap();
        assert_eq!((size(&fitted), fitted.changed.as_deref()), ((800, 400), Some("SVG rendered at 800×400")));
        let drawn = image::load_from_memory(&decoded(&fitted.data).unwrap()).unwrap().to_rgb8();
        assert_eq!((drawn.get_pixel(0, 300).0, drawn.get_pixel(700, 300).0), ([255, 255, 255], [255, 0, 0]));
        let long = svg.replace("400", "40000");
        assert_eq!(size(&fit(&Picture { mime: "image/svg+xml".to_owned(), data: long }).unwrap()), (1568, 8));
    }
}
