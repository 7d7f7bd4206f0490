//! Shrinks a PNG while reading it: one source row and the result are in memory at a time.

use std::io::Cursor;

use image::{DynamicImage, GrayAlphaImage, GrayImage, RgbImage, RgbaImage};
use png::{ColorType, Decoder, Transformations};

/// Shrinks a picture in both directions. Returns `None` if it cannot be read row by row.
pub(super) fn shrink(bytes: &[u8], (width, height): (u32, u32)) -> Result<Option<DynamicImage>, String> {
    let cannot = |error: png::DecodingError| format!("cannot be read: {error}");
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(cannot)?;
    let info = reader.info();
    let (full_width, full_height) = (info.width, info.height);
    if info.interlaced || width > full_width || height > full_height || width == 0 || height == 0 {
        return Ok(None);
    }
    let kind = reader.output_color_type().0;
    let (wide, channels) = (width as usize, kind.samples());
    // The target column of each pixel, and the pixels that a column gets per row.
    let columns: Vec<usize> =
        (0..full_width).map(|x| (u64::from(x) * u64::from(width) / u64::from(full_width)) as usize).collect();
    let mut counts = vec![0_u64; wide];
    columns.iter().for_each(|column| counts[*column] += 1);
    let mut sums = vec![0_u64; wide * channels];
    let mut points = Vec::with_capacity(wide * height as usize * channels);
    let (mut y, mut rows) = (0_u64, 0_u64);
    while let Some(row) = reader.next_row().map_err(cannot)? {
        for (point, column) in row.data().chunks_exact(channels).zip(&columns) {
            let sums = &mut sums[column * channels..][..channels];
            sums.iter_mut().zip(point).for_each(|(sum, value)| *sum += u64::from(*value));
        }
        (y, rows) = (y + 1, rows + 1);
        let line = |y: u64| y * u64::from(height) / u64::from(full_height);
        if line(y) != line(y - 1) {
            for (sums, count) in sums.chunks_exact_mut(channels).zip(&counts) {
                points.extend(sums.iter().map(|sum| u8::try_from(sum / (count * rows)).unwrap_or(u8::MAX)));
                sums.fill(0);
            }
            rows = 0;
        }
    }
    let made = match kind {
        ColorType::Grayscale => GrayImage::from_raw(width, height, points).map(DynamicImage::from),
        ColorType::GrayscaleAlpha => GrayAlphaImage::from_raw(width, height, points).map(DynamicImage::from),
        ColorType::Rgb => RgbImage::from_raw(width, height, points).map(DynamicImage::from),
        ColorType::Rgba => RgbaImage::from_raw(width, height, points).map(DynamicImage::from),
        ColorType::Indexed => None,
    };
    Ok(made)
}

#[cfg(test)]
mod tests {
    use image::{ImageFormat, Rgb, Rgba};

    use super::*;

    fn encoded(image: &DynamicImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn each_pixel_is_the_mean_of_its_area() {
        let left = |x: u32| x < 50;
        let picture = RgbImage::from_fn(100, 60, |x, y| match (left(x), y % 2) {
            (true, _) => Rgb([200, 0, 40]),
            (false, 0) => Rgb([0, 100, 0]),
            (false, _) => Rgb([0, 200, 0]),
        });
        let made = shrink(&encoded(&picture.into()), (10, 6)).unwrap().unwrap().into_rgb8();
        assert_eq!((made.dimensions(), made.get_pixel(0, 0).0), ((10, 6), [200, 0, 40]));
        assert_eq!((made.get_pixel(4, 5).0, made.get_pixel(5, 3).0), ([200, 0, 40], [0, 150, 0]));
    }

    #[test]
    fn every_format_and_size_keeps_its_colour() {
        for (width, height) in [(1, 1), (7, 3), (100, 1), (33, 60)] {
            for picture in [
                DynamicImage::from(RgbaImage::from_pixel(100, 60, Rgba([10, 20, 30, 40]))),
                DynamicImage::from(RgbImage::from_pixel(100, 60, Rgb([10, 20, 30]))),
                DynamicImage::from(GrayImage::from_pixel(100, 60, image::Luma([77]))),
                DynamicImage::from(GrayAlphaImage::from_pixel(100, 60, image::LumaA([77, 5]))),
            ] {
                let made = shrink(&encoded(&picture), (width, height)).unwrap().unwrap();
                assert_eq!((made.color(), made.width(), made.height()), (picture.color(), width, height));
                let (made, whole) = (made.into_rgba8(), picture.into_rgba8());
                assert!(made.pixels().all(|point| point == whole.get_pixel(0, 0)));
            }
        }
    }

    #[test]
    fn truncated_data_is_refused() {
        let whole = encoded(&RgbImage::new(100, 60).into());
        assert!(shrink(&whole[..whole.len() / 2], (10, 6)).unwrap_err().starts_with("cannot be read"));
        assert!(shrink(b"no picture", (10, 6)).is_err());
    }
}
