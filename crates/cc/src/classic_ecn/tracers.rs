//! When to send tracers, and what they do to the score (Fallback §§5.2–5.4).
//!
//! A set of tracers asks the bottleneck whether it tells ECT(1) from ECT(0). It is sent only where
//! the score approaches the transition from below, at most one in a round trip. Each that says
//! *L4S* takes a part of the score, so that as many as there are take it from the threshold to its
//! floor. One that says *Classic* takes nothing: what the round trips tell goes on.
//!
//! ```text
//! Idle ──score ≥ threshold──▶ Armed(n) ──sent──▶ Resting(n − 1) ──round trip──▶ Armed(n − 1)
//!  ▲ ▲         ▲                                       │ none left
//!  │ │         │                                       ▼
//!  │ │         └──score ≥ threshold, one overtaken── Waiting ──most overtaken──▶ Settled
//!  │ └───────score < threshold───────────────────────┘ │ score ≥ threshold, none overtaken
//!  └────────score at its floor──────────────────── Suppressed
//! ```
//!
//! A score at its floor ends a test too. In two things this follows the paper's text (§5.4) rather
//! than its pseudocode (§5.3). There the whole test is judged when its last set is sent, before
//! that is answered; here a round trip after it could be. And there the value that stands for
//! *suppressed* is negative, so that the next round trip takes it for sets that rest and arms them
//! again.
//!
//! In a third it departs from both. They give tracers up where a test leaves the score high, even
//! if every set of it found an L4S queue: over a link that sends in bursts of 4 ms the round trips
//! add more to the score than the sets take. Here another test follows as long as a set is
//! overtaken.
//!
//! And with `valid` what a test found is good for so many round trips, and then asked again. No
//! single queue lets the rear of a set overtake its middle. So a test in which most were overtaken
//! settles the matter: the score goes to its floor, and what round trips tell does not count. One
//! in which none was has nothing to say of a queue that the flow comes to later.

/// Sets of tracers per test (`TRACER_NUM`).
pub const SETS: u32 = 4;
/// The most sets per test.
pub const MOST_SETS: u32 = 16;
/// One set alone may have been reordered on the way.
const LEAST_OVERTAKEN: u32 = 2;

/// The state of the tracers of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracers {
    /// Sets per test.
    sets: u32,
    /// For how many round trips a test is good; 0 for as long as the score is not at its floor.
    valid: u32,
    phase: Phase,
    /// Sets of this test of which the middle was overtaken, and of which it was not.
    overtaken: u32,
    in_order: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No test runs.
    Idle,
    /// The next segment may go as a set; so many sets are left, this one included.
    Armed(u32),
    /// A set was sent in this round trip; so many are left.
    Resting(u32),
    /// The last set has another round trip to be answered.
    Waiting,
    /// No set of a whole test was overtaken; for so many round trips more.
    Suppressed(u32),
    /// Most were; for so many round trips more.
    Settled(u32),
}

impl Tracers {
    /// Tests of `sets` sets each, 1 to 16, that are good for `valid` round trips; with 0 as the
    /// paper has it.
    pub fn new(sets: u32, valid: u32) -> Tracers {
        let sets = sets.clamp(1, MOST_SETS);
        Tracers { sets, valid, phase: Phase::Idle, overtaken: 0, in_order: 0 }
    }

    /// What one set takes from a score that goes down to `-l_sticky`.
    pub fn step(&self, l_sticky: i64) -> i64 {
        l_sticky / i64::from(self.sets)
    }

    /// The score from which on a test is worth its bytes.
    pub fn threshold(&self, l_sticky: i64) -> i64 {
        -self.step(l_sticky)
    }

