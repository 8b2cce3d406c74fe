//! The tests by tracers: when a set is sent, and how its answer changes the score (Fallback
//! §§5.2–5.4).
//!
//! A test sends [`SETS`] sets of tracers, at most one per round trip. A set is *overtaken* if its
//! rear arrives before its middle, or its middle before its front: the bottleneck then has separate
//! queues for ECT(1) and ECT(0). Each overtaken set lowers the score by [`Tracers::step`]. A set in
//! order leaves it unchanged.
//!
//! # Transitions
//!
//! A test is *needed* if the score is at the threshold, or, with [`Rules::Best`], if the round trip
//! contained a mark. `Start` is `Armed(SETS)` with all counts 0 if a test is needed, else `Idle`. The
//! events are the end of a round trip (`round`), a data segment that can be sent as a set
//! (`segment`) and a complete answer (`answer`).
//!
//! | phase | event | condition | next phase | action |
//! |---|---|---|---|---|
//! | any | round | paper, score at its floor | `Idle` | |
//! | `Idle` | round | | `Start` | |
//! | `Armed(n)` | segment | packets are queued, or `send_unqueued` | `Sent(n − 1)` | send a set |
//! | `Armed(n)` | round | | `Armed(n)` | |
//! | `Sent(n)` | round | n > 0 | `Armed(n)` | |
//! | `Sent(0)` | round | | `Waiting` | |
//! | `Waiting` | round | best | by the next table | conclude the test |
//! | `Waiting` | round | needed, none overtaken | `Suppressed(0)` | |
//! | `Waiting` | round | otherwise | `Start` | |
//! | `Suppressed(n)` | round | n > 0 | `Suppressed(n − 1)` | |
//! | `Suppressed(0)` | round | paper | `Suppressed(0)` | |
//! | `Suppressed(0)` | round | best | `Start` | |
//! | `Suppressed(n)` | answer | overtaken, no dual queue found | `Waiting` | lower the score |
//! | otherwise | answer | overtaken | unchanged | lower the score |
//! | any | answer | in order | unchanged | |
//!
//! With [`Rules::Best`] a test ends with a finding. The first row that matches counts:
//!
//! | answers of the test | finding | next phase | score |
//! |---|---|---|---|
//! | overtaken ≥ `MIN_SETS` and > in order | dual queue | `Suppressed(RETEST_ROUNDS)` | floor |
//! | overtaken > 0 | as before | `Start` | |
//! | queued in order ≥ `MIN_SETS`, `unmarked_above_step` | single queue | `Suppressed(RETEST_ROUNDS)` | ≥ 1 |
//! | any, after a single queue was found | single queue | `Armed(SETS)` | ≥ 1 |
//! | any, at most `IMMEDIATE_TESTS` inconclusive tests in a row | inconclusive | `Armed(SETS)` | |
//! | any | inconclusive | `Suppressed(RETEST_ROUNDS)` | |
//!
//! A dual queue stands until another test ends with another finding. A single queue, the safer
//! error, stands until a set is overtaken.
//!
//! # Reasons
//!
//! - Order is evidence of a single queue only if packets were queued. On an idle link every
//!   bottleneck keeps the order. Before the score reaches the threshold, a test can therefore wait
//!   until the newest RTT contains queueing delay.
//! - Per-flow queues keep the order as well and may mark as an L4S queue does. A single queue
//!   therefore also takes a packet that was delayed by more than the step of an L4S queue and is not
//!   marked.
//! - One set alone may have been reordered elsewhere on the path.
//!
//! # Differences from the paper
//!
//! - Its pseudocode (§5.3) ends a test when the last set is sent. Here, as in its text (§5.4), the
//!   test ends one round trip later, so that the last set can be answered.
//! - In its pseudocode *suppressed* is a negative number of sets, which the next round trip arms
//!   again. Here, as in its text, only a score at its floor ends the suppression.
//! - It gives up tests if one leaves the score high, even if all sets were overtaken. But over a
//!   link that sends in bursts of 4 ms the RTT adds more to the score than the sets subtract. Here
//!   another test follows as long as sets are overtaken.
//!
//! [`Rules::Best`]: super::Rules::Best

