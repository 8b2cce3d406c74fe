//! A trace among other serialized values: its opportunities, or its steps and its period.

use l4s_units::{Duration, Probability, Rate};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Step, Trace};

/// The contents of a trace, with which it is made again.
#[derive(Serialize, Deserialize)]
enum Contents {
    /// Instants in milliseconds, each with its number of opportunities.
    Opportunities(Vec<(u64, u32)>),
    /// Start, rate, delay and loss of each.
    Steps(Duration, Vec<(Duration, Rate, Option<Duration>, Option<Probability>)>),
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let contents = match (self.opportunities(), self.steps()) {
            (Some(instants), _) => Contents::Opportunities(
                instants.map(|(at, number)| (at.as_nanos() / 1_000_000, number)).collect(),
            ),
            (_, steps) => {
                let steps = steps.into_iter().flatten();
                let steps = steps.map(|step| (step.at, step.rate, step.delay, step.loss));
                Contents::Steps(self.period(), steps.collect())
            }
        };
        contents.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Trace, D::Error> {
        let trace = match Contents::deserialize(deserializer)? {
            Contents::Opportunities(instants) => Trace::from_opportunities(
                instants.into_iter().flat_map(|(at, number)| (0..number).map(move |_| at)),
            ),
            Contents::Steps(period, steps) => {
                let step = |(at, rate, delay, loss)| Step { at, rate, delay, loss };
                Trace::from_steps(steps.into_iter().map(step), period)
            }
        };
        trace.map_err(D::Error::custom)
    }
}
