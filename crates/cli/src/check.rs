//! `l4s shell --check`: whether the senders of the larger flows are L4S senders, from their packets.
//!
//! It reports evidence, with the numbers. Where there were too few marks, it says so.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

use l4s_aqm::{DropCause, Queue, dualpi2};
use l4s_flows::Row;
use l4s_flows::check::{Check, Path, Response, Responses};
use l4s_model::{FlowId, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_units::{Bytes, Duration, Rate, Time};

/// The most flows that are checked; a check has 2 KB.
const FLOWS: usize = 1000;
/// The most flows that are reported.
const REPORTED: usize = 5;
/// With fewer packets there is nothing to say of a flow.
const PACKETS: u64 = 100;
/// Where the AQM has no step threshold: that of DualPI2 (RFC 9332 §A.1).
const STEP: Duration = Duration::from_millis(1);
/// The shortest base round trip of which rounds are meaningful.
const LEAST_RTT: Duration = Duration::from_millis(1);
/// The link of a check without a scenario: each of these is a rate in Mb/s, a second long. The
/// sender has to follow the rate, so that marks are few at some times and many at others.
const RATES: [u64; 2] = [20, 40];
/// Seconds without a change at the start, and the last change.
const STEADY: u64 = 4;
const LAST: u64 = 121;

/// Checks of all flows of programs while they run.
#[derive(Debug)]
pub struct Checks {
    /// The path of each group with programs.
    paths: HashMap<usize, Path>,
    flows: HashMap<FlowId, Check>,
}

/// The changes of the link of a check before its end, as a scenario has them.
pub fn changes(end: Duration) -> String {
    let seconds = (STEADY..=LAST).take_while(|second| Duration::from_secs(*second) < end);
    seconds.zip(RATES.iter().cycle()).fold(String::new(), |mut text, (second, rate)| {
        let _ = write!(text, "[[at]]\ntime = \"{second}s\"\nlink.rate = \"{rate}mbit\"\n");
        text
    })
}

impl Checks {
    /// Checks the programs of a scenario.
    pub fn new(scenario: &Scenario) -> Checks {
        let step = match &scenario.aqm {
            l4s_aqm::Config::DualPi2(config) => match config.l_aqm {
                dualpi2::LAqm::Step(dualpi2::Step::Time(time)) => time,
                _ => STEP,
            },
            _ => STEP,
        };
        let path = |place: usize| {
            let rtt = scenario.groups[place].rtt.max(LEAST_RTT);
            (place, Path { rtt, rate: scenario.link.rate, step })
        };
        let groups = scenario.programs.iter().map(|program| program.group);
        Checks { paths: groups.map(path).collect(), flows: HashMap::new() }
    }

    /// The report on the flows that carried most; `unfit` if the machine was too busy for the run.
    pub fn report(&self, flows: &[(FlowId, Row)], unfit: bool) -> String {
        let mut larger: Vec<_> = flows
            .iter()
            .filter(|(_, row)| row.down_packets.max(row.up_packets) >= PACKETS)
            .filter_map(|(flow, row)| Some((self.flows.get(flow)?, row)))
            .collect();
        larger.sort_by_key(|(_, row)| Reverse(row.down_bytes + row.up_bytes));
        let mut text = String::new();
        if unfit {
            text += "check: the run is unfit (see below): bursts, pauses and responses may be those of this \
                     machine\n";
        }
        for (check, row) in larger.iter().take(REPORTED) {
            text += &Sent::of(row).report(check);
        }
        let more = flows.len() - larger.len().min(REPORTED);
        if larger.is_empty() {
            let _ = writeln!(text, "check: no flow had {PACKETS} packets");
        } else if more > 0 {
            let _ = writeln!(text, "check: {more} smaller flows are left out");
        }
        text
    }

    fn of<P: Traced>(&mut self, packet: &P) -> Option<&mut Check> {
        let path = self.paths.get(&packet.group().index())?;
        if self.flows.len() >= FLOWS && !self.flows.contains_key(&packet.flow()) {
            return None;
        }
        Some(self.flows.entry(packet.flow()).or_insert_with(|| Check::new(*path)))
    }
}

impl<P: Traced> Observer<P> for Checks {
    fn arrived(&mut self, packet: &P, now: Time) {
        if let Some(check) = self.of(packet) {
            check.arrived(packet.ip_length(), now);
        }
    }

    fn departed(&mut self, packet: &P, _: Queue, sojourn: Duration, now: Time) {
        if let Some(check) = self.of(packet) {
            check.departed(packet.ip_length(), sojourn, packet.newly_marked(), now);
        }
    }

    fn dropped(&mut self, packet: &P, _: Queue, _: DropCause, now: Time) {
        if let Some(check) = self.of(packet) {
            check.dropped(packet.ip_length(), now);
        }
    }
}

/// A codepoint that nearly all packets of a sender have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codepoint {
    NotEct,
    Ect0,
    Ect1,
    Mixed,
}

