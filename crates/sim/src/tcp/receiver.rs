//! The receiving side of a connection: times of acknowledgements, and the values to echo.

use l4s_model::Feedback;
use l4s_units::{Duration, Ecn, Time};

use super::accecn;
use super::buffer::Buffer;
use super::ranges::Ranges;
use crate::message::{Ack, ByteCounters, Duplicate};
use crate::packet::{Stamp, Stamps, TIME_STAMPS};

/// The assumed size of a full segment before the first one (RFC 9293 §3.7.1, `TCP_MSS_DEFAULT`).
const DEFAULT_MSS: u16 = 536;
/// The least that a segment without PSH carries (`TCP_MIN_MSS`).
const MIN_MSS: u16 = 88;
/// The least that a delayed acknowledgement waits.
const ATO_MIN: Duration = Duration::from_millis(40);
/// The longest that it waits.
const ATO_MAX: Duration = Duration::from_millis(200);
/// Acknowledgements that are not delayed, at the start of a connection and from a segment on that was
/// received before (Linux: `TCP_MAX_QUICKACKS`, `tcp_enter_quickack_mode`).
const QUICK_ACKS: u32 = 16;
/// Acknowledgements after a first mark that are not delayed.
const QUICK_ACKS_AFTER_CE: u32 = 2;
/// Number of counted marks that is reported at once.
const MARKS_AT_ONCE: u32 = 2;
/// Duplicate acknowledgements before selective ones may be merged.
const DUPTHRESH: u32 = 3;
/// The longest that selective acknowledgements are merged; a third of the RTT where that is less.
const MERGE: Duration = Duration::from_millis(1);
/// Most acknowledgements merged into one.
const MERGE_MAX: u32 = 44;

/// A segment as the receiver sees it.
///
/// Example: [`Receiver`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The number of its first byte in the stream, from 0.
    pub seq: u64,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Bytes of payload.
    pub payload: u16,
    /// Bytes of TCP options, without time stamps.
    pub options: u16,
    /// The sender reduced its window (CWR).
    pub cwr: bool,
    /// The sender has sent all that it may (PSH).
    pub push: bool,
    /// Its time stamps.
    pub stamps: Stamps,
}

impl Arrived {
    /// A segment of `payload` bytes behind `before` others, without flags and time stamps, as tests
    /// send it.
    pub fn after(before: u64, payload: u16, ecn: Ecn) -> Arrived {
        let (seq, stamps) = (before * u64::from(payload), Stamps::default());
        Arrived { seq, ecn, payload, options: 0, cwr: false, push: false, stamps }
    }
}

