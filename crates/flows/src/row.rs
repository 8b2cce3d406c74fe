//! A flow as a row of a table.

use l4s_units::{Duration, Ecn, Time};

use crate::Key;
use crate::flow::{Flow, Transport};
use crate::ip::protocol;
use crate::rtt::{self, Samples};
use crate::table::{Flows, MALFORMED, OTHERS};

/// A column of [`Row`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty without one.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Declares the row type: of each column its meaning, type and unit.
macro_rules! row {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[doc = $meaning:literal])+ $field:ident: $type:ty => $unit:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $type,)+
        }

        impl $name {
            /// The columns, in the order of the fields.
            pub const COLUMNS: &[Column] = &[$(Column {
                name: stringify!($field),
                unit: $unit,
                meaning: concat!($($meaning),+).trim_ascii(),
            }),+];
        }
    };
}

row! {
    /// A flow. Counts are of the measured time (see [`Flows::end_warmup`]), all else is of the
    /// whole run. Down is from the server to the client, through the bottleneck. Packets are those
    /// on the link: a packet with segmentation offload counts as its segments.
    Row {
        /// Its number, in the order of first packets, from 2 on; 0 for `others` and 1 for `malformed`.
        flow: u32 => "",
        /// `TCP`, `QUIC`, `RTP`, `UDP`, `ICMP`, `ICMPv6`, or the number of another protocol of IP;
        /// `others` for all flows beyond the cap together, `malformed` for bytes that are not an IP
        /// packet.
        protocol: String => "",
        /// Address of the client; empty for `others` and `malformed`.
        client: String => "",
        /// Port of the client; of ICMP echo the identifier.
        client_port: Option<u32> => "",
        /// Address of the server; empty for `others` and `malformed`.
        server: String => "",
        /// Port of the server; of ICMP echo the identifier.
        server_port: Option<u32> => "",
        /// When its first packet arrived here, in seconds since the start of the run.
        start_s: f64 => "s",
        /// When its last packet arrived here, in seconds since the start of the run.
        end_s: f64 => "s",
        /// IP bytes that left the queue.
        bytes: u64 => "bytes",
        /// IP bits that left the queue per second, over the measured time between first and last packet;
        /// absent if that is zero.
        rate_bps: Option<f64> => "bit/s",
        /// Packets that arrived at the queue.
        down_packets: u64 => "packets",
        /// IP bytes that arrived at the queue.
        down_bytes: u64 => "bytes",
        /// Packets that arrived at the queue as Not-ECT.
        down_not_ect: u64 => "packets",
        /// Packets that arrived at the queue as ECT(0).
        down_ect0: u64 => "packets",
        /// Packets that arrived at the queue as ECT(1).
        down_ect1: u64 => "packets",
        /// Packets that arrived at the queue as CE.
        down_ce: u64 => "packets",
        /// Packets that the client sent.
        up_packets: u64 => "packets",
        /// IP bytes that the client sent.
        up_bytes: u64 => "bytes",
        /// Packets that the client sent as Not-ECT.
        up_not_ect: u64 => "packets",
        /// Packets that the client sent as ECT(0).
        up_ect0: u64 => "packets",
        /// Packets that the client sent as ECT(1).
        up_ect1: u64 => "packets",
        /// Packets of the client that arrived here as CE.
        up_ce: u64 => "packets",
        /// Packets that the queue marked.
        marks: u64 => "packets",
        /// Packets that the queue dropped.
        drops: u64 => "packets",
        /// Queueing delay of all packets that left the queue, of any size: mean.
        delay_mean_ms: Option<f64> => "ms",
        /// Queueing delay of all packets that left the queue: median, to 6.25 %.
        delay_p50_ms: Option<f64> => "ms",
        /// Queueing delay of all packets that left the queue: 99th percentile, to 6.25 %.
        delay_p99_ms: Option<f64> => "ms",
        /// Queueing delay of all packets that left the queue: the longest.
        delay_max_ms: Option<f64> => "ms",
        /// First round trip: TCP from SYN to the ACK of the SYN-ACK, QUIC from the client's first
        /// packet to its next one after the server's answer; absent where it was not seen.
        handshake_ms: Option<f64> => "ms",
        /// How many round trips were measured: of TCP from sequence and acknowledgement numbers,
        /// one at a time; of QUIC from the spin bit, if both ends use it.
        rtt_samples: Option<u64> => "samples",
        /// Shortest round trip.
        rtt_min_ms: Option<f64> => "ms",
        /// Mean round trip. Of TCP, the part to the end that receives the data is measured
        /// throughout; the other part is its minimum.
        rtt_mean_ms: Option<f64> => "ms",
        /// Longest round trip, with the minimum of the other part as for the mean.
        rtt_max_ms: Option<f64> => "ms",
        /// Of TCP, the part of the round trip from here to the client and back, with the queue: mean.
        client_rtt_mean_ms: Option<f64> => "ms",
        /// Of TCP, the part of the round trip from here to the server and back: minimum of the
        /// whole run, from acknowledgements and echoes of time stamps.
        server_rtt_min_ms: Option<f64> => "ms",
        /// Segments of TCP that the server retransmitted, in whole or in part.
        retransmits: Option<u64> => "segments",
        /// Segments of TCP that the client retransmitted, in whole or in part.
        up_retransmits: Option<u64> => "segments",
        /// The maximum segment size of TCP that the client announced.
        client_mss: Option<u32> => "bytes",
        /// The maximum segment size of TCP that the server announced.
        server_mss: Option<u32> => "bytes",
        /// Whether segments of TCP have time stamps.
        timestamps: Option<bool> => "",
    }
}

