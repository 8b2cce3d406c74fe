/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sets of tracers (Fallback §5) as copies, and the evaluation of their answers: the order in which
 * they arrived.
 *
 * TCP has no interface to send overlapping segments, as the paper requires. But copies of its end can
 * follow an unchanged packet that leaves a device:
 *
 *	front   [ … data … ]      ECT(1)   ends at `end`
 *	middle         [98 B]     ECT(0)   ends there too
 *	rear            [97 B]    ECT(1)   ends there too
 *
 * Both are duplicates to the receiver. It acknowledges each at once and reports its begin and end
 * (D-SACK, RFC 2883 §4). In one queue the middle is answered before the rear. If the middle is in a
 * separate, longer queue, the rear is answered first. Or the middle arrives before its front. Then it is
 * reported as a block above a hole (RFC 2018). The rear cannot overtake the front, and arrives when there
 * is no hole any more.
 *
 * Only the detector uses these answers. The program that reads them removes them from the
 * acknowledgement. Otherwise TCP would conclude that its retransmission was spurious (RFC 3708).
 */
#ifndef L4S_TRACING_H
#define L4S_TRACING_H

/* The lengths of the copies. */
#define TRACING_MIDDLE 98
#define TRACING_REAR 97
/* The minimum payload of a front: more than its copies. */
#define TRACING_FRONT_MIN 200

/* The number of sets without an answer at a time. Behind a long Classic queue the answer of a middle arrives
 * round trips after that of its rear. */
#define TRACING_SETS 8

/* The state of a set. */
#define TRACING_SENT 1
/* The middle arrived before its front. */
#define TRACING_AHEAD 2
#define TRACING_MIDDLE_CAME 4
#define TRACING_REAR_CAME 8
/* The set has its outcome, or will have none. Its blocks may still arrive. */
#define TRACING_OVER 16

struct tracing_set {
	/* The sequence number behind all three. */
	u32 end;
	/* The flags above; 0 if there is no set. */
	u32 known;
};

/*
 * Sets are recorded where packets leave, answers where they arrive, and outcomes are taken where the
 * congestion control runs. The first and the last hold the lock of the socket. The second does not, but
 * for one connection it runs on one processor at a time. So each number has one writer, except `known`: a
 * new set takes over that of the oldest one.
 */
struct tracing {
	struct tracing_set sets[TRACING_SETS];
	u32 sent;
	/* Sets that were overtaken, and sets that arrived in order. */
	u32 overtaken;
	u32 in_order;
	/* Those of them that the congestion control has taken. */
	u32 overtaken_taken;
	u32 in_order_taken;
};

static __always_inline void tracing_begin(struct tracing *t)
{
	for (u32 i = 0; i < TRACING_SETS; i++)
		t->sets[i].known = 0;
	t->sent = t->overtaken = t->in_order = 0;
	t->overtaken_taken = t->in_order_taken = 0;
}

/* A set left. `end` is the sequence number after its last byte. */
static __always_inline void tracing_sent(struct tracing *t, u32 end)
{
	struct tracing_set *set = &t->sets[t->sent % TRACING_SETS];

	set->known = 0;
	set->end = end;
	set->known = TRACING_SENT;
	t->sent++;
}

static __always_inline void tracing_over(struct tracing_set *set, u32 *outcomes)
{
	set->known |= TRACING_OVER;
	(*outcomes)++;
}

/* Part of a set arrived: its middle or its rear. whole: whether everything before it had arrived, including
 * its front. twice: if not, whether the front had arrived. */
static __always_inline void tracing_came(struct tracing *t, struct tracing_set *set, u32 middle,
					 u32 whole, u32 twice)
{
	if (set->known & TRACING_OVER)
		return;
	if (!whole && middle) {
		if (!twice)
			set->known |= TRACING_AHEAD;
	} else if (!whole) {
		/* It follows a loss, of the front or of an earlier packet. */
		set->known |= TRACING_OVER;
	} else if (middle && (set->known & TRACING_REAR_CAME)) {
		tracing_over(set, &t->overtaken);
	} else if (middle) {
		/* If the middle was ahead, this block is the front's: part of it had already arrived. */
		set->known |= TRACING_MIDDLE_CAME;
	} else if (set->known & TRACING_AHEAD) {
		tracing_over(set, &t->overtaken);
	} else if (set->known & TRACING_MIDDLE_CAME) {
		tracing_over(set, &t->in_order);
	} else {
		set->known |= TRACING_REAR_CAME;
	}
}

/* An acknowledgement of all data before `ack` arrived, with the first block [from, to). twice: whether the
 * second block contains the first, so that it arrived above a hole, and twice (RFC 2883 §4). Returns whether
 * it answers a copy, so that TCP must not see it. */
static __always_inline u32 tracing_is_answer(struct tracing *t, u32 ack, u32 from, u32 to, u32 twice)
{
	u32 length = to - from;

	if (length != TRACING_MIDDLE && length != TRACING_REAR)
		return 0;
	for (u32 i = 0; i < TRACING_SETS; i++) {
		struct tracing_set *set = &t->sets[i];

		if (!set->known || set->end != to)
			continue;
		tracing_came(t, set, length == TRACING_MIDDLE, ack - to < 1u << 31, twice);
		return 1;
	}
	return 0;
}

/* Takes an outcome, if there is one. overtaken: whether the set was overtaken. */
static __always_inline u32 tracing_take(struct tracing *t, u32 *overtaken)
{
	if (t->overtaken != t->overtaken_taken) {
		t->overtaken_taken++;
		*overtaken = 1;
		return 1;
	}
	if (t->in_order != t->in_order_taken) {
		t->in_order_taken++;
		*overtaken = 0;
		return 1;
	}
	return 0;
}

#endif