/// Sets of tracers per test (`TRACER_NUM`).
pub const SETS: u32 = 4;
/// The round trips after a finding until the next test.
const RETEST_ROUNDS: u32 = 50;
/// The least number of sets that support a finding.
const MIN_SETS: u32 = 2;
/// The number of inconclusive tests in a row after which the next one follows at once.
const IMMEDIATE_TESTS: u32 = 4;

/// The scores that tracers refer to.
///
/// Example: [`Tracers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scores {
    /// The floor of the score is −`l_sticky` (`L_STICKY`).
    pub l_sticky: i64,
    /// The score 1. At it and above the queue is Classic.
    pub classic: i64,
}

/// The state of the tests of a connection.
///
/// ```
/// use l4s_cc::classic_ecn::tracers::{Finding, Phase, SETS, Scores, Tracers};
///
/// let mut tracers = Tracers::new(true, Scores { l_sticky: 8 << 24, classic: 1 << 24 });
/// // A mark starts a test. In each round trip a set is sent and comes back in another order.
/// let mut score = tracers.on_round(0, true);
/// assert_eq!(tracers.phase, Phase::Armed(SETS));
/// for _ in 0..SETS {
///     assert!(tracers.take_set());
///     score = tracers.on_answer(true, score);
///     score = tracers.on_round(score, true);
/// }
/// // The round trip after the last set ends the test, with the score at its floor.
/// assert_eq!(tracers.phase, Phase::Waiting);
/// score = tracers.on_round(score, true);
/// assert_eq!((tracers.finding, score), (Finding::DualQueue, -8 << 24));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracers {
    /// Whether the rules are [`Rules::Best`](super::Rules::Best); otherwise they are the paper's.
    pub best: bool,
    /// The scores that tracers refer to.
    pub scores: Scores,
    /// The phase of the test.
    pub phase: Phase,
    /// Sets of this test that were overtaken.
    pub overtaken: u32,
    /// Sets of this test that came back in order.
    pub in_order: u32,
    /// Sets of this test that came back in order while packets were queued.
    pub queued_in_order: u32,
    /// Whether the newest RTT contained queueing delay.
    pub queued: bool,
    /// Whether a packet came unmarked, delayed by more than the step of an L4S queue, since the last
    /// test that found a single or a dual queue.
    pub unmarked_above_step: bool,
    /// Whether the sets of this test are also sent while no packets are queued: the score was at the
    /// threshold.
    pub send_unqueued: bool,
    /// The finding that stands.
    pub finding: Finding,
}

/// The finding of a test about the bottleneck.
///
/// Example: [`Tracers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// The last tests, of this number, found nothing.
    Inconclusive(u32),
    /// ECT(1) and ECT(0) share a queue.
    SingleQueue,
    /// ECT(1) and ECT(0) have separate queues.
    DualQueue,
}

/// The phase of a test.
///
/// Example: [`Tracers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// No test runs.
    Idle,
    /// The next segment can be sent as a set. This number of sets is left, including that one.
    Armed(u32),
    /// A set was sent in this round trip. This number of sets is left.
    Sent(u32),
    /// All sets are sent. The last one can be answered until the end of this round trip.
    Waiting,
    /// No test starts for this number of round trips, or, with the paper's rules, until the score is
    /// at its floor.
    Suppressed(u32),
}

impl Tracers {
    /// Before the first test. `best`: whether the rules are [`Rules::Best`](super::Rules::Best).
    pub fn new(best: bool, scores: Scores) -> Tracers {
        Tracers {
            best,
            scores,
            phase: Phase::Idle,
            overtaken: 0,
            in_order: 0,
            queued_in_order: 0,
            queued: false,
            unmarked_above_step: false,
            send_unqueued: false,
            finding: Finding::Inconclusive(0),
        }
    }

    /// The decrease of the score for an overtaken set.
    pub fn step(&self) -> i64 {
        self.scores.l_sticky / i64::from(SETS)
    }

    /// The least score at which a test is needed.
    pub fn threshold(&self) -> i64 {
        -self.step()
    }

