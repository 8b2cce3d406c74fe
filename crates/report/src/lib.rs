//! The report of one result folder, or of several side by side: a self-contained HTML page, and
//! its figures as SVG and PNG.
//!
//! There is one definition of each chart, in TypeScript (`web/src`). The page carries it as a
//! script; [`Studio`] runs the same script in an embedded JavaScript engine to draw SVG, and an
//! embedded font turns that into PNG. The same results give the same bytes on any machine.
//!
//! In the order of a report's making: `read` (folders), `gather` (results to data), `thin` (few
//! points say what many do) and `sketch` (the fewest), `data` (the contract with the script),
//! `studio` and `paint` (figures), `page` (HTML). [`lights`] has a page and a picture of its own,
//! made the same way; [`sheet`] shows a picture of each of many reports.

mod data;
mod error;
mod gather;
pub mod lights;
mod page;
mod paint;
mod read;
pub mod sheet;
mod sketch;
mod studio;
mod thin;
mod write;

use std::path::{Path, PathBuf};

pub use data::{
    Cdf, Curves, Data, DelaySeries, DetectorSeries, Downloads, Folder, RateSeries, Run, Sketch,
    Traffic,
};
pub use error::ReportError;
pub use gather::{Source, gather};
pub use page::page;
pub use paint::{Painter, Picture};
pub use read::read;
pub use studio::{Mode, Studio};

/// What a report consists of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// SVG and PNG files, light and dark.
    pub figures: Vec<PathBuf>,
}

/// The width of figures in pixels.
const WIDTH: u32 = 1200;
/// Pixels of a PNG file for each of the SVG: sharp on dense screens.
const SCALE: f32 = 2.0;
/// The width of a small one: words are as large as ever, and there is less room for them.
const SMALL: u32 = 640;
/// The height of the `headline`; other figures choose their own.
const HEADLINE_HEIGHT: u32 = 600;

/// What figures are written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pictures {
    /// SVG and PNG.
    Both,
    /// SVG alone, which takes a fourth of the time; and the first of these that there is also as
    /// `NAME-small`, for a contact sheet, unless that is higher than wide.
    Sheet(&'static [&'static str]),
}

/// Writes `report.html` and `figures/` of these result folders into the folder `out`.
pub fn write_report(
    dirs: &[&Path],
    out: &Path,
    pictures: Pictures,
) -> Result<Written, ReportError> {
    write_data(&read(dirs)?, out, pictures)
}

/// Writes `report.html` and `figures/` of this data into the folder `out`. Each file appears whole
/// or not at all, the page last.
pub fn write_data(data: &Data, out: &Path, pictures: Pictures) -> Result<Written, ReportError> {
    let html = page(data)?;
    let figures = write_figures(data, &out.join("figures"), pictures)?;
    let page = out.join("report.html");
    write::file(&page, html.as_bytes())?;
    Ok(Written { page, figures })
}

/// Writes every figure of this data into the folder `out`: `NAME.svg`, `NAME-dark.svg`, and where
/// asked for the same as PNG. Light ones are drawn on this thread and dark ones on another.
pub fn write_figures(
    data: &Data,
    out: &Path,
    pictures: Pictures,
) -> Result<Vec<PathBuf>, ReportError> {
    write::folder(out)?;
    let draw = |mode| write_mode(data, out, pictures, mode);
    std::thread::scope(|threads| {
        let dark = std::thread::Builder::new()
            .stack_size(studio::THREAD_STACK)
            .spawn_scoped(threads, || draw(Mode::Dark))
            .map_err(|e| ReportError::draw("anything", e))?;
        let light = draw(Mode::Light);
        let dark = dark.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok([light?, dark?].concat())
    })
}

/// Those of one mode, with an engine of their own.
fn write_mode(
    data: &Data,
    out: &Path,
    pictures: Pictures,
    mode: Mode,
) -> Result<Vec<PathBuf>, ReportError> {
    let studio = Studio::open(data)?;
    let painter = Painter::new();
    let suffix = match mode {
        Mode::Light => "",
        Mode::Dark => "-dark",
    };
    let mut written = Vec::new();
    let small = match pictures {
        Pictures::Both => None,
        Pictures::Sheet(names) => names.iter().find(|name| studio.names().any(|n| n == **name)),
    };
    for name in studio.names() {
        if small == Some(&name) {
            let svg = studio.svg(name, mode, SMALL, 0)?;
            // Panels one below the other would be tiny: those are better side by side.
            if painter.aspect(&svg)? <= 1.0 {
                write::file(&out.join(format!("{name}-small{suffix}.svg")), svg.as_bytes())?;
            }
        }
        let height = if name == "headline" { HEADLINE_HEIGHT } else { 0 };
        let svg = studio.svg(name, mode, WIDTH, height)?;
        let path = out.join(format!("{name}{suffix}.svg"));
        write::file(&path, svg.as_bytes())?;
        written.push(path);
        if pictures == Pictures::Both {
            let path = out.join(format!("{name}{suffix}.png"));
            write::file(&path, &painter.paint(&svg, SCALE)?.png()?)?;
            written.push(path);
        }
    }
    Ok(written)
}
