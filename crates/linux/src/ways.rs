//! The ways of packets through the router: links and stretches between the cables of their sender and
//! their receiver.
//!
//! ```text
//!  server P ─▶ before ─▶ link ─▶ behind ─▶ client P     server Q ─▶ up ─▶ uplink ─▶ client Q
//!     ▲                                      │             ▲                           │
//!     └──── back ◀── uplink ◀── up ◀─────────┘             └ back ◀ behind ◀ link ◀ before
//!          P sends down                                         Q sends up
//! ```
//!
//! A packet goes to a [`Stop`] by one device and comes back by another. A routing table for each of
//! the latter leads it on by its destination.

use l4s_lab::End;
use l4s_model::{Direction, Path, Scenario, Side};

/// A link, or a part of the way in this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stop {
    /// The bottleneck.
    Link,
    /// The bottleneck of the way up.
    Uplink,
    /// The imperfect stretches between a server and the bottleneck.
    Before,
    /// Those between the bottleneck and a client.
    Behind,
    /// Those between a client and the uplink.
    Up,
    /// The base RTT, where the kernel has no `netem`.
    Back,
}

impl Stop {
    /// How many of them are no links.
    pub const DETOURS: usize = 4;

    /// Whether it is a link. All others are in this process.
    pub fn is_link(self) -> bool {
        matches!(self, Stop::Link | Stop::Uplink)
    }

    /// The device that packets go out of, to get there.
    pub fn device(self) -> &'static str {
        match self {
            Stop::Link => "link",
            Stop::Uplink => "uplink",
            Stop::Before => "before",
            Stop::Behind => "behind",
            Stop::Up => "up",
            Stop::Back => "back",
        }
    }

    /// The device that packets come back from.
    pub fn exit(self) -> &'static str {
        match self {
            Stop::Link => "link-out",
            Stop::Uplink => "uplink-out",
            detour => detour.device(),
        }
    }

    /// The routing table for packets that come back.
    pub fn table(self) -> u8 {
        100 + self as u8
    }
}

/// The ways of the packets of every pair.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Of each pair, from its server and from its client.
    of: Vec<[Vec<Stop>; 2]>,
}

impl Ways {
    /// The ways of a scenario. The base RTT is `in_user_space` or in no stop.
    pub fn new(scenario: &Scenario, in_user_space: bool) -> Ways {
        let uplink = scenario.uplink.as_ref().map(|_| Stop::Uplink);
        let ways = |pair: usize| {
            let imperfect = |stop: Stop, direction, sides: &[Side]| {
                let here = |path: &Path| path.direction == direction && sides.contains(&path.side);
                let passes = |path: &&Path| here(path) && path.sources.contains(&pair);
                scenario.paths.iter().find(passes).map(|_| stop)
            };
            let before = imperfect(Stop::Before, Direction::Down, &[Side::Before]);
            let behind = imperfect(Stop::Behind, Direction::Down, &[Side::Behind]);
            let up = imperfect(Stop::Up, Direction::Up, &[Side::Before, Side::Behind]);
            let delay = in_user_space.then_some(Stop::Back);
            let (down, up) = ([before, Some(Stop::Link), behind], [up, uplink, None]);
            let [data, answers] = match scenario.direction_of(pair) {
                Direction::Down => [down, up],
                Direction::Up => [up, down],
            };
            let answers = answers.into_iter().chain([delay]).flatten();
            [data.into_iter().flatten().collect(), answers.collect()]
        };
        Ways { of: (0..scenario.roster().sources()).map(ways).collect() }
    }

    /// Whether anything but the base RTT is on the way back of a scenario, or on an imperfect stretch.
    pub fn has_more(scenario: &Scenario) -> bool {
        scenario.uplink.is_some() || !scenario.paths.is_empty()
    }

    /// The stops of packets from an end of a pair, in order.
    pub fn from(&self, pair: usize, end: End) -> &[Stop] {
        let [from_server, from_client] = &self.of[pair];
        match end {
            End::Server => from_server,
            End::Client => from_client,
        }
    }

