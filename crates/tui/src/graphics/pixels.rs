//! Decoded pixels, and scaling.

/// Pixels in rows, from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// Red, green, blue and alpha of each pixel.
    pub rgba: Vec<u8>,
}

impl Pixels {
    /// The pixel at a column and a row. Pixels outside are transparent.
    pub fn at(&self, x: u32, y: u32) -> [u8; 4] {
        let from = (y as usize * self.width as usize + x as usize) * 4;
        match self.rgba.get(from..from + 4) {
            Some(&[r, g, b, a]) => [r, g, b, a],
            _ => [0; 4],
        }
    }

    /// Scales down to at most this number of pixels, with the same proportions.
    pub fn at_most(self, pixels: u64) -> Pixels {
        let has = u64::from(self.width) * u64::from(self.height);
        if has <= pixels {
            return self;
        }
        let share = (pixels as f64 / has as f64).sqrt();
        let count = |side: u32| ((f64::from(side) * share) as u32).max(1);
        self.scaled(count(self.width), count(self.height))
    }

    /// Scales down to fit into a size, with the same proportions.
    pub fn within(&self, width: u32, height: u32) -> Pixels {
        let scale =
            (f64::from(width) / f64::from(self.width)).min(f64::from(height) / f64::from(self.height));
        if scale >= 1.0 {
            return self.clone();
        }
        let count = |pixels: u32| ((f64::from(pixels) * scale).round() as u32).max(1);
        self.scaled(count(self.width), count(self.height))
    }

    /// Scales to a size. Each pixel is the mean of the pixels it replaces.
    pub fn scaled(&self, width: u32, height: u32) -> Pixels {
        let (width, height) = (width.max(1), height.max(1));
        let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
        let span = |at: u32, count: u32, all: u32| {
            let from = u64::from(at) * u64::from(all) / u64::from(count);
            let to = (u64::from(at) + 1) * u64::from(all) / u64::from(count);
            (from as u32, (to as u32).max(from as u32 + 1).min(all))
        };
        for y in 0..height {
            let (top, bottom) = span(y, height, self.height);
            for x in 0..width {
                let (left, right) = span(x, width, self.width);
                rgba.extend(self.mean(left..right, top..bottom));
            }
        }
        Pixels { width, height, rgba }
    }

    fn mean(&self, columns: std::ops::Range<u32>, rows: std::ops::Range<u32>) -> [u8; 4] {
        let (mut sum, mut opaque, mut count) = ([0u64; 3], 0u64, 0u64);
        for y in rows {
            for x in columns.clone() {
                let [r, g, b, a] = self.at(x, y);
                let weight = u64::from(a);
                sum.iter_mut().zip([r, g, b]).for_each(|(sum, value)| *sum += u64::from(value) * weight);
                opaque += weight;
                count += 1;
            }
        }
        if opaque == 0 || count == 0 {
            return [0; 4];
        }
        let [r, g, b] = sum.map(|sum| ((sum + opaque / 2) / opaque) as u8);
        [r, g, b, (opaque / count) as u8]
    }
}
