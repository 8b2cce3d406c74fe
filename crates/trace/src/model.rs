//! Links that are made: each model has the statistics of a published measurement or the rules of a standard.
//!
//! No model has a constant without a source. Where the sources have none, the model leaves the effect
//! out, and its documentation says so.

mod cable;
mod fading;
mod starlink;
mod wifi;

use l4s_units::{Duration, Rate};

use crate::error::{Problem, TraceError, did_you_mean};
use crate::random::Stream;
use crate::trace::argument;
use crate::{MAX_PERIOD, Step, Trace};

/// A kind of link that [`make`] makes a trace of.
///
/// ```
/// use l4s_trace::Model;
///
/// assert_eq!(Model::parse("5g")?, Model::FiveG);
/// assert_eq!(Model::ALL.map(Model::name), ["lte", "5g", "wifi", "starlink", "cable"]);
/// let error = Model::parse("starlnk").unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `starlink`?"));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Down to a phone in a car: a log-normal rate every 100 ms with the mean, variation and correlation of
    /// the trace `TMobile-LTE-driving.down` that mahimahi includes (Winstein and others, 2013).
    Lte,
    /// Down to a 5G phone in a car: a log-normal rate every second with the mean, variation and correlation
    /// of the UDP measurements over Verizon of Hu and others, 2023. The phone may fall back to LTE.
    FiveG,
    /// To a station of IEEE 802.11ac at 80 MHz with one stream, with another station that always sends.
    Wifi,
    /// Down to a Starlink dish on a car: a rate every second, with a reconfiguration every 15 s (Hu and
    /// others, 2023).
    Starlink,
    /// Up from a DOCSIS 3.1 cable modem: a grant in every MAP interval, as in the DOCSIS model of CableLabs
    /// for ns-3.
    Cable,
}

impl Model {
    /// Every model.
    pub const ALL: [Model; 5] =
        [Model::Lte, Model::FiveG, Model::Wifi, Model::Starlink, Model::Cable];

    /// The model of a name.
    ///
    /// # Errors
    /// There is none, with the nearest name.
    pub fn parse(name: &str) -> Result<Model, TraceError> {
        let found = Model::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| {
            let help = did_you_mean(name, Model::ALL.map(Model::name));
            Problem::Model { found: name.to_owned(), help }.into()
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Model::Lte => "lte",
            Model::FiveG => "5g",
            Model::Wifi => "wifi",
            Model::Starlink => "starlink",
            Model::Cable => "cable",
        }
    }

    /// A description of one line, with its source.
    pub fn about(self) -> &'static str {
        match self {
            Model::Lte => "down to a phone in a car (Winstein and others, NSDI 2013)",
            Model::FiveG => "down to a 5G phone in a car (Hu and others, CoNEXT Companion 2023)",
            Model::Wifi => {
                "802.11ac, 80 MHz, one stream, beside another station (IEEE 802.11-2020)"
            }
            Model::Starlink => "down to a dish on a car (Hu and others, CoNEXT Companion 2023)",
            Model::Cable => "up from a cable modem, DOCSIS 3.1 (CableLabs, docsis-ns3)",
        }
    }
}

/// A trace of rate steps of a model, of the given length. The same model, seed and length give the same trace
/// on every machine.
///
/// ```
/// use l4s_trace::{Model, make};
/// use l4s_units::Duration;
///
/// let minute = Duration::from_secs(60);
/// let trace = make(Model::Starlink, 1, minute)?;
/// assert_eq!((trace.period(), trace.entries()), (minute, 60));
/// assert_eq!(trace, make(Model::Starlink, 1, minute)?);
/// assert_ne!(trace, make(Model::Starlink, 2, minute)?);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
///
/// # Errors
/// The length is 0 or more than [`MAX_PERIOD`], there would be more than [`crate::MAX_ENTRIES`] steps (`wifi`
/// and `cable` have less than a thousand in a second), or it is so short that nothing passes.
pub fn make(model: Model, seed: u64, length: Duration) -> Result<Trace, TraceError> {
    if length.is_zero() || length > MAX_PERIOD {
        return Err(argument("the length", length, "above 0 and at most 49 days").into());
    }
    let stream = Stream::new(seed, model.name());
    match model {
        Model::Lte => Trace::from_steps(fading::LTE.steps(stream, length), length),
        Model::FiveG => Trace::from_steps(fading::FIVE_G.steps(stream, length), length),
        Model::Wifi => Trace::from_steps(wifi::steps(stream, length), length),
        Model::Starlink => Trace::from_steps(starlink::steps(stream, length), length),
        Model::Cable => Trace::from_steps(cable::steps(stream, length), length),
    }
}

/// Steps of equal length, one for each rate in Mb/s.
fn even(
    step: Duration,
    length: Duration,
    mut rate: impl FnMut(u64) -> f64,
) -> impl Iterator<Item = Step> {
    let number = length.as_nanos().div_ceil(step.as_nanos());
    (0..number).map(move |n| {
        let bps = (rate(n) * 1e6).round().clamp(0.0, crate::MAX_RATE.as_bps() as f64);
        // A trace is at most 2³² ms long, so no product overflows.
        Step::new(step * n, Rate::from_bps(bps as u64))
    })
}
