/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * When to send tracers, and what they do to the score (Fallback §§5.2–5.4): pure functions over one
 * connection's state.
 *
 * A part of classic_ecn.h, which includes it after its settings. The host holds it against
 * l4s_cc::classic_ecn::tracers, which says why each is as it is: whoever changes one changes both.
 *
 * Idle ──score ≥ threshold──▶ Armed(n) ──sent──▶ Resting(n − 1) ──round trip──▶ Armed(n − 1)
 *  ▲ ▲         ▲                                       │ none left
 *  │ │         │                                       ▼
 *  │ │         └──score ≥ threshold, one overtaken── Waiting
 *  │ └───────score < threshold───────────────────────┘ │ score ≥ threshold, none overtaken
 *  └────────score at its floor──────────────────── Suppressed
 *
 * With the best rules a test finds something, which stands until another one finds something else.
 */
#ifndef L4S_TRACERS_H
#define L4S_TRACERS_H

/* Sets of tracers per test (TRACER_NUM). */
#define TRACERS_SETS 4
/* A finding is not tested again for this many round trips. */
#define TRACERS_VALID 50
/* The least number of sets that a finding rests on: one alone may have been reordered on the way, or
 * have waited for something else. */
#define TRACERS_LEAST 2
/* Another test follows at once after up to this many tests in a row that found nothing. */
#define TRACERS_EAGER 4

/* No test runs. */
#define TRACERS_IDLE 0
/* The next segment may go as a set; `left` are left, this one included. */
#define TRACERS_ARMED 1
/* A set was sent in this round trip; `left` are left. */
#define TRACERS_RESTING 2
/* The last set has another round trip to be answered. */
#define TRACERS_WAITING 3
/* A whole test was in vain, or found something; for `left` round trips more. */
#define TRACERS_SUPPRESSED 4

/* What a whole test says of the bottleneck: in `nothing` tests in a row nothing, */
#define TRACERS_NOTHING 0
#define TRACERS_ONE_QUEUE 1
#define TRACERS_TWO_QUEUES 2

struct tracers {
	/* Sets, or round trips: see the phases. */
	u32 left;
	/* Sets of this test of which the middle was overtaken. */
	u32 overtaken;
	/* Sets of this test that came back in order. */
	u32 in_order;
	/* Those of in_order that had waited in a queue. */
	u32 waited;
	/* Tests in a row that found nothing; 0 where something is found. */
	u32 nothing;
	/* TRACERS_IDLE and so on. */
	u8 phase;
	/* TRACERS_NOTHING and so on. */
	u8 finding;
	/* The newest round trip had waited in a queue. */
	u8 waits;
	/* Since one queue or two were found, a packet came unmarked from where an L4S queue marks
	 * all. */
	u8 unmarked;
	/* The score was at the threshold in this test, so that no set is kept back for a queue. */
	u8 hurry;
};

static __always_inline void tracers_start(struct tracers *t)
{
	t->left = 0;
	t->overtaken = t->in_order = t->waited = 0;
	t->nothing = 0;
	t->phase = TRACERS_IDLE;
	t->finding = TRACERS_NOTHING;
	t->waits = t->unmarked = t->hurry = 0;
}

/* Whether the bottleneck has two queues, so that what round trips tell does not count. */
static __always_inline int tracers_found_two_queues(const struct tracers *t)
{
	return t->finding == TRACERS_TWO_QUEUES;
}

/* Whether it has one, and no set was overtaken since. */
static __always_inline int tracers_found_one_queue(const struct tracers *t)
{
	return t->finding == TRACERS_ONE_QUEUE;
}

/* What one set takes from the score. */
static __always_inline s64 tracers_step(const struct classic_ecn_config *c)
{
	return (s64)(c->l_sticky / TRACERS_SETS);
}

/* A new test, where there is doubt. */
static __always_inline void tracers_begin(struct tracers *t, const struct classic_ecn_config *c,
					  int doubt)
{
	t->phase = TRACERS_IDLE;
	if (!doubt)
		return;
	t->overtaken = t->in_order = t->waited = 0;
	t->hurry = !c->best;
	t->phase = TRACERS_ARMED;
	t->left = TRACERS_SETS;
}

