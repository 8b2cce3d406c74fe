//! From counts to the summary: every quantity is defined here, once.

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_cc::classic_ecn::Verdict;
use l4s_model::{Direction, FlowId, FlowKind, Group, Hop, Roster, Scenario, UPLINK};
use l4s_units::{Bytes, Duration, Time};
use serde_json::Map;

use crate::completion::completions;
use crate::counts::{Cells, Counts, SmallDelays};
use crate::flows::Flow;
use crate::measured::{HopCells, Measured, Straddling};
use crate::record::{FlowRow, RunRecord, Scope};
use crate::stats::{rate_bps, spread};
use crate::{
    AppSummary, DelaySummary, DropCounts, GroupSummary, HopSummary, LinkSummary, MarkCounts,
    PragueSummary, QueueSummary, ScoreSummary, Spread, Summary, Verdicts,
};

/// The bytes that the link carried, with a `header` for each packet, over the bytes that it could carry. A
/// packet counts while it is transmitted, not when its transmission starts. Tokens that the bucket saved
/// during the warm-up let more pass after it; that surplus is cut off at 1. A link without any capacity in
/// that time is not used.
fn utilization(
    counts: &Counts,
    header: Bytes,
    edges: Straddling,
    link_bps: f64,
    span: Duration,
) -> f64 {
    let left = counts.bytes + header.get() * counts.packets + edges.before.get();
    let carried = left.saturating_sub(edges.after.get());
    let bps = rate_bps(carried, span).filter(|_| link_bps > 0.0);
    bps.map_or(0.0, |bps| (bps / link_bps).min(1.0))
}

/// Packets in flight by Little's law: rate · RTT ÷ packet size.
fn window(rate_bps: f64, rtt_ms: f64, packet_bytes: f64) -> f64 {
    rate_bps / 8.0 * (rtt_ms / 1e3) / packet_bytes
}

/// The record of a finished run.
pub(crate) fn conclude(measured: Measured<'_>) -> RunRecord {
    let scenario = measured.scenario;
    let flows = flow_rows(&measured);
    let groups = groups(&measured, &flows);
    let mut delays = Vec::new();
    for &queue in measured.queues {
        delays.extend(measured.cells.queue_delays(queue).rows(Scope::Queue, queue.name()));
    }
    for (i, name) in scenario.source_names().enumerate() {
        delays.extend(measured.cells_of(i).group_delays(i).rows(Scope::Group, name));
    }
    let links = scenario.hops.iter().map(|hop| &*hop.name).zip(measured.hops);
    for (link, HopCells { queues, cells, .. }) in
        links.chain(measured.uplink.map(|up| (UPLINK, up)))
    {
        for &queue in queues {
            let name = format!("{link}.{}", queue.name());
            delays.extend(cells.queue_delays(queue).rows(Scope::Hop, &name));
        }
    }
    let link_bps = scenario.mean_rate_bps();
    let links = hops(scenario, measured.hops).into_iter().chain(uplink(&measured)).collect();
    let summary = Summary {
        scenario: scenario.name.clone(),
        on: measured.origin.on,
        seed: scenario.seed,
        version: measured.origin.version,
        code: measured.origin.code,
        set: measured.origin.set,
        link: LinkSummary {
            rate_bps: link_bps,
            utilization: utilization(
                &measured.cells.total().all(),
                scenario.link.header(),
                measured.straddling,
                link_bps,
                measured_span(scenario),
            ),
        },
        queues: measured.queues.iter().map(|&q| queue(measured.cells, q)).collect(),
        hops: links,
        paths: measured.paths,
        completion: completions(scenario, measured.flows),
        ratios: ratios(&groups[..scenario.groups.len()]),
        groups,
        engine: measured.engine,
    };
    let (command, series) = (measured.origin.command, measured.series);
    RunRecord { summary, command, series, delays, flows }
}

/// The time that statistics count.
fn measured_span(scenario: &Scenario) -> Duration {
    scenario.duration.saturating_sub(scenario.warmup)
}