    /// A round trip ended with this score. `marked`: whether it contained a mark. Returns the new
    /// score.
    #[must_use]
    pub fn on_round(&mut self, mut score: i64, marked: bool) -> i64 {
        let at_floor = score <= -self.scores.l_sticky;
        let at_threshold = score >= self.threshold();
        let needed = at_threshold || self.best && marked;
        self.phase = match self.phase {
            _ if at_floor && !self.best => Phase::Idle,
            Phase::Armed(sets) | Phase::Sent(sets @ 1..) => Phase::Armed(sets),
            Phase::Sent(0) => Phase::Waiting,
            Phase::Waiting if self.best => self.conclude(&mut score, needed),
            Phase::Waiting if needed && self.overtaken == 0 => Phase::Suppressed(0),
            Phase::Suppressed(rounds @ 1..) => Phase::Suppressed(rounds - 1),
            Phase::Suppressed(0) if !self.best => Phase::Suppressed(0),
            Phase::Idle | Phase::Waiting | Phase::Suppressed(0) => self.start(needed),
        };
        self.send_unqueued |= at_threshold;
        if self.is_single_queue() { score.max(self.scores.classic) } else { score }
    }

    /// Ends a test with a finding. Returns the next phase.
    fn conclude(&mut self, score: &mut i64, needed: bool) -> Phase {
        let retest = Phase::Suppressed(RETEST_ROUNDS);
        if self.overtaken >= MIN_SETS && self.overtaken > self.in_order {
            (self.finding, self.unmarked_above_step) = (Finding::DualQueue, false);
            *score = -self.scores.l_sticky;
            return retest;
        }
        if self.overtaken > 0 {
            return self.start(needed);
        }
        if self.queued_in_order >= MIN_SETS && self.unmarked_above_step {
            (self.finding, self.unmarked_above_step) = (Finding::SingleQueue, false);
            return retest;
        }
        let tests = match self.finding {
            Finding::SingleQueue => return self.start(true),
            Finding::Inconclusive(tests) => tests.saturating_add(1),
            Finding::DualQueue => 1,
        };
        self.finding = Finding::Inconclusive(tests);
        if tests <= IMMEDIATE_TESTS { self.start(true) } else { retest }
    }

    /// Starts a test if one is needed. Returns the next phase.
    fn start(&mut self, needed: bool) -> Phase {
        if !needed {
            return Phase::Idle;
        }
        (self.overtaken, self.in_order, self.queued_in_order) = (0, 0, 0);
        self.send_unqueued = !self.best;
        Phase::Armed(SETS)
    }

    /// Whether ECT(1) and ECT(0) have separate queues, so that the RTT does not change the score.
    #[inline]
    pub fn is_dual_queue(&self) -> bool {
        self.finding == Finding::DualQueue
    }

    /// Whether ECT(1) and ECT(0) share a queue.
    #[inline]
    pub fn is_single_queue(&self) -> bool {
        self.finding == Finding::SingleQueue
    }

    /// Whether the next segment is to be sent as a set. If so, that set counts as sent.
    #[inline]
    pub fn take_set(&mut self) -> bool {
        match self.phase {
            Phase::Armed(sets) if self.send_unqueued || self.queued => {
                self.phase = Phase::Sent(sets - 1);
                true
            }
            _ => false,
        }
    }

    /// An RTT was measured. `queued`: whether it contained queueing delay. `unmarked_above_step`:
    /// whether its packet was delayed by more than the step of an L4S queue and not marked.
    #[inline]
    pub fn on_rtt(&mut self, queued: bool, unmarked_above_step: bool) {
        self.queued = queued;
        self.unmarked_above_step |= unmarked_above_step;
    }

    /// A set was answered completely. Returns the new score. A set of which packets are lost is not
    /// answered.
    #[must_use]
    pub fn on_answer(&mut self, overtaken: bool, score: i64) -> i64 {
        if !overtaken {
            self.in_order += 1;
            self.queued_in_order += u32::from(self.queued);
            return score;
        }
        self.overtaken += 1;
        if self.is_single_queue() {
            self.finding = Finding::Inconclusive(0);
        }
        // The answer of a set whose middle passed a long Classic queue may come after its test.
        if self.is_suppressed() && !self.is_dual_queue() {
            self.phase = Phase::Waiting;
        }
        (score - self.step()).max(-self.scores.l_sticky)
    }

