//! The negotiation of ECN between a client and a server, over paths that lose or change their
//! packets.

use l4s_aqm::Packet as _;
use l4s_model::{FlowId, SourceId};
use l4s_observe::Traced;

use super::*;
use crate::message::{ByteCounters, Message};
use crate::packet::{AccEcn, Owner, Packet};
use crate::tcp::accecn::INITIAL_BYTES;
use crate::tcp::handshake::{NO_FLAGS, may_become, reflected};
use crate::tcp::{Client, Offer};

const OWNER: Owner = Owner { flow: FlowId::new(0), slot: 0, group: SourceId::new(0) };
const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
const ACCURATE: Feedback = Feedback::Accurate { option: true };

fn flags(ace: u8) -> EcnFlags {
    EcnFlags::of_ace(ace)
}

/// The packets of a server.
#[derive(Default)]
struct Wire {
    syn_acks: Vec<(Ecn, EcnFlags)>,
    syn_ack_lengths: Vec<u64>,
    data: Vec<Segment>,
}

impl Output for Wire {
    fn send(&mut self, segment: Segment, _: bool) {
        self.data.push(segment);
    }
    fn send_syn_ack(&mut self, syn_ack: SynAck) {
        self.syn_acks.push((syn_ack.ecn, syn_ack.flags));
        self.syn_ack_lengths.push(Packet::syn_ack(OWNER, syn_ack).ip_length().get());
    }
    fn round_trip(&mut self, _: Duration) {}
}

/// A server, and its packets.
struct Server {
    sender: Sender,
    wire: Wire,
}

impl Server {
    fn new(cc: Config, ecn: Ecn) -> Server {
        Server::with_window(cc, ecn, 10)
    }

    /// A server with this initial window.
    fn with_window(cc: Config, ecn: Ecn, initial_window: u32) -> Server {
        let refuses_rfc3168 = matches!(cc, Config::Prague(_)) && ecn == Ecn::Ect1;
        let (ecn, size) = (Some(ecn), Some(1000 * MSS));
        let (echo, mss) = (Marks::Latched, FULL);
        let config = SenderConfig {
            cc,
            ecn,
            refuses_rfc3168,
            echo,
            size,
            mss,
            initial_window,
            rcvbuf: None,
            sndbuf: None,
            seed: 1,
        };
        Server { sender: Sender::new(&config), wire: Wire::default() }
    }

    fn prague() -> Server {
        Server::new(Config::Prague(prague::Config::default()), Ecn::Ect1)
    }

    fn cubic() -> Server {
        Server::new(Config::Cubic(cubic::Config::default()), Ecn::Ect0)
    }

    /// A SYN arrives, which is answered.
    fn on_syn(&mut self, ace: u8, ecn: Ecn) -> (Ecn, EcnFlags) {
        let syn = Syn { ecn, flags: flags(ace), sent: Stamp::default() };
        self.sender.on_syn(&syn, at(MS), &mut self.wire);
        *self.wire.syn_acks.last().unwrap()
    }

    /// The SYN-ACK is acknowledged; gives the codepoint of the first data.
    fn on_request(&mut self, ace: u8, option: bool) -> Ecn {
        let request = Request { flags: flags(ace), option, stamps: Stamps::default() };
        self.sender.on_request(&request, at(MS * 21), &mut self.wire);
        self.wire.data[0].ecn
    }

    /// An acknowledgement of `segments` segments without data arrives. Returns whether the window
    /// was reduced.
    fn on_ack(&mut self, segments: u64, ace: u8, ce: Option<u32>, ms: u64) -> bool {
        self.on_counters(segments, ace, ce.map(|ce| ByteCounters { ce, ..INITIAL_BYTES }), ms)
    }

    fn on_counters(
        &mut self,
        segments: u64,
        ace: u8,
        option: Option<ByteCounters>,
        ms: u64,
    ) -> bool {
        let before = self.sender.window().cwnd;
        let ack = Ack {
            cumulative: segments * u64::from(self.wire.data[0].payload),
            sacks: [(0, 0); 3],
            duplicate: None,
            ece: false,
            ace,
            option,
            window: 1000 * MSS as u32,
            stamps: Stamps::default(),
        };
        self.sender.on_ack(&ack, at(MS * ms), &mut self.wire);
        self.sender.window().cwnd < before || self.sender.state() == State::Cwr
    }

