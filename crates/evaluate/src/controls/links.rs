//! Links whose rate and delay vary, and a satellite (RFC 9743 §6.4, §7.3 and §7.5).

use super::{TESTED, goodput};
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-links",
    title: "mobile, WiFi, cable and satellite",
    subject: Subject::Control(&[TESTED]),
    quick: &[],
    criteria: &[USE, DELAY, SATELLITE],
};

/// Traces of links, and radios whose rate follows from other stations and retransmissions.
const TERRESTRIAL: &[&str] = &[
    "LTE",
    "5G",
    "WiFi",
    "Starlink",
    "cable",
    "WiFi, one other station",
    "WiFi, four others",
    "cell, 10 % of blocks fail",
    "cell, 30 % fail",
];

const USE: Criterion = Criterion {
    id: "varying-rate",
    section: "RFC 9743 §6.4",
    asks: "Does it use a link of varying rate as well as Cubic does?",
    measure: "goodput over that of Cubic, in a FIFO of 200 ms",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth less than the standard control",
    of: |run| goodput(run.only("access", TERRESTRIAL)?),
};

const DELAY: Criterion = Criterion {
    id: "varying-delay",
    section: "RFC 9743 §7.3",
    asks: "Does it cause no longer queue there than Cubic does?",
    measure: "mean queueing delay over that of Cubic",
    unit: "",
    accepted: Accepted::AtMost(1.1),
    because: "Cubic fills the buffer; a tenth is in the variation of seeds",
    of: |run| {
        let run = run.only("access", TERRESTRIAL)?.only("sender", &["tested"])?;
        Some(run.delay(TESTED)? / run.with("sender", "cubic")?.delay("cubic")?)
    },
};

const SATELLITE: Criterion = Criterion {
    id: "satellite",
    section: "RFC 9743 §7.5",
    asks: "Does it use a geostationary satellite as well as Cubic does?",
    measure: "goodput over that of Cubic, at 20 Mb/s and 600 ms",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth less than the standard control",
    of: |run| goodput(run.only("access", &["geostationary"])?),
};