fn queue(cells: &Cells, queue: Queue) -> QueueSummary {
    let counts = cells.total().queue(queue);
    QueueSummary {
        name: queue.name().to_owned(),
        packets: counts.packets,
        delay_ms: cells.queue_delays(queue).summary(&counts.delays),
        mark: counts.mark_ratio(),
        drop: counts.drop_ratio(),
        marks: MarkCounts {
            step: counts.marks[MarkCause::Step as usize],
            coupled: counts.marks[MarkCause::Coupled as usize],
            classic: counts.marks[MarkCause::Classic as usize],
        },
        drops: DropCounts {
            overload: counts.drops[DropCause::Overload as usize],
            aqm: counts.drops[DropCause::Aqm as usize],
            limit: counts.drops[DropCause::Limit as usize],
            memory: counts.drops[DropCause::Memory as usize],
            radio: Some(counts.drops[DropCause::Radio as usize]).filter(|n| *n > 0),
            ack_filter: Some(counts.filtered()).filter(|n| *n > 0),
        },
    }
}

fn hops(scenario: &Scenario, hops: &[HopCells]) -> Vec<HopSummary> {
    let roster = scenario.roster();
    let hop = |(hop, HopCells { queues, cells, straddling }): (&Hop, &HopCells)| {
        let links = roster.links_of(hop);
        let bps = links as f64 * hop.link.rate.as_bps() as f64;
        HopSummary {
            name: hop.name.clone(),
            direction: None,
            links: links as u64,
            utilization: (links > 0).then(|| {
                let header = hop.link.header();
                utilization(&cells.total().all(), header, *straddling, bps, measured_span(scenario))
            }),
            queues: queues.iter().map(|&q| queue(cells, q)).collect(),
        }
    };
    scenario.hops.iter().zip(hops).map(hop).collect()
}

/// The uplink as one of the links.
fn uplink(measured: &Measured<'_>) -> Option<HopSummary> {
    let HopCells { queues, cells, straddling } = measured.uplink?;
    let scenario = measured.scenario;
    let link = &scenario.uplink.as_ref()?.link;
    let (bps, span) = (scenario.mean_uplink_bps()?, measured_span(scenario));
    Some(HopSummary {
        name: UPLINK.to_owned(),
        direction: Some("up".to_owned()),
        links: 1,
        utilization: Some(utilization(&cells.total().all(), link.header(), *straddling, bps, span)),
        queues: queues.iter().map(|&q| queue(cells, q)).collect(),
    })
}

/// The common parameters of all groups.
struct Shared {
    /// Per group, whether it has downloads, and whether it has applications.
    web: Vec<bool>,
    app: Vec<bool>,
}

/// The kind of a flow; `None` for a program's. A flow without a size that its client opened after the start of
/// the run, by an order of the live page, is a long flow, too.
fn kind(roster: &Roster, number: FlowId, flow: &Flow) -> Option<FlowKind> {
    match roster.kind(number) {
        FlowKind::Download if flow.size.is_none() => flow.reported.then_some(FlowKind::Long),
        kind => Some(kind),
    }
}

fn groups(measured: &Measured<'_>, flow_rows: &[FlowRow]) -> Vec<GroupSummary> {
    let scenario = measured.scenario;
    let count = measured.rtts.len();
    let roster = scenario.roster();
    let mut mine: Vec<Vec<(Option<FlowKind>, &FlowRow)>> = vec![Vec::new(); count];
    for ((number, flow), row) in measured.flows.iter().zip(flow_rows) {
        mine[flow.group.index()].push((kind(&roster, number, flow), row));
    }
    let mut shared = Shared { web: vec![false; count], app: vec![false; count] };
    scenario.web.iter().for_each(|web| shared.web[web.group] = true);
    scenario.apps.iter().for_each(|app| shared.app[app.group] = true);
    let each = scenario.source_names().zip(&mine).enumerate();
    each.map(|(index, (name, mine))| group(measured, &shared, index, name, mine)).collect()
}