impl Flows {
    /// A row per flow, by number, then `others` and `malformed` if they had packets. Flows that ended
    /// before the measured time are included.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let rest = [OTHERS, MALFORMED].into_iter();
        let rest = rest.filter(|flow| self.get(*flow).first != Time::NEVER);
        (MALFORMED + 1..self.numbers()).chain(rest).map(|flow| self.row(flow))
    }

    /// The row of a flow.
    ///
    /// # Panics
    /// Where there is no flow of this number.
    pub fn row(&self, flow: u32) -> Row {
        Row::new(flow, self.key(flow), self.get(flow))
    }
}

impl Row {
    fn new(number: u32, key: Option<&Key>, flow: &Flow) -> Row {
        let counts = &flow.counts;
        let (down, up, delays) = (&counts.down, &counts.up, &counts.delays);
        let span = flow.last.since(flow.first.max(counts.since));
        let bits = counts.forwarded.get() as f64 * 8.0;
        let address = |end: fn(&Key) -> (std::net::IpAddr, u16)| match key {
            None => (String::new(), None),
            Some(key) => {
                let (address, port) = end(key);
                (address.to_string(), key.has_ports().then_some(port.into()))
            }
        };
        let (client, client_port) = address(Key::client);
        let (server, server_port) = address(Key::server);
        let row = Row {
            flow: number,
            protocol: protocol_name(number, key, &flow.transport),
            client,
            client_port,
            server,
            server_port,
            start_s: flow.first.as_secs_f64(),
            end_s: flow.last.as_secs_f64(),
            bytes: counts.forwarded.get(),
            rate_bps: (!span.is_zero()).then(|| bits / span.as_secs_f64()),
            down_packets: down.packets(),
            down_bytes: down.bytes.get(),
            down_not_ect: down.with(Ecn::NotEct),
            down_ect0: down.with(Ecn::Ect0),
            down_ect1: down.with(Ecn::Ect1),
            down_ce: down.with(Ecn::Ce),
            up_packets: up.packets(),
            up_bytes: up.bytes.get(),
            up_not_ect: up.with(Ecn::NotEct),
            up_ect0: up.with(Ecn::Ect0),
            up_ect1: up.with(Ecn::Ect1),
            up_ce: up.with(Ecn::Ce),
            marks: counts.marks,
            drops: counts.drops,
            delay_mean_ms: ms(delays.mean()),
            delay_p50_ms: ms(delays.quantile(0.5)),
            delay_p99_ms: ms(delays.quantile(0.99)),
            delay_max_ms: ms(delays.max()),
            handshake_ms: ms(flow.handshake()),
            ..Row::default()
        };
        match &flow.transport {
            Transport::Tcp(tcp) => {
                let (client, server) = (&tcp.down.part, &tcp.up.part);
                Row {
                    client_rtt_mean_ms: ms(client.samples.mean()),
                    server_rtt_min_ms: ms(server.floor),
                    retransmits: Some(tcp.down.retransmits),
                    up_retransmits: Some(tcp.up.retransmits),
                    client_mss: tcp.up.mss.map(u32::from),
                    server_mss: tcp.down.mss.map(u32::from),
                    timestamps: Some(tcp.has_stamps()),
                    ..row.with_round_trips(rtt::whole(client, server))
                }
            }
            Transport::Udp(udp) => row.with_round_trips(Some(udp.round_trips)),
            Transport::Other => row,
        }
    }

    fn with_round_trips(self, samples: Option<Samples>) -> Row {
        let Some(samples) = samples.filter(|samples| samples.count() > 0) else { return self };
        Row {
            rtt_samples: Some(samples.count()),
            rtt_min_ms: ms(samples.min()),
            rtt_mean_ms: ms(samples.mean()),
            rtt_max_ms: ms(samples.max()),
            ..self
        }
    }
}

fn protocol_name(number: u32, key: Option<&Key>, transport: &Transport) -> String {
    match (transport, key.map(Key::protocol)) {
        (Transport::Tcp(_), _) => "TCP".to_owned(),
        (Transport::Udp(udp), _) => udp.protocol().to_owned(),
        (_, Some(protocol::ICMP)) => "ICMP".to_owned(),
        (_, Some(protocol::ICMP_V6)) => "ICMPv6".to_owned(),
        (_, Some(other)) => other.to_string(),
        (_, None) if number == OTHERS => "others".to_owned(),
        (_, None) => "malformed".to_owned(),
    }
}

fn ms(duration: Option<Duration>) -> Option<f64> {
    duration.map(Duration::as_millis_f64)
}