    /// A round trip is over; `score` is what it came to. Gives the score after it.
    #[must_use]
    pub fn on_round(&mut self, score: i64, l_sticky: i64) -> i64 {
        let high = score >= self.threshold(l_sticky);
        self.phase = match self.phase {
            Phase::Settled(0) => Phase::Idle,
            Phase::Settled(left) => Phase::Settled(left - 1),
            Phase::Waiting if self.finds_l4s() => {
                self.phase = Phase::Settled(self.valid - 1);
                return -l_sticky;
            }
            _ if score <= -l_sticky => Phase::Idle,
            Phase::Suppressed(0) if self.valid > 0 => self.begin(high),
            Phase::Suppressed(left) => Phase::Suppressed(left.saturating_sub(1)),
            Phase::Armed(left) => Phase::Armed(left),
            Phase::Resting(0) => Phase::Waiting,
            Phase::Resting(left) => Phase::Armed(left),
            Phase::Waiting if high && self.overtaken == 0 => Phase::Suppressed(self.valid),
            Phase::Waiting | Phase::Idle => self.begin(high),
        };
        score
    }

    /// A new test, where the score is high.
    fn begin(&mut self, high: bool) -> Phase {
        if !high {
            return Phase::Idle;
        }
        (self.overtaken, self.in_order) = (0, 0);
        Phase::Armed(self.sets)
    }

    /// Whether this test leaves no doubt.
    fn finds_l4s(&self) -> bool {
        let least = LEAST_OVERTAKEN.min(self.sets);
        self.valid > 0 && self.overtaken >= least && self.overtaken > self.in_order
    }

    /// Whether what round trips tell does not count at present.
    #[inline]
    pub fn settled(&self) -> bool {
        matches!(self.phase, Phase::Settled(_))
    }

    /// Whether the next segment should go as a set; then it does.
    #[inline]
    pub fn wants(&mut self) -> bool {
        match self.phase {
            Phase::Armed(left) => {
                self.phase = Phase::Resting(left - 1);
                true
            }
            _ => false,
        }
    }

    /// A set came back: whether its rear overtook its middle, as only in a queue that tells
    /// ECT(1) from ECT(0). Gives the score after it. A set that is never answered has no outcome.
    #[must_use]
    pub fn outcome(&mut self, overtook: bool, score: i64, l_sticky: i64) -> i64 {
        if !overtook {
            self.in_order += 1;
            return score;
        }
        self.overtaken += 1;
        // An answer through a long Classic queue may come after the verdict on its test.
        if self.is_suppressed() {
            self.phase = Phase::Waiting;
        }
        (score - self.step(l_sticky)).max(-l_sticky)
    }

    /// Whether a whole test was in vain, and none follows yet.
    pub fn is_suppressed(&self) -> bool {
        matches!(self.phase, Phase::Suppressed(_))
    }
}

