//! The traffic lights of Fallback §7.5: a square for each run, coloured by whether TCP Prague
//! classified the queue correctly; the page of them, and the picture.
//!
//! `verdict` judges a run, `tally` counts as the paper does, `squares` reads a result folder. This
//! file is the contract with the script (`web/src/lights/data.ts`).

mod squares;
mod tally;
mod verdict;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use squares::read_lights;
pub use tally::{Counts, Said, Tally, tally};
pub use verdict::{Heard, Since, Truth, Verdict, verdict};

use crate::studio::Opener;
use crate::{Mode, Painter, ReportError, Studio, page};

/// Everything that the page shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lights {
    /// The name of the scenario, and of the page.
    pub name: String,
    /// The version of l4s that ran it.
    pub version: String,
    /// The seed of the runs.
    pub seed: u64,
    /// How long a run is, in seconds.
    pub duration_s: f64,
    /// A matrix each.
    pub schedules: Vec<Schedule>,
    /// Mixes of traffic, Prague:ECN-Cubic: the rows of a matrix.
    pub traffic: Vec<String>,
    /// Link rates, and base RTTs within each: the columns.
    pub rates: Vec<String>,
    /// As the scenario writes them.
    pub rtts: Vec<String>,
    /// When scores were sampled, in seconds: the same for every run.
    pub times: Vec<f64>,
    /// In the order of the plan.
    pub squares: Vec<Square>,
    /// In the order of the schedules.
    pub tallies: Vec<Tally>,
    /// The counts of the paper, by name of the schedule.
    pub paper: Vec<Said>,
}

/// Which discipline there is, and which later.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name in the scenario.
    pub name: String,
    /// The kinds of its disciplines, in order.
    pub aqms: Vec<String>,
    /// The kind of the last queue.
    pub truth: Truth,
    /// When the last one came, in seconds.
    pub since_s: f64,
    /// The burst of the link, in milliseconds; absent where that is a packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggregation_ms: Option<f64>,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Square {
    /// Places in `schedules`, `traffic`, `rates` and `rtts`.
    pub at: [usize; 4],
    /// Absent where no flow had a detector.
    pub verdict: Option<Verdict>,
    /// The last score of long flows, mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub score: Option<f64>,
    /// Short flows that are evidence, and those of them that were wrong.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub short: Option<[usize; 2]>,
    /// Rate of a long Prague flow over that of a long Cubic flow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
    /// The command that reproduces just this run.
    pub command: String,
    /// The score of long flows at each of `times`: mean, and lowest and highest where there are
    /// several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub mean: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[allow(missing_docs)]
    pub low: Vec<Option<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[allow(missing_docs)]
    pub high: Vec<Option<f64>>,
    /// When short flows that were scored ended, and their last score.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ends: Vec<[f64; 2]>,
}

/// The width of the picture in pixels.
const WIDTH: u32 = 1400;

/// Writes the page, `NAME.html`, and its pictures, `figures/NAME*`, into the folder `out`; the path
/// of the page.
pub fn write_lights(lights: &Lights, out: &Path) -> Result<PathBuf, ReportError> {
    let name = &lights.name;
    let page = format!("{name}.html");
    let modes = [(Mode::Light, ""), (Mode::Dark, "-dark")];
    let studio = Studio::open_with(Opener::Lights, lights)?;
    let painter = Painter::new();
    let figure = |suffix: &str, ending| format!("figures/{name}{suffix}.{ending}");
    let figures =
        modes.iter().flat_map(|(_, suffix)| ["svg", "png"].map(|end| figure(suffix, end)));
    let names = figures.chain([page.clone()]).collect();
    let writing = crate::begin(&crate::folder(out)?, names)?;
    let write = |name: &str, bytes: &[u8]| writing.file(name, bytes).map_err(ReportError::List);
    for (mode, suffix) in modes {
        let svg = studio.svg(name, mode, WIDTH, 0)?;
        write(&figure(suffix, "svg"), svg.as_bytes())?;
        write(&figure(suffix, "png"), &painter.paint(&svg, crate::SCALE)?.png()?)?;
    }
    write(&page, lights_page(lights)?.as_bytes())?;
    writing.finish().map_err(ReportError::List)?;
    Ok(out.join(page))
}

/// The page as HTML.
pub fn lights_page(lights: &Lights) -> Result<String, ReportError> {
    page::html("Is the queue a Classic one?", "L4s.mountLights();", lights)
}
