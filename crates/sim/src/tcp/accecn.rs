//! Accurate ECN feedback (RFC 9768): the number of marks that an acknowledgement reports.
//!
//! A receiver counts marked packets in three bits of every header (ACE) and marked bytes in 24
//! bits of a TCP option. Acknowledgements get lost, and then three bits may have wrapped. Their
//! value is decoded as in Linux' `__tcp_accecn_process`:
//!
//! 1. No more than 7 segments newly acknowledged: the difference of ACE is the number of marks.
//! 2. More than that: it may be short by a multiple of 8. With the option, the bytes determine the
//!    multiple (RFC 9768 appendix A.2.2).
//! 3. Without it, the *safer* number is taken, the largest that the newly acknowledged segments
//!    allow (RFC 9768 §3.2.2.5.2, appendix A.2.1). But where an acknowledgement covers more than
//!    four segments on average, something thins them and many are no sign of loss: then the plain
//!    difference.
//!
//! So ACE alone never counts fewer marks than were set, as long as acknowledgements are not
//! thinned and no more packets were marked than segments newly acknowledged. It is exact, or too
//! large by a multiple of 8. The option makes it exact, where segments are full ones.
//!
//! Both ends count marked packets from 5 on (RFC 9768 §3.2.1), or from 6 on where the SYN-ACK was
//! marked (tables 3 and 4). Here the option is on every acknowledgement; Linux leaves it out beside
//! three blocks of SACK and while nothing changes. So one without it shows that the path strips it,
//! and the sender reads none from then on (§3.2.3.2.3).

use crate::message::ByteCounters;

/// ACE: the counter of packets, in three bits.
const ACE: u32 = 7;
/// The counter of bytes, in 24 bits.
const BYTES: u32 = (1 << 24) - 1;
/// The average counts in 64ths of a segment, and an acknowledgement for a 64th of it.
const FRACTION: u32 = 6;
const WEIGHT: u32 = 6;
/// Segments per acknowledgement from which on these are thinned.
const THINNED: u32 = 4;

/// The counter of marked packets at the start of a connection (`r.cep` and `s.cep`).
pub const INITIAL_CEP: u32 = 5;

/// The ACE field with this counter of marked packets.
pub fn ace(cep: u32) -> u8 {
    (cep & ACE) as u8
}

/// The counters of bytes at the start of a connection. Where ECT is counted, zero shows that a path
/// clears them (RFC 9768 §3.2.1, §3.2.3.2.4).
pub const INITIAL_BYTES: ByteCounters = ByteCounters { ect1: 1, ce: 0, ect0: 1 };

/// Counts bytes, in 24 bits.
#[inline]
pub fn add(counter: &mut u32, bytes: u16) {
    *counter = (*counter + u32::from(bytes)) & BYTES;
}

/// The sender's side of the feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decoder {
    /// The marked packets, as far as is known (`s.cep`).
    cep: u32,
    /// The option's counter when it last changed.
    ce_bytes: u32,
    /// Segments per acknowledgement, smoothed.
    acked: u32,
    /// Payload of a full segment in bytes.
    payload: u16,
    /// The path strips the option, or clears it.
    stripped: bool,
    /// The flags are no counter: nothing that they say is believed.
    disabled: bool,
}

/// The report of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// New marks.
    pub marks: u32,
    /// Payload of the packets that have them, where the option says so.
    pub bytes: u32,
}

impl Decoder {
    /// The feedback on full segments with this payload, before the first mark.
    pub fn new(payload: u16) -> Decoder {
        let (stripped, disabled) = (false, false);
        Decoder { cep: INITIAL_CEP, ce_bytes: 0, acked: 0, payload, stripped, disabled }
    }

    /// Marks counted so far, from the handshake on.
    #[cfg(test)]
    pub fn marks(&self) -> u32 {
        self.cep - INITIAL_CEP
    }

    /// Full segments have this payload.
    pub fn set_payload(&mut self, payload: u16) {
        self.payload = payload;
    }

    /// The SYN-ACK was marked (RFC 9768 table 4).
    pub fn count_syn_ack(&mut self) {
        self.cep = INITIAL_CEP + 1;
    }