/// The packets of the end that sent most of a flow.
struct Sent<'a> {
    row: &'a Row,
    /// Whether the server sent it, through the queue.
    down: bool,
    packets: u64,
    not_ect: u64,
    ect0: u64,
    ect1: u64,
    ce: u64,
}

impl Sent<'_> {
    fn of(row: &Row) -> Sent<'_> {
        if row.down_bytes >= row.up_bytes {
            Sent {
                row,
                down: true,
                packets: row.down_packets,
                not_ect: row.down_not_ect,
                ect0: row.down_ect0,
                ect1: row.down_ect1,
                ce: row.down_ce,
            }
        } else {
            Sent {
                row,
                down: false,
                packets: row.up_packets,
                not_ect: row.up_not_ect,
                ect0: row.up_ect0,
                ect1: row.up_ect1,
                ce: row.up_ce,
            }
        }
    }

    /// A handshake may be Not-ECT, and a connection may end with other packets than it sends data with.
    fn codepoint(&self) -> Codepoint {
        let nearly_all = |n: u64| n * 20 >= self.packets * 19;
        match () {
            () if nearly_all(self.ect1) => Codepoint::Ect1,
            () if nearly_all(self.ect0) => Codepoint::Ect0,
            () if nearly_all(self.not_ect) => Codepoint::NotEct,
            () => Codepoint::Mixed,
        }
    }

    fn report(&self, check: &Check) -> String {
        let Row { protocol, client, server, .. } = self.row;
        let port = |port: Option<u32>| port.map_or(String::new(), |port| format!(" port {port}"));
        let server = format!("{server}{}", port(self.row.server_port));
        let client = format!("{client}{}", port(self.row.client_port));
        let (from, to) = if self.down { (server, client) } else { (client, server) };
        let mut text = format!("check: {protocol} from {from} to {to}, {} packets\n", self.packets);
        let _ = writeln!(text, "  codepoints: {}", self.codepoints());
        if self.down {
            let response = check.response();
            let _ = writeln!(text, "  marks: {}", marks(check, response));
            let _ = writeln!(text, "  bursts: {}", bursts(check));
            let _ = writeln!(text, "  {}", self.verdict(response, pacing(check)));
        } else {
            text += "  marks: not enough data: the client's packets pass no queue; run the sender on \
                     the server's host (--at server)\n";
        }
        text
    }

    fn codepoints(&self) -> String {
        let Sent { packets, not_ect, ect0, ect1, ce, .. } = self;
        let counts = [("ECT(1)", ect1), ("ECT(0)", ect0), ("Not-ECT", not_ect), ("CE", ce)];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(name, n)| format!("{name} on {}", percent(**n as f64 / *packets as f64)))
            .collect();
        let meaning = match self.codepoint() {
            Codepoint::Ect1 => "the L4S identifier (RFC 9331 §4.1)",
            Codepoint::Ect0 => "Classic ECN (RFC 3168 §5), not the L4S identifier (RFC 9331 §4.1)",
            Codepoint::NotEct => "no ECN",
            Codepoint::Mixed => "a mixture; a flow that is to be L4S has ECT(1) (RFC 9331 §4.1)",
        };
        format!("{}: {meaning}", counts.join(", "))
    }

    /// The conclusion about L4S.
    fn verdict(&self, response: Response, pacing: Pacing) -> String {
        let mut missing = Vec::new();
        match self.codepoint() {
            Codepoint::Ect1 => {}
            _ => missing.push("ECT(1) on its packets (RFC 9331 §4.1)"),
        }
        if matches!(response, Response::Classic | Response::Ignored) {
            missing.push("a Scalable response to CE (RFC 9331 §4.3)");
        }
        if pacing == Pacing::Bursty {
            missing.push("pacing, or smaller bursts (RFC 9331 §4.3)");
        }
        // Without marks, or with few, nothing was seen of the response.
        let unseen = match response {
            Response::Unmarked => "; the response to CE was not seen",
            Response::TooFew => "; too few marks to see the response to CE",
            Response::Unclear => "; the response to CE is unclear",
            _ => "",
        };
        match (missing.is_empty(), unseen) {
            (false, _) => format!("not L4S-ready; missing: {}{unseen}", missing.join("; ")),
            (true, "") if pacing == Pacing::Paced => "L4S-ready as far as observed".to_owned(),
            (true, "") => "L4S-ready as far as observed, except for some bursts".to_owned(),
            (true, _) => format!("L4S-ready: not enough data{unseen}"),
        }
    }
}

