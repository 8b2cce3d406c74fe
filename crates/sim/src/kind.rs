//! How the connections of a group begin: the two ends of each, by the settings of the group.

use l4s_bottleneck::Stream;
use l4s_cc::{Endpoint, Marks, WantedEcn};
use l4s_model::{Feedback, Group, Peer};
use l4s_units::Bytes;
use rand_core::Rng;

use crate::endpoint::{Client, Server, ends_of_quic, ends_of_tcp};
use crate::tcp::{Offer, SenderConfig};

/// The common parameters of the connections of a group.
pub(crate) struct Kind {
    endpoint: Endpoint,
    ack_eliciting_threshold: u32,
    sender: SenderConfig,
    offer: Offer,
    /// The randomness of its congestion controls.
    seeds: Stream,
}

impl Kind {
    /// Those of a group, whose controls draw from `seeds`.
    pub fn of(group: &Group, seeds: Stream) -> Kind {
        let sender = SenderConfig {
            cc: group.cc.clone(),
            ecn: group.codepoint(),
            refuses_rfc3168: group.refuses_rfc3168(),
            echo: match group.offer() {
                Feedback::Dctcp => Marks::Counted,
                _ => Marks::Latched,
            },
            size: group.size.map(Bytes::get),
            mss: group.mss.get() as u16,
            initial_window: group.initial_window,
            rcvbuf: group.rcvbuf.map(Bytes::get),
            sndbuf: group.sndbuf.map(Bytes::get),
            seed: 0,
        };
        // With a control that cannot do without ECN a SYN is ECN-capable, as in Linux.
        let capable = group.peer == Peer::Auto && group.cc.wants() != WantedEcn::Off;
        let ecn = sender.ecn.filter(|_| capable).unwrap_or_default();
        let (endpoint, ack_eliciting_threshold) = (group.endpoint, group.ack_eliciting_threshold);
        let offer = Offer { feedback: group.offer(), ecn };
        Kind { endpoint, ack_eliciting_threshold, sender, offer, seeds }
    }

    /// Those of the same group from now on, which has become another one.
    pub fn adapted(&self, group: &Group) -> Kind {
        Kind::of(group, self.seeds.clone())
    }

    /// The two ends of the next connection.
    pub fn ends(&mut self, size: Option<Bytes>) -> (Server, Client) {
        let seed = self.seed();
        self.ends_of(size, seed)
    }

    /// The seed of the next connection.
    pub fn seed(&mut self) -> u64 {
        self.seeds.next_u64()
    }

    /// The two ends of a connection with this seed.
    pub fn ends_of(&self, size: Option<Bytes>, seed: u64) -> (Server, Client) {
        let size = size.map(Bytes::get);
        let sender = SenderConfig { size, seed, ..self.sender.clone() };
        match self.endpoint {
            Endpoint::LinuxTcp => ends_of_tcp(&sender, self.offer),
            Endpoint::Quic => ends_of_quic(&sender, self.offer, self.ack_eliciting_threshold),
        }
    }
}
