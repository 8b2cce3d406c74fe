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
//!  │ │         └──score ≥ threshold, one overtaken── Waiting
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
//! # Findings
//!
//! With [`Rules::Best`](super::Rules::Best) a test finds something:
//!
//! - **Two queues**: most sets were overtaken, which no single queue does. The score goes to its
//!   floor, and what round trips tell does not count.
//! - **One queue**: no set was, and two things are known. Sets *waited*: where a queue is not
//!   empty, two queues send the middle after the rear or before the front, where one keeps the
//!   order; on a free link either does, so that order alone says nothing. And packets came
//!   *unmarked* after a longer wait than an L4S queue lets pass: a queue for each flow keeps the
//!   order too, and may mark as an L4S queue does. The score is 1 at least from then on.
//! - **Nothing**: no set was, but one of the two is not known.
//!
//! A set is overtaken too if its middle comes before its front, as it does behind an empty Classic
//! queue and an L4S queue that is not.
//!
//! Such a test begins with any mark too, whatever the score. As long as the score is low there is no
//! hurry: a set goes where the newest round trip waited, so that its order is likely to tell.
//!
//! Two queues stand until another test finds anything else, or nothing; one queue, the safer error,
//! until a set is overtaken. That test comes after [`VALID`] round trips. Where nothing was found
//! the next one begins at once; but where nothing is found again and again, as in a queue per flow
//! that marks as an L4S queue does, that is as good as a finding.

/// Sets of tracers per test (`TRACER_NUM`).
pub const SETS: u32 = 4;
/// A finding is not tested again for this many round trips.
const VALID: u32 = 50;
/// The least number of sets that a finding rests on: one alone may have been reordered on the way,
/// or have waited for something else.
const LEAST: u32 = 2;
/// Another test follows at once after up to this many tests in a row that found nothing.
const EAGER: u32 = 4;

/// The scores that matter to tracers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scores {
    /// How far below 0 the score goes: `L_STICKY`.
    pub l_sticky: i64,
    /// 1, from which on the queue is Classic.
    pub classic: i64,
}

/// The state of the tracers of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tracers {
    /// Whether a test finds anything; in the paper it does not.
    pub finds: bool,
    /// The scores that matter to it.
    pub scores: Scores,
    /// The phase of the test.
    pub phase: Phase,
    /// Sets of this test of which the middle was overtaken.
    pub overtaken: u32,
    /// Sets of this test that came back in order.
    pub in_order: u32,
    /// Those of `in_order` that had waited in a queue.
    pub waited: u32,
    /// The newest round trip had waited in a queue.
    pub waits: bool,
    /// Since one queue or two were found, a packet came unmarked from where an L4S queue marks all.
    pub unmarked: bool,
    /// The score was at the threshold in this test, so that no set is kept back for a queue.
    pub hurry: bool,
    /// The finding of the last test that found anything, or the number of those that did not.
    pub finding: Finding,
}

/// What a whole test says of the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Nothing, in this number of tests in a row.
    Nothing(u32),
    /// The bottleneck has a single queue.
    OneQueue,
    /// The bottleneck has an L4S queue and a Classic one.
    TwoQueues,
}

/// The phase of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// No test runs.
    Idle,
    /// The next segment may go as a set. This number of sets is left, including the next one.
    Armed(u32),
    /// A set was sent in this round trip. This number of sets is left.
    Resting(u32),
    /// The last set has another round trip to be answered.
    Waiting,
    /// No test begins for this number of round trips: one found something, or was given up.
    Suppressed(u32),
}

impl Tracers {
    /// No test has begun. `finds`: whether a test finds anything.
    pub fn new(finds: bool, scores: Scores) -> Tracers {
        Tracers {
            finds,
            scores,
            phase: Phase::Idle,
            overtaken: 0,
            in_order: 0,
            waited: 0,
            waits: false,
            unmarked: false,
            hurry: false,
            finding: Finding::Nothing(0),
        }
    }

    /// What one set takes from the score.
    pub fn step(&self) -> i64 {
        self.scores.l_sticky / i64::from(SETS)
    }

    /// The score from which on a test is worth its bytes.
    pub fn threshold(&self) -> i64 {
        -self.step()
    }

