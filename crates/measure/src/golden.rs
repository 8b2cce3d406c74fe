//! Summaries as text in whole numbers, to be pinned: a change shows as a readable diff.
//!
//! Columns have fixed widths, so that one changed number changes one line. Delays are in
//! microseconds, rates in bits per second, ratios of packets in parts per million, everything else
//! in thousandths. `-` is a missing value.

use std::fmt::Write;

use crate::{DelaySummary, QueueSummary, Summary};

/// The text for all runs of a result table, in order.
pub fn golden<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> String {
    let mut text = String::new();
    for (run, summary) in summaries.into_iter().enumerate() {
        if run > 0 {
            text.push('\n');
        }
        // Writing into a string cannot fail.
        write_run(&mut text, run, summary).expect("a string takes any text");
    }
    text
}

fn write_run(text: &mut String, run: usize, summary: &Summary) -> std::fmt::Result {
    write!(text, "run {run}: {}, {}, seed {}", summary.scenario, summary.on, summary.seed)?;
    for (key, value) in &summary.set {
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        write!(text, ", {key} = {value}")?;
    }
    let link = &summary.link;
    writeln!(text)?;
    writeln!(text, "link    bps {:.0}  used_ppm {}", link.rate_bps, ppm(Some(link.utilization)))?;

    write_queues(text, &summary.queues)?;
    for hop in &summary.hops {
        let used = ppm(hop.utilization);
        writeln!(text, "hop     {}  links {}  used_ppm {used}", hop.name, hop.links)?;
        write_queues(text, &hop.queues)?;
    }
    for path in &summary.paths {
        write!(text, "path    {}  packets {}  lost {}", path.name, path.packets, path.lost)?;
        write!(text, "  corrupted {}  duplicated {}", path.corrupted, path.duplicated)?;
        writeln!(text, "  held_back {}  mangled {}", path.held_back, path.mangled)?;
    }
    line(
        text,
        [
            "group", "cc", "flows", "packets", "bps", "mark_ppm", "drop_ppm", "resent", "rtt_us",
            "window_m",
        ],
    )?;
    for group in &summary.groups {
        line(
            text,
            [
                &group.name,
                &group.cc,
                &group.flows.to_string(),
                &group.packets.to_string(),
                &whole(Some(group.rate_bps)),
                &ppm(group.mark),
                &ppm(group.drop),
                &group.retransmits.to_string(),
                &thousandths(group.rtt_ms),
                &thousandths(group.window_pkts),
            ],
        )?;
    }
    line(text, ["group", "mean_us", "p1", "p25", "p50", "p75", "p99", "p999", "max", "norm_m"])?;
    for group in &summary.groups {
        let [mean, p1, p25, p50, p75, p99, p999, max] = delays(group.delay_ms.as_ref());
        let share = thousandths(group.normalized_rate);
        line(text, [&group.name, &mean, &p1, &p25, &p50, &p75, &p99, &p999, &max, &share])?;
    }
    for group in &summary.groups {
        let Some(app) = &group.app else { continue };
        let (name, bps) = (&group.name, whole(Some(app.rate_bps)));
        write!(text, "{name}  app  flows {}  bps {bps}  written {}", app.flows, app.written)?;
        write!(text, "  delivered {}  skipped {}", app.delivered, app.skipped)?;
        let us = app
            .delay_ms
            .map(|ms| [ms.p1, ms.mean, ms.p99])
            .map(|all| all.map(|ms| thousandths(Some(ms))).join(" "));
        writeln!(text, "  us {}", us.as_deref().unwrap_or("-"))?;
    }
    for (name, value) in &summary.ratios {
        writeln!(text, "{name}  {} m", thousandths(value.as_f64()))?;
    }
    for bin in &summary.completion {
        let [low, high] = bin.bin_bytes;
        write!(text, "{}  {low}..{high} B  flows {}", bin.group, bin.flows)?;
        let (time, efficiency) = (bin.time_ms, bin.efficiency);
        let us = [time.p1, time.mean, time.p99].map(|ms| thousandths(Some(ms))).join(" ");
        let m = [efficiency.p1, efficiency.mean, efficiency.p99].map(|e| thousandths(Some(e)));
        writeln!(text, "  us {us}  efficiency_m {}", m.join(" "))?;
    }
    Ok(())
}

fn write_queues(text: &mut String, queues: &[QueueSummary]) -> std::fmt::Result {
    line(text, ["queue", "packets", "mean_us", "p1", "p25", "p50", "p75", "p99", "p999", "max"])?;
    for queue in queues {
        let [mean, p1, p25, p50, p75, p99, p999, max] = delays(queue.delay_ms.as_ref());
        let packets = queue.packets.to_string();
        line(text, [&queue.name, &packets, &mean, &p1, &p25, &p50, &p75, &p99, &p999, &max])?;
    }
    line(
        text,
        [
            "queue", "mark_ppm", "drop_ppm", "step", "coupled", "classic", "overload", "aqm",
            "limit", "memory",
        ],
    )?;
    for queue in queues {
        let (marks, drops) = (&queue.marks, &queue.drops);
        let counts = [
            marks.step,
            marks.coupled,
            marks.classic,
            drops.overload,
            drops.aqm,
            drops.limit,
            drops.memory,
        ]
        .map(|n| n.to_string());
        let [step, coupled, classic, overload, aqm, limit, memory] = &counts;
        let (mark, drop) = (ppm(queue.mark), ppm(queue.drop));
        line(
            text,
            [&queue.name, &mark, &drop, step, coupled, classic, overload, aqm, limit, memory],
        )?;
    }
    Ok(())
}

/// A line of a table: the first column to the left, numbers to the right.
fn line(text: &mut String, columns: [&str; 10]) -> std::fmt::Result {
    let [first, rest @ ..] = columns;
    write!(text, "{first:<8}")?;
    for column in rest {
        write!(text, "{column:>11}")?;
    }
    writeln!(text)
}

fn delays(delay: Option<&DelaySummary>) -> [String; 8] {
    let values = delay.map(|d| [d.mean, d.p1, d.p25, d.p50, d.p75, d.p99, d.p999, d.max]);
    std::array::from_fn(|i| thousandths(values.map(|v| v[i])))
}

fn whole(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.0}"))
}

/// Also milliseconds as microseconds.
fn thousandths(value: Option<f64>) -> String {
    whole(value.map(|v| v * 1e3))
}

fn ppm(value: Option<f64>) -> String {
    whole(value.map(|v| v * 1e6))
}
