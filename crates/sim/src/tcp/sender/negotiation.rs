//! The server's side of the negotiation of ECN, and the events that end its use later.

use l4s_cc::{Cc, Config, CongestionControl, Connection, Marks, reno};
use l4s_observe::EcnFlags;
use l4s_units::Ecn;

use super::Sender;
use super::transmission::chunk;
use crate::message::{Ack, Request, Syn};
use crate::packet::AccEcn;
use crate::tcp::handshake::{Mode, NO_FLAGS, may_become, reflect, reflected};

/// Timeouts of a SYN-ACK after which something on the path may drop it for its flags (RFC 9768
/// §3.2.3.2.2).
const FLAGGED_SYN_ACKS: u32 = 2;

impl Sender {
    /// A SYN arrived. The first one decides the mode (RFC 9768 §3.1.5).
    pub(super) fn negotiate(&mut self, syn: &Syn) {
        self.syn_ecn = syn.ecn;
        let mode = Mode::of_syn(syn.flags);
        if self.has_answered() {
            // The client may not have seen that AccECN was granted, and may not count.
            if self.accurate_ecn && mode == Mode::NotEcn {
                self.ecn = None;
            }
            return;
        }
        if mode == Mode::NotEcn || (mode == Mode::Classic && self.refuses_rfc3168) {
            self.ecn = None;
        }
        self.accurate_ecn = self.ecn.is_some() && mode == Mode::Accurate;
    }

    /// Whether a SYN-ACK was sent.
    fn has_answered(&self) -> bool {
        self.syn_ack.1 > 0
    }

    /// The codepoint of a SYN-ACK: that of data with a control that cannot do without ECN, as in
    /// Linux (RFC 8257 §3.6), and Not-ECT with others (RFC 3168 §6.1.1).
    pub(super) fn syn_ack_ecn(&self) -> Ecn {
        self.ecn.filter(|_| self.needs_ecn).unwrap_or_default()
    }

    /// The ECN flags of the next SYN-ACK.
    pub(super) fn answer_to_syn(&mut self) -> EcnFlags {
        if !self.accurate_ecn {
            // RFC 3168 §6.1.1.
            return EcnFlags { ece: self.ecn.is_some(), ..NO_FLAGS };
        }
        if self.backoff >= FLAGGED_SYN_ACKS {
            // RFC 9768 §3.2.3.2.2. The client may take it for one without ECN (§3.1.5).
            self.ecn = None;
            return NO_FLAGS;
        }
        reflect(self.syn_ecn)
    }

    /// The handshake is over.
    pub(super) fn establish(&mut self, request: &Request) {
        if self.accurate_ecn {
            self.test_handshake(request);
        }
        // In AccECN mode Linux has every packet ECN-capable (`tcp_ecn_send`).
        self.ecn_on_everything = self.needs_ecn || self.accurate_ecn;
        let marks = if self.accurate_ecn { Marks::Counted } else { self.echo };
        self.accecn_fields = match self.accurate_ecn {
            // Linux has its option on every segment, once it saw one (`tcp_ecn_option` of 2, the
            // default).
            true if request.option => AccEcn::with_option(self.ecn.unwrap_or_default()),
            true => AccEcn::ACE,
            false => AccEcn::NONE,
        };
        self.set_payload(self.mss - self.accecn_fields.option_length());
        let connection = Connection {
            payload: self.payload.into(),
            initial_window: self.decision.window.cwnd,
            marks,
            // The control has its randomness.
            ..Connection::new(self.mss.into())
        };
        if self.needs_ecn && self.ecn.is_none() && !self.accurate_ecn {
            // As DCTCP and TCP Prague in Linux (`dctcp_reno`, `prague_reno`).
            let reno = reno::Config { pacing: self.paces, ..reno::Config::default() };
            self.cc = Cc::new(&Config::Reno(reno), &connection);
        } else {
            self.cc.on_established(&connection);
        }
    }

    /// Full segments have this payload.
    fn set_payload(&mut self, payload: u16) {
        self.payload = payload;
        self.chunk_left = chunk(payload);
        self.supply.set_payload(payload);
        self.accecn.set_payload(payload);
    }

    /// The acknowledgement of the SYN-ACK encodes the codepoint with which that arrived (RFC 9768
    /// table 4).
    fn test_handshake(&mut self, request: &Request) {
        self.counters_untested = true;
        if !request.option {
            self.accecn.ignore_option();
        }
        if request.flags == NO_FLAGS {
            return self.give_up_counting();
        }
        let Some(arrived) = reflected(request.flags) else { return };
        if !may_become(self.syn_ack_ecn(), arrived) {
            // RFC 9768 §3.2.2.3: something on the path changes codepoints.
            self.ecn = None;
        } else if arrived.is_ce() {
            // Linux keeps the mark of a SYN-ACK from the congestion control.
            self.accecn.count_syn_ack();
        }
    }

    /// The first counters after the handshake arrived: they are not zero, unless something on the path
    /// clears them (RFC 9768 §3.2.2.4, §3.2.3.2.4).
    #[cold]
    pub(super) fn test_counters(&mut self, ack: &Ack, delivered: u32) {
        self.counters_untested = false;
        if self.accecn.is_cleared(ack.ace, delivered) {
            self.give_up_counting();
        }
        if ack.option.is_some_and(|bytes| bytes.ect1 == 0 || bytes.ect0 == 0) {
            self.accecn.ignore_option();
        }
    }

    /// The client does not count marks, or the count does not arrive: data is Not-ECT, and marks are
    /// not answered.
    fn give_up_counting(&mut self) {
        self.ecn = None;
        self.accecn.disable();
    }
}