    /// Reads no option from now on: the path strips it (RFC 9768 §3.2.3.2.3), or clears it (§3.2.3.2.4).
    pub fn ignore_option(&mut self) {
        self.stripped = true;
    }

    /// Whether this ACE field is zero although so few segments could not have made it wrap, were they
    /// all marked.
    pub fn is_cleared(&self, ace: u8, delivered: u32) -> bool {
        ace == 0 && self.cep.saturating_add(delivered) <= ACE
    }

    /// The other end does not count, or something on the path clears its counter (RFC 9768
    /// §3.2.2.1 note 1, §3.2.2.4): no mark is counted any more.
    pub fn disable(&mut self) {
        self.disabled = true;
    }

    /// Takes the counters of an acknowledgement that delivered `delivered` segments. `progress` is
    /// whether it showed anything new.
    #[inline]
    pub fn take(
        &mut self,
        ace: u8,
        option: Option<ByteCounters>,
        delivered: u32,
        progress: bool,
    ) -> News {
        self.stripped |= option.is_none();
        let ce_bytes = option.filter(|_| !self.stripped).map(|bytes| bytes.ce);
        // Only without the option does it matter.
        if delivered > 0 && ce_bytes.is_none() {
            let sample = delivered << FRACTION;
            self.acked = match self.acked {
                0 => sample,
                old => ((old << WEIGHT) - old + sample) >> WEIGHT,
            };
        }
        let bytes = ce_bytes.map(|now| now.wrapping_sub(self.ce_bytes) & BYTES);
        let later = match bytes {
            // Counters that run backwards were overtaken on their way.
            Some(bytes) => bytes <= BYTES / 2 && (progress || bytes > 0),
            // Linux would also accept a later time stamp.
            None => progress,
        };
        if !later || self.disabled {
            return News::default();
        }
        let difference = u32::from(ace).wrapping_sub(self.cep) & ACE;
        let thinned = self.acked > THINNED << FRACTION;
        let marks = count(difference, delivered, bytes, thinned, self.payload.into());
        self.cep = self.cep.wrapping_add(marks);
        self.ce_bytes = ce_bytes.unwrap_or_default();
        News { marks, bytes: bytes.unwrap_or_default() }
    }
}

/// The number of marks behind a difference of ACE.
#[inline]
fn count(difference: u32, delivered: u32, bytes: Option<u32>, thinned: bool, payload: u32) -> u32 {
    if delivered <= ACE {
        return difference;
    }
    wrapped(difference, delivered, bytes, thinned, payload)
}