/// The receiving side of a connection.
///
/// ```
/// use l4s_model::Feedback;
/// use l4s_sim::tcp::{Arrived, Duplicate, Receiver};
/// use l4s_sim::{Ack, ByteCounters};
/// use l4s_units::{Duration, Ecn, Time};
///
/// let rtt = Duration::from_millis(10);
/// let mut receiver = Receiver::new(Feedback::Accurate { option: true }, rtt, 1448, None);
/// let mut acks: Vec<Ack> = Vec::new();
/// // A segment, the one after it with a mark, and that one again.
/// for (before, ecn) in [(0, Ecn::Ect1), (1, Ecn::Ce), (1, Ecn::Ect1)] {
///     receiver.on_segment(Arrived::after(before, 1448, ecn), Time::ZERO, |ack| acks.push(ack));
/// }
/// assert_eq!(acks.iter().map(|ack| ack.cumulative).collect::<Vec<_>>(), [1448, 2896, 2896]);
/// // Counters of bytes begin at 1, and that of packets at 5 (RFC 9768 §3.2.1).
/// assert_eq!(acks[1].option, Some(ByteCounters { ect1: 1449, ce: 1448, ect0: 1 }));
/// assert_eq!(acks[1].ace, 6);
/// // The copy is reported by D-SACK.
/// assert_eq!(acks[2].duplicate, Some(Duplicate { distance: -1448, length: 1448 }));
/// ```
#[derive(Clone, Debug)]
pub struct Receiver {
    feedback: Feedback,
    /// The payload of a full segment, as estimated from the segments (`rcv_mss`).
    full: u16,
    /// The size of the last segment if that was less; 0 if it says nothing (`last_seg_size`).
    last_size: u16,
    /// The first byte not received. The application has read those before it.
    next: u64,
    /// Data that was received above it.
    beyond: Ranges,
    /// Where in `beyond` segments arrived most recently, the newest first.
    recent: [u64; 3],
    /// Bytes that came twice since the last acknowledgement went out.
    duplicate: Option<(u64, u64)>,
    /// `next` when the last acknowledgement went out.
    acknowledged: u64,
    /// Feedback congestion experienced.
    demand_cwr: bool,
    /// Marked segments received, and their number in the last acknowledgement.
    marks: u32,
    marks_told: u32,
    /// Whether the SYN-ACK was marked, which counts (RFC 9768 table 3).
    syn_ack_ce: bool,
    /// Bytes by codepoint.
    bytes: ByteCounters,
    /// Where the block begins that the last acknowledgement reported as received twice, beside the
    /// AccECN option.
    reported: u64,
    /// Whether the last segment was marked; DCTCP: `next` before it.
    ce: bool,
    next_before: u64,
    /// Acknowledgements left that are not delayed.
    quick: u32,
    /// How long the next one to be delayed waits: twice as long after a wait that nothing came
    /// to end, and then less by and by.
    ato: Duration,
    /// When the last segment arrived in order.
    last_arrival: Time,
    /// Duplicate acknowledgements for the same hole, and those merged since the last one sent.
    duplicates: (u64, u32),
    merged: u32,
    /// When an acknowledgement that waits goes out.
    due: Time,
    /// Whether it waits because it is merged, not delayed.
    merging: bool,
    /// The time stamp to echo (`TS.Recent` of RFC 7323 §4.3).
    ts_recent: Stamp,
    buffer: Buffer,
    /// How long the handshake took: no delay is much longer. A client that only receives measures no
    /// other RTT of its own, even if the path changes.
    srtt: Duration,
}

impl Receiver {
    /// The receiver of a connection whose handshake took `rtt` and whose segments have at most
    /// `mss` bytes of payload. `rcvbuf` is SO_RCVBUF, where that is set.
    pub fn new(feedback: Feedback, rtt: Duration, mss: u16, rcvbuf: Option<u64>) -> Self {
        Receiver {
            feedback,
            full: mss.min(DEFAULT_MSS),
            last_size: 0,
            next: 0,
            beyond: Ranges::default(),
            recent: [0; 3],
            duplicate: None,
            acknowledged: 0,
            demand_cwr: false,
            marks: 0,
            marks_told: 0,
            syn_ack_ce: false,
            bytes: accecn::INITIAL_BYTES,
            reported: u64::MAX,
            ce: false,
            next_before: 0,
            quick: QUICK_ACKS,
            ato: ATO_MIN,
            last_arrival: Time::ZERO,
            duplicates: (0, 0),
            merged: 0,
            due: Time::NEVER,
            merging: false,
            ts_recent: Stamp::default(),
            buffer: Buffer::new(mss, rcvbuf),
            srtt: rtt,
        }
    }

    /// The handshake decided how it reports marks, with a SYN-ACK of this codepoint, and took this long.
    pub fn connected(&mut self, feedback: Feedback, syn_ack: Ecn, rtt: Duration) {
        self.feedback = feedback;
        self.syn_ack_ce = syn_ack.is_ce();
        self.srtt = rtt;
    }

    /// Whether it counts marks, and whether it adds the AccECN option.
    pub fn accurate(&self) -> (bool, bool) {
        match self.feedback {
            Feedback::Accurate { option } => (true, option),
            _ => (false, false),
        }
    }

