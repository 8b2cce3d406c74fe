//! Whether path and client take part in ECN (RFC 9000 §13.4.2).

use l4s_units::Ecn;

use crate::quic::EcnCounts;

/// The use of ECN by one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validation {
    /// The codepoint of packets; none where they are Not-ECT.
    codepoint: Option<Ecn>,
    /// The counts of the last acknowledgement that had a larger number than all before.
    counts: EcnCounts,
}

impl Validation {
    /// Packets are sent with this codepoint until something is wrong with it.
    pub fn new(codepoint: Option<Ecn>) -> Self {
        Validation { codepoint, counts: EcnCounts::default() }
    }

    pub fn is_capable(&self) -> bool {
        self.codepoint.is_some()
    }

    pub fn codepoint(&self) -> Ecn {
        self.codepoint.unwrap_or_default()
    }

    /// Takes the counts of an acknowledgement that acknowledges `ect` packets that were sent with the codepoint,
    /// and advances the largest number. Gives the new marks. Packets are Not-ECT from now on if the counts are
    /// missing, are too low, or have a codepoint that was never sent (RFC 9000 §13.4.2.1).
    pub fn take(&mut self, counts: Option<&EcnCounts>, ect: u32) -> u32 {
        let Some(codepoint) = self.codepoint else { return 0 };
        let Some(counts) = counts else {
            if ect > 0 {
                self.codepoint = None;
            }
            return 0;
        };
        let before = core::mem::replace(&mut self.counts, *counts);
        let news = |ecn| counts.of(ecn).wrapping_sub(before.of(ecn));
        let marks = news(Ecn::Ce);
        let other = if codepoint == Ecn::Ect1 { Ecn::Ect0 } else { Ecn::Ect1 };
        if news(codepoint) + marks < ect || counts.of(other) > 0 {
            self.codepoint = None;
            return 0;
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: EcnCounts = EcnCounts { ect0: 0, ect1: 8, ce: 2 };

    /// The marks of two acknowledgements of ten packets each, and whether packets are ECN-capable then.
    fn taken(second: Option<EcnCounts>) -> (u32, bool) {
        let mut validation = Validation::new(Some(Ecn::Ect1));
        assert_eq!(validation.take(Some(&SENT), 10), 2);
        let marks = validation.take(second.as_ref(), 10);
        (marks, validation.is_capable())
    }

    #[test]
    fn counts_that_grow_by_what_was_sent_are_marks() {
        assert_eq!(taken(Some(EcnCounts { ect1: 15, ce: 5, ..SENT })), (3, true));
        // An acknowledgement was lost before, or packets were not acknowledged yet.
        assert_eq!(taken(Some(EcnCounts { ect1: 19, ce: 5, ..SENT })), (3, true));
    }

    /// RFC 9000 §13.4.2.1.
    #[test]
    fn counts_that_are_wrong_end_it() {
        assert_eq!(taken(None), (0, false), "none");
        assert_eq!(
            taken(Some(EcnCounts { ect1: 14, ce: 5, ..SENT })),
            (0, false),
            "one is missing"
        );
        assert_eq!(taken(Some(EcnCounts { ect0: 10, ..SENT })), (0, false), "another codepoint");
    }
}
