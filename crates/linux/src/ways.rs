//! The ways of packets through the router: what they pass between the cable by which they come and
//! the one by which they leave.
//!
//! ```text
//!  server P ─▶ link ───────────▶ client P          server Q ─▶ uplink ───────▶ client Q
//!     ▲                             │                 ▲                           │
//!     └───── delay ◀── uplink ◀─────┘                 └──── delay ◀─── link ◀─────┘
//!          P sends down                                     Q sends up
//! ```
//!
//! A packet goes to a [`Stop`] by one device and comes back by another. A routing table for each of
//! the latter leads it on by its destination.

use l4s_lab::End;
use l4s_model::{Direction, Scenario};

/// What packets pass in the router.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stop {
    /// The bottleneck.
    Link,
    /// The bottleneck of the way up.
    Uplink,
    /// The base RTT, where the kernel has no `netem`.
    Back,
}

impl Stop {
    /// Whether it is a link.
    pub fn is_link(self) -> bool {
        matches!(self, Stop::Link | Stop::Uplink)
    }

    /// The device by which packets go there.
    pub fn device(self) -> &'static str {
        match self {
            Stop::Link => "link",
            Stop::Uplink => "uplink",
            Stop::Back => "back",
        }
    }

    /// The device by which packets come back.
    pub fn exit(self) -> &'static str {
        match self {
            Stop::Link => "link-out",
            Stop::Uplink => "uplink-out",
            Stop::Back => self.device(),
        }
    }

    /// The routing table for packets that come back.
    pub fn table(self) -> u8 {
        match self {
            Stop::Link => 100,
            Stop::Back => 101,
            Stop::Uplink => 102,
        }
    }
}

/// The ways of the packets of every pair.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Of each pair, from its server and from its client.
    of: Vec<[Vec<Stop>; 2]>,
}

impl Ways {
    /// The ways of a scenario. The way back has the base RTT `in_user_space` or in no stop.
    pub fn new(scenario: &Scenario, in_user_space: bool) -> Ways {
        let uplink = scenario.uplink.as_ref().map(|_| Stop::Uplink);
        let ways = |pair: usize| {
            let [data, answers] = match scenario.direction_of(pair) {
                Direction::Down => [Some(Stop::Link), uplink],
                Direction::Up => [uplink, Some(Stop::Link)],
            };
            let delay = in_user_space.then_some(Stop::Back);
            [data.into_iter().collect(), answers.into_iter().chain(delay).collect()]
        };
        Ways { of: (0..scenario.roster().sources()).map(ways).collect() }
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
             [[udp]]\nname = \"call\"\nrate = \"1mbit\"\ndirection = \"up\"",
            true,
        );
        assert_eq!(ways.from(0, End::Server), [Stop::Link]);
        assert_eq!(ways.from(0, End::Client), [Stop::Uplink, Stop::Back]);
        assert_eq!(ways.from(1, End::Server), [Stop::Uplink]);
        assert_eq!(ways.from(1, End::Client), [Stop::Link, Stop::Back]);
    }
}
