//! Limits of one session. They are below those of a scenario file, because a request may come from
//! anybody who reaches the server.

use l4s_model::Scenario;
use l4s_sim::cost::{Cost, size};
use l4s_units::{Bytes, Duration, Rate};

use crate::protocol::Fault;

/// Long flows and those of applications.
pub const FLOWS: u64 = 100;
/// Groups, UDP sources, and entries of each further kind.
pub const SOURCES: usize = 100;
/// The rate of a link; also that of all UDP sources, and of all applications.
pub const RATE: Rate = Rate::from_mbps(10_000);
/// Downloads per second.
pub const DOWNLOADS: f64 = 1000.0;
/// Frames per second.
pub const FRAMES: u64 = 10_000;
/// The most bytes in a queue, and under way: 1 s at 2.4 Gb/s.
pub const BYTES: Bytes = Bytes::new(300_000_000);
/// The most packets in a queue.
pub const PACKETS: u64 = 200_000;
/// The text of a scenario, and of all that is set in it.
pub const TEXT: usize = 64 << 10;
/// Keys that are set.
pub const KEYS: usize = 256;
/// Presets.
pub const PRESETS: usize = 50;
/// Steps of reading a text and finding the first of its runs: some tenths of a second.
pub const STEPS: u64 = 2_000_000;
/// Downloads that a lane has open at a time; a further one is turned away, as by a server without
/// free connections.
pub const DOWNLOADS_AT_A_TIME: usize = l4s_substrate::MOST_DOWNLOADS;
/// The most memory of all lanes of a session, in bytes, as counted by [`Cost`].
pub const MEMORY: u64 = 512_000_000;
/// Virtual seconds per second.
pub const SPEED: std::ops::RangeInclusive<f64> = 0.01..=10.0;

/// Refuses a scenario that is too much for a session.
///
/// # Errors
/// It is, and which key makes it so.
pub fn check(scenario: &Scenario) -> Result<(), Fault> {
    let Scenario { groups, udp, web, apps, hops, paths, changes, .. } = scenario;
    let long = groups.iter().map(|group| group.starts.len() as u64).sum::<u64>();
    let flows = apps.iter().map(|app| app.flows).fold(long, u64::saturating_add);
    most("flows", "flows of groups and applications", flows, FLOWS)?;
    most("group", "groups and UDP sources", scenario.roster().sources(), SOURCES)?;
    let tables = [
        ("web", web.len()),
        ("app", apps.len()),
        ("hop", hops.len()),
        ("path", paths.len()),
        ("at", changes.len()),
    ];
    for (list, tables) in tables {
        most(list, &format!("`[[{list}]]`"), tables, SOURCES)?;
    }

    let down = scenario.fastest();
    most("link.rate", "bit/s of the link", down.as_bps(), RATE.as_bps())?;
    let up = scenario.fastest_up();
    most("uplink.rate", "bit/s of the uplink", up.as_bps(), RATE.as_bps())?;
    let fastest = down.max(up);
    let sent = udp.iter().map(|udp| udp.rate.as_bps()).fold(0, u64::saturating_add);
    most("udp", "bit/s of UDP", sent, RATE.as_bps())?;
    let written = apps.iter().map(|app| app.rate.as_bps().saturating_mul(app.flows));
    most("app", "bit/s of applications", written.fold(0, u64::saturating_add), RATE.as_bps())?;
    let frames = apps.iter().map(|app| app.fps.saturating_mul(app.flows));
    most("app", "frames per second", frames.fold(0, u64::saturating_add), FRAMES)?;
    let downloads = web.iter().map(|web| web.rate.as_per_second_f64()).sum::<f64>();
    if downloads > DOWNLOADS {
        let message =
            format!("found {downloads} downloads per second in all, expected at most {DOWNLOADS}");
        return Err(Fault::new("web", message));
    }

    let later = changes.iter().flat_map(|change| &change.rtts).map(|(_, rtt)| *rtt);
    let longest = groups.iter().map(|group| group.rtt).chain(later).max();
    let under_way = fastest.bytes_in(longest.unwrap_or(Duration::ZERO));
    most("group.rtt", "bytes under way at the link's rate", under_way.get(), BYTES.get())?;
    let down = scenario.aqms().map(|aqm| ("link.buffer", aqm));
    let up = scenario.uplink_aqms().map(|aqm| ("uplink.buffer", aqm));
    for (field, aqm) in down.chain(up).chain(hops.iter().map(|hop| ("hop.buffer", &hop.aqm))) {
        let limit = aqm.limit();
        let packets = if limit.packets == u64::MAX { 0 } else { limit.packets };
        most(field, "packets that may wait", packets, PACKETS)?;
        if packets == 0 {
            most(field, "bytes that may wait", limit.bytes.get(), BYTES.get())?;
        }
    }
    Ok(())
}

/// The memory that the lanes of these scenarios need at most, in bytes, counted before they are built.
///
/// # Errors
/// It exceeds [`MEMORY`]; the fault names the largest part.
pub fn memory<'a>(lanes: impl IntoIterator<Item = &'a Scenario>) -> Result<u64, Fault> {
    let costs: Vec<Cost> = (lanes.into_iter())
        .map(|scenario| Cost::of(scenario, Some(DOWNLOADS_AT_A_TIME as u64)))
        .collect();
    let needed = costs.iter().map(Cost::bytes).fold(0, u64::saturating_add);
    if needed <= MEMORY {
        return Ok(needed);
    }
    let largest = costs.iter().filter_map(Cost::largest).max_by_key(|term| term.bytes());
    let why = largest.map_or(String::new(), |term| format!(": {term}"));
    let message =
        format!("needs {} of memory, a session may have {}{why}", size(needed), size(MEMORY));
    let help = "smaller buffers, or fewer queues, hops or flows, need less".to_owned();
    Err(Fault { help: Some(help), ..Fault::new("memory", message) })
}

fn most<N: PartialOrd + std::fmt::Display>(
    field: &str,
    what: &str,
    found: N,
    most: N,
) -> Result<(), Fault> {
    if found <= most {
        return Ok(());
    }
    Err(Fault::new(
        field,
        format!("found {found} {what}, expected at most {most} in a live session"),
    ))
}