/* A whole test is over. Gives the score after it. */
static __always_inline s64 tracers_judge(struct tracers *t, const struct classic_ecn_config *c,
					 s64 score, int doubt)
{
	t->phase = TRACERS_SUPPRESSED;
	t->left = TRACERS_VALID;
	if (t->overtaken >= TRACERS_LEAST && t->overtaken > t->in_order) {
		t->finding = TRACERS_TWO_QUEUES;
		t->nothing = t->unmarked = 0;
		return -(s64)c->l_sticky;
	}
	if (t->overtaken) {
		tracers_begin(t, c, doubt);
	} else if (t->waited >= TRACERS_LEAST && t->unmarked) {
		t->finding = TRACERS_ONE_QUEUE;
		t->nothing = t->unmarked = 0;
	} else if (tracers_found_one_queue(t)) {
		tracers_begin(t, c, 1);
	} else {
		t->finding = TRACERS_NOTHING;
		if (t->nothing < 0xffffffffu)
			t->nothing++;
		if (t->nothing <= TRACERS_EAGER)
			tracers_begin(t, c, 1);
	}
	return score;
}

/* A round trip is over, with a mark in it or without; score is what it came to. Gives the score
 * after it. */
static __always_inline s64 tracers_on_round(struct tracers *t, const struct classic_ecn_config *c,
					    s64 score, int marked)
{
	int finds = !!c->best;
	int high = score >= -tracers_step(c);
	int doubt = high || (finds && marked);

	if (t->phase == TRACERS_WAITING && finds) {
		score = tracers_judge(t, c, score, doubt);
	} else if (score <= -(s64)c->l_sticky && !finds) {
		t->phase = TRACERS_IDLE;
	} else if (t->phase == TRACERS_RESTING) {
		t->phase = t->left ? TRACERS_ARMED : TRACERS_WAITING;
	} else if (t->phase == TRACERS_SUPPRESSED && (t->left || !finds)) {
		if (t->left)
			t->left--;
	} else if (t->phase == TRACERS_WAITING && doubt && !t->overtaken) {
		/* No set is left, and without findings no round trip either. */
		t->phase = TRACERS_SUPPRESSED;
	} else if (t->phase != TRACERS_ARMED) {
		tracers_begin(t, c, doubt);
	}
	t->hurry |= high;
	return tracers_found_one_queue(t) && score < CLASSIC_ECN_ONE ? CLASSIC_ECN_ONE : score;
}

/* Whether the next segment should go as a set, which is more telling where packets wait; then it
 * does. */
static __always_inline int tracers_wants(struct tracers *t)
{
	if (t->phase != TRACERS_ARMED || !(t->hurry || t->waits))
		return 0;
	t->phase = TRACERS_RESTING;
	t->left--;
	return 1;
}

/* A round trip was measured: whether it had waited in a queue, and whether it came unmarked although
 * it had waited for longer than the step of an L4S queue. */
static __always_inline void tracers_on_rtt(struct tracers *t, int waits, int unmarked)
{
	t->waits = (u8)waits;
	t->unmarked |= (u8)unmarked;
}

/* A set came back: whether its rear overtook its middle, or that its front, as only where ECT(1) and
 * ECT(0) have queues of their own (Fallback §5.3). Gives the score after it. A set that is never
 * answered has no outcome. */
static __always_inline s64 tracers_outcome(struct tracers *t, const struct classic_ecn_config *c,
					   int overtook, s64 score)
{
	s64 floor = -(s64)c->l_sticky;

	if (!overtook) {
		t->in_order++;
		t->waited += t->waits;
		return score;
	}
	t->overtaken++;
	if (tracers_found_one_queue(t))
		t->finding = TRACERS_NOTHING;
	/* An answer through a long Classic queue may come after the verdict on its test. */
	if (t->phase == TRACERS_SUPPRESSED && !tracers_found_two_queues(t))
		t->phase = TRACERS_WAITING;
	score -= tracers_step(c);
	return score > floor ? score : floor;
}

#endif