fn group(
    measured: &Measured<'_>,
    shared: &Shared,
    index: usize,
    name: &str,
    mine: &[(Option<FlowKind>, &FlowRow)],
) -> GroupSummary {
    let scenario = measured.scenario;
    let tcp = scenario.groups.get(index);
    let cells = measured.cells_of(index);
    let counts = cells.total().group(index);
    let direction = scenario.direction_of(index);

    let of = |kinds: &'static [FlowKind]| {
        mine.iter().filter(|(kind, _)| kind.is_some_and(|kind| kinds.contains(&kind)))
    };
    let long = || of(&[FlowKind::Long, FlowKind::Udp]).map(|(_, row)| *row);
    let downloads = || of(&[FlowKind::Download]).map(|(_, row)| *row);
    let of_app = || of(&[FlowKind::App]).map(|(_, row)| *row);
    // Those that the live page added are above the scenario's number.
    let flows = tcp.map_or(1, |group| group.starts.len().max(long().count()) as u64);
    let (web, app) = (shared.web[index], shared.app[index]);
    let runs_programs = scenario.programs.iter().any(|program| program.group == index);

    // Quantities per flow are of its long flows alone; the rest is of all its packets.
    let long_bytes =
        if web || app || runs_programs { long().map(|row| row.bytes).sum() } else { counts.bytes };
    let per_second = |bytes| rate_bps(bytes, measured_span(scenario)).unwrap_or(0.0);
    let rate_per_flow = (flows > 0).then(|| per_second(long_bytes) / flows as f64);
    let small = cells.small_delays(index);
    let rtts = &measured.rtts[index];
    let rtt_ms = rtts.mean().map(|ns| ns / 1e6);
    let packet = (counts.delays.packets > 0)
        .then(|| counts.delay_bytes as f64 / counts.delays.packets as f64);

    GroupSummary {
        name: name.to_owned(),
        direction: (direction == Direction::Up).then(|| "up".to_owned()),
        cc: tcp.map_or("udp", |group| group.cc.kind()).to_owned(),
        flows,
        downloads: web.then(|| downloads().count() as u64),
        rate_bps: per_second(counts.bytes),
        // The reads of programs are not observed.
        goodput_bps: tcp.filter(|_| !runs_programs).map(|_| per_second(measured.goodput[index])),
        rate_per_flow_bps: rate_per_flow,
        normalized_rate: tcp
            .filter(|group| group.size.is_none())
            .and(rate_per_flow)
            .map(|rate| rate * long_flows(scenario, direction) / scenario.mean_rate_of(index)),
        window_pkts: (|| Some(window(rate_per_flow?, rtt_ms?, packet?)))(),
        cwnd_pkts: measured.cwnds[index].mean(),
        rtt_ms,
        packets: counts.packets,
        delay_ms: cells.group_delays(index).summary(&counts.delays),
        small_packets: small.map(SmallDelays::packets).filter(|packets| *packets > 0),
        small_delay_ms: small
            .and_then(SmallDelays::summary)
            .map(|DelaySummary { p1, mean, p99, .. }| Spread { p1, mean, p99 }),
        mark: counts.mark_ratio(),
        drop: counts.drop_ratio(),
        app: app.then(|| {
            let frames = &measured.frames[index];
            AppSummary {
                flows: of_app().count() as u64,
                rate_bps: per_second(of_app().map(|row| row.bytes).sum()),
                written: frames.written,
                delivered: frames.delivered(),
                skipped: frames.skipped,
                delay_ms: frames.delay(),
            }
        }),
        retransmits: mine.iter().map(|(_, row)| row.retransmits).sum(),
        rate_over_time_bps: measured.rates.spread(index, flows),
        flow_rates_bps: spread(long().filter_map(|row| row.rate_bps).collect()),
        prague: prague(long(), downloads()),
    }
}

