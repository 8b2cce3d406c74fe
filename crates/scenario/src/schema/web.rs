//! `[[web]]`: short flows that begin at random.

use l4s_model::{Link, Sizes, Web};
use l4s_units::{Bytes, Duration, Frequency, Time};

use super::{Names, few_tables};
use crate::fault::{Gathered, did_you_mean};
use crate::field::{
    Field, Refusal, bytes_text, instant, instant_or_end, line, quantity, read_table,
};
use crate::tree::{Item, Node, Table, table_of, text};

/// The most downloads that a run may expect: each leaves a row in the results.
const MOST_DOWNLOADS: u64 = 1_000_000;
/// The most downloads per second.
const MOST_OFTEN: Frequency = Frequency::per_second(1_000_000);
/// The most of them for each megabit that the link can carry.
const MOST_PER_MBIT: u64 = 1000;
/// The largest download.
const LARGEST: Bytes = Bytes::new(1_000_000_000_000_000);
/// The exponents of Pareto distributions that differ measurably.
const SHAPES: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Downloads whose group is a name still.
#[derive(Clone, Debug)]
pub(crate) struct WebDraft {
    pub group: String,
    pub rate: Frequency,
    /// The rate is per megabit per second of the link's.
    pub per_mbit: bool,
    pub size: Sizes,
    pub start: Time,
    pub stop: Option<Time>,
}

pub(crate) const WEB: &[Field<WebDraft>] = &[
    Field {
        name: "group",
        doc: "the group whose server, client, cc, ecn and rtt the downloads have",
        required: true,
        read: |web, node| line(node, 64).map(|group| web.group = group),
        write: |web| Some(text(&web.group)),
    },
    Field {
        name: "rate",
        doc: "how many begin per second, on average and independently, such as \"100/s\"",
        required: true,
        read: rate,
        write: |web| Some(text(web.rate)),
    },
    Field {
        name: "size",
        doc: "the size of each: bytes, or { pareto = 0.9, min = \"1kb\", max = \"1mb\" }",
        required: false,
        read: |web, node| size(node).map(|size| web.size = size),
        write: |web| Some(size_item(&web.size)),
    },
    Field {
        name: "start",
        doc: "when they start to begin",
        required: false,
        read: |web, node| instant(node).map(|start| web.start = start),
        write: |web| Some(text(web.start)),
    },
    Field {
        name: "stop",
        doc: "when no more of them begin, or \"end\" for the end of the run",
        required: false,
        read: |web, node| instant_or_end(node).map(|stop| web.stop = stop),
        write: |web| Some(text(web.stop.map_or("end".to_owned(), |stop| stop.to_string()))),
    },
];

/// `"100/s"`, or in proportion to the link's rate: `"0.25/mbit"` is once a second at 4 Mb/s.
fn rate(web: &mut WebDraft, node: &Node) -> Result<(), Refusal> {
    let proportion = node.text().and_then(|text| text.strip_suffix("/mbit"));
    let rate = proportion.and_then(|number| format!("{number}/s").parse::<Frequency>().ok());
    if let Some(rate) = rate.filter(|rate| *rate <= Frequency::per_second(MOST_PER_MBIT)) {
        (web.rate, web.per_mbit) = (rate, true);
        return Ok(());
    }
    quantity(node, Frequency::ZERO, MOST_OFTEN).map(|rate| web.rate = rate)
}

fn size(node: &Node) -> Result<Sizes, Refusal> {
    let bytes = |node: &Node| quantity(node, Bytes::new(1), LARGEST);
    let refusal = |help| Refusal {
        expected: format!(
            "a size such as \"10kb\", or {{ pareto = 0.9, min = \"1kb\", max = \"1mb\" }} with an \
             exponent from {} to {}, and `min` not above `max`",
            SHAPES.start(),
            SHAPES.end()
        ),
        help,
    };
    let Some(table) = node.table() else { return bytes(node).map(Sizes::Fixed) };
    let keys = ["pareto", "min", "max"];
    if let Some(other) = table.entries.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
        return Err(refusal(did_you_mean(&other.key, keys)));
    }
    let shape = match table.get("pareto").map(|node| &node.item) {
        Some(Item::Float(shape)) => *shape,
        Some(Item::Integer(shape)) => *shape as f64,
        _ => f64::NAN,
    };
    let bound = |key: &str| table.get(key).and_then(|node| bytes(node).ok());
    match (bound("min"), bound("max")) {
        (Some(min), Some(max)) if min <= max && SHAPES.contains(&shape) => {
            Ok(Sizes::Pareto { shape, min, max })
        }
        _ => Err(refusal(None)),
    }
}

fn size_item(size: &Sizes) -> Item {
    match *size {
        Sizes::Fixed(size) => text(bytes_text(size)),
        Sizes::Pareto { shape, min, max } => {
            let (min, max) = (text(bytes_text(min)), text(bytes_text(max)));
            table_of([("pareto", Item::Float(shape)), ("min", min), ("max", max)])
        }
    }
}

/// Every `[[web]]` whose group there is.
pub(super) fn web(
    root: &Table,
    end: Duration,
    link: Option<&Link>,
    groups: &Names<'_>,
    gathered: &mut Gathered,
) -> Vec<Web> {
    let mut all = Vec::new();
    let mut expected: u64 = 0;
    for (node, table) in few_tables(root, "web", gathered) {
        let before = gathered.count();
        let mut draft = WebDraft {
            group: String::new(),
            rate: Frequency::ZERO,
            per_mbit: false,
            // DCttH §4.5.
            size: Sizes::Pareto { shape: 0.9, min: Bytes::new(1000), max: Bytes::new(1_000_000) },
            start: Time::ZERO,
            stop: None,
        };
        read_table(table, &node.place, "web", WEB, &[], &mut draft, gathered);
        if let (true, Some(link)) = (draft.per_mbit, link) {
            draft.rate = draft.rate.per_mbit(link.rate).min(MOST_OFTEN);
        }
        let place = |key: &str| table.get(key).map(|node| node.place.clone()).unwrap_or_default();
        if draft.start.since(Time::ZERO) >= end {
            let message =
                format!("`web.start`: {} is not before the end of the run at {end}", draft.start);
            gathered.add(&place("start"), message, None);
        }
        if let Some(stop) = draft.stop.filter(|stop| *stop <= draft.start) {
            let message = format!("`web.stop`: {stop} is not after the start at {}", draft.start);
            gathered.add(&place("stop"), message, None);
        }
        // Without an end there is nothing to expect.
        let end = if end < Duration::MAX { end } else { Duration::ZERO };
        let stop = draft.stop.map_or(end, |stop| stop.since(Time::ZERO).min(end));
        let span = stop.saturating_sub(draft.start.since(Time::ZERO));
        let already = expected;
        expected += draft.rate.times_in(span);
        if expected > MOST_DOWNLOADS && already <= MOST_DOWNLOADS {
            let message = format!(
                "`web.rate`: about {expected} downloads in the run, expected at most \
                 {MOST_DOWNLOADS} in all `[[web]]`"
            );
            gathered.add(&place("rate"), message, None);
        }
        let name = Some(&draft.group).filter(|name| !name.is_empty());
        let group =
            name.and_then(|name| groups.group(name, "web.group", &place("group"), gathered));
        let (Some(group), true) = (group, gathered.count() == before) else { continue };
        let WebDraft { rate, size, start, stop, .. } = draft;
        all.push(Web { group, rate, size, start, stop });
    }
    all
}