    /// Every stop that packets pass.
    pub fn stops(&self) -> Vec<Stop> {
        let mut stops: Vec<Stop> = self.of.iter().flatten().flatten().copied().collect();
        stops.push(Stop::Link);
        stops.sort_unstable();
        stops.dedup();
        stops
    }
}

#[cfg(test)]
mod tests {
    use l4s_os::netlink::MAIN_TABLE;
    use l4s_scenario::Plan;

    use super::*;

    fn ways(more: &str, in_user_space: bool) -> Ways {
        let text = format!(
            "link.rate = \"10mbit\"\naqm = \"fifo\"\n{more}\n\
             [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n"
        );
        let plan = Plan::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        Ways::new(&plan.points[0].scenario, in_user_space)
    }

    #[test]
    fn imperfect_stretches_are_around_the_links() {
        let ways = ways(
            "uplink = { rate = \"2mbit\", aqm = \"fifo\" }\n\
             [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
             [[path]]\nname = \"far\"\nloss = 0.1\ngroups = [\"A\"]\n\
             [[path]]\nname = \"near\"\nloss = 0.1\nplace = \"before\"\n\
             [[path]]\nname = \"up\"\nloss = 0.1\ndirection = \"up\"\nplace = \"before\"\ngroups = [\"A\"]",
            true,
        );
        let [b, a] = [0, 1];
        assert_eq!(ways.from(a, End::Server), [Stop::Before, Stop::Link, Stop::Behind]);
        assert_eq!(ways.from(a, End::Client), [Stop::Up, Stop::Uplink, Stop::Back]);
        assert_eq!(ways.from(b, End::Server), [Stop::Before, Stop::Link]);
        assert_eq!(ways.from(b, End::Client), [Stop::Uplink, Stop::Back]);
        let detours = ways.stops().into_iter().filter(|stop| !stop.is_link()).count();
        assert_eq!(detours, Stop::DETOURS);
    }

    #[test]
    fn every_stop_has_a_table_of_its_own() {
        let all = [Stop::Link, Stop::Uplink, Stop::Before, Stop::Behind, Stop::Up, Stop::Back];
        let tables = all.map(Stop::table);
        assert!(tables.windows(2).all(|two| two[0] < two[1]) && tables[5] < MAIN_TABLE);
    }

    #[test]
    fn without_an_uplink_answers_pass_nothing_but_the_delay() {
        let ways = |in_user_space| ways("", in_user_space);
        assert_eq!(ways(false).from(0, End::Server), [Stop::Link]);
        assert_eq!(ways(false).from(0, End::Client), []);
        assert_eq!(ways(true).from(0, End::Client), [Stop::Back]);
        assert_eq!(ways(true).stops(), [Stop::Link, Stop::Back]);
    }

    #[test]
    fn an_upload_is_the_mirror_image_of_a_download() {
        let ways = ways(
            "uplink = { rate = \"2mbit\", aqm = \"fifo\" }\n\
             [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\ndirection = \"up\"\n\
             [[udp]]\nname = \"call\"\nrate = \"1mbit\"\ndirection = \"up\"\n\
             [[path]]\nname = \"far\"\nloss = 0.1\nplace = \"before\"\ngroups = [\"B\"]\n\
             [[path]]\nname = \"near\"\nloss = 0.1\n\
             [[path]]\nname = \"up\"\nloss = 0.1\ndirection = \"up\"\ngroups = [\"B\"]",
            true,
        );
        let [b, a, call] = [0, 1, 2];
        assert_eq!(ways.from(a, End::Server), [Stop::Link, Stop::Behind]);
        assert_eq!(ways.from(a, End::Client), [Stop::Uplink, Stop::Back]);
        assert_eq!(ways.from(b, End::Server), [Stop::Up, Stop::Uplink]);
        let back = [Stop::Before, Stop::Link, Stop::Behind, Stop::Back];
        assert_eq!(ways.from(b, End::Client), back);
        assert_eq!(ways.from(call, End::Server), [Stop::Uplink]);
        assert_eq!(ways.from(call, End::Client), [Stop::Link, Stop::Back]);
    }
}
