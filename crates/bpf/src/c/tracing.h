/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sets of tracers (Fallback §5) as copies, and what their answers say of the order in which they
 * arrived.
 *
 * TCP cannot be told to send segments that overlap, as the paper has it. But behind a packet that
 * leaves a device as it is, copies of its end can follow:
 *
 *	front   [ … data … ]      ECT(1)   ends at `end`
 *	middle         [98 B]     ECT(0)   ends there too
 *	rear            [97 B]    ECT(1)   ends there too
 *
 * Both are duplicates to the receiver, which acknowledges each at once and says where it began and
 * ended (D-SACK, RFC 2883 §4). In one queue the middle is answered before the rear. Where the
 * middle waits in a queue of its own, the rear is answered first. Or the middle comes before its
 * front: then it is reported as a block above a hole (RFC 2018), and the rear, which cannot overtake
 * the front, comes when there is no hole any more.
 *
 * These answers are for nobody but the detector. Who sees them takes them out of the
 * acknowledgement, so that TCP does not conclude that it sent something again too early (RFC 3708).
 */
#ifndef L4S_TRACING_H
#define L4S_TRACING_H

/* How long the copies are. */
#define TRACING_MIDDLE 98
#define TRACING_REAR 97
/* The least that a front carries: more than its copies. */
#define TRACING_FRONT_MIN 200

/* How many sets may wait for their answer: where a Classic queue is long, that of a middle comes
 * round trips after that of its rear. */
#define TRACING_SETS 8

/* What is known of a set. */
#define TRACING_SENT 1
/* The middle came before its front. */
#define TRACING_AHEAD 2
#define TRACING_MIDDLE_CAME 4
#define TRACING_REAR_CAME 8
/* It has its outcome, or will have none. Its blocks may still come. */
#define TRACING_OVER 16

struct tracing_set {
	/* The sequence number behind all three. */
	u32 end;
	/* Of the above; 0 where there is no set. */
	u32 known;
};

/*
 * Sets are noted where packets leave, answers where they arrive, and outcomes are taken where the
 * congestion control runs: the first and the last with the socket locked, the second without, and for
 * one connection on one processor at a time. So each number has one writer, but for `known`, which a
 * new set takes over from the oldest one.
 */
struct tracing {
	struct tracing_set sets[TRACING_SETS];
	u32 sent;
	/* How many were overtaken, and came in order, */
	u32 overtaken;
	u32 in_order;
	/* and how many of them were taken. */
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

/* A set left, of which `end` follows the last byte. */
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

/* Part of a set arrived: its middle or its rear. Whole says whether all before it had arrived, its front
 * too; and twice, where not, that the front had. */
static __always_inline void tracing_came(struct tracing *t, struct tracing_set *set, u32 middle,
					 u32 whole, u32 twice)
{
	if (set->known & TRACING_OVER)
		return;
	if (!whole && middle) {
		if (!twice)
			set->known |= TRACING_AHEAD;
	} else if (!whole) {
		/* It comes behind a front that was lost, or something before that was. */
		set->known |= TRACING_OVER;
	} else if (middle && (set->known & TRACING_REAR_CAME)) {
		tracing_over(set, &t->overtaken);
	} else if (middle) {
		/* If it was ahead it is the front that came: part of it was there already. */
		set->known |= TRACING_MIDDLE_CAME;
	} else if (set->known & TRACING_AHEAD) {
		tracing_over(set, &t->overtaken);
	} else if (set->known & TRACING_MIDDLE_CAME) {
		tracing_over(set, &t->in_order);
	} else {
		set->known |= TRACING_REAR_CAME;
	}
}

/* An acknowledgement of all before `ack` came, of which the first block is [from, to); twice says whether
 * the second one has all of that, so that it arrived above a hole, and again (RFC 2883 §4). Whether it is
 * the answer to a copy, and nothing that TCP should see. */
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

/* Takes an outcome, if there is one: whether the set was overtaken. */
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
