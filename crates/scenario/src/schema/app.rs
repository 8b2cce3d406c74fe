//! `[[app]]`: applications that write at a rate of their own.

use l4s_cc::Endpoint;
use l4s_model::{App, Group, Hold};
use l4s_units::{Bytes, Duration, Rate, Time};

use super::link::HIGHEST_RATE;
use super::{MOST_FLOWS, Names, few_tables};
use crate::fault::Gathered;
use crate::field::{
    Field, count, flag, instant, instant_or_end, line, quantity, read_table, word, written,
};
use crate::tree::{Table, text};

/// The most frames that a run may expect: the delay of each is kept until its end.
const MOST_FRAMES: u64 = 10_000_000;
/// The most frames per second.
const MOST_FPS: u64 = 10_000;

const KINDS_OF_HOLD: [(&str, Hold); 3] =
    [("none", Hold::None), ("nagle", Hold::Nagle), ("cork", Hold::Cork)];

/// An application whose group is a name still.
#[derive(Clone, Debug)]
pub(crate) struct AppDraft {
    pub group: String,
    pub app: App,
}

pub(crate) const APP: &[Field<AppDraft>] = &[
    Field {
        name: "group",
        doc: "the group whose server, client, cc, ecn and rtt its flows have",
        required: true,
        read: |draft, node| line(node, 64).map(|group| draft.group = group),
        write: |draft| Some(text(&draft.group)),
    },
    Field {
        name: "rate",
        doc: "the mean rate that it writes into each flow, such as \"4mbit\"",
        required: true,
        read: |draft, node| {
            quantity(node, Rate::from_bps(0), HIGHEST_RATE).map(|rate| draft.app.rate = rate)
        },
        write: |draft| Some(text(draft.app.rate)),
    },
    Field {
        name: "fps",
        doc: "frames per second: a frame of rate/fps is written at once",
        required: false,
        read: |draft, node| count(node, 1, MOST_FPS).map(|fps| draft.app.fps = fps),
        write: |draft| Some(draft.app.fps.into()),
    },
    Field {
        name: "flows",
        doc: "how many connections, each with frames of its own",
        required: false,
        read: |draft, node| count(node, 0, MOST_FLOWS).map(|flows| draft.app.flows = flows),
        write: |draft| Some(draft.app.flows.into()),
    },
    Field {
        name: "adapt",
        doc: "whether it skips a frame while more than one waits unsent in the socket",
        required: false,
        read: |draft, node| flag(node).map(|adapt| draft.app.adapt = adapt),
        write: |draft| Some(draft.app.adapt.into()),
    },
    Field {
        name: "hold",
        doc: "when a segment that is not full waits for more: none (TCP_NODELAY), nagle or cork",
        required: false,
        read: |draft, node| word(node, &KINDS_OF_HOLD).map(|hold| draft.app.hold = hold),
        write: |draft| written(&KINDS_OF_HOLD, draft.app.hold),
    },
    Field {
        name: "start",
        doc: "when the first connection opens; the others follow within the time of a frame",
        required: false,
        read: |draft, node| instant(node).map(|start| draft.app.start = start),
        write: |draft| Some(text(draft.app.start)),
    },
    Field {
        name: "stop",
        doc: "when it writes no more frames, or \"end\" for the end of the run",
        required: false,
        read: |draft, node| instant_or_end(node).map(|stop| draft.app.stop = stop),
        write: |draft| Some(text(draft.app.stop.map_or("end".to_owned(), |stop| stop.to_string()))),
    },
];

/// Every `[[app]]` whose group there is.
pub(super) fn apps(
    root: &Table,
    end: Duration,
    groups: &[(Group, &Table)],
    names: &Names<'_>,
    gathered: &mut Gathered,
) -> Vec<App> {
    let mut all: Vec<App> = Vec::new();
    let mut frames = 0;
    let mut flows = groups.iter().map(|(group, _)| group.starts.len() as u64).sum::<u64>();
    for (node, table) in few_tables(root, "app", gathered) {
        let before = gathered.count();
        let mut draft = AppDraft {
            group: String::new(),
            app: App {
                group: 0,
                rate: Rate::from_bps(0),
                fps: 30,
                flows: 1,
                adapt: false,
                hold: Hold::None,
                start: Time::ZERO,
                stop: None,
            },
        };
        read_table(table, &node.place, "app", APP, &[], &mut draft, gathered);
        let place = |key: &str| table.get(key).map(|node| node.place.clone()).unwrap_or_default();
        let AppDraft { group: name, mut app } = draft;
        let fits = gathered.count() == before;
        if fits && app.rate.as_bps() > 0 && app.frame() < Bytes::new(1) {
            let (rate, fps) = (app.rate, app.fps);
            let message = format!("`app.fps`: {rate} in {fps} frames per second leave none a byte");
            gathered.add(&place("fps"), message, None);
        }
        if app.start.since(Time::ZERO) >= end {
            let message =
                format!("`app.start`: {} is not before the end of the run at {end}", app.start);
            gathered.add(&place("start"), message, None);
        }
        if let Some(stop) = app.stop.filter(|stop| *stop <= app.start) {
            let message = format!("`app.stop`: {stop} is not after the start at {}", app.start);
            gathered.add(&place("stop"), message, None);
        }
        // Without an end there is nothing to expect.
        let end = if end < Duration::MAX { end } else { Duration::ZERO };
        let stop = app.stop.map_or(end, |stop| stop.since(Time::ZERO).min(end));
        let span = stop.saturating_sub(app.start.since(Time::ZERO)).as_nanos();
        let expected = u128::from(span) * u128::from(app.fps) / 1_000_000_000;
        let (frames_before, flows_before) = (frames, flows);
        frames += expected as u64 * app.flows;
        flows += app.flows;
        if frames > MOST_FRAMES && frames_before <= MOST_FRAMES {
            let message = format!(
                "`app.fps`: about {frames} frames in the run, expected at most {MOST_FRAMES} in \
                 all `[[app]]`"
            );
            gathered.add(&place("fps"), message, None);
        }
        if flows > MOST_FLOWS && flows_before <= MOST_FLOWS {
            let message =
                format!("`app.flows`: more than {MOST_FLOWS} flows in all groups and `[[app]]`");
            gathered.add(&place("flows"), message, None);
        }
        let name = Some(&name).filter(|name| !name.is_empty());
        let group = name.and_then(|name| names.group(name, "app.group", &place("group"), gathered));
        let (Some(group), true) = (group, gathered.count() == before) else { continue };
        if groups[group].0.endpoint == Endpoint::Quic && app.hold != Hold::None {
            let message = "`app.hold`: a QUIC stack holds nothing back".to_owned();
            let help =
                "leave `hold` out, or set `endpoint = \"linux-tcp\"` in its group".to_owned();
            gathered.add(&place("hold"), message, Some(help));
            continue;
        }
        app.group = group;
        all.push(app);
    }
    all
}
