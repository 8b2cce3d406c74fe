//! The sending side of a connection.
//!
//! An acknowledgement goes the way of RFC 9002 appendix A.7: packets acknowledged, RTT, marks, losses and
//! the answer to them, the window, and at last the packets to send.

mod ecn;

use l4s_cc::classic_ecn::Report;
use l4s_cc::{
    Cc, Congestion, CongestionControl, Connection, Decision, Endpoint, Pause, RateSample, Recovery,
    Repair, WantedEcn, Window, reno,
};
use l4s_model::Hold;
use l4s_units::{Bytes, Duration, Ecn, Time};

use self::ecn::Validation;
use super::flight::{Data, Flight, Losses};
use super::message::{Acknowledgement, Datagram, Message};
use super::rtt::Rtt;
use crate::pace::Pace;
use crate::packet::HEADER;
use crate::tcp::SenderConfig;
use crate::tcp::ranges::Ranges;
use crate::tcp::rate::Sampler;
use crate::tcp::supply::Supply;

/// Packets of the handshake for each one of a client whose address may be false (RFC 9000 §8.1): three times as many
/// bytes. All have the same length.
const AMPLIFICATION: u32 = 3;
/// Packets at the start of a connection that leave together (RFC 9002 §7.7), unless the congestion control has a
/// rate for them.
const FREE_PACKETS: u64 = 10;

/// The time of a pause that no window restarts after: RFC 9002 has no rule for it.
const NO_RESTART: Duration = Duration::MAX;

/// The actions of a sender.
pub(crate) trait Output {
    /// A packet goes out; `again` says whether its data was sent before.
    fn send_datagram(&mut self, datagram: Datagram, again: bool);
    /// A round trip was measured.
    fn measured(&mut self, rtt: Duration);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Handshake,
    Established,
    Closed,
}

/// The last recovery period (RFC 9002 §7.3.2); none is like one of no packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Period {
    /// It ends when this packet or a later one is acknowledged, and answers losses of all before it, also those
    /// that are found after its end.
    until: u64,
    /// Whether a loss was answered in it.
    answers_loss: bool,
    is_over: bool,
}

/// The sending side of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    payload: u16,
    cc: Cc,
    connection: Connection,
    decision: Decision,
    state: State,
    /// The packet of the client that the handshake answers.
    answers: u64,
    /// Packets that it may send to an address that it does not know.
    allowance: u32,
    flight: Flight,
    pub(super) rtt: Rtt,
    supply: Supply,
    /// The first byte not sent.
    next_byte: u64,
    /// The first byte not acknowledged, and acknowledged ones above it.
    una_byte: u64,
    acknowledged: Ranges,
    ecn: Validation,
    client_ecn: Ecn,
    needs_ecn: bool,
    paces: bool,
    period: Period,
    /// One packet leaves beyond the window, as a recovery begins (RFC 9002 §7.3.2).
    free_packet: bool,
    /// The window, not the application, is the limit.
    limited: bool,
    /// Packets sent; wraps.
    sent: u32,
    last_sent: Time,
    /// Packets that the client leaves without an acknowledgement, at most.
    ack_eliciting_threshold: u32,
    /// The last acknowledgement, or request for an immediate one.
    heard: Time,
    /// When the first packet in flight is lost by time.
    loss_due: Option<Time>,
    /// Probe timeouts in a row.
    probes: u32,
    due: Time,
    pace: Pace,
}

impl Sender {
    /// A sender that has answered nothing yet. The settings of TCP have no effect. Its client leaves packets without an
    /// acknowledgement up to the threshold, as by an ACK_FREQUENCY frame.
    pub fn new(config: &SenderConfig, ack_eliciting_threshold: u32) -> Self {
        let connection = Connection {
            initial_window: initial_window(config),
            seed: config.seed,
            endpoint: Endpoint::Quic,
            ..Connection::new(config.mss.into())
        };
        let cc = Cc::new(&config.cc, &connection);
        let sampler = cc.samples_rate().then(|| Box::new(Sampler::new()));
        Sender {
            payload: config.mss,
            cc,
            connection,
            decision: connection.initial(),
            state: State::Handshake,
            answers: 0,
            allowance: 0,
            flight: Flight::new(sampler),
            rtt: Rtt::new(),
            supply: Supply::new(config.size, config.mss),
            next_byte: 0,
            una_byte: 0,
            acknowledged: Ranges::default(),
            ecn: Validation::new(config.ecn),
            client_ecn: config.ecn.unwrap_or_default(),
            needs_ecn: config.cc.wants() != WantedEcn::Off,
            paces: config.cc.paces(),
            period: Period { is_over: true, ..Period::default() },
            free_packet: false,
            limited: false,
            sent: 0,
            last_sent: Time::ZERO,
            ack_eliciting_threshold,
            heard: Time::ZERO,
            loss_due: None,
            probes: 0,
            due: Time::NEVER,
            pace: Pace::new(),
        }
    }

