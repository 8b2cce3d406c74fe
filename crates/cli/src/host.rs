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
