//! The report of one result folder, or of several side by side: a self-contained HTML page, and
//! its figures as SVG and PNG.
//!
//! There is one definition of each chart, in TypeScript (`web/src`). The page carries it as a
//! script; [`Studio`] runs the same script in an embedded JavaScript engine to draw SVG, and an
//! embedded font turns that into PNG. The same results give the same bytes on any machine.
//!
//! In the order of a report's making: `read` (folders), `gather` (results to data), `thin` (fewer
//! points for the same line), `sketch` (the fewest) and `programs` (their flows), `data` (the
//! contract with the script), `studio` and `paint` (figures), `page` (HTML). [`lights`] has a page
//! and a picture of its own, made the same way; [`sheet`] shows a picture of each of many reports.

mod data;
mod error;
mod gather;
pub mod lights;
mod page;
mod paint;
mod programs;
mod read;
pub mod sheet;
mod sketch;
mod studio;
mod thin;

use std::path::{Path, PathBuf};

use l4s_measure::ResultError;
use l4s_measure::files::Dir;
use l4s_measure::inventory::Writing;

pub use data::{
    Cdf, Curves, Data, DelaySeries, DetectorSeries, Differences, Downloads, Folder, ProgramDelay,
    RateSeries, Run, Sketch, Traffic,
};
pub use error::ReportError;
pub use gather::{Source, gather};
pub use page::page;
pub use paint::{Painter, Picture};
pub use programs::{ProgramFlow, ProgramFlows};
pub use read::read;
pub use studio::{Mode, Studio};

/// The parts of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The page.
    pub page: PathBuf,
    /// SVG and PNG files, light and dark.
    pub figures: Vec<PathBuf>,
}

/// The file of a result folder that holds the [`Scenario`](l4s_model::Scenario) of each run, in
/// order, as JSON.
pub const SCENARIOS: &str = "scenarios.json";
/// The most bytes of it: about 1 kB per run with few flows.
pub const MOST_SCENARIOS: u64 = 2 << 30;
/// The message about results that no page shows.
pub const TOO_LARGE: &str = "too large for a report";
/// Maximum bytes of data in a page: some 10,000 runs. A browser takes a while for them, and drawing the
/// figures takes a gigabyte.
const MOST_BYTES: usize = 32 << 20;

/// The width of figures in pixels.
const WIDTH: u32 = 1200;
/// Pixels of a PNG file for each of the SVG: sharp on dense screens.
const SCALE: f32 = 2.0;
/// The width of a small one: words are as large as ever, and there is less room for them.
const SMALL: u32 = 640;
/// The height of the `headline`; other figures choose their own.
const HEADLINE_HEIGHT: u32 = 600;

/// The formats of figures.
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
/// or not at all, the page last, and replaces one that l4s wrote or none.
pub fn write_data(data: &Data, out: &Path, pictures: Pictures) -> Result<Written, ReportError> {
    let html = page(data)?;
    let dir = folder(out)?;
    let studio = Studio::open(data)?;
    let names = [PAGE.to_owned()].into_iter().chain(files(&studio, pictures));
    let writing = begin(&dir, names.collect())?;
    let figures = write_figures(&studio, data, out, pictures, &writing)?;
    writing.file(PAGE, html.as_bytes()).map_err(ReportError::List)?;
    writing.finish().map_err(ReportError::List)?;
    Ok(Written { page: out.join(PAGE), figures })
}

/// The page of a report.
const PAGE: &str = "report.html";

/// Opens the folder that files are written into, which is made where it is missing.
pub(crate) fn folder(out: &Path) -> Result<Dir, ReportError> {
    Dir::create(out).map_err(|error| {
        ReportError::List(ResultError { path: out.to_owned(), cause: error.into() })
    })
}

/// Begins to write files of these names.
pub(crate) fn begin(dir: &Dir, names: Vec<String>) -> Result<Writing, ReportError> {
    Writing::begin(dir, names.iter().map(String::as_str)).map_err(ReportError::List)
}

/// The files of all figures: `figures/NAME.svg`, `figures/NAME-dark.svg`, and where asked for the
/// same as PNG, or a small one.
fn files(studio: &Studio, pictures: Pictures) -> Vec<String> {
    let small = small(studio, pictures).map(|name| format!("{name}-small"));
    let endings = if pictures == Pictures::Both { &["svg", "png"][..] } else { &["svg"] };
    let mut files = Vec::new();
    for (name, endings) in (studio.names().map(|name| (name.to_owned(), endings)))
        .chain(small.map(|name| (name, &["svg"][..])))
    {
        for suffix in ["", "-dark"] {
            files.extend(endings.iter().map(|ending| format!("figures/{name}{suffix}.{ending}")));
        }
    }
    files
}

/// The figure that there is also as a small one.
fn small(studio: &Studio, pictures: Pictures) -> Option<&'static str> {
    match pictures {
        Pictures::Both => None,
        Pictures::Sheet(names) => {
            names.iter().copied().find(|name| studio.names().any(|n| n == *name))
        }
    }
}

/// Writes every figure of this data. Light ones are drawn on this thread and dark ones on another,
/// with an engine of its own.
fn write_figures(
    studio: &Studio,
    data: &Data,
    out: &Path,
    pictures: Pictures,
    writing: &Writing,
) -> Result<Vec<PathBuf>, ReportError> {
    let draw = |studio: &Studio, mode| write_mode(studio, out, pictures, mode, writing);
    std::thread::scope(|threads| {
        let dark = std::thread::Builder::new()
            .stack_size(studio::THREAD_STACK)
            .spawn_scoped(threads, || draw(&Studio::open(data)?, Mode::Dark))
            .map_err(|e| ReportError::draw("anything", e))?;
        let light = draw(studio, Mode::Light);
        let dark = dark.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok([light?, dark?].concat())
    })
}

/// Those of one mode.
fn write_mode(
    studio: &Studio,
    out: &Path,
    pictures: Pictures,
    mode: Mode,
    writing: &Writing,
) -> Result<Vec<PathBuf>, ReportError> {
    let painter = Painter::new();
    let suffix = match mode {
        Mode::Light => "",
        Mode::Dark => "-dark",
    };
    let mut written = Vec::new();
    let write = |name: &str, bytes: &[u8]| {
        writing.file(name, bytes).map(|()| out.join(name)).map_err(ReportError::List)
    };
    let small = small(studio, pictures);
    for name in studio.names() {
        if small == Some(name) {
            let svg = studio.svg(name, mode, SMALL, 0)?;
            // Panels one below the other would be tiny: those are better side by side.
            if painter.aspect(&svg)? <= 1.0 {
                write(&format!("figures/{name}-small{suffix}.svg"), svg.as_bytes())?;
            }
        }
        let height = if name == "headline" { HEADLINE_HEIGHT } else { 0 };
        let svg = studio.svg(name, mode, WIDTH, height)?;
        written.push(write(&format!("figures/{name}{suffix}.svg"), svg.as_bytes())?);
        if pictures == Pictures::Both {
            let png = painter.paint(&svg, SCALE)?.png()?;
            written.push(write(&format!("figures/{name}{suffix}.png"), &png)?);
        }
    }
    Ok(written)
}