    /// When [`Sender::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        self.due.min(self.pace.due)
    }

    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether data may flow.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    pub fn window(&self) -> Window {
        self.decision.window
    }

    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    pub fn alpha(&self) -> Option<f64> {
        self.cc.alpha()
    }

    pub fn classic_ecn(&self) -> Option<Report> {
        self.cc.prague()?.classic_ecn()
    }

    /// The codepoint of its client's packets: the way down, which the server validates, says nothing about the way up.
    pub fn codepoint_of_client(&self) -> Ecn {
        self.client_ecn
    }

    /// From now on it sends the writes of an application, and the connection stays open.
    pub fn serve_application(&mut self) {
        self.supply = Supply::written(Hold::None, self.payload);
    }

    /// How many writes of the application have not been sent to their end.
    pub fn unsent_writes(&self) -> usize {
        self.supply.writes_left(self.next_byte)
    }

    /// How many of them the client has not received to their end, where it has all bytes before
    /// `received`.
    pub fn undelivered_writes(&self, received: u64) -> usize {
        self.supply.writes_left(received)
    }

    /// The application writes `bytes`.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut impl Output) {
        self.supply.write(bytes, self.una_byte);
        if !self.is_established() {
            return;
        }
        if self.flight.in_flight() == 0 {
            let length = now.since(self.last_sent);
            self.decision = self.cc.on_restart(Pause { now, length, rto: NO_RESTART });
        }
        self.transmit(now, out);
    }

    /// A packet of the client arrived.
    pub fn on_message(&mut self, message: &Message, now: Time, out: &mut impl Output) {
        match (self.state, message) {
            (State::Handshake, Message::Initial { number }) => {
                self.allowance += AMPLIFICATION;
                self.answers = *number;
                self.answer(now, out);
            }
            (State::Handshake, Message::Request { answers }) => {
                self.establish(Time::from_nanos(*answers), now, out);
            }
            // Its client has nothing that came after the first one.
            (State::Established, Message::Request { .. }) => self.end_handshake(now, out),
            (State::Established, Message::Ack(ack)) => self.on_ack(ack, now, out),
            _ => {}
        }
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        if now >= self.pace.due {
            self.pace.due = Time::NEVER;
            self.transmit(now, out);
        }
        if now < self.due {
            return;
        }
        match self.state {
            State::Handshake => {
                self.probes += 1;
                self.answer(now, out);
            }
            State::Established if self.loss_due.is_some() => {
                let losses = self.detect_losses(now);
                self.answer_losses(&losses, Congestion::LossByTimer, now);
                self.transmit(now, out);
            }
            State::Established => self.probe(now, out),
            State::Closed => {}
        }
        self.set_timer();
    }

    // --- The handshake ----------------------------------------------------------------------

    /// The server's part of the handshake goes out, perhaps again, unless its client might be somebody else.
    fn answer(&mut self, now: Time, out: &mut impl Output) {
        if let Some(allowance) = self.allowance.checked_sub(1) {
            self.allowance = allowance;
            self.send_handshake(false, now, out);
            self.last_sent = now;
        }
        self.set_timer();
    }

    /// The handshake is over, also for the client. Data shows that by itself.
    fn end_handshake(&mut self, now: Time, out: &mut impl Output) {
        self.send_handshake(true, now, out);
    }

    fn send_handshake(&self, fin: bool, now: Time, out: &mut impl Output) {
        let (number, from, ecn) = (now.as_nanos(), self.answers, self.ecn.codepoint());
        let (handshake, payload, immediate_ack) = (true, 0, false);
        let datagram = Datagram { number, handshake, from, payload, ecn, fin, immediate_ack };
        out.send_datagram(datagram, false);
    }

    /// The client ended the handshake in answer to a packet that left at `left`.
    fn establish(&mut self, left: Time, now: Time, out: &mut impl Output) {
        self.rtt.sample(now.since(left), Duration::ZERO);
        (self.state, self.probes) = (State::Established, 0);
        self.heard = now;
        self.cc.on_established(&self.connection);
        self.sample_rate(0, 0, now);
        self.decision = self.cc.on_ack(&self.sample(now));
        self.transmit(now, out);
        if self.flight.in_flight() == 0 {
            self.end_handshake(now, out);
        }
    }

    // --- Acknowledgements -------------------------------------------------------------------

    fn on_ack(&mut self, ack: &Acknowledgement, now: Time, out: &mut impl Output) {
        let Sender { flight, acknowledged, una_byte, .. } = self;
        let news = flight.acknowledge(ack, |data| deliver(acknowledged, una_byte, data));
        let rtt = news.largest_left.map(|left| self.rtt.sample(now.since(left), ack.delay()));
        if let Some(rtt) = rtt {
            out.measured(rtt);
        }
        if news.packets > 0 {
            (self.probes, self.heard) = (0, now);
        }
        let marks = if news.advances { self.count_marks(ack, news.ect) } else { 0 };
        let mut sample = l4s_cc::Ack {
            delivered: news.packets,
            delivered_ce: marks,
            ece: marks > 0,
            advanced: news.packets > 0,
            rtt,
            limited: self.limited,
            ..self.sample(now)
        };
        self.cc.observe(&sample);
        if self.supply.is_over(self.una_byte) {
            (self.state, self.due, self.pace.due) = (State::Closed, Time::NEVER, Time::NEVER);
            // Finished flows must not keep their buffers.
            self.flight = Flight::default();
            return;
        }
        if news.packets > 0 && !self.period.is_over && ack.largest >= self.period.until {
            self.period.is_over = true;
            self.decision = self.cc.on_recovered(Recovery::Complete);
        }
        if marks > 0 {
            self.answer_congestion(Congestion::Ecn, ack.largest, now);
        }
        let losses = self.detect_losses(now);
        self.answer_losses(&losses, Congestion::Loss, now);
        (sample.lost, sample.in_flight) = (losses.packets, self.flight.in_flight());
        self.sample_rate(news.packets, marks, now);
        self.decision = self.cc.on_ack(&sample);
        if self.cc.limits_itself() {
            self.is_limited();
        }
        self.transmit(now, out);
    }

    /// The marks that an acknowledgement reports. Where the path or the client does not take part, ECN ends.
    fn count_marks(&mut self, ack: &Acknowledgement, ect: u32) -> u32 {
        if ack.counts.is_none() {
            // Nor does such a client send with ECN.
            self.client_ecn = Ecn::NotEct;
        }
        let was_capable = self.ecn.is_capable();
        let marks = self.ecn.take(ack.counts.as_ref(), ect);
        if was_capable && !self.ecn.is_capable() && self.needs_ecn {
            // As the TCP sender does without ECN. It goes on with the window, and no reduction is under way.
            let reno = reno::Config { pacing: self.paces, ..reno::Config::default() };
            let reno = reno::control(&reno, &self.connection);
            self.cc = Cc::Reno(reno.with_window(self.decision.window));
            self.period.is_over = true;
            self.flight.sampler = None;
        }
        marks
    }

    fn detect_losses(&mut self, now: Time) -> Losses {
        let (loss_delay, persistent) = (self.rtt.loss_delay(), self.rtt.persistent_congestion());
        let losses = self.flight.detect_losses(loss_delay, persistent, now);
        self.loss_due = losses.next;
        losses
    }

    fn answer_losses(&mut self, losses: &Losses, congestion: Congestion, now: Time) {
        let Some(newest) = losses.newest else { return };
        self.answer_congestion(congestion, newest, now);
        if losses.persistent {
            // The loss had its answer; the window becomes the least one (RFC 9002 §7.6.2), and the lowest RTT may be
            // that of another path.
            self.period.is_over = true;
            self.rtt.forget_min();
            self.decision = self.cc.on_congestion(Congestion::Timeout, true, &self.sample(now));
        }
        if let Some(sampler) = &mut self.flight.sampler {
            for loss in sampler.take_losses() {
                self.cc.sample_loss(&loss);
            }
        }
    }

    /// Packet `number` met congestion: a recovery period begins, unless it left before the present one
    /// (RFC 9002 §7.3.2).
    fn answer_congestion(&mut self, congestion: Congestion, number: u64, now: Time) {
        let is_loss = congestion != Congestion::Ecn;
        let at = self.sample(now);
        let period = &mut self.period;
        if number >= period.until {
            *period = Period { until: self.flight.next(), answers_loss: is_loss, is_over: false };
            self.free_packet = is_loss;
            self.decision = self.cc.on_congestion(congestion, false, &at);
        } else if is_loss && !period.answers_loss && !period.is_over {
            period.answers_loss = true;
            self.decision = self.cc.on_congestion(congestion, true, &at);
        }
    }

    /// Gives the congestion control a sample of the delivery rate, where it asks for them.
    fn sample_rate(&mut self, delivered: u32, marks: u32, now: Time) {
        let Some(sampler) = &mut self.flight.sampler else { return };
        sampler.marks(marks);
        let sample = RateSample {
            next_departure: self.pace.free_at,
            repair: match self.period {
                Period { answers_loss: true, is_over: false, .. } => Repair::Recovery,
                _ => Repair::None,
            },
            ..sampler.sample(delivered, self.rtt.min(), now)
        };
        self.cc.sample_rate(&sample);
    }

    /// Rates are low because nobody asks for more.
    fn is_limited(&mut self) {
        let in_flight = self.flight.in_flight();
        if let Some(sampler) = &mut self.flight.sampler {
            sampler.is_limited(in_flight);
        }
    }

    /// Where the connection is, without an acknowledgement.
    fn sample(&self, now: Time) -> l4s_cc::Ack {
        l4s_cc::Ack {
            now,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.smoothed().unwrap_or_default(),
            una: self.flight.base(),
            nxt: self.flight.next(),
            in_flight: self.flight.in_flight(),
            sent: self.sent,
            unsent: self.supply.segments_left(self.next_byte),
            ..l4s_cc::Ack::default()
        }
    }

    // --- Sending ----------------------------------------------------------------------------

    /// Sends lost and new data, as far as window and pace allow, and sets the timer.
    fn transmit(&mut self, now: Time, out: &mut impl Output) {
        loop {
            let cwnd = self.decision.window.cwnd.max(Endpoint::Quic.least_window());
            let is_full = self.flight.in_flight() >= cwnd;
            if !self.has_data() {
                self.limited = is_full;
                if !is_full {
                    self.is_limited();
                }
                break;
            }
            self.limited = true;
            if (is_full && !self.free_packet) || self.pace.holds_back(now) {
                break;
            }
            self.free_packet = false;
            self.send_next(now, out);
        }
        self.set_timer();
    }

    /// Whether there is something to send. Lost data that arrived in another packet is not sent again.
    fn has_data(&mut self) -> bool {
        while let Some(data) = self.flight.lost.front() {
            if !self.has_arrived(*data) {
                return true;
            }
            self.flight.lost.pop_front();
        }
        !self.supply.is_empty(self.next_byte)
    }

    fn has_arrived(&self, data: Data) -> bool {
        data.end() <= self.una_byte
            || self.acknowledged.containing(data.from).is_some_and(|(_, end)| data.end() <= end)
    }

    /// Sends lost data, or else new data.
    fn send_next(&mut self, now: Time, out: &mut impl Output) {
        match self.flight.lost.pop_front() {
            Some(data) => self.send(data, true, now, out),
            None => {
                let cut = self.supply.cut(self.next_byte);
                let data = Data { from: self.next_byte, payload: cut.payload };
                self.next_byte = data.end();
                self.send(data, false, now, out);
            }
        }
    }

    /// Sends a part of the stream in a new packet.
    fn send(&mut self, data: Data, again: bool, now: Time, out: &mut impl Output) {
        let (number, ecn) = (self.flight.next(), self.ecn.codepoint());
        let (_, fin) = self.supply.ends_at(data.end());
        self.flight.send(data, ecn != Ecn::NotEct, now);
        (self.sent, self.last_sent) = (self.sent.wrapping_add(1), now);
        let Data { from, payload } = data;
        let immediate_ack = self.wants_immediate_ack(now);
        let handshake = false;
        let datagram = Datagram { number, handshake, from, payload, ecn, fin, immediate_ack };
        out.send_datagram(datagram, again);
        let (rate, burst) = match self.initial_pacing(number) {
            Some(rate) => (Some(rate), 1),
            None if number < FREE_PACKETS => (None, 1),
            None => (self.decision.pacing, self.decision.quantum),
        };
        if let Some(rate) = rate {
            let credit = |span| span * u64::from(burst.saturating_sub(1));
            // A rate counts the bytes that the window counts.
            self.pace.charge(Bytes::new(payload.into()), rate, credit, now);
        }
    }

    /// Whether the packet that goes out asks for an acknowledgement at once, which the client would delay otherwise. So
    /// do probes, the last packet of a window that is no larger than the threshold, and one after a round trip without
    /// acknowledgement (draft-ietf-quic-ack-frequency sections 7 and 8.1).
    fn wants_immediate_ack(&mut self, now: Time) -> bool {
        if self.ack_eliciting_threshold <= 1 {
            return false;
        }
        let in_flight = self.flight.in_flight();
        let fills_window = in_flight >= self.decision.window.cwnd;
        let is_late = now.since(self.heard) > self.rtt.smoothed().unwrap_or(Duration::MAX);
        let wants = self.probes > 0
            || is_late
            || (fills_window && in_flight <= self.ack_eliciting_threshold);
        if wants {
            self.heard = now;
        }
        wants
    }

    /// The rate of the first packets, where the congestion control has one.
    fn initial_pacing(&self, number: u64) -> Option<l4s_units::Rate> {
        if number >= FREE_PACKETS {
            return None;
        }
        self.cc.prague()?.initial_pacing(self.rtt.smoothed()?)
    }

    /// Nothing was acknowledged for too long: packets go out beyond the window, with new data or else
    /// with that of the oldest packets (RFC 9002 §6.2.4: one or two). The window stays.
    fn probe(&mut self, now: Time, out: &mut impl Output) {
        if self.flight.in_flight() == 0 {
            return;
        }
        self.probes += 1;
        for oldest in self.flight.two_oldest().into_iter().flatten() {
            if self.has_data() {
                self.send_next(now, out);
            } else {
                self.send(oldest, true, now, out);
            }
        }
    }

    /// Sets the timer for a loss by time, or else for a probe (RFC 9002 §6.2.1).
    fn set_timer(&mut self) {
        let established = self.is_established();
        let probe = self.last_sent + self.rtt.probe_timeout(self.probes, established);
        self.due = match self.state {
            State::Handshake if self.allowance == 0 => Time::NEVER,
            State::Handshake => probe,
            State::Established if self.flight.in_flight() == 0 => Time::NEVER,
            State::Established => self.loss_due.unwrap_or(probe),
            State::Closed => Time::NEVER,
        };
    }
}

/// A part of the stream is acknowledged, perhaps once more.
fn deliver(acknowledged: &mut Ranges, una_byte: &mut u64, data: Data) {
    let Data { from, .. } = data;
    if from > *una_byte {
        return acknowledged.insert(from, data.end(), |_, _| {});
    }
    *una_byte = data.end().max(*una_byte);
    if !acknowledged.is_empty() {
        if let Some((_, end)) = acknowledged.containing(*una_byte) {
            *una_byte = end;
        }
        acknowledged.remove_below(*una_byte);
    }
}

/// The initial window in packets: ten, but no more than 14,720 B of UDP payload, or two packets where these are
/// larger (RFC 9002 §7.2). Another one is the choice of the user.
fn initial_window(config: &SenderConfig) -> u32 {
    const UDP_IP: u64 = 28;
    let datagram = u64::from(config.mss) + HEADER - UDP_IP;
    match config.initial_window {
        l4s_cc::INITIAL_WINDOW => (14_720 / datagram).clamp(2, 10) as u32,
        other => other,
    }
}
