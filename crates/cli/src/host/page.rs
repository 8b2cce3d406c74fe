//! The output of `l4s host status`.

use std::fmt::Write;

use l4s_bpf::{BpfError, Counts, Instance, Socket};
use l4s_cc::classic_ecn::{Report, Verdict};
use l4s_host::{DeviceStatus, PRAGUE, Status};
use l4s_os::Host;
use serde_json::{Value, json};

use crate::failure::Failure;

/// The page. Counts are those since `before`, if that is given.
pub fn page(host: &Host, status: &Status, before: Option<&Status>) -> String {
    let mut page = String::new();
    let mut line = |what: &str, found: &str| {
        let _ = writeln!(page, "{what:25} {found}");
    };
    let shown = |name: &String| match &status.profile {
        // As `--cc` takes it.
        Some(profile) if name == PRAGUE => format!("{name}:{profile}"),
        _ => name.clone(),
    };
    let loaded: Vec<String> =
        host.controls.iter().filter(|name| name.starts_with(PRAGUE)).map(shown).collect();
    let loaded = if loaded.is_empty() { "not installed".to_owned() } else { loaded.join(" ") };
    line("prague", &loaded);
    for (name, value) in &host.settings {
        line(name.rsplit('/').next().unwrap_or(name), value);
    }
    if let Some(interface) = &host.interface {
        line(&interface.name, interface.qdisc.as_deref().unwrap_or("unknown"));
    }
    let connections = match &status.sockets {
        Some(sockets) => sockets.len().to_string(),
        None => format!("not known: {}", BpfError::NoListing),
    };
    line("connections with prague", &connections);
    for device in &status.devices {
        let earlier = before.and_then(|before| {
            before.devices.iter().find(|other| other.asked.name == device.asked.name)
        });
        queues(&mut page, device, earlier.and_then(|device| device.queue.as_ref()));
    }
    if let Some(found) = status.sockets.as_deref().filter(|found| !found.is_empty()) {
        sockets(&mut page, found);
    }
    page
}

/// The queues of a device.
fn queues(page: &mut String, device: &DeviceStatus, before: Option<&Instance>) {
    let asked = &device.asked;
    if device.gone {
        let _ = writeln!(
            page,
            "\n{}: gone; a device of this name that came later needs `l4s host install` again",
            asked.name
        );
        return;
    }
    let ect1 = if device.ect1 { "; ECT(1) from prague" } else { "" };
    let Some(queue) = &device.queue else {
        let missing = if asked.settings.is_some() { ": dualpi2 is gone" } else { "" };
        let _ = writeln!(page, "\n{}{missing}{ect1}", asked.name);
        return;
    };
    let settings = asked.settings.as_deref().unwrap_or_default().join(" ");
    let p_prime = f64::from(queue.signals.p_prime) / f64::from(u32::MAX);
    let _ = writeln!(page, "\n{} dualpi2 {settings}; p' {p_prime:.4}{ect1}", asked.name);
    let _ = writeln!(
        page,
        "{:7} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "queue", "packets", "bytes", "mean ms", "p50 ms", "p99 ms", "marked", "dropped", "waiting"
    );
    for (number, (name, all)) in ["L4S", "Classic"].into_iter().zip(&queue.queues).enumerate() {
        let counts = before.map_or_else(|| all.clone(), |then| all.since(&then.queues[number]));
        let ms = |ns: Option<u64>| match ns {
            Some(ns) => format!("{:.3}", ns as f64 / 1e6),
            None => "-".to_owned(),
        };
        let _ = writeln!(
            page,
            "{name:7} {:9} {:11} {:>8} {:>8} {:>8} {:8} {:8} {:8}",
            counts.sent_packets,
            counts.sent_bytes,
            ms(counts.mean_ns()),
            ms(counts.quantile_ns(0.5)),
            ms(counts.quantile_ns(0.99)),
            counts.marked(),
            counts.dropped(),
            counts.waiting_packets,
        );
    }
    if queue.aggregates > 0 {
        let _ = writeln!(
            page,
            "{} aggregates of several segments (GSO), of up to {} bytes; each is transmitted as a whole",
            queue.aggregates, queue.largest
        );
    }
}

fn sockets(page: &mut String, sockets: &[Socket]) {
    let _ = writeln!(
        page,
        "\n{:47} {:>5} {:>6} {:>8} {:10} {:>9} {:>9} {:>9} {:>9}",
        "from, to",
        "cwnd",
        "alpha",
        "score",
        "verdict",
        "srtt ms",
        "mdev ms",
        "depth ms",
        "overtaken"
    );
    for socket in sockets {
        let report = Report::from(socket.shown.detector);
        // At rest it has nothing to say.
        let sets = socket.shown.sets;
        let overtaken = match sets.overtaken + sets.in_order {
            0 => "-".to_owned(),
            answered => format!("{}/{answered}", sets.overtaken),
        };
        let verdict = if report.rounds == 0 { "-" } else { Verdict::of(report.score).name() };
        let _ = writeln!(
            page,
            "{:47} {:5} {:6.3} {:8.2} {verdict:10} {:9.3} {:9.3} {:9.3} {overtaken:>9}",
            format!("{} {}", socket.local, socket.peer),
            socket.cwnd,
            f64::from(socket.shown.alpha) / f64::from(1u32 << 24),
            report.score,
            report.srtt.as_millis_f64(),
            report.mdev.as_millis_f64(),
            report.depth.as_millis_f64(),
        );
    }
}