#[inline(never)]
fn wrapped(
    difference: u32,
    delivered: u32,
    bytes: Option<u32>,
    thinned: bool,
    payload: u32,
) -> u32 {
    let safer = delivered - (delivered.wrapping_sub(difference) & ACE);
    match bytes {
        None if thinned => difference,
        None => safer,
        Some(0) => difference,
        // More than one wrap is possible: as many as these bytes are segments.
        Some(bytes) if delivered > 2 * ACE + 1 => {
            if bytes >= delivered.saturating_mul(payload) {
                return safer;
            }
            safer.min(difference + (bytes.div_ceil(payload) & !ACE))
        }
        Some(bytes) if bytes > difference * payload => safer,
        // Half of the bytes that the safer number would need are too few for it.
        Some(bytes) if bytes < safer * payload / 2 => difference,
        Some(_) => safer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use proptest::prelude::*;

    /// The feedback of a receiver of full segments after this number of marks.
    fn told(marks: u32) -> (u8, ByteCounters) {
        let ce = marks.wrapping_mul(MSS as u32) & BYTES;
        (ace(INITIAL_CEP + marks), ByteCounters { ce, ..INITIAL_BYTES })
    }

    /// RFC 9768 §3.2.2.5.2: packets that came twice count too, so that there may be more marks than
    /// segments newly acknowledged.
    #[test]
    fn more_marks_than_segments_are_believed() {
        let mut decoder = Decoder::new(MSS as u16);
        assert_eq!(decoder.take(ace(INITIAL_CEP + 3), None, 1, true).marks, 3);
        assert_eq!(decoder.take(ace(INITIAL_CEP + 4), None, 1, true).marks, 1);
    }

    /// The plain and the safer difference (RFC 9768 appendix A.2.1).
    #[test]
    fn three_bits_may_have_wrapped() {
        // 9 newly acknowledged, ACE up by 1: 1 or 9.
        assert_eq!(count(1, 9, None, false, MSS as u32), 9);
        assert_eq!(count(1, 9, None, true, MSS as u32), 1);
        // 8: only 1 fits.
        assert_eq!(count(1, 8, None, false, MSS as u32), 1);
        // 7 never wrap, even if ACE says less than was possible.
        assert_eq!(count(0, 7, None, false, MSS as u32), 0);
        // 40 without a difference: safer is all of them.
        assert_eq!(count(0, 40, None, false, MSS as u32), 40);
        assert_eq!(count(0, 40, Some(0), false, MSS as u32), 0);
        assert_eq!(count(0, 40, Some(16 * MSS as u32), false, MSS as u32), 16);
    }

    #[test]
    fn an_acknowledgement_that_was_overtaken_tells_nothing() {
        let mut with = Decoder::new(MSS as u16);
        let mut without = Decoder::new(MSS as u16);
        let (new, old) = (told(3), told(2));
        assert_eq!(with.take(new.0, Some(new.1), 4, true).marks, 3);
        assert_eq!(with.take(old.0, Some(old.1), 0, true), News::default());
        assert_eq!(with.take(new.0, Some(new.1), 0, false), News::default());
        assert_eq!(without.take(new.0, None, 4, true).marks, 3);
        assert_eq!(without.take(old.0, None, 0, false), News::default());
    }

    /// Segments that follow each other, each marked or not, with an acknowledgement for every
    /// other one. Some of these arrive: `(delivered, marks so far)` for each of them.
    fn journey() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((any::<[bool; 2]>(), prop::bool::weighted(0.3)), 1..400).prop_map(
            |pairs| {
                let (mut marks, mut delivered, mut seen) = (0, 0, Vec::new());
                for (marked, arrives) in pairs {
                    marks += marked.iter().filter(|m| **m).count() as u32;
                    delivered += 2;
                    if arrives {
                        seen.push((std::mem::take(&mut delivered), marks));
                    }
                }
                seen
            },
        )
    }

    proptest! {
        /// With the option no mark is lost and none is made up, for all acknowledgements.
        #[test]
        fn the_option_survives_any_loss(journey in journey()) {
            let mut decoder = Decoder::new(MSS as u16);
            let mut counted = 0;
            for (delivered, marks) in journey {
                let (ace, bytes) = told(marks);
                counted += decoder.take(ace, Some(bytes), delivered, true).marks;
                prop_assert_eq!(counted, marks);
            }
        }

        /// ACE alone never counts less, and more only by multiples of 8, where acknowledgements
        /// are not thinned.
        #[test]
        fn the_safer_rule_never_counts_less(journey in journey()) {
            let mut decoder = Decoder::new(MSS as u16);
            let mut before = 0;
            for (delivered, marks) in journey {
                // Where every acknowledgement restarts, nothing is thinned.
                let mut fresh = Decoder { acked: 1, ..decoder };
                let counted = fresh.take(told(marks).0, None, delivered, true).marks;
                let new = marks - before;
                prop_assert!(counted >= new && counted <= delivered.max(7));
                prop_assert_eq!((counted - new) % 8, 0);
                // And exact, where nothing can have wrapped.
                prop_assert!(delivered > 7 || counted == new);
                decoder = fresh;
                before = marks;
            }
        }

        /// The plain difference of thinned acknowledgements never counts more.
        #[test]
        fn the_plain_rule_never_counts_more(new in 0u32..60, more in 0u32..60) {
            let counted = count(new & ACE, new + more, None, true, MSS as u32);
            prop_assert!(counted <= new && (new - counted) % 8 == 0);
        }

        /// One wrap or several: bytes distinguish them.
        #[test]
        fn bytes_tell_wraps_apart(new in 0u32..200, more in 0u32..200) {
            let bytes = Some(new * MSS as u32);
            prop_assert_eq!(count(new & ACE, new + more, bytes, false, MSS as u32), new);
        }
    }
}