    /// A round trip is over, with a mark in it or without; `score` is what it came to. Gives the
    /// score after it.
    #[must_use]
    pub fn on_round(&mut self, score: i64, marked: bool) -> i64 {
        let at_floor = score <= -self.scores.l_sticky;
        let high = score >= self.threshold();
        let doubt = high || self.finds && marked;
        let mut after = score;
        self.phase = match self.phase {
            Phase::Waiting if self.finds => {
                after = self.judge(score, doubt);
                self.phase
            }
            _ if at_floor && !self.finds => Phase::Idle,
            Phase::Armed(left) => Phase::Armed(left),
            Phase::Resting(0) => Phase::Waiting,
            Phase::Resting(left) => Phase::Armed(left),
            Phase::Suppressed(left) if left > 0 || !self.finds => {
                Phase::Suppressed(left.saturating_sub(1))
            }
            Phase::Waiting if doubt && self.overtaken == 0 => Phase::Suppressed(0),
            Phase::Waiting | Phase::Idle | Phase::Suppressed(_) => self.begin(doubt),
        };
        self.hurry |= high;
        if self.found_one_queue() { after.max(self.scores.classic) } else { after }
    }

    /// A whole test is over. Gives the score after it.
    fn judge(&mut self, score: i64, doubt: bool) -> i64 {
        self.phase = Phase::Suppressed(VALID);
        if self.overtaken >= LEAST && self.overtaken > self.in_order {
            (self.finding, self.unmarked) = (Finding::TwoQueues, false);
            return -self.scores.l_sticky;
        }
        if self.overtaken > 0 {
            self.phase = self.begin(doubt);
        } else if self.waited >= LEAST && self.unmarked {
            (self.finding, self.unmarked) = (Finding::OneQueue, false);
        } else if self.found_one_queue() {
            self.phase = self.begin(true);
        } else {
            self.find_nothing();
        }
        score
    }

    fn find_nothing(&mut self) {
        let tests = match self.finding {
            Finding::Nothing(tests) => tests.saturating_add(1),
            _ => 1,
        };
        self.finding = Finding::Nothing(tests);
        if tests <= EAGER {
            self.phase = self.begin(true);
        }
    }

    /// A new test, where there is doubt.
    fn begin(&mut self, doubt: bool) -> Phase {
        if !doubt {
            return Phase::Idle;
        }
        (self.overtaken, self.in_order, self.waited) = (0, 0, 0);
        self.hurry = !self.finds;
        Phase::Armed(SETS)
    }

    /// Whether the bottleneck has two queues, so that what round trips tell does not count.
    #[inline]
    pub fn found_two_queues(&self) -> bool {
        self.finding == Finding::TwoQueues
    }

    /// Whether it has one, and no set was overtaken since.
    #[inline]
    pub fn found_one_queue(&self) -> bool {
        self.finding == Finding::OneQueue
    }

    /// Whether the next segment should go as a set, which is more telling where packets wait; then
    /// it does.
    #[inline]
    pub fn wants(&mut self) -> bool {
        match self.phase {
            Phase::Armed(left) if self.hurry || self.waits => {
                self.phase = Phase::Resting(left - 1);
                true
            }
            _ => false,
        }
    }

    /// A round trip was measured: whether it had waited in a queue, and whether it came unmarked
    /// although it had waited for longer than the step of an L4S queue.
    #[inline]
    pub fn on_rtt(&mut self, waits: bool, unmarked: bool) {
        self.waits = waits;
        self.unmarked |= unmarked;
    }

    /// A set came back: whether its rear overtook its middle, or that its front, as only where
    /// ECT(1) and ECT(0) have queues of their own. Gives the score after it. A set that is never
    /// answered has no outcome.
    #[must_use]
    pub fn outcome(&mut self, overtook: bool, score: i64) -> i64 {
        if !overtook {
            self.in_order += 1;
            self.waited += u32::from(self.waits);
            return score;
        }
        self.overtaken += 1;
        if self.found_one_queue() {
            self.finding = Finding::Nothing(0);
        }
        // An answer through a long Classic queue may come after the verdict on its test.
        if self.is_suppressed() && !self.found_two_queues() {
            self.phase = Phase::Waiting;
        }
        (score - self.step()).max(-self.scores.l_sticky)
    }

    /// Whether a whole test was in vain, and none follows yet.
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

