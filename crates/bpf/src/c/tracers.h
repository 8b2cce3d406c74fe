/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The tests by tracers: when a set is sent, and how its answer changes the score (Fallback
 * §§5.2–5.4). Pure functions over one connection's state.
 *
 * classic_ecn.h includes this file after its settings. l4s_cc::classic_ecn::tracers is the same in
 * Rust, with the tables of all transitions and their reasons. A test compares the two, so change
 * both together.
 */
#ifndef L4S_TRACERS_H
#define L4S_TRACERS_H

/* Sets of tracers per test (TRACER_NUM). */
#define TRACERS_SETS 4
/* The round trips after a finding until the next test. */
#define TRACERS_RETEST_ROUNDS 50
/* The least number of sets that support a finding. */
#define TRACERS_MIN_SETS 2
/* The number of inconclusive tests in a row after which the next one follows at once. */
#define TRACERS_IMMEDIATE_TESTS 4

/* No test runs. */
#define TRACERS_IDLE 0
/* The next segment can be sent as a set. `left` sets are left, including that one. */
#define TRACERS_ARMED 1
/* A set was sent in this round trip. `left` sets are left. */
#define TRACERS_SENT 2
/* All sets are sent. The last one can be answered until the end of this round trip. */
#define TRACERS_WAITING 3
/* No test starts for `left` round trips, or, with the paper's rules, until the score is at its
 * floor. */
#define TRACERS_SUPPRESSED 4

/* The last tests, `inconclusive` of them, found nothing. */
#define TRACERS_INCONCLUSIVE 0
/* ECT(1) and ECT(0) share a queue. */
#define TRACERS_SINGLE_QUEUE 1
/* ECT(1) and ECT(0) have separate queues. */
#define TRACERS_DUAL_QUEUE 2

struct tracers {
	/* Sets or round trips, by the phase. */
	u32 left;
	/* Sets of this test that were overtaken. */
	u32 overtaken;
	/* Sets of this test that came back in order. */
	u32 in_order;
	/* Sets of this test that came back in order while packets were queued. */
	u32 queued_in_order;
	/* Inconclusive tests in a row; 0 after a finding. */
	u32 inconclusive;
	/* TRACERS_IDLE and so on. */
	u8 phase;
	/* TRACERS_INCONCLUSIVE and so on. */
	u8 finding;
	/* Whether the newest RTT contained queueing delay. */
	u8 queued;
	/* Whether a packet came unmarked, delayed by more than the step of an L4S queue, since the
	 * last test that found a single or a dual queue. */
	u8 unmarked_above_step;
	/* Whether the sets of this test are also sent while no packets are queued: the score was at
	 * the threshold. */
	u8 send_unqueued;
};

static __always_inline void tracers_start(struct tracers *t)
{
	t->left = 0;
	t->overtaken = t->in_order = t->queued_in_order = 0;
	t->inconclusive = 0;
	t->phase = TRACERS_IDLE;
	t->finding = TRACERS_INCONCLUSIVE;
	t->queued = t->unmarked_above_step = t->send_unqueued = 0;
}

/* Whether ECT(1) and ECT(0) have separate queues, so that the RTT does not change the score. */
static __always_inline int tracers_is_dual_queue(const struct tracers *t)
{
	return t->finding == TRACERS_DUAL_QUEUE;
}

/* Whether ECT(1) and ECT(0) share a queue. */
static __always_inline int tracers_is_single_queue(const struct tracers *t)
{
	return t->finding == TRACERS_SINGLE_QUEUE;
}

/* The decrease of the score for an overtaken set. */
static __always_inline s64 tracers_step(const struct classic_ecn_config *c)
{
	return (s64)(c->l_sticky / TRACERS_SETS);
}

/* Starts a test if one is needed. */
static __always_inline void tracers_start_test(struct tracers *t,
					       const struct classic_ecn_config *c, int needed)
{
	t->phase = TRACERS_IDLE;
	if (!needed)
		return;
	t->overtaken = t->in_order = t->queued_in_order = 0;
	t->send_unqueued = !c->best;
	t->phase = TRACERS_ARMED;
	t->left = TRACERS_SETS;
}