/// The marks, and the response to them.
fn marks(check: &Check, response: Response) -> String {
    if response == Response::Unmarked {
        return "none, so nothing can be said about the response to them".to_owned();
    }
    let fell = |when: &str, of: Responses| match of.samples {
        0 => format!("no samples of {when} marks"),
        n => format!(
            "after {when} marks packets in flight {} by {} (mean of {n} samples; DCTCP reduces by {})",
            if of.reduction() < 0.0 { "grew" } else { "fell" },
            percent(of.reduction().abs()),
            percent(of.expected())
        ),
    };
    let evidence = format!("{}, {}", fell("few", check.small()), fell("many", check.large()));
    let verdict = match response {
        Response::Unmarked | Response::TooFew => {
            "not enough data: 3 samples with few marks and 10 with many are required"
        }
        Response::Scalable => {
            "a Scalable response, roughly proportional to the marked share (RFC 9331 §4.3)"
        }
        Response::Classic => "a Classic response, a large reduction at any marked share",
        Response::Ignored => "no response to CE",
        Response::Unclear => "unclear: neither Scalable nor Classic nor without a response",
    };
    format!("{} of bytes; {evidence}: {verdict}", percent(check.marked()))
}

/// Whether a sender paces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pacing {
    /// At most 1 % of bytes are in long bursts.
    Paced,
    /// At most 10 %: a busy machine also delays packets, which then leave together.
    Some,
    /// More.
    Bursty,
}

fn pacing(check: &Check) -> Pacing {
    let bursts = check.bursts();
    match bursts.long.get() {
        long if long * 100 <= bursts.total.get() => Pacing::Paced,
        long if long * 10 <= bursts.total.get() => Pacing::Some,
        _ => Pacing::Bursty,
    }
}

fn bursts(check: &Check) -> String {
    let (bursts, Path { rate, step, .. }) = (check.bursts(), check.path());
    let time = |bytes: Bytes, rate: Rate| rate.time_of(bytes).as_millis_f64();
    let share = bursts.long.get() as f64 / bursts.total.get().max(1) as f64;
    let verdict = match pacing(check) {
        Pacing::Paced => "it paces",
        Pacing::Some => "not enough data to say whether it paces",
        Pacing::Bursty => "it does not pace",
    };
    format!(
        "the largest is {} B, which is {:.2} ms at {} Mb/s; {} of bytes are in bursts longer than the step \
         threshold of {} ms: {verdict}",
        bursts.largest.get(),
        time(bursts.largest, rate),
        rate.as_bps() as f64 / 1e6,
        percent(share),
        step.as_millis_f64()
    )
}