/// The last verdicts of the detectors of a group's flows; `None` where it has none.
fn prague<'a>(
    long: impl Iterator<Item = &'a FlowRow>,
    downloads: impl Iterator<Item = &'a FlowRow>,
) -> Option<PragueSummary> {
    let mut scores = Vec::new();
    let mut flows = Verdicts::default();
    for row in long {
        let Some(score) = row.classic_ecn else { continue };
        scores.push((score, row.classic_ecn_max.unwrap_or(score)));
        flows.count(row);
    }
    let mut short = Verdicts::default();
    downloads.for_each(|row| short.count(row));
    if scores.is_empty() && short == Verdicts::default() {
        return None;
    }
    let score = (!scores.is_empty()).then(|| ScoreSummary {
        r#final: scores.iter().map(|score| score.0).sum::<f64>() / scores.len() as f64,
        max: scores.iter().map(|score| score.1).fold(f64::NEG_INFINITY, f64::max),
    });
    let verdict = score.map(|score| Verdict::of(score.r#final).name().to_owned());
    Some(PragueSummary {
        classic_ecn: score,
        verdict,
        flows,
        downloads: (short != Verdicts::default()).then_some(short),
    })
}

/// How many flows are to share the link of this direction: those without end. Downloads are none of them,
/// nor are applications, whose rates are limited.
fn long_flows(scenario: &Scenario, direction: Direction) -> f64 {
    let groups = scenario.groups.iter().filter(|g| g.size.is_none() && g.direction == direction);
    groups.map(|group| group.starts.len()).sum::<usize>() as f64
}

/// Ratios are between every two groups: of more groups than this they would be most of a summary,
/// and nobody reads them.
pub const RATIO_GROUPS: usize = 16;

/// A quantity of a group.
type Quantity = fn(&GroupSummary) -> Option<f64>;

/// The quantities that ratios are of.
const RATIOS: [(&str, Quantity); 2] =
    [("window", |group| group.window_pkts), ("rate", |group| group.rate_per_flow_bps)];

/// Every two of these, the earlier one first; of too many none.
fn pairs<T>(groups: &[T]) -> impl Iterator<Item = (&T, &T)> {
    let few = if groups.len() > RATIO_GROUPS { &[] } else { groups };
    few.iter().enumerate().flat_map(|(i, a)| few[i + 1..].iter().map(move |b| (a, b)))
}

fn ratio_name(quantity: &str, a: &str, b: &str) -> String {
    format!("{quantity}_{a}_{b}")
}

/// The names of all ratios that a run may have.
pub(crate) fn ratio_names(scenario: &Scenario) -> Vec<String> {
    let names = |(a, b): (&Group, &Group)| {
        RATIOS.map(|(quantity, _)| ratio_name(quantity, &a.name, &b.name))
    };
    pairs(&scenario.groups).flat_map(names).collect()
}

/// Window and rate per flow between every two TCP groups, earlier over later; of many groups none.
fn ratios(groups: &[GroupSummary]) -> Map<String, serde_json::Value> {
    let mut ratios = Map::new();
    for (a, b) in pairs(groups) {
        for (quantity, of) in RATIOS {
            if let (Some(x), Some(y)) = (of(a), of(b).filter(|y| *y > 0.0)) {
                ratios.insert(ratio_name(quantity, &a.name, &b.name), (x / y).into());
            }
        }
    }
    ratios
}

/// When the UDP source of a flow stopped; `None` of another flow, and of one that was open until the end.
fn stop_of(measured: &Measured<'_>, flow: &Flow) -> Option<Time> {
    let scenario = measured.scenario;
    let source = flow.group.index().checked_sub(scenario.groups.len())?;
    scenario.udp.get(source)?.stop.filter(|stop| *stop < Time::ZERO + scenario.duration)
}

fn flow_rows(measured: &Measured<'_>) -> Vec<FlowRow> {
    let names: Vec<_> = measured.scenario.source_names().collect();
    let (from, to) =
        (Time::ZERO + measured.scenario.warmup, Time::ZERO + measured.scenario.duration);
    let row = |(number, flow): (FlowId, &Flow)| {
        let bytes = measured.flows.counted_bytes(number);
        let flow = Flow { closed: flow.closed.or_else(|| stop_of(measured, flow)), ..*flow };
        FlowRow {
            group: names[flow.group.index()].to_owned(),
            flow: number.get(),
            start_s: flow.opened.unwrap_or_default().as_secs_f64(),
            end_s: flow.closed.map(Time::as_secs_f64),
            size: flow.size.map(Bytes::get),
            bytes,
            rate_bps: rate_bps(bytes, flow.active(from, to)),
            completion_ms: flow.completion().map(Duration::as_millis_f64),
            retransmits: flow.retransmits,
            classic_ecn: flow.classic_ecn.map(|report| report.score),
            classic_ecn_max: flow.classic_ecn.map(|report| report.max),
            classic_ecn_rounds: flow.classic_ecn.map(|report| report.rounds),
            ..FlowRow::default()
        }
    };
    measured.flows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use l4s_units::ETHERNET;

    use super::*;

    #[test]
    fn a_window_is_rate_times_rtt_in_packets() {
        // 24 Mb/s = 3 MB/s; in 10 ms 30,000 B; 20 packets of 1500 B.
        assert!((window(24e6, 10.0, 1500.0) - 20.0).abs() < 1e-12);
    }

    #[test]
    fn utilization_counts_ethernet_headers() {
        // 1000 packets of 1500 + 14 B = 12.112 Mb, in one second of 12.112 Mb/s.
        let counts = Counts { packets: 1000, bytes: 1_500_000, ..Counts::default() };
        let second = Duration::from_secs(1);
        let used = utilization(&counts, ETHERNET, Straddling::default(), 24_224_000.0, second);
        assert!((used - 0.5).abs() < 1e-12);
        // Half a packet was on the link when the second began, and a quarter of one when it ended.
        let edges = Straddling { before: Bytes::new(757), after: Bytes::new(378) };
        let used = utilization(&counts, ETHERNET, edges, 24_224_000.0, second);
        assert!((used - 1_514_379.0 / 3_028_000.0).abs() < 1e-12);
        // The savings of a full bucket do not count beyond all of the link.
        let all = Straddling::default();
        assert_eq!(utilization(&counts, ETHERNET, all, 12_000_000.0, second), 1.0);
        // A trace may have no capacity for so long.
        let nothing = Counts::default();
        assert_eq!(utilization(&nothing, ETHERNET, all, 0.0, second), 0.0);
    }

    /// Flows of score, highest score and round trips: without a mark, with marks before a time of drops alone, and with marks.
    #[test]
    fn only_a_flow_without_any_mark_is_at_rest() {
        let row = |(score, max, rounds)| FlowRow {
            classic_ecn: Some(score),
            classic_ecn_max: Some(max),
            classic_ecn_rounds: Some(rounds),
            ..FlowRow::default()
        };
        let rows = [(-8.0, -8.0, 0), (-8.0, -7.5, 0), (-8.0, -7.5, 90), (1.5, 2.0, 90)].map(row);
        let found = prague(rows.iter(), rows[..2].iter()).unwrap();
        let flows = Verdicts { at_rest: 1, l4s: 2, classic: 1, transition: 0 };
        assert_eq!(found.flows, flows);
        let downloads = Verdicts { at_rest: 1, l4s: 1, ..Verdicts::default() };
        assert_eq!(found.downloads, Some(downloads));
    }

    #[test]
    fn a_spread_takes_the_nearest_rank() {
        // Of 200 values, rank ceil(2.00) = 2 and rank ceil(198.00) = 198; mean 100.5.
        let found = spread((1..=200).rev().map(f64::from).collect()).unwrap();
        assert_eq!(found, Spread { p1: 2.0, mean: 100.5, p99: 198.0 });
        // Of one value, that one.
        assert_eq!(spread(vec![7.0]), Some(Spread { p1: 7.0, mean: 7.0, p99: 7.0 }));
        assert_eq!(spread(vec![]), None);
    }
}