/* Ends a test with a finding. Returns the new score. */
static __always_inline s64 tracers_conclude(struct tracers *t, const struct classic_ecn_config *c,
					    s64 score, int needed)
{
	t->phase = TRACERS_SUPPRESSED;
	t->left = TRACERS_RETEST_ROUNDS;
	if (t->overtaken >= TRACERS_MIN_SETS && t->overtaken > t->in_order) {
		t->finding = TRACERS_DUAL_QUEUE;
		t->inconclusive = t->unmarked_above_step = 0;
		return -(s64)c->l_sticky;
	}
	if (t->overtaken) {
		tracers_start_test(t, c, needed);
	} else if (t->queued_in_order >= TRACERS_MIN_SETS && t->unmarked_above_step) {
		t->finding = TRACERS_SINGLE_QUEUE;
		t->inconclusive = t->unmarked_above_step = 0;
	} else if (tracers_is_single_queue(t)) {
		tracers_start_test(t, c, 1);
	} else {
		t->finding = TRACERS_INCONCLUSIVE;
		if (t->inconclusive < 0xffffffffu)
			t->inconclusive++;
		if (t->inconclusive <= TRACERS_IMMEDIATE_TESTS)
			tracers_start_test(t, c, 1);
	}
	return score;
}

/* A round trip ended with this score. marked: whether it contained a mark. Returns the new score. */
static __always_inline s64 tracers_on_round(struct tracers *t, const struct classic_ecn_config *c,
					    s64 score, int marked)
{
	int best = !!c->best;
	int at_threshold = score >= -tracers_step(c);
	int needed = at_threshold || (best && marked);

	if (t->phase == TRACERS_WAITING && best) {
		score = tracers_conclude(t, c, score, needed);
	} else if (score <= -(s64)c->l_sticky && !best) {
		t->phase = TRACERS_IDLE;
	} else if (t->phase == TRACERS_SENT) {
		t->phase = t->left ? TRACERS_ARMED : TRACERS_WAITING;
	} else if (t->phase == TRACERS_SUPPRESSED && (t->left || !best)) {
		if (t->left)
			t->left--;
	} else if (t->phase == TRACERS_WAITING && needed && !t->overtaken) {
		/* `left` is 0: the paper's rules count no round trips. */
		t->phase = TRACERS_SUPPRESSED;
	} else if (t->phase != TRACERS_ARMED) {
		tracers_start_test(t, c, needed);
	}
	t->send_unqueued |= at_threshold;
	return tracers_is_single_queue(t) && score < CLASSIC_ECN_ONE ? CLASSIC_ECN_ONE : score;
}

/* Whether the next segment is to be sent as a set. If so, that set counts as sent. */
static __always_inline int tracers_take_set(struct tracers *t)
{
	if (t->phase != TRACERS_ARMED || !(t->send_unqueued || t->queued))
		return 0;
	t->phase = TRACERS_SENT;
	t->left--;
	return 1;
}

/* An RTT was measured. queued: whether it contained queueing delay. unmarked: whether its packet was
 * delayed by more than the step of an L4S queue and not marked. */
static __always_inline void tracers_on_rtt(struct tracers *t, int queued, int unmarked)
{
	t->queued = (u8)queued;
	t->unmarked_above_step |= (u8)unmarked;
}

/* A set was answered completely (Fallback §5.3). overtaken: whether its rear arrived before its
 * middle, or its middle before its front. Returns the new score. A set of which packets are lost is
 * not answered. */
static __always_inline s64 tracers_on_answer(struct tracers *t, const struct classic_ecn_config *c,
					     int overtaken, s64 score)
{
	s64 floor = -(s64)c->l_sticky;

	if (!overtaken) {
		t->in_order++;
		t->queued_in_order += t->queued;
		return score;
	}
	t->overtaken++;
	if (tracers_is_single_queue(t))
		t->finding = TRACERS_INCONCLUSIVE;
	/* The answer of a set whose middle passed a long Classic queue may come after its test. */
	if (t->phase == TRACERS_SUPPRESSED && !tracers_is_dual_queue(t))
		t->phase = TRACERS_WAITING;
	score -= tracers_step(c);
	return score > floor ? score : floor;
}

#endif