    /// Whether no test may start.
    pub fn is_suppressed(&self) -> bool {
        matches!(self.phase, Phase::Suppressed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One in the detector's fraction bits.
    const ONE: i64 = 1 << 24;
    const FLOOR: i64 = 16 * ONE;
    const SCORES: Scores = Scores { l_sticky: FLOOR, classic: ONE };

    /// A connection. `answer` is the answer to the set of a round trip: overtaken, in order or none.
    struct Connection {
        tracers: Tracers,
        score: i64,
        /// Whether each round trip contains a mark.
        marked: bool,
        /// Whether each RTT contains queueing delay.
        queued: bool,
        /// Whether each packet is unmarked and delayed by more than the step of an L4S queue.
        unmarked_above_step: bool,
        sent: u32,
    }

    impl Connection {
        fn new(score: i64) -> Connection {
            Connection {
                tracers: Tracers::new(false, SCORES),
                score,
                marked: false,
                queued: false,
                unmarked_above_step: false,
                sent: 0,
            }
        }

        /// A round trip that adds `drift` to the score. Returns whether a set was sent in it.
        fn round(&mut self, drift: i64, answer: Option<bool>) -> bool {
            self.tracers.on_rtt(self.queued, self.unmarked_above_step);
            let sent = self.tracers.take_set();
            assert!(!self.tracers.take_set(), "one set per round trip");
            if sent {
                self.sent += 1;
                if let Some(overtook) = answer {
                    self.score = self.tracers.on_answer(overtook, self.score);
                }
            }
            self.score = (self.score + drift).clamp(-FLOOR, FLOOR);
            self.score = self.tracers.on_round(self.score, self.marked);
            sent
        }

        fn rounds(&mut self, n: u32, drift: i64, answer: Option<bool>) -> u32 {
            (0..n).filter(|_| self.round(drift, answer)).count() as u32
        }
    }

    #[test]
    fn nothing_is_sent_below_the_threshold() {
        let threshold = Tracers::new(false, SCORES).threshold();
        assert_eq!(Connection::new(threshold - 1).rounds(100, 0, Some(true)), 0);
        let mut at = Connection::new(threshold);
        assert!(!at.round(0, None), "armed at the end of a round trip");
        assert!(at.round(0, None));
    }

    #[test]
    fn all_overtaken_take_the_score_to_its_floor_and_no_set_more() {
        let mut connection = Connection::new(0);
        assert_eq!(connection.rounds(100, 0, Some(true)), SETS);
        assert_eq!(connection.score, -FLOOR);
        assert!(!connection.tracers.is_suppressed());
    }

    #[test]
    fn none_overtaken_leave_the_score_and_are_the_last() {
        let start = 1 - FLOOR / i64::from(SETS);
        let mut connection = Connection::new(start);
        assert_eq!(connection.rounds(100, 0, Some(false)), SETS);
        assert_eq!(connection.score, start);
        assert!(connection.tracers.is_suppressed());
        // A rising score does not end the suppression.
        assert_eq!(connection.rounds(100, ONE, Some(false)), 0);
    }

    #[test]
    fn sets_without_an_answer_count_as_not_overtaken() {
        let mut connection = Connection::new(0);
        assert_eq!(connection.rounds(100, 0, None), SETS);
        assert!(connection.tracers.is_suppressed());
    }

    #[test]
    fn suppression_ends_at_the_floor() {
        let mut connection = Connection::new(0);
        connection.rounds(10, 0, Some(false));
        // Just above the floor no test starts.
        connection.score = -FLOOR + 2;
        assert_eq!(connection.rounds(1, -1, None), 0);
        assert!(connection.tracers.is_suppressed());
        assert_eq!(connection.rounds(1, -1, None), 0);
        assert!(!connection.tracers.is_suppressed());
        // At the floor the suppression ends.
        connection.score = 0;
        assert_eq!(connection.rounds(10, 0, Some(true)), SETS);
        // From the threshold one set less takes it to the floor.
        connection.score = -FLOOR / 4;
        assert_eq!(connection.rounds(10, 0, Some(true)), SETS - 1);
    }

    #[test]
    fn a_test_with_an_overtaken_set_can_be_followed_by_another() {
        for answers in 0..1 << SETS {
            let mut connection = Connection::new(-FLOOR / 8);
            connection.round(0, None);
            for n in 0..SETS {
                assert!(connection.round(0, Some(answers >> n & 1 == 1)));
            }
            let overtaken = i64::from((answers as u32).count_ones());
            assert_eq!(connection.score, (-FLOOR / 8 - overtaken * FLOOR / 4).max(-FLOOR));
            assert!(!connection.tracers.is_suppressed(), "the last set can still be answered");
            assert!(!connection.round(0, None));
            assert_eq!(connection.tracers.is_suppressed(), overtaken == 0, "{answers:04b}");
            // Then the RTT raises the score again.
            connection.score = 0;
            let again = connection.rounds(20, 0, Some(true));
            assert_eq!(again, if overtaken == 0 { 0 } else { SETS }, "{answers:04b}");
        }
    }

    /// This holds for a test that leaves the score high, too.
    #[test]
    fn a_test_follows_as_long_as_a_set_is_overtaken() {
        let mut connection = Connection::new(FLOOR);
        connection.round(0, None);
        for n in 0..SETS {
            assert!(connection.round(0, Some(n == 0)));
        }
        connection.round(0, None);
        assert!(!connection.tracers.is_suppressed());
        assert!(connection.score > 0);
        assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        // No set is overtaken, but the score is low: tests are not suppressed.
        let mut connection = Connection::new(0);
        connection.round(0, None);
        connection.round(-FLOOR / 2, None);
        connection.rounds(10, 0, None);
        assert!(!connection.tracers.is_suppressed());
    }

    /// A score below the threshold does not end a test. A score at its floor does.
    #[test]
    fn only_the_floor_cuts_a_test_short() {
        let mut connection = Connection::new(0);
        connection.round(0, None);
        connection.round(-FLOOR / 2, None);
        assert_eq!(connection.rounds(10, 0, None), SETS - 1);
        let mut connection = Connection::new(0);
        connection.round(0, None);
        connection.round(-FLOOR, None);
        assert_eq!(connection.rounds(10, 0, None), 0);
    }

    /// Several round trips can pass before a segment can be sent as a set.
    #[test]
    fn an_armed_set_waits_for_a_segment() {
        let mut tracers = Tracers::new(false, SCORES);
        for _ in 0..5 {
            assert_eq!(tracers.on_round(0, false), 0);
        }
        assert!(tracers.take_set() && !tracers.take_set());
        assert_eq!(tracers.on_round(0, false), 0);
        assert!(tracers.take_set() && !tracers.take_set());
    }

    /// The middle of a set can be queued for longer than a round trip.
    #[test]
    fn a_late_answer_ends_the_suppression() {
        let mut connection = Connection::new(0);
        connection.rounds(10, 0, None);
        assert!(connection.tracers.is_suppressed());
        for _ in 0..SETS {
            let tracers = &mut connection.tracers;
            connection.score = tracers.on_answer(true, connection.score);
            assert!(!tracers.is_suppressed());
        }
        assert_eq!(connection.score, -FLOOR);
    }

    #[test]
    fn the_score_stays_above_its_floor() {
        let mut tracers = Tracers::new(false, SCORES);
        assert_eq!(tracers.on_answer(true, 0), -FLOOR / 4);
        assert_eq!(tracers.on_answer(true, -FLOOR * 3 / 4), -FLOOR);
        assert_eq!(tracers.on_answer(true, -FLOOR + 1), -FLOOR);
        assert_eq!(tracers.on_answer(false, 7), 7);
    }

    /// Over a link that sends in bursts the RTT adds more to the score than the sets subtract.
    #[test]
    fn a_dual_queue_stands_until_another_test_finds_none() {
        let mut connection = finding(0);
        connection.round(FLOOR / 2, None);
        assert_eq!(connection.rounds(SETS, FLOOR / 2, Some(true)), SETS);
        connection.round(FLOOR / 2, None);
        assert!(connection.tracers.is_dual_queue());
        assert_eq!(connection.score, -FLOOR);
        // The next test starts after 50 round trips, at the next mark, at any score.
        assert_eq!(connection.rounds(50, 0, None), 0);
        connection.marked = false;
        assert_eq!(connection.rounds(50, 0, None), 0);
        connection.marked = true;
        connection.round(0, None);
        assert_eq!(connection.rounds(4, 0, Some(true)), SETS);
        connection.round(0, None);
        assert!(connection.tracers.is_dual_queue());
        // That test has another finding.
        connection.rounds(51, 0, None);
        assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        assert!(connection.tracers.is_dual_queue());
        connection.round(0, None);
        assert!(connection.tracers.is_single_queue());
        assert_eq!(connection.score, ONE);
    }

    #[test]
    fn a_dual_queue_needs_more_than_half_of_the_sets() {
        for answers in 0..1u32 << SETS {
            let mut connection = Connection::new(FLOOR);
            connection.tracers.best = true;
            connection.round(0, None);
            for n in 0..SETS {
                connection.round(FLOOR, Some(answers >> n & 1 == 1));
            }
            connection.round(0, None);
            let most = answers.count_ones() > SETS / 2;
            assert_eq!(connection.tracers.is_dual_queue(), most, "{answers:04b}");
            assert_eq!(connection.score, if most { -FLOOR } else { FLOOR }, "{answers:04b}");
        }
    }

    /// On an idle link every set comes back in order, through a dual queue as well.
    #[test]
    fn inconclusive_tests_follow_at_once_and_then_rarely() {
        let mut connection = Connection::new(FLOOR);
        connection.tracers.best = true;
        connection.round(0, None);
        // Four sets and the round trip of the last answer, which starts the next test.
        for _ in 0..=IMMEDIATE_TESTS {
            assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        }
        assert_eq!(connection.rounds(51, 0, Some(false)), 0);
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        assert_eq!(connection.rounds(51, 0, Some(false)), 0);
        assert_eq!(connection.score, FLOOR);
        // After a dual queue an inconclusive test counts as the first one.
        assert_eq!(connection.rounds(5, 0, Some(true)), SETS);
        assert!(connection.tracers.is_dual_queue());
        connection.score = 0;
        connection.rounds(51, 0, None);
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        assert!(!connection.tracers.is_dual_queue());
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
    }

    /// A connection with the best rules through a single Classic queue that is not empty.
    fn finding(score: i64) -> Connection {
        let tracers = Tracers::new(true, SCORES);
        let still = Connection::new(score);
        Connection { tracers, marked: true, queued: true, unmarked_above_step: true, ..still }
    }

    #[test]
    fn queued_sets_in_order_find_a_single_queue() {
        for start in [-FLOOR, 1 - FLOOR, 0, FLOOR] {
            let mut connection = finding(start);
            // One round trip to arm, four sets, and the round trip of the last answer.
            assert_eq!(connection.rounds(6, 0, Some(false)), SETS);
            assert!(connection.tracers.is_single_queue());
            assert_eq!(connection.score, start.max(ONE));
            // The RTT changes the score above 1 only. No test runs for 50 round trips.
            assert_eq!(connection.rounds(50, -1, Some(false)), 0);
            assert_eq!(connection.score, (start - 50).max(ONE));
            connection.round(0, None);
            assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        }
    }

    /// A whole test: the number of sets that were queued, and whether a packet was unmarked above the
    /// step.
    fn tested(mut connection: Connection, queued: u32, unmarked: bool) -> Connection {
        (connection.queued, connection.unmarked_above_step) = (false, false);
        connection.round(0, None);
        for n in 0..SETS {
            (connection.queued, connection.unmarked_above_step) = (n < queued, unmarked && n == 0);
            connection.round(0, Some(false));
        }
        (connection.queued, connection.unmarked_above_step) = (false, false);
        connection.round(0, None);
        connection
    }

    /// On an idle link a dual queue keeps the order too, and so do per-flow queues.
    #[test]
    fn a_single_queue_takes_queued_sets_and_packets_unmarked_above_the_step() {
        for (queued, unmarked) in
            [(0, true), (MIN_SETS - 1, true), (MIN_SETS, false), (MIN_SETS, true)]
        {
            let connection = tested(finding(0), queued, unmarked);
            let one = queued == MIN_SETS && unmarked;
            assert_eq!(connection.tracers.is_single_queue(), one, "{queued} {unmarked}");
            assert_eq!(connection.score, if one { ONE } else { 0 });
        }
    }

    #[test]
    fn unmarked_above_step_is_kept_until_a_queue_is_found() {
        let mut connection = tested(finding(0), 0, true);
        assert!(!connection.tracers.is_single_queue());
        // The next test is armed already.
        connection.queued = true;
        connection.rounds(5, 0, Some(false));
        assert!(connection.tracers.is_single_queue());
        // Evidence from before a finding does not count after it.
        for overtook in [false, true] {
            let mut connection = tested(finding(0), MIN_SETS, true);
            connection.score = connection.tracers.on_answer(true, 0);
            connection.score = FLOOR;
            connection.round(0, None);
            connection.unmarked_above_step = overtook;
            assert_eq!(connection.rounds(5, 0, Some(overtook)), SETS);
            assert_eq!(connection.tracers.is_dual_queue(), overtook);
            if overtook {
                connection.score = FLOOR;
                connection.unmarked_above_step = false;
                connection.rounds(51, 0, None);
            }
            connection.queued = true;
            assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
            assert!(!connection.tracers.is_single_queue());
        }
    }

    /// Tests without evidence follow each other at once.
    #[test]
    fn a_single_queue_stands_until_a_set_is_overtaken() {
        let mut connection = tested(finding(0), MIN_SETS, true);
        assert_eq!(connection.rounds(51, -ONE, None), 0);
        for _ in 0..2 * IMMEDIATE_TESTS {
            assert_eq!(connection.rounds(5, -ONE, Some(false)), SETS);
            assert!(connection.tracers.is_single_queue());
            assert_eq!(connection.score, ONE);
        }
        connection.round(0, Some(true));
        assert!(!connection.tracers.is_single_queue());
        assert_eq!(connection.score, ONE - FLOOR / i64::from(SETS));
    }

    /// On an idle link the order of a set is no evidence.
    #[test]
    fn below_the_threshold_sets_are_sent_only_while_packets_are_queued() {
        let mut connection = finding(-FLOOR / 2);
        connection.queued = false;
        assert_eq!(connection.rounds(20, 0, None), 0);
        connection.queued = true;
        assert!(connection.round(0, None));
        connection.queued = false;
        assert_eq!(connection.rounds(20, 0, None), 0);
        // At the threshold, and later in that test, they are sent anyway.
        connection.score = connection.tracers.threshold();
        connection.round(0, None);
        assert_eq!(connection.rounds(3, -1, Some(true)), SETS - 1);
        // This does not hold for the next test.
        connection.round(0, None);
        connection.score = -FLOOR / 2;
        assert_eq!(connection.rounds(60, 0, None), 0);
    }

    #[test]
    fn an_overtaken_set_ends_the_finding_of_a_single_queue() {
        let mut connection = finding(0);
        connection.rounds(6, 0, Some(false));
        let late = connection.tracers.on_answer(true, connection.score);
        assert_eq!(late, ONE - FLOOR / i64::from(SETS));
        assert!(!connection.tracers.is_single_queue());
        // Three sets in order and one overtaken are inconclusive.
        let mut connection = finding(0);
        connection.round(0, None);
        for n in 0..SETS {
            connection.round(0, Some(n == 0));
        }
        connection.round(0, None);
        assert_eq!(connection.score, -FLOOR / i64::from(SETS));
        assert!(!connection.tracers.is_single_queue() && !connection.tracers.is_dual_queue());
    }

    #[test]
    fn with_the_best_rules_a_mark_starts_a_test_at_any_score() {
        let sent = |best, score, marked| {
            let mut connection = finding(score);
            connection.tracers.best = best;
            connection.marked = marked;
            connection.rounds(5, 0, None)
        };
        assert_eq!([sent(true, 1 - FLOOR, true), sent(true, -FLOOR, true)], [SETS; 2]);
        assert_eq!([sent(true, 1 - FLOOR, false), sent(true, -FLOOR, false)], [0; 2]);
        assert_eq!(sent(false, 1 - FLOOR, true), 0, "the paper's");
    }
}