    fn last_data(&self) -> Ecn {
        self.wire.data.last().unwrap().ecn
    }
}

fn client(feedback: Feedback, ecn: Ecn) -> Client {
    Client::new(Offer { feedback, ecn }, FULL, None)
}

/// A SYN-ACK arrives at the client, which answers it.
fn on_syn_ack(client: &mut Client, ecn: Ecn, ace: u8) -> Request {
    let (flags, stamps) = (flags(ace), Stamps::default());
    let syn_ack =
        Packet::syn_ack(OWNER, SynAck { ecn, flags, accecn: AccEcn::NONE, mss: 1460, stamps });
    let mut answer = None;
    client.on_packet(&syn_ack, at(MS * 11), |message| answer = Some(message));
    match answer {
        Some(Message::Request(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// The SYNs that a client sends when none is answered.
fn unanswered(client: &mut Client, syns: usize) -> Vec<(Ecn, u8)> {
    let mut seen = Vec::new();
    for _ in 0..syns {
        match client.open(client.deadline().min(at(Duration::from_secs(100)))) {
            Some(Message::Syn(syn)) => seen.push((syn.ecn, syn.flags.ace())),
            other => panic!("{other:?}"),
        }
    }
    seen
}

// --- How each end reads the flags ------------------------------------------------------------------

/// RFC 9768 table 2 and §3.1.3, RFC 3168 §6.1.1: the mode of a client for each SYN-ACK.
#[test]
fn a_client_enters_the_mode_that_the_syn_ack_confirms() {
    use Mode::{Accurate as A, Classic as C, NotEcn as N};
    for (offered, expected) in [
        (N, [N, N, N, N, N, N, N, N]),
        (C, [N, C, N, N, N, C, N, N]),
        (A, [N, C, A, A, A, A, A, N]),
    ] {
        let found: Vec<Mode> = (0..8).map(|ace| offered.confirmed(flags(ace))).collect();
        assert_eq!(found, expected, "{offered:?}");
    }
}

/// RFC 9768 table 2 and §3.1.3: the mode of a server for each SYN.
#[test]
fn a_server_takes_unknown_flags_for_accecn() {
    for ace in 0..8 {
        let (ecn, answer) = Server::cubic().on_syn(ace, Ecn::NotEct);
        let expected = match ace {
            0b000 => 0b000,
            0b011 => 0b001,
            _ => 0b010,
        };
        assert_eq!((ecn, answer.ace()), (Ecn::NotEct, expected), "{ace:03b}");
    }
}

/// RFC 9768 tables 2 to 4: SYN-ACK and its acknowledgement report how the one before them arrived.
#[test]
fn each_end_reflects_the_codepoint_that_arrived() {
    for (ecn, ace) in CODEPOINTS.into_iter().zip([0b010, 0b011, 0b100, 0b110]) {
        assert_eq!(Server::prague().on_syn(0b111, ecn), (Ecn::Ect1, flags(ace)));
        let mut client = client(ACCURATE, Ecn::Ect1);
        assert_eq!(on_syn_ack(&mut client, ecn, 0b011).flags, flags(ace));
        assert_eq!(reflected(flags(ace)), Some(ecn));
    }
    for unused in [0b000, 0b001, 0b101, 0b111] {
        assert_eq!(reflected(flags(unused)), None);
    }
}

/// RFC 9768 §3.2.2.3.
#[test]
fn only_ect_may_change_and_not_into_not_ect() {
    let valid = |sent| CODEPOINTS.map(|arrived| may_become(sent, arrived));
    assert_eq!(valid(Ecn::NotEct), [true, false, false, false]);
    assert_eq!(valid(Ecn::Ect1), [false, true, true, true]);
    assert_eq!(valid(Ecn::Ect0), [false, true, true, true]);
    assert_eq!(valid(Ecn::Ce), [false, false, false, true]);
}

// --- Peers -----------------------------------------------------------------------------------------

/// RFC 9331 §4.2: no ECT(1) without exact feedback. Linux' Prague then continues without ECN.
#[test]
fn prague_does_without_ecn_where_the_client_has_that_of_rfc_3168_only() {
    let mut server = Server::prague();
    assert_eq!(server.on_syn(0b011, Ecn::NotEct), (Ecn::NotEct, NO_FLAGS));
    assert_eq!(server.on_request(0, false), Ecn::NotEct);
    assert_eq!(server.sender.alpha(), None, "it goes on as Reno");
    // Over ECT(0) it uses the available mode.
    let mut server = Server::new(Config::Prague(prague::Config::default()), Ecn::Ect0);
    assert_eq!(server.on_syn(0b011, Ecn::NotEct), (Ecn::Ect0, flags(0b001)));
    assert_eq!(server.on_request(0, false), Ecn::Ect0);
    assert!(server.sender.alpha().is_some());
}

/// With every result of the handshake.
#[test]
fn the_initial_window_is_that_of_the_scenario() {
    let controls = [
        (Config::Dctcp(dctcp::Config::default()), Ecn::Ect0),
        (Config::Prague(prague::Config::default()), Ecn::Ect1),
        (Config::Cubic(cubic::Config::default()), Ecn::Ect0),
    ];
    for (cc, ecn) in controls {
        for (ace, window) in [(0b000, 4), (0b111, 4), (0b000, 32), (0b111, 32)] {
            let mut server = Server::with_window(cc.clone(), ecn, window);
            server.on_syn(ace, Ecn::NotEct);
            server.on_request(if ace == 0 { 0 } else { 0b010 }, true);
            assert_eq!(server.sender.window().cwnd, window, "{cc:?} {ace:03b}");
        }
    }
}

/// `dctcp_reno` of Linux: without ECN DCTCP is Reno.
#[test]
fn a_control_that_needs_ecn_goes_on_as_reno_without_it() {
    let windows = |cc: Config, ecn: Option<Ecn>| {
        let size = Some(400 * MSS);
        let mut path = Path::with_client(cc, ecn, Feedback::None, size, lose_first(&[100]), |_| {});
        let mut windows = Vec::new();
        for step in 0..400 {
            path.run(at(MS * step));
            windows.push(path.sender.window());
        }
        assert_eq!(path.sender.state(), State::Closed);
        windows
    };
    let reno = |pacing| windows(Config::Reno(reno::Config { pacing, ..Default::default() }), None);
    assert_eq!(windows(Config::Dctcp(dctcp::Config::default()), Some(Ecn::Ect0)), reno(false));
    assert_eq!(windows(Config::Prague(prague::Config::default()), Some(Ecn::Ect1)), reno(true));
}

/// RFC 8257 §3.3 with the echo of RFC 3168 §6.1.3. A mark causes ECE for a round trip, so that DCTCP
/// takes a whole window for marked. If marks are rare, its average is of round trips with a mark.
#[test]
fn a_latched_echo_leaves_dctcp_a_window_far_below_its_own() {
    let p = 0.01;
    let window = |feedback: Feedback| {
        let mut rng = stream(7, "marks");
        let threshold = (p * f64::from(u32::MAX)) as u32;
        let cc = Config::Dctcp(dctcp::Config::rfc8257());
        let fate = move |_: &Segment, _| match rng.next_u32() < threshold {
            true => Fate::Mark,
            false => Fate::Arrive,
        };
        let mut path = Path::with_client(cc, Some(Ecn::Ect0), feedback, None, fate, |_| {});
        path.run(at(Duration::from_secs(10)));
        path.mean_window(Duration::from_secs(60))
    };
    let (exact, latched) = (window(Feedback::Dctcp), window(Feedback::Classic));
    // DCttH §3.2 equation (1): Reno's window.
    let reno = (1.5 / p).sqrt();
    assert!(latched < exact / 2.0 && latched > reno, "{exact}, {latched}, {reno}");
}

// --- Retransmissions -------------------------------------------------------------------------------

/// RFC 9768 §3.1.4.1; RFC 3168 §6.1.1.1 as in Linux.
#[test]
fn a_syn_that_is_not_answered_is_sent_again_without_ecn() {
    let (not, ect1) = (Ecn::NotEct, Ecn::Ect1);
    assert_eq!(
        unanswered(&mut client(ACCURATE, ect1), 4),
        [(ect1, 0b111), (ect1, 0b111), (not, 0), (not, 0)]
    );
    assert_eq!(
        unanswered(&mut client(Feedback::Classic, not), 3),
        [(not, 0b011), (not, 0), (not, 0)]
    );
    assert_eq!(unanswered(&mut client(Feedback::None, not), 2), [(not, 0), (not, 0)]);
}

/// RFC 9768 §3.1.5: the mode is that of the first SYN. The client's mode is unknown after a SYN
/// without flags, so data is Not-ECT; the SYN-ACK continues to offer AccECN.
#[test]
fn a_server_keeps_its_mode_whatever_later_syns_say() {
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    assert_eq!(server.on_syn(0b000, Ecn::NotEct), (Ecn::NotEct, flags(0b010)));
    assert_eq!(server.on_request(0b010, true), Ecn::NotEct);
    // It still answers marks: 5 segments, the last of them marked.
    assert!(server.on_ack(5, 6, Some(1448), 41));
    assert_eq!(server.last_data(), Ecn::NotEct);
    // Without ECN it stays without.
    let mut server = Server::prague();
    server.on_syn(0b000, Ecn::NotEct);
    assert_eq!(server.on_syn(0b111, Ecn::Ect1), (Ecn::NotEct, NO_FLAGS));
}

/// RFC 9768 §3.1.5: each SYN-ACK reports how the SYN before it arrived.
#[test]
fn a_server_feeds_back_the_codepoint_of_the_latest_syn() {
    let mut server = Server::prague();
    for (ecn, ace) in [(Ecn::Ect1, 0b011), (Ecn::Ce, 0b110), (Ecn::NotEct, 0b010)] {
        assert_eq!(server.on_syn(0b111, ecn), (Ecn::Ect1, flags(ace)));
    }
}

/// RFC 9768 §3.1.5: the flags of a SYN that arrives after the handshake are ignored.
#[test]
fn a_syn_of_an_open_connection_is_ignored() {
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    server.on_request(0b011, true);
    server.on_syn(0b000, Ecn::NotEct);
    server.on_syn(0b011, Ecn::NotEct);
    assert_eq!(server.wire.syn_acks.len(), 1);
    assert!(server.on_ack(2, 6, Some(1448), 41), "marks are answered as before");
    assert_eq!(server.last_data(), Ecn::Ect1);
}

/// RFC 9768 §3.2.3.2.2: after two timeouts the SYN-ACK has no flags, and data is Not-ECT (§3.1.5).
#[test]
fn a_syn_ack_that_is_not_answered_is_sent_again_without_ecn() {
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    for _ in 0..3 {
        server.sender.on_timer(server.sender.deadline(), &mut server.wire);
    }
    let offered = (Ecn::Ect1, flags(0b011));
    let withdrawn = (Ecn::NotEct, NO_FLAGS);
    assert_eq!(server.wire.syn_acks, [offered, offered, withdrawn, withdrawn]);
    // The client entered AccECN by the first one.
    assert_eq!(server.on_request(0b011, true), Ecn::NotEct);
    assert!(server.wire.data[0].accecn != AccEcn::NONE, "it counts marks for the client as before");
}

/// RFC 9768 §3.1.5 and §3.2.2.1: a later SYN-ACK changes nothing, and is answered with its codepoint,
/// or with the counter where it has no flags.
#[test]
fn a_client_keeps_its_mode_whatever_later_syn_acks_say() {
    let mut client = client(ACCURATE, Ecn::Ect1);
    assert_eq!(on_syn_ack(&mut client, Ecn::Ect1, 0b011).flags, flags(0b011));
    assert_eq!(on_syn_ack(&mut client, Ecn::Ce, 0b011).flags, flags(0b110));
    let without = on_syn_ack(&mut client, Ecn::NotEct, 0b000);
    assert_eq!((without.flags, without.option), (flags(5), true));
    let mut client = self::client(ACCURATE, Ecn::Ect1);
    let without = on_syn_ack(&mut client, Ecn::NotEct, 0b000);
    assert_eq!((without.flags, without.option), (NO_FLAGS, false));
    assert_eq!(on_syn_ack(&mut client, Ecn::Ect1, 0b011).flags, NO_FLAGS);
}

/// RFC 9768 §3.1.5: a client sends no SYNs of both kinds, and a server sends no SYN-ACKs of both kinds. That
/// holds for any SYNs that arrive, in any order and between timeouts.
#[test]
fn no_handshake_is_of_both_kinds() {
    let [without, with] = [false, true].map(|option| Feedback::Accurate { option });
    for feedback in [Feedback::None, Feedback::Classic, Feedback::Dctcp, without, with] {
        let mut syns: Vec<u8> = unanswered(&mut client(feedback, Ecn::NotEct), 11)
            .iter()
            .map(|(_, ace)| *ace)
            .collect();
        syns.dedup();
        let is_of = |mode| syns.iter().any(|ace| Mode::of_syn(flags(*ace)) == mode);
        assert!(!(is_of(Mode::Classic) && is_of(Mode::Accurate)), "{feedback:?}: {syns:?}");
        // At each of six steps one of the SYNs arrives, or the server's timer is due.
        let choices = syns.len() + 1;
        for order in 0..choices.pow(6) {
            for mut server in [Server::prague(), Server::cubic()] {
                server.on_syn(syns[order % syns.len()], Ecn::NotEct);
                for step in 0..6 {
                    match syns.get(order / choices.pow(step) % choices) {
                        Some(ace) => drop(server.on_syn(*ace, Ecn::NotEct)),
                        None => server.sender.on_timer(server.sender.deadline(), &mut server.wire),
                    }
                }
                let sent = |is: fn(EcnFlags) -> bool| server.wire.syn_acks.iter().any(|s| is(s.1));
                let classic = sent(|flags| flags.ace() == 0b001);
                let accurate = sent(|flags| reflected(flags).is_some());
                assert!(!(classic && accurate), "{feedback:?}: {:?}", server.wire.syn_acks);
            }
        }
    }
}

/// With the option of 12 B full packets have the same length and carry less. A server sends the option if
/// its client sent one, as in Linux (`tcp_established_options`).
#[test]
fn a_server_has_the_option_where_its_client_had_one() {
    for (option, payload) in [(true, 1436), (false, 1448)] {
        let mut server = Server::prague();
        server.on_syn(0b111, Ecn::Ect1);
        server.on_request(0b011, option);
        let packets = server.wire.data.iter().map(|segment| Packet::segment(OWNER, *segment));
        let lengths: Vec<_> =
            packets.map(|packet| (packet.ip_length().get(), packet.payload())).collect();
        assert_eq!(lengths, [(1500, payload); 10]);
    }
}

/// The first SYN-ACK of AccECN has the option, and no other one has (Linux: `tcp_synack_options`).
#[test]
fn the_first_syn_ack_has_the_option() {
    let lengths = |ace| {
        let mut server = Server::prague();
        server.on_syn(ace, Ecn::Ect1);
        server.sender.on_timer(server.sender.deadline(), &mut server.wire);
        server.wire.syn_ack_lengths
    };
    assert_eq!(lengths(0b111), [72, 60]);
    assert_eq!(lengths(0b000), [60, 60]);
}

// --- Paths that change packets ---------------------------------------------------------------------

/// RFC 9768 table 4, for a SYN-ACK that was sent as ECT(1).
#[test]
fn the_acknowledgement_of_the_syn_ack_tells_what_the_path_does() {
    for (ace, data, answers) in [
        // Note 1: the client does not count.
        (0b000, Ecn::NotEct, false),
        // Note 2: unused.
        (0b001, Ecn::Ect1, true),
        // Not-ECT: the path clears the codepoint. Marks still count (§3.2.2.3).
        (0b010, Ecn::NotEct, true),
        (0b011, Ecn::Ect1, true),
        (0b100, Ecn::Ect1, true),
        (0b101, Ecn::Ect1, true),
        (0b110, Ecn::Ect1, true),
        (0b111, Ecn::Ect1, true),
    ] {
        let mut server = Server::prague();
        server.on_syn(0b111, Ecn::Ect1);
        assert_eq!(server.on_request(ace, true), data, "{ace:03b}");
        assert_ne!(server.wire.data[0].accecn, AccEcn::NONE);
        // Both ends continue from 6 if the SYN-ACK was marked.
        let cep = if ace == 0b110 { 6 } else { 5 };
        assert!(!server.on_ack(1, cep, Some(0), 41), "{ace:03b}: that mark is not answered");
        assert_eq!(server.on_ack(2, cep + 1, Some(1448), 42), answers, "{ace:03b}");
        assert_eq!(server.last_data(), data, "{ace:03b}");
    }
    // A SYN-ACK that was sent as Not-ECT and arrived as ECT(0): the path sets it illegally.
    let mut server = Server::cubic();
    server.on_syn(0b111, Ecn::NotEct);
    assert_eq!(server.on_request(0b100, true), Ecn::NotEct);
}

/// A marked SYN-ACK counts once, at both ends alike (RFC 9768 §3.2.2.2).
#[test]
fn both_ends_count_a_marked_syn_ack() {
    let mut client = client(ACCURATE, Ecn::Ect1);
    let request = on_syn_ack(&mut client, Ecn::Ce, 0b011);
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    assert_eq!(server.on_request(request.flags.ace(), request.option), Ecn::Ect1);
    let mut ack = None;
    for segment in &server.wire.data[..2] {
        let mut packet = Packet::segment(OWNER, *segment);
        packet.set_ce();
        client.on_packet(&packet, at(MS * 31), |message| match message {
            Message::Ack(new) => ack = Some(new),
            other => panic!("{other:?}"),
        });
    }
    let ack = ack.unwrap();
    // 6 and 2 are 0 in three bits. That is not the zero of a path that clears the bits.
    assert_eq!((ack.cumulative, ack.ace), (2 * (MSS - 12), 0));
    server.sender.on_ack(&ack, at(MS * 41), &mut server.wire);
    assert_eq!((server.sender.marks(), server.last_data()), (3, Ecn::Ect1));
}

/// RFC 9768 §3.2.2.4.
#[test]
fn a_counter_that_the_path_clears_is_not_believed() {
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    assert_eq!(server.on_request(0b011, true), Ecn::Ect1);
    assert!(!server.on_ack(2, 0, Some(0), 41));
    assert_eq!(server.last_data(), Ecn::NotEct);
    assert!(!server.on_ack(4, 3, Some(4344), 42));
    // Three segments, all marked, make it zero.
    let mut server = Server::prague();
    server.on_syn(0b111, Ecn::Ect1);
    server.on_request(0b011, true);
    assert!(server.on_ack(3, 0, Some(4344), 41));
    assert_eq!((server.last_data(), server.sender.marks()), (Ecn::Ect1, 3));
}

/// RFC 9768 §3.2.3.2.3: if no option arrives, three bits are read in the safe way, and a later option is
/// ignored.
#[test]
fn a_stripped_option_leaves_the_three_bits() {
    let counted = |option: bool, later: Option<u32>| {
        let mut server = Server::prague();
        server.on_syn(0b111, Ecn::Ect1);
        server.on_request(0b011, option);
        server.on_ack(1, 5, later, 41);
        // Ten more segments: the three bits give the number of marks, or eight more.
        server.on_ack(10, 6, later, 61);
        server.sender.marks()
    };
    assert_eq!(counted(true, Some(0)), 1);
    assert_eq!(counted(true, None), 9);
    assert_eq!(counted(false, None), 9);
    assert_eq!(counted(false, Some(0)), 9);
}

/// RFC 9768 §3.2.3.2.4: the counters of ECT start at 1.
#[test]
fn an_option_that_the_path_clears_is_not_read() {
    let counted = |option: ByteCounters| {
        let mut server = Server::prague();
        server.on_syn(0b111, Ecn::Ect1);
        server.on_request(0b011, true);
        server.on_counters(1, 5, Some(option), 41);
        server.on_counters(10, 6, Some(option), 61);
        server.sender.marks()
    };
    assert_eq!(counted(INITIAL_BYTES), 1);
    assert_eq!(counted(ByteCounters { ect1: 0, ce: 0, ect0: 0 }), 9);
}

/// RFC 9768 §3.2.3.2.2: a segment arrives a third time, after an acknowledgement that reported it as a
/// duplicate. That shows that acknowledgements may be lost because of the option.
#[test]
fn a_client_that_is_not_heard_drops_the_option() {
    let mut receiver = Receiver::new(ACCURATE, RTT, FULL, None);
    let mut options = Vec::new();
    let mut bytes = INITIAL_BYTES;
    // 1 comes twice, then 2 does, then 2 comes a third time.
    for (n, seq) in [0, 1, 1, 2, 2, 2, 3].into_iter().enumerate() {
        receiver.on_segment(full(seq, Ecn::Ect1), at(MS * n as u64), |ack| {
            options.push(ack.option.is_some());
            bytes = ack.option.unwrap_or(bytes);
        });
    }
    assert_eq!(options, [true, true, true, true, true, false, false]);
    // A duplicate counts twice.
    assert_eq!(bytes, ByteCounters { ect1: 1 + 5 * u32::from(FULL), ..INITIAL_BYTES });
}

/// Flags that are cleared on the way leave both ends without ECN (RFC 9768 table 2; `NO_FLAGS` on the
/// acknowledgement of a SYN-ACK is note 1 of table 4).
#[test]
fn cleared_flags_leave_both_ends_without_ecn() {
    let mut client = client(ACCURATE, Ecn::Ect1);
    // The flags of the SYN are cleared.
    let mut server = Server::prague();
    assert_eq!(server.on_syn(0b000, Ecn::Ect1), (Ecn::NotEct, NO_FLAGS));
    let request = on_syn_ack(&mut client, Ecn::NotEct, 0b000);
    assert_eq!(server.on_request(request.flags.ace(), request.option), Ecn::NotEct);
    assert_eq!(server.sender.alpha(), None);
    // Those of the SYN-ACK are cleared, or it has all flags of the SYN.
    for ace in [0b000, 0b111] {
        let mut client = self::client(ACCURATE, Ecn::Ect1);
        let mut server = Server::prague();
        server.on_syn(0b111, Ecn::Ect1);
        let request = on_syn_ack(&mut client, Ecn::Ect1, ace);
        assert_eq!(request.flags, NO_FLAGS);
        assert_eq!(server.on_request(request.flags.ace(), request.option), Ecn::NotEct);
    }
}

// --- The client's knowledge of its path --------------------------------------------------------------

/// No acknowledgement is delayed for longer than the RTT that the handshake measured, or 40 ms
/// where that is less (`tcp_send_delayed_ack`). A client that only receives does not notice a later
/// change of the path.
#[test]
fn a_client_knows_the_rtt_of_its_handshake_alone() {
    let waits = |rtt_ms: u64| {
        let mut client = client(Feedback::None, Ecn::NotEct);
        client.open(at(MS * 7));
        let (ecn, stamps) = (Ecn::NotEct, Stamps::default());
        let syn_ack = SynAck { ecn, flags: NO_FLAGS, accecn: AccEcn::NONE, mss: 1460, stamps };
        let mut now = at(MS * (7 + rtt_ms));
        client.on_packet(&Packet::syn_ack(OWNER, syn_ack), now, |_| {});
        let mut waits = Vec::new();
        for n in 0..40 {
            let (seq, payload) = (n * MSS, FULL);
            let (cwr, push, fin, accecn) = (false, false, false, AccEcn::NONE);
            let segment = Segment { seq, payload, ecn, cwr, accecn, push, fin, stamps };
            let mut acks = 0;
            client.on_packet(&Packet::segment(OWNER, segment), now, |_| acks += 1);
            if acks == 0 {
                let due = client.deadline();
                waits.push(due.since(now).as_millis_f64() as u64);
                client.on_timer(due);
                now = due;
            }
        }
        waits[..4].to_vec()
    };
    assert_eq!(waits(10), [40, 40, 40, 40]);
    assert_eq!(waits(100), [40, 80, 100, 100]);
}