    /// A segment that was just reported as received twice came once more: acknowledgements with the
    /// option seem to be lost on their way, so later ones are without (RFC 9768 §3.2.3.2.2; Linux:
    /// `accecn_opt_sent_w_dsack`).
    #[cold]
    fn drop_option(&mut self) {
        if let Feedback::Accurate { option } = &mut self.feedback {
            *option = false;
        }
    }

    /// The ACE field of its packets; 0 without AccECN.
    pub fn ace(&self) -> u8 {
        match self.feedback {
            Feedback::Accurate { .. } => {
                let before = accecn::INITIAL_CEP + u32::from(self.syn_ack_ce);
                accecn::ace(before.wrapping_add(self.marks))
            }
            _ => 0,
        }
    }

    /// When [`Receiver::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        self.due
    }

    /// The first byte not received. It is also the number of bytes that the application has read, each
    /// once and in order.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// When the last segment arrived in order; time zero where none did.
    pub fn last_arrival(&self) -> Time {
        self.last_arrival
    }

    /// Marked segments received.
    #[cfg(test)]
    pub(super) fn marks(&self) -> u32 {
        self.marks
    }

    /// A segment arrived. `send` gets each acknowledgement that goes out: none, one or two.
    #[inline(always)]
    pub fn on_segment(&mut self, segment: Arrived, now: Time, mut send: impl FnMut(Ack)) {
        if self.takes(segment, now, &mut send) {
            send(self.acknowledge(now));
        }
    }

    /// Takes a segment, and says whether to acknowledge it at once. `send` gets an acknowledgement of those before it.
    #[inline(always)]
    fn takes(&mut self, segment: Arrived, now: Time, send: &mut impl FnMut(Ack)) -> bool {
        let Arrived { seq, ecn, payload, options, cwr, push, stamps } = segment;
        let end = seq + u64::from(payload);
        self.note_stamp(seq, end, stamps.sent);
        // The application reads everything as it arrives; then pushed data is acknowledged.
        let in_order = seq <= self.next && self.next < end;
        let mut at_once = in_order && self.is_pushed(payload, options, push);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect1 => accecn::add(&mut self.bytes.ect1, payload),
            Ecn::Ect0 => accecn::add(&mut self.bytes.ect0, payload),
            Ecn::Ce => {
                self.marks = self.marks.wrapping_add(1);
                accecn::add(&mut self.bytes.ce, payload);
            }
        }
        if cwr {
            self.demand_cwr = false;
            // The sender's window may be very small now.
            at_once = true;
        }
        if seq != self.next || !self.beyond.is_empty() {
            let there = self.already_there(seq, end);
            if self.has_all(seq, end) {
                // Received before: the sender must learn that (RFC 9293 §3.10.7.4). It may have lost
                // acknowledgements, so that Linux acknowledges immediately; but not above a hole.
                if end <= self.next {
                    self.hurry(QUICK_ACKS);
                }
                self.duplicate = there;
                if self.reported == seq {
                    self.drop_option();
                }
                return true;
            }
            // Only a part of it is new: it may fill a gap (RFC 5681 §4.2).
            self.duplicate = there.or(self.duplicate);
            at_once |= there.is_some();
        }
        if in_order {
            self.next = end;
            self.adapt_delay(now);
        }
        at_once |= self.echo_mark(ecn, now, send);
        if !in_order {
            // A new block might push one off the list before it was ever reported.
            at_once |= self.note_beyond(seq, end);
        } else if !self.beyond.is_empty() {
            if let Some((_, end)) = self.beyond.containing(self.next) {
                self.next = end;
            }
            self.beyond.remove_below(self.next);
            // RFC 5681 §4.2: at once when a gap is filled.
            at_once |= self.beyond.is_empty();
        }
        if self.buffer.take(stamps, self.next, self.beyond.end(), now) {
            // A segment that makes the window grow is acknowledged at once (`tcp_grow_window`).
            self.quick |= 1;
        }
        if at_once || self.next - self.acknowledged > u64::from(self.full) || self.quick > 0 {
            return true;
        }
        if self.beyond.is_empty() {
            if self.due == Time::NEVER {
                self.due = now + self.ato.min(self.srtt.max(ATO_MIN)).min(ATO_MAX);
            }
            return false;
        }
        let merges = self.may_merge(now);
        self.merged += u32::from(merges);
        !merges
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if now < self.due {
            return None;
        }
        if !self.merging {
            self.ato = (self.ato * 2).min(self.srtt + ATO_MAX);
        }
        Some(self.acknowledge(now))
    }

    /// Whether a segment is the end of the sender's data (`tcp_measure_rcv_mss`): it has PSH, or is
    /// not full.
    #[inline(always)]
    fn is_pushed(&mut self, payload: u16, options: u16, push: bool) -> bool {
        let last_size = core::mem::take(&mut self.last_size);
        if payload == self.full { push } else { self.measure(payload, options, push, last_size) }
    }

    /// A segment had another payload than full ones. Full ones have less than was announced where the
    /// server has TCP options or its path takes less: then two of the same size follow each other.
    fn measure(&mut self, payload: u16, options: u16, push: bool, last_size: u16) -> bool {
        if payload > self.full {
            self.full = payload;
            return push;
        }
        let size = payload + options;
        let least = if push { DEFAULT_MSS } else { MIN_MSS };
        if size + TIME_STAMPS as u16 >= least {
            self.last_size = size;
            if size == last_size {
                self.full = size;
                return false;
            }
        }
        true
    }

    /// The first segment that was not acknowledged yet gives the time stamp to echo. So a delayed
    /// acknowledgement includes its delay, and data above a hole has no effect (RFC 7323 §4.3). The data
    /// that was acknowledged last gives it too, when it is repeated.
    #[inline(always)]
    fn note_stamp(&mut self, seq: u64, end: u64, sent: Stamp) {
        let is_next = seq <= self.acknowledged && self.acknowledged <= end;
        if is_next && !sent.is_before(self.ts_recent) {
            self.ts_recent = sent;
        }
    }

    /// Whether all of these bytes were received before.
    fn has_all(&self, seq: u64, end: u64) -> bool {
        end <= self.next
            || self.beyond.containing(seq.max(self.next)).is_some_and(|(_, last)| end <= last)
    }

    /// The part of these bytes that was received before, from its first to its last one.
    fn already_there(&self, seq: u64, end: u64) -> Option<(u64, u64)> {
        let below = (seq < self.next).then(|| (seq, end.min(self.next)));
        let beyond = self.beyond.hull_within(seq, end);
        match (below, beyond) {
            (Some(below), Some(beyond)) => Some((below.0, beyond.1)),
            (below, beyond) => below.or(beyond),
        }
    }

    /// The number of acknowledgements that are not delayed from now on, at least.
    fn hurry(&mut self, acks: u32) {
        self.quick = self.quick.max(acks);
        self.ato = ATO_MIN;
    }

    /// The delay follows the spacing of arrivals, where that is short.
    fn adapt_delay(&mut self, now: Time) {
        let gap = now.since(self.last_arrival);
        self.last_arrival = now;
        if gap <= ATO_MIN / 2 {
            self.ato = self.ato / 2 + ATO_MIN / 2;
        } else if gap < self.ato {
            self.ato = self.ato / 2 + gap;
        }
    }

    /// Notes whether the segment was marked; says whether to acknowledge at once.
    #[inline(always)]
    fn echo_mark(&mut self, ecn: Ecn, now: Time, send: &mut impl FnMut(Ack)) -> bool {
        match self.feedback {
            Feedback::None => false,
            Feedback::Classic => {
                if ecn.is_ce() && !self.demand_cwr {
                    self.demand_cwr = true;
                    self.hurry(QUICK_ACKS_AFTER_CE);
                }
                false
            }
            Feedback::Dctcp => {
                let changed = ecn.is_ce() != self.ce;
                if changed && self.due != Time::NEVER && !self.merging {
                    send(self.acknowledge_earlier(now));
                }
                self.ce = ecn.is_ce();
                self.demand_cwr = self.ce;
                self.next_before = self.next;
                changed
            }
            Feedback::Accurate { .. } => {
                // RFC 9768 §3.2.2.5.1: change-triggered, in both directions as in Linux, and
                // increment-triggered.
                let changed = ecn.is_ce() != self.ce;
                self.ce = ecn.is_ce();
                changed || self.marks.wrapping_sub(self.marks_told) >= MARKS_AT_ONCE
            }
        }
    }

    /// The backlog belongs to the earlier state (RFC 8257 §3.2).
    #[inline(never)]
    fn acknowledge_earlier(&mut self, now: Time) -> Ack {
        let next = core::mem::replace(&mut self.next, self.next_before);
        self.demand_cwr = self.ce;
        let ack = self.acknowledge(now);
        self.next = next;
        ack
    }

    /// Notes data that arrived out of order; returns whether it began a block of its own.
    fn note_beyond(&mut self, seq: u64, end: u64) -> bool {
        self.beyond.insert(seq, end, |_, _| {});
        let block = self.beyond.containing(seq);
        // The newest first; a block that holds several recent segments is named once.
        let old = self.recent;
        self.recent = [seq, 0, 0];
        let mut named = 1;
        for other in old {
            if other > self.next && named < 3 && self.beyond.containing(other) != block {
                self.recent[named] = other;
                named += 1;
            }
        }
        block == Some((seq, end))
    }

    /// Selective acknowledgements beyond the third are merged, up to a millisecond.
    fn may_merge(&mut self, now: Time) -> bool {
        if self.duplicates.0 != self.next {
            self.duplicates = (self.next, 0);
        }
        if self.duplicates.1 < DUPTHRESH {
            self.duplicates.1 += 1;
            return false;
        }
        if self.merged >= MERGE_MAX {
            return false;
        }
        if self.due == Time::NEVER {
            self.due = now + MERGE.min(self.srtt.min(self.buffer.rtt()) / 3);
            self.merging = true;
        }
        true
    }

    /// The acknowledgement of all that was received.
    fn acknowledge(&mut self, now: Time) -> Ack {
        self.acknowledged = self.next;
        self.marks_told = self.marks;
        self.quick = match self.quick {
            0 => 0,
            1 => {
                // The last one that is not delayed (`tcp_dec_quickack_mode`).
                self.ato = ATO_MIN;
                0
            }
            more => more - 1,
        };
        self.due = Time::NEVER;
        self.merging = false;
        self.merged = 0;
        let mut sacks = [(0, 0); 3];
        if !self.beyond.is_empty() {
            let mut blocks = [(0, 0); 3];
            let mut n = 0;
            for seq in self.recent {
                let Some(block) = self.beyond.containing(seq) else { continue };
                if !blocks[..n].contains(&block) && block.0 > self.next {
                    blocks[n] = block;
                    let distance = |s: u64| u32::try_from(s - self.next).unwrap_or(u32::MAX);
                    sacks[n] = (distance(block.0), distance(block.1));
                    n += 1;
                }
            }
        }
        let (_, option) = self.accurate();
        self.reported = self.duplicate.filter(|_| option).map_or(u64::MAX, |(from, _)| from);
        let duplicate = self.duplicate.take().map(|(from, to)| {
            let distance = from.wrapping_sub(self.next) as i64;
            let distance = distance.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            Duplicate { distance, length: (to - from) as u16 }
        });
        Ack {
            cumulative: self.next,
            sacks,
            duplicate,
            ece: self.demand_cwr,
            ace: self.ace(),
            option: option.then_some(self.bytes),
            window: self.buffer.window(self.next, &self.beyond),
            stamps: Stamps { sent: Stamp::at(now), echo: self.ts_recent },
        }
    }
}
