//! Renders SVG images.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree, fontdb};

use super::shrink::{self, EncodedPicture};
use super::{MAX_BYTES, MAX_SIDE};

/// The maximum length of an SVG image.
const LONGEST: usize = 8 * 1024 * 1024;
/// The maximum enlargement, for readable labels.
const LARGER: f32 = 2.0;

/// Renders an SVG image on white.
pub(super) fn draw(text: &str) -> Result<EncodedPicture, String> {
    if text.len() > LONGEST {
        return Err(format!("too large: {} bytes", text.len()));
    }
    let cannot = |error: String| format!("cannot be rendered: {error}");
    let mut options = Options { fontdb: fonts(), ..Options::default() };
    // Images in other files and at other addresses are not loaded.
    options.image_href_resolver = ImageHrefResolver {
        resolve_data: ImageHrefResolver::default_data_resolver(),
        resolve_string: Box::new(|_, _| None),
    };
    let tree = Tree::from_str(text, &options).map_err(|error| cannot(error.to_string()))?;
    let size = tree.size();
    let scale = (MAX_SIDE as f32 / size.width().max(size.height())).min(LARGER);
    let pixels = |length: f32| ((length * scale).round() as u32).clamp(1, MAX_SIDE);
    let size = (pixels(size.width()), pixels(size.height()));
    let mut pixmap = Pixmap::new(size.0, size.1).ok_or_else(|| cannot("no size".to_owned()))?;
    pixmap.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    let bytes = pixmap.encode_png().map_err(|error| cannot(error.to_string()))?;
    match bytes.len() <= MAX_BYTES {
        true => Ok(EncodedPicture { mime: "image/png", bytes, size }),
        false => shrink::make("image/png", &bytes),
    }
}

/// Returns the system fonts, loaded for the first SVG image.
fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}