impl Default for Tracers {
    fn default() -> Self {
        Tracers::new(SETS, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One in the detector's fraction bits.
    const ONE: i64 = 1 << 24;
    const FLOOR: i64 = 16 * ONE;

    /// A connection of round trips, in each of which a set is answered as `answer` says: overtaken,
    /// not, or not at all.
    struct Connection {
        tracers: Tracers,
        score: i64,
        sent: u32,
    }

    impl Connection {
        fn new(sets: u32, score: i64) -> Connection {
            Connection { tracers: Tracers::new(sets, 0), score, sent: 0 }
        }

        /// A round trip that adds `drift` to the score; gives whether a set was sent in it.
        fn round(&mut self, drift: i64, answer: Option<bool>) -> bool {
            let sent = self.tracers.wants();
            assert!(!self.tracers.wants(), "one set per round trip");
            if sent {
                self.sent += 1;
                if let Some(overtook) = answer {
                    self.score = self.tracers.outcome(overtook, self.score, FLOOR);
                }
            }
            self.score = (self.score + drift).clamp(-FLOOR, FLOOR);
            self.score = self.tracers.on_round(self.score, FLOOR);
            sent
        }

        fn rounds(&mut self, n: u32, drift: i64, answer: Option<bool>) -> u32 {
            (0..n).filter(|_| self.round(drift, answer)).count() as u32
        }
    }

    #[test]
    fn nothing_is_sent_below_the_threshold() {
        // With one set per test the threshold is the floor, where there is none.
        assert_eq!(Connection::new(1, -FLOOR).rounds(100, 0, Some(true)), 0);
        for sets in 2..=MOST_SETS {
            let threshold = Tracers::new(sets, 0).threshold(FLOOR);
            assert_eq!(Connection::new(sets, threshold - 1).rounds(100, 0, Some(true)), 0);
            let mut at = Connection::new(sets, threshold);
            assert!(!at.round(0, None), "armed at the end of a round trip");
            assert!(at.round(0, None));
        }
    }

    #[test]
    fn all_overtaken_take_the_score_to_its_floor_and_no_set_more() {
        for sets in 1..=MOST_SETS {
            let mut connection = Connection::new(sets, 0);
            assert_eq!(connection.rounds(100, 0, Some(true)), sets);
            // What is left over is what the division leaves over.
            assert!(connection.score + FLOOR < i64::from(sets), "{sets}: {}", connection.score);
            assert!(!connection.tracers.is_suppressed());
        }
    }

    #[test]
    fn none_overtaken_leave_the_score_and_are_the_last() {
        for sets in 1..=MOST_SETS {
            let start = 1 - FLOOR / i64::from(sets);
            let mut connection = Connection::new(sets, start);
            assert_eq!(connection.rounds(100, 0, Some(false)), sets);
            assert_eq!(connection.score, start);
            assert!(connection.tracers.is_suppressed());
            // Not even where it rises.
            assert_eq!(connection.rounds(100, ONE, Some(false)), 0);
        }
    }

    #[test]
    fn sets_that_are_never_answered_are_as_none_overtaken() {
        let mut connection = Connection::new(SETS, 0);
        assert_eq!(connection.rounds(100, 0, None), SETS);
        assert!(connection.tracers.is_suppressed());
    }

    #[test]
    fn suppression_ends_at_the_floor() {
        let mut connection = Connection::new(SETS, 0);
        connection.rounds(10, 0, Some(false));
        // Down to one above the floor and up again: still none.
        connection.score = -FLOOR + 2;
        assert_eq!(connection.rounds(1, -1, None), 0);
        assert!(connection.tracers.is_suppressed());
        assert_eq!(connection.rounds(1, -1, None), 0);
        assert!(!connection.tracers.is_suppressed());
        // From there a test may begin anew.
        connection.score = 0;
        assert_eq!(connection.rounds(10, 0, Some(true)), SETS);
        // From the threshold one set less takes it to the floor.
        connection.score = -FLOOR / 4;
        assert_eq!(connection.rounds(10, 0, Some(true)), SETS - 1);
    }

    #[test]
    fn a_test_that_took_the_score_below_the_threshold_may_be_followed_by_another() {
        for answers in 0..1 << SETS {
            let mut connection = Connection::new(SETS, -FLOOR / 8);
            connection.round(0, None);
            for n in 0..SETS {
                assert!(connection.round(0, Some(answers >> n & 1 == 1)));
            }
            let overtaken = i64::from((answers as u32).count_ones());
            assert_eq!(connection.score, (-FLOOR / 8 - overtaken * FLOOR / 4).max(-FLOOR));
            assert!(!connection.tracers.is_suppressed(), "the last answer has time");
            assert!(!connection.round(0, None));
            assert_eq!(connection.tracers.is_suppressed(), overtaken == 0, "{answers:04b}");
            // The round trips push it up again.
            connection.score = 0;
            let again = connection.rounds(20, 0, Some(true));
            assert_eq!(again, if overtaken == 0 { 0 } else { SETS }, "{answers:04b}");
        }
    }

    /// Below the threshold a test runs to its end; at the floor it is over.
    #[test]
    fn only_the_floor_cuts_a_test_short() {
        let mut connection = Connection::new(SETS, 0);
        connection.round(0, None);
        connection.round(-FLOOR / 2, None);
        assert_eq!(connection.rounds(10, 0, None), SETS - 1);
        let mut connection = Connection::new(SETS, 0);
        connection.round(0, None);
        connection.round(-FLOOR, None);
        assert_eq!(connection.rounds(10, 0, None), 0);
    }

    /// A segment that could go as a set may be long in coming.
    #[test]
    fn an_armed_set_waits_for_a_segment() {
        let mut tracers = Tracers::default();
        for _ in 0..5 {
            assert_eq!(tracers.on_round(0, FLOOR), 0);
        }
        assert!(tracers.wants() && !tracers.wants());
        assert_eq!(tracers.on_round(0, FLOOR), 0);
        assert!(tracers.wants() && !tracers.wants());
    }

    /// The queue of an overtaken middle may be longer than the round trip.
    #[test]
    fn a_late_answer_undoes_the_suppression() {
        let mut connection = Connection::new(SETS, 0);
        connection.rounds(10, 0, None);
        assert!(connection.tracers.is_suppressed());
        for _ in 0..SETS {
            let tracers = &mut connection.tracers;
            connection.score = tracers.outcome(true, connection.score, FLOOR);
            assert!(!tracers.is_suppressed());
        }
        assert_eq!(connection.score, -FLOOR);
    }

    #[test]
    fn the_score_stays_above_its_floor() {
        let mut tracers = Tracers::new(1, 0);
        assert_eq!(tracers.outcome(true, FLOOR, FLOOR), 0);
        assert_eq!(tracers.outcome(true, 0, FLOOR), -FLOOR);
        assert_eq!(tracers.outcome(true, -FLOOR + 1, FLOOR), -FLOOR);
        assert_eq!(tracers.outcome(false, 7, FLOOR), 7);
    }

    /// A link that sends in bursts: the round trips take the score up faster than sets take it
    /// down.
    #[test]
    fn what_most_sets_say_is_settled_for_a_while() {
        let mut connection = Connection::new(SETS, 0);
        connection.tracers.valid = 50;
        connection.round(FLOOR / 2, None);
        assert_eq!(connection.rounds(SETS, FLOOR / 2, Some(true)), SETS);
        // One round trip for the last answer, and then it stays at the floor whatever comes.
        connection.round(FLOOR / 2, None);
        assert_eq!(connection.score, -FLOOR);
        for _ in 0..50 {
            assert!(connection.tracers.settled());
            connection.round(0, None);
        }
        assert!(!connection.tracers.settled());
        connection.score = 0;
        assert_eq!(connection.rounds(10, 0, Some(true)), SETS);
    }

    #[test]
    fn one_overtaken_or_half_of_them_settle_nothing() {
        for answers in 0..1u32 << SETS {
            let mut connection = Connection::new(SETS, FLOOR);
            connection.tracers.valid = 50;
            connection.round(0, None);
            for n in 0..SETS {
                connection.round(FLOOR, Some(answers >> n & 1 == 1));
            }
            connection.round(0, None);
            let most = answers.count_ones() > SETS / 2;
            assert_eq!(connection.tracers.settled(), most, "{answers:04b}");
            assert_eq!(connection.score, if most { -FLOOR } else { FLOOR }, "{answers:04b}");
        }
    }

    #[test]
    fn what_found_nothing_asks_again_after_a_while() {
        let mut connection = Connection::new(SETS, FLOOR);
        connection.tracers.valid = 50;
        assert_eq!(connection.rounds(50, 0, Some(false)), SETS);
        // One for arming, four sets, one to wait, 50 to rest and one to arm again.
        assert_eq!(connection.rounds(7, 0, Some(false)), 0);
        assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        assert_eq!(connection.score, FLOOR);
    }
}