    /// A connection of round trips, in each of which a set is answered as `answer` says: overtaken,
    /// not, or not at all.
    struct Connection {
        tracers: Tracers,
        score: i64,
        /// Whether round trips have marks in them,
        marked: bool,
        /// and their packets wait, or come unmarked from where an L4S queue marks all.
        waits: bool,
        unmarked: bool,
        sent: u32,
    }

    impl Connection {
        fn new(score: i64) -> Connection {
            Connection {
                tracers: Tracers::new(false, SCORES),
                score,
                marked: false,
                waits: false,
                unmarked: false,
                sent: 0,
            }
        }

        /// A round trip that adds `drift` to the score; gives whether a set was sent in it.
        fn round(&mut self, drift: i64, answer: Option<bool>) -> bool {
            self.tracers.on_rtt(self.waits, self.unmarked);
            let sent = self.tracers.wants();
            assert!(!self.tracers.wants(), "one set per round trip");
            if sent {
                self.sent += 1;
                if let Some(overtook) = answer {
                    self.score = self.tracers.outcome(overtook, self.score);
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
        // Not even where it rises.
        assert_eq!(connection.rounds(100, ONE, Some(false)), 0);
    }

    #[test]
    fn sets_that_are_never_answered_are_as_none_overtaken() {
        let mut connection = Connection::new(0);
        assert_eq!(connection.rounds(100, 0, None), SETS);
        assert!(connection.tracers.is_suppressed());
    }

    #[test]
    fn suppression_ends_at_the_floor() {
        let mut connection = Connection::new(0);
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
            let mut connection = Connection::new(-FLOOR / 8);
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

    /// And so may one that left it high, as long as a set was overtaken.
    #[test]
    fn one_overtaken_is_reason_to_ask_again() {
        let mut connection = Connection::new(FLOOR);
        connection.round(0, None);
        for n in 0..SETS {
            assert!(connection.round(0, Some(n == 0)));
        }
        connection.round(0, None);
        assert!(!connection.tracers.is_suppressed());
        assert!(connection.score > 0);
        assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        // None overtaken, but the score is low: there is nothing to give up.
        let mut connection = Connection::new(0);
        connection.round(0, None);
        connection.round(-FLOOR / 2, None);
        connection.rounds(10, 0, None);
        assert!(!connection.tracers.is_suppressed());
    }

    /// Below the threshold a test runs to its end; at the floor it is over.
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

    /// A segment that could go as a set may be long in coming.
    #[test]
    fn an_armed_set_waits_for_a_segment() {
        let mut tracers = Tracers::new(false, SCORES);
        for _ in 0..5 {
            assert_eq!(tracers.on_round(0, false), 0);
        }
        assert!(tracers.wants() && !tracers.wants());
        assert_eq!(tracers.on_round(0, false), 0);
        assert!(tracers.wants() && !tracers.wants());
    }

    /// The queue of an overtaken middle may be longer than the round trip.
    #[test]
    fn a_late_answer_undoes_the_suppression() {
        let mut connection = Connection::new(0);
        connection.rounds(10, 0, None);
        assert!(connection.tracers.is_suppressed());
        for _ in 0..SETS {
            let tracers = &mut connection.tracers;
            connection.score = tracers.outcome(true, connection.score);
            assert!(!tracers.is_suppressed());
        }
        assert_eq!(connection.score, -FLOOR);
    }

    #[test]
    fn the_score_stays_above_its_floor() {
        let mut tracers = Tracers::new(false, SCORES);
        assert_eq!(tracers.outcome(true, 0), -FLOOR / 4);
        assert_eq!(tracers.outcome(true, -FLOOR * 3 / 4), -FLOOR);
        assert_eq!(tracers.outcome(true, -FLOOR + 1), -FLOOR);
        assert_eq!(tracers.outcome(false, 7), 7);
    }

    /// A link that sends in bursts: the round trips take the score up faster than sets take it
    /// down.
    #[test]
    fn what_most_sets_say_stands_until_another_test_says_otherwise() {
        let mut connection = finding(0);
        connection.round(FLOOR / 2, None);
        assert_eq!(connection.rounds(SETS, FLOOR / 2, Some(true)), SETS);
        connection.round(FLOOR / 2, None);
        assert!(connection.tracers.found_two_queues());
        assert_eq!(connection.score, -FLOOR);
        // It is asked again after 50 round trips and the next mark, whatever the score.
        assert_eq!(connection.rounds(50, 0, None), 0);
        connection.marked = false;
        assert_eq!(connection.rounds(50, 0, None), 0);
        connection.marked = true;
        connection.round(0, None);
        assert_eq!(connection.rounds(4, 0, Some(true)), SETS);
        connection.round(0, None);
        assert!(connection.tracers.found_two_queues());
        // And then the answer is another one.
        connection.rounds(51, 0, None);
        assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        assert!(connection.tracers.found_two_queues());
        connection.round(0, None);
        assert!(connection.tracers.found_one_queue());
        assert_eq!(connection.score, ONE);
    }

    #[test]
    fn one_overtaken_or_half_of_them_settle_nothing() {
        for answers in 0..1u32 << SETS {
            let mut connection = Connection::new(FLOOR);
            connection.tracers.finds = true;
            connection.round(0, None);
            for n in 0..SETS {
                connection.round(FLOOR, Some(answers >> n & 1 == 1));
            }
            connection.round(0, None);
            let most = answers.count_ones() > SETS / 2;
            assert_eq!(connection.tracers.found_two_queues(), most, "{answers:04b}");
            assert_eq!(connection.score, if most { -FLOOR } else { FLOOR }, "{answers:04b}");
        }
    }

    /// On a free link every set comes in order, through two queues as well.
    #[test]
    fn what_found_nothing_asks_again_at_once_and_becomes_rare() {
        let mut connection = Connection::new(FLOOR);
        connection.tracers.finds = true;
        connection.round(0, None);
        // Four sets, and a round trip to wait, with which the next test begins.
        for _ in 0..=EAGER {
            assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        }
        assert_eq!(connection.rounds(51, 0, Some(false)), 0);
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        assert_eq!(connection.rounds(51, 0, Some(false)), 0);
        assert_eq!(connection.score, FLOOR);
        // Two queues are found, and then nothing again.
        assert_eq!(connection.rounds(5, 0, Some(true)), SETS);
        assert!(connection.tracers.found_two_queues());
        connection.score = 0;
        connection.rounds(51, 0, None);
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
        assert!(!connection.tracers.found_two_queues());
        assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
    }

    /// A connection whose tests find something, in a Classic queue that sets wait in.
    fn finding(score: i64) -> Connection {
        let tracers = Tracers::new(true, SCORES);
        let still = Connection::new(score);
        Connection { tracers, marked: true, waits: true, unmarked: true, ..still }
    }

    #[test]
    fn sets_that_waited_and_were_not_overtaken_find_one_queue() {
        for start in [-FLOOR, 1 - FLOOR, 0, FLOOR] {
            let mut connection = finding(start);
            // One round trip to arm, four sets, and one to wait.
            assert_eq!(connection.rounds(6, 0, Some(false)), SETS);
            assert!(connection.tracers.found_one_queue());
            assert_eq!(connection.score, start.max(ONE));
            // What round trips tell goes on above 1, and nothing is asked for as long as it is good.
            assert_eq!(connection.rounds(50, -1, Some(false)), 0);
            assert_eq!(connection.score, (start - 50).max(ONE));
            connection.round(0, None);
            assert_eq!(connection.rounds(4, 0, Some(false)), SETS);
        }
    }

    /// A test of which so many sets waited, and in which a packet came unmarked or not.
    fn tested(mut connection: Connection, waited: u32, unmarked: bool) -> Connection {
        (connection.waits, connection.unmarked) = (false, false);
        connection.round(0, None);
        for n in 0..SETS {
            (connection.waits, connection.unmarked) = (n < waited, unmarked && n == 0);
            connection.round(0, Some(false));
        }
        (connection.waits, connection.unmarked) = (false, false);
        connection.round(0, None);
        connection
    }

    /// On a free link the middle starts before the rear is there; and a queue for each flow keeps
    /// the order, whatever it does with marks.
    #[test]
    fn one_queue_takes_sets_that_waited_and_packets_that_came_unmarked() {
        for (waited, unmarked) in [(0, true), (LEAST - 1, true), (LEAST, false), (LEAST, true)] {
            let connection = tested(finding(0), waited, unmarked);
            let one = waited == LEAST && unmarked;
            assert_eq!(connection.tracers.found_one_queue(), one, "{waited} {unmarked}");
            assert_eq!(connection.score, if one { ONE } else { 0 });
        }
    }

    #[test]
    fn packets_that_came_unmarked_are_remembered_until_something_is_found() {
        let mut connection = tested(finding(0), 0, true);
        assert!(!connection.tracers.found_one_queue());
        // The next test is armed already.
        connection.waits = true;
        connection.rounds(5, 0, Some(false));
        assert!(connection.tracers.found_one_queue());
        // Another queue is another question.
        for overtook in [false, true] {
            let mut connection = tested(finding(0), LEAST, true);
            connection.score = connection.tracers.outcome(true, 0);
            connection.score = FLOOR;
            connection.round(0, None);
            connection.unmarked = overtook;
            assert_eq!(connection.rounds(5, 0, Some(overtook)), SETS);
            assert_eq!(connection.tracers.found_two_queues(), overtook);
            if overtook {
                connection.score = FLOOR;
                connection.unmarked = false;
                connection.rounds(51, 0, None);
            }
            connection.waits = true;
            assert_eq!(connection.rounds(5, 0, Some(false)), SETS);
            assert!(!connection.tracers.found_one_queue());
        }
    }

    /// And is asked again at once, for as long as sets say nothing.
    #[test]
    fn one_queue_stands_until_a_set_is_overtaken() {
        let mut connection = tested(finding(0), LEAST, true);
        assert_eq!(connection.rounds(51, -ONE, None), 0);
        for _ in 0..2 * EAGER {
            assert_eq!(connection.rounds(5, -ONE, Some(false)), SETS);
            assert!(connection.tracers.found_one_queue());
            assert_eq!(connection.score, ONE);
        }
        connection.round(0, Some(true));
        assert!(!connection.tracers.found_one_queue());
        assert_eq!(connection.score, ONE - FLOOR / i64::from(SETS));
    }

    /// A test that a mark began has time for sets that tell more than that the link is free.
    #[test]
    fn below_the_threshold_sets_are_kept_for_a_queue() {
        let mut connection = finding(-FLOOR / 2);
        connection.waits = false;
        assert_eq!(connection.rounds(20, 0, None), 0);
        connection.waits = true;
        assert!(connection.round(0, None));
        connection.waits = false;
        assert_eq!(connection.rounds(20, 0, None), 0);
        // Not where the score is about to say that the queue is Classic; nor later in that test.
        connection.score = connection.tracers.threshold();
        connection.round(0, None);
        assert_eq!(connection.rounds(3, -1, Some(true)), SETS - 1);
        // The next one again.
        connection.round(0, None);
        connection.score = -FLOOR / 2;
        assert_eq!(connection.rounds(60, 0, None), 0);
    }

    #[test]
    fn one_that_is_overtaken_says_that_it_is_not_one_queue() {
        let mut connection = finding(0);
        connection.rounds(6, 0, Some(false));
        let late = connection.tracers.outcome(true, connection.score);
        assert_eq!(late, ONE - FLOOR / i64::from(SETS));
        assert!(!connection.tracers.found_one_queue());
        // Three in order and one overtaken are neither.
        let mut connection = finding(0);
        connection.round(0, None);
        for n in 0..SETS {
            connection.round(0, Some(n == 0));
        }
        connection.round(0, None);
        assert_eq!(connection.score, -FLOOR / i64::from(SETS));
        assert!(!connection.tracers.found_one_queue() && !connection.tracers.found_two_queues());
    }

    #[test]
    fn a_mark_begins_a_test_whatever_the_score() {
        let sent = |finds, score, marked| {
            let mut connection = finding(score);
            connection.tracers.finds = finds;
            connection.marked = marked;
            connection.rounds(5, 0, None)
        };
        assert_eq!([sent(true, 1 - FLOOR, true), sent(true, -FLOOR, true)], [SETS; 2]);
        assert_eq!([sent(true, 1 - FLOOR, false), sent(true, -FLOOR, false)], [0; 2]);
        assert_eq!(sent(false, 1 - FLOOR, true), 0, "the paper's");
    }
}