/// The same for programs: names and units as in the summary of a run.
pub fn json(status: &Status) -> Result<String, Failure> {
    let queue = |counts: &Counts| {
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        json!({
            "packets": counts.sent_packets, "bytes": counts.sent_bytes,
            "delay_ms": {
                "mean": ms(counts.mean_ns()), "p50": ms(counts.quantile_ns(0.5)),
                "p99": ms(counts.quantile_ns(0.99)),
            },
            "mark_step": counts.mark_step, "mark_coupled": counts.mark_coupled,
            "mark_classic": counts.mark_classic, "drop_aqm": counts.drop_aqm,
            "drop_overload": counts.drop_overload, "drop_limit": counts.drop_limit,
            "strays": counts.strays, "waiting_packets": counts.waiting_packets,
            "waiting_bytes": counts.waiting_bytes,
        })
    };
    let device = |device: &DeviceStatus| {
        let dualpi2 = device.queue.as_ref().map(|found| {
            let [l, c] = &found.queues;
            json!({
                "settings": device.asked.settings,
                "p_prime": f64::from(found.signals.p_prime) / f64::from(u32::MAX),
                "drain_bps": found.signals.drain_bps, "aggregates": found.aggregates,
                "largest_bytes": found.largest, "queues": { "L": queue(l), "C": queue(c) },
            })
        });
        json!({
            "name": device.asked.name, "gone": device.gone, "ect1": device.ect1, "dualpi2": dualpi2,
        })
    };
    let socket = |socket: &Socket| {
        let report = Report::from(socket.shown.detector);
        json!({
            "local": socket.local, "peer": socket.peer, "cwnd": socket.cwnd,
            "alpha": f64::from(socket.shown.alpha) / f64::from(1u32 << 24),
            "classic_ecn": report.score, "srtt_ms": report.srtt.as_millis_f64(),
            "tracers": {
                "sent": socket.shown.sets.sent, "overtaken": socket.shown.sets.overtaken,
                "in_order": socket.shown.sets.in_order,
            },
        })
    };
    let all = json!({
        "prague": status.prague,
        "profile": status.profile,
        "devices": status.devices.iter().map(device).collect::<Vec<Value>>(),
        "sockets": status.sockets.as_ref().map(|all| all.iter().map(socket).collect::<Vec<Value>>()),
    });
    serde_json::to_string(&all)
        .map(|text| text + "\n")
        .map_err(|error| Failure::Run(format!("the status as JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_bpf::{Sets, Shown};
    use l4s_cc::prague::kernel::Reading;
    use l4s_os::Interface;

    fn host() -> Host {
        let controls =
            ["reno", "cubic", "prague77", "prague", "prague4d_1"].map(str::to_owned).to_vec();
        let qdisc = Some("fq".to_owned());
        Host {
            interface: Some(Interface { name: "eth0".to_owned(), qdisc, offloads: Vec::new() }),
            controls,
            settings: vec![("net/ipv4/tcp_ecn", "2".to_owned())],
        }
    }

    fn status(sockets: &[Socket]) -> Status {
        Status {
            prague: true,
            profile: Some("best-linux".to_owned()),
            sockets: Some(sockets.to_vec()),
            devices: Vec::new(),
        }
    }

    fn socket(rounds: u32, score: i64) -> Socket {
        let detector =
            Reading { score, max: score, rounds, srtt_us: 12_345, mdev_us: 67, depth_us: 2345 };
        Socket {
            local: "10.0.0.1:443".parse().unwrap(),
            peer: "[2001:db8::2]:5001".parse().unwrap(),
            cwnd: 27,
            established: true,
            shown: Shown {
                detector,
                spacing_us: 0,
                alpha: 1 << 22,
                sets: Sets { sent: 5, overtaken: 3, in_order: 1 },
            },
        }
    }

    #[test]
    fn without_connections_it_shows_what_is_loaded_and_set() {
        let expected = "\
            prague                    prague77 prague:best-linux prague4d_1\n\
            tcp_ecn                   2\n\
            eth0                      fq\n\
            connections with prague   0\n";
        assert_eq!(page(&host(), &status(&[]), None), expected);
        let interface = Some(Interface { qdisc: None, ..host().interface.unwrap() });
        assert!(
            page(&Host { interface, ..host() }, &status(&[]), None)
                .contains("eth0                      unknown\n")
        );
        let unknown = page(&host(), &Status { sockets: None, ..status(&[]) }, None);
        assert!(unknown.contains("connections with prague   not known: this kernel"), "{unknown}");
        let nowhere = page(&Host { interface: None, ..host() }, &status(&[]), None);
        assert!(!nowhere.contains("eth0"), "{nowhere}");
    }

    #[test]
    fn a_connection_is_a_row_under_its_heads() {
        let page = page(&host(), &status(&[socket(5, 3 << 23)]), None);
        let (_, rows) = page.split_once("connections with prague   1\n\n").expect("a table");
        let expected = "\
            from, to                                         cwnd  alpha    score verdict      \
              srtt ms   mdev ms  depth ms overtaken\n\
            10.0.0.1:443 [2001:db8::2]:5001                    27  0.250     1.50 classic       \
              12.345     0.067     2.345       3/4\n";
        assert_eq!(rows, expected);
    }

    #[test]
    fn the_verdict_is_that_of_the_score_and_at_rest_there_is_none() {
        let one = 1 << 24;
        let verdicts = [
            (0, 8 * one, "-"),
            (1, -8 * one, "l4s"),
            (1, 0, "l4s"),
            (1, 1, "transition"),
            (1, one - 1, "transition"),
            (1, one, "classic"),
        ];
        for (rounds, score, expected) in verdicts {
            let page = page(&host(), &status(&[socket(rounds, score)]), None);
            let row = page.lines().last().unwrap();
            assert_eq!(row.split_whitespace().nth(5), Some(expected), "{row}");
        }
    }
}
