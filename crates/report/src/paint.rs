//! Turns SVG into pixels, with a font of our own: the machine's fonts do not matter.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::ReportError;

/// Roboto (Apache-2.0), reduced to Latin, Greek and the signs that charts use.
const REGULAR: &[u8] = include_bytes!("../assets/fonts/Roboto-Regular.ttf");
/// The cut for headings.
const MEDIUM: &[u8] = include_bytes!("../assets/fonts/Roboto-Medium.ttf");

/// Paints SVG.
pub struct Painter {
    options: Options<'static>,
}

/// Pixels.
pub struct Picture {
    pixels: Pixmap,
}

impl Painter {
    /// With the embedded font and no other.
    pub fn new() -> Self {
        let mut options = Options { font_family: "Roboto".to_owned(), ..Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_font_data(REGULAR.to_vec());
        fonts.load_font_data(MEDIUM.to_vec());
        fonts.set_sans_serif_family("Roboto");
        Painter { options }
    }

    /// Paints at `scale` pixels per unit of the SVG.
    pub fn paint(&self, svg: &str, scale: f32) -> Result<Picture, ReportError> {
        let tree = self.tree(svg)?;
        let size = tree.size().to_int_size().scale_by(scale);
        let mut pixels = size
            .and_then(|size| Pixmap::new(size.width(), size.height()))
            .ok_or_else(|| ReportError::draw("SVG", "its size is zero or too large"))?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        Ok(Picture { pixels })
    }

    /// Paints `frame`, and over it each picture as large as fits into its place (left, top, width
    /// and height in pixels), at its top and in its middle.
    pub fn compose(
        &self,
        frame: &str,
        pictures: &[(String, [f32; 4])],
    ) -> Result<Picture, ReportError> {
        let mut picture = self.paint(frame, 1.0)?;
        for (svg, [left, top, width, height]) in pictures {
            let tree = self.tree(svg)?;
            let scale = (width / tree.size().width()).min(height / tree.size().height());
            let aside = (width - scale * tree.size().width()) / 2.0;
            let place = Transform::from_translate(left + aside, *top).pre_scale(scale, scale);
            resvg::render(&tree, place, &mut picture.pixels.as_mut());
        }
        Ok(picture)
    }

    /// Its height over its width.
    pub fn aspect(&self, svg: &str) -> Result<f32, ReportError> {
        let size = self.tree(svg)?.size();
        Ok(size.height() / size.width())
    }

    fn tree(&self, svg: &str) -> Result<Tree, ReportError> {
        Tree::from_str(svg, &self.options).map_err(|e| ReportError::draw("SVG", e))
    }
}

impl Default for Painter {
    fn default() -> Self {
        Self::new()
    }
}

impl Picture {
    /// As PNG.
    pub fn png(&self) -> Result<Vec<u8>, ReportError> {
        self.pixels.encode_png().map_err(|e| ReportError::draw("PNG", e))
    }

    /// Width and height.
    pub fn size(&self) -> (u32, u32) {
        (self.pixels.width(), self.pixels.height())
    }

    /// Red, green, blue and alpha of each pixel, row by row.
    pub fn rgba(&self) -> &[u8] {
        self.pixels.data()
    }
}