/// A fraction in percent, to two significant digits or so.
fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        p if p == 0.0 || p >= 99.95 => format!("{percent:.0} %"),
        p if p >= 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        rtt: Duration::from_millis(20),
        rate: Rate::from_mbps(40),
        step: Duration::from_millis(1),
    };

    fn check() -> Check {
        Check::new(PATH)
    }

    /// A download of 1000 packets with this codepoint.
    fn row(not_ect: u64, ect0: u64, ect1: u64) -> Row {
        Row {
            protocol: "QUIC".to_owned(),
            down_packets: not_ect + ect0 + ect1,
            down_bytes: 1_500_000,
            down_not_ect: not_ect,
            down_ect0: ect0,
            down_ect1: ect1,
            ..Row::default()
        }
    }

    fn verdict(row: &Row, response: Response, pacing: Pacing) -> String {
        Sent::of(row).verdict(response, pacing)
    }

    #[test]
    fn only_ect1_a_scalable_response_and_pacing_are_ready() {
        let l4s = row(3, 0, 997);
        let ready = |response, pacing| verdict(&l4s, response, pacing);
        assert_eq!(ready(Response::Scalable, Pacing::Paced), "L4S-ready as far as observed");
        assert!(ready(Response::Scalable, Pacing::Some).ends_with("except for some bursts"));
        for response in [Response::TooFew, Response::Unmarked, Response::Unclear] {
            assert!(ready(response, Pacing::Paced).starts_with("L4S-ready: not enough data;"));
        }
        for response in [Response::Classic, Response::Ignored] {
            let found = ready(response, Pacing::Bursty);
            let missing =
                "not L4S-ready; missing: a Scalable response to CE (RFC 9331 §4.3); pacing";
            assert!(found.starts_with(missing), "{found}");
        }
        for other in [row(1000, 0, 0), row(0, 1000, 0), row(0, 500, 500)] {
            let found = verdict(&other, Response::Scalable, Pacing::Paced);
            assert_eq!(found, "not L4S-ready; missing: ECT(1) on its packets (RFC 9331 §4.1)");
        }
    }

    #[test]
    fn a_flow_without_marks_has_no_verdict_on_them() {
        let mut check = check();
        for n in 0..1000 {
            let now = Time::from_nanos(n * 1_000_000);
            check.arrived(Bytes::new(1500), now);
            check.departed(Bytes::new(1500), Duration::ZERO, false, now);
        }
        let text = Sent::of(&row(0, 0, 1000)).report(&check);
        assert!(text.contains("codepoints: ECT(1) on 100 %: the L4S identifier"), "{text}");
        assert!(text.contains("marks: none"), "{text}");
        // A packet of 12,000 b is 0.3 ms at 40 Mb/s.
        assert!(text.contains("the largest is 1500 B, which is 0.30 ms at 40 Mb/s; 0 %"), "{text}");
        assert!(text.contains("not enough data; the response to CE was not seen"), "{text}");
    }

    #[test]
    fn what_the_client_sends_meets_no_queue() {
        let upload = Row { up_packets: 1000, up_bytes: 1 << 30, up_ect0: 1000, ..row(9, 0, 0) };
        let text = Sent::of(&upload).report(&check());
        assert!(text.contains("ECT(0) on 100 %") && text.contains("--at server"), "{text}");
    }

    #[test]
    fn the_link_of_a_check_alternates_and_ends_as_it_began() {
        let begin = "name = \"a\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\n\
                     rtt = \"20ms\"\n";
        let text = begin.to_owned() + &changes(Duration::MAX);
        let plan =
            l4s_scenario::Plan::parse("a.toml", &text, &["duration=200s".to_owned()]).unwrap();
        let rates: Vec<_> = plan.points[0].scenario.changes.iter().map(|at| at.rate).collect();
        let (slow, fast) = (Some(Rate::from_mbps(20)), Some(Rate::from_mbps(40)));
        assert_eq!((rates.len(), rates[0], rates[1]), (118, slow, fast));
        assert_eq!(rates.last(), Some(&fast));
    }
}
