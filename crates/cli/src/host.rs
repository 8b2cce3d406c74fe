//! `l4s host`: L4S on this machine itself.

use std::fmt::Write;
use std::time::Duration;

use l4s_bpf::Socket;
use l4s_cc::classic_ecn::{Report, Verdict};
use l4s_lab::Host;

use crate::args::HostCommand;
use crate::failure::Failure;
use crate::print;

/// How often `--watch` looks.
const EVERY: Duration = Duration::from_secs(1);

/// Does what was asked for.
pub fn host(command: &HostCommand) -> Result<(), Failure> {
    let HostCommand::Status { watch } = command;
    loop {
        let page = status()?;
        if !watch {
            return print(&page);
        }
        // Home, and nothing left of the last page.
        print(&format!("\x1b[H\x1b[J{page}"))?;
        std::thread::sleep(EVERY);
    }
}

/// What is there of L4S. Without our Prague there is nothing to tell.
fn status() -> Result<String, Failure> {
    let failed = |why: String| Failure::Substrate(format!("l4s host status: {why}"));
    let sockets = l4s_bpf::sockets().map_err(|error| failed(error.to_string()))?;
    let Some(sockets) = sockets else {
        return Err(failed(
            "no Prague by BPF is loaded on this machine: `l4s run --on kernel` loads one for as \
             long as it runs"
                .to_owned(),
        ));
    };
    Ok(page(&Host::look(), &sockets))
}

fn page(host: &Host, sockets: &[Socket]) -> String {
    let mut page = String::new();
    let loaded: Vec<&str> = host
        .controls
        .iter()
        .map(String::as_str)
        .filter(|name| name.starts_with("prague"))
        .collect();
    let mut line = |what: &str, found: &str| {
        let _ = writeln!(page, "{what:25} {found}");
    };
    line("prague", &loaded.join(" "));
    for (name, value) in &host.settings {
        line(name.rsplit('/').next().unwrap_or(name), value);
    }
    if let Some(interface) = &host.interface {
        line(&interface.name, interface.qdisc.as_deref().unwrap_or("unknown"));
    }
    line("connections with prague", &sockets.len().to_string());
    if !sockets.is_empty() {
        let _ = writeln!(
            page,
            "\n{:47} {:>5} {:>6} {:>8} {:10} {:>9} {:>9} {:>9}",
            "from, to", "cwnd", "alpha", "score", "verdict", "srtt ms", "mdev ms", "depth ms"
        );
    }
    for socket in sockets {
        let report = Report::from(socket.shown.detector);
        // At rest it has nothing to say.
        let verdict = if report.rounds == 0 { "-" } else { Verdict::of(report.score).name() };
        let _ = writeln!(
            page,
            "{:47} {:5} {:6.3} {:8.2} {verdict:10} {:9.3} {:9.3} {:9.3}",
            format!("{} {}", socket.local, socket.peer),
            socket.cwnd,
            f64::from(socket.shown.alpha) / f64::from(1u32 << 24),
            report.score,
            report.srtt.as_millis_f64(),
            report.mdev.as_millis_f64(),
            report.depth.as_millis_f64(),
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_bpf::Shown;
    use l4s_cc::prague::kernel::Reading;
    use l4s_lab::Interface;

    fn host() -> Host {
        let controls = ["reno", "cubic", "prague77", "prague4d_1"].map(str::to_owned).to_vec();
        let qdisc = Some("fq".to_owned());
        Host {
            interface: Some(Interface { name: "eth0".to_owned(), qdisc, offloads: Vec::new() }),
            controls,
            settings: vec![("net/ipv4/tcp_ecn", "2".to_owned())],
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
            shown: Shown { detector, spacing_us: 0, alpha: 1 << 22 },
        }
    }

    #[test]
    fn without_connections_it_shows_what_is_loaded_and_set() {
        let expected = "\
            prague                    prague77 prague4d_1\n\
            tcp_ecn                   2\n\
            eth0                      fq\n\
            connections with prague   0\n";
        assert_eq!(page(&host(), &[]), expected);
        let interface = Some(Interface { qdisc: None, ..host().interface.unwrap() });
        assert!(
            page(&Host { interface, ..host() }, &[])
                .contains("eth0                      unknown\n")
        );
        let nowhere = page(&Host { interface: None, ..host() }, &[]);
        assert!(!nowhere.contains("eth0"), "{nowhere}");
    }

    #[test]
    fn a_connection_is_a_row_under_its_heads() {
        let page = page(&host(), &[socket(5, 3 << 23)]);
        let (_, rows) = page.split_once("connections with prague   1\n\n").expect("a table");
        let expected = "\
            from, to                                         cwnd  alpha    score verdict      \
              srtt ms   mdev ms  depth ms\n\
            10.0.0.1:443 [2001:db8::2]:5001                    27  0.250     1.50 classic       \
              12.345     0.067     2.345\n";
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
            let page = page(&host(), &[socket(rounds, score)]);
            let row = page.lines().last().unwrap();
            assert_eq!(row.split_whitespace().nth(5), Some(expected), "{row}");
        }
    }
}
