/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic of TCP Prague: pure functions over one connection's state.
 *
 * Prague is DCTCP made fit for the Internet (RFC 9331 §4.3): the window has a fraction, growth
 * does not depend on the RTT where that is short, and a mark is answered at most once per
 * virtual RTT.
 *
 * The BPF program and the host share it: the includer provides u8, u32, u64 and
 * __always_inline. The host holds it against l4s_cc::prague, integer by integer. There is no
 * signed division, no loop and nothing wider than 64 bits, so that any kernel can run it.
 *
 * Time is in microseconds. Sequence numbers may be bytes or segments; they wrap at 32 bits.
 */
#ifndef L4S_PRAGUE_H
#define L4S_PRAGUE_H

/* The window is in packets with this many bits of fraction. */
#define PRAGUE_CWND_BITS 20
/* Feedback of one round trip needs two packets in flight. */
#define PRAGUE_CWND_MIN (2ull << PRAGUE_CWND_BITS)
/* So that the window times alpha fits in 63 bits: 2^(19 + 20 + 24). */
#define PRAGUE_CWND_MAX (1ull << (19 + PRAGUE_CWND_BITS))
/* alpha is a fraction of 2^24. */
#define PRAGUE_ALPHA_BITS 24
/* RFC 8257 §3.3: g = 1/16. The average keeps as many bits more, so that it never sticks. */
#define PRAGUE_SHIFT_G 4
#define PRAGUE_AVERAGE_MAX (1u << (PRAGUE_ALPHA_BITS + PRAGUE_SHIFT_G))
/* No slow-start threshold yet, as in Linux' control block. */
#define PRAGUE_NO_THRESHOLD 0xffffffffu
/* More than one acknowledgement can deliver; keeps the increase within 61 bits. */
#define PRAGUE_DELIVERED_MAX ((1u << 20) - 1)
/* RFC 6928. */
#define PRAGUE_INITIAL_WINDOW 10

/* The settings of a connection. */
struct prague_config {
	/* The virtual RTT where the real one is shorter; 0 for growth that depends on the RTT.
	 * Less than 2^16, so that its square fits in 32 bits. */
	u32 rtt_virt_us;
	/* alpha before the first mark, in 1/1024. */
	u32 alpha_on_init;
};

struct prague {
	/* The window in 2^-20 packets. */
	u64 frac_cwnd;
	/* What is left of the last increase, in 2^-40 packets times the window. */
	u64 credit;
	/* The window before the last loss. */
	u64 prior_frac_cwnd;
	/* When alpha was last updated. */
	u64 alpha_at;
	/* When the window was last reduced for a mark. */
	u64 cut_at;
	/* Moving average of the fraction of marks in 2^-28; alpha is its upper 24 bits. */
	u32 average;
	/* The round trip of observation ends when this is acknowledged. */
	u32 window_end;
	/* Recovery from a loss ends when this is acknowledged. */
	u32 recover;
	/* Packets delivered in this time of observation. */
	u32 delivered;
	/* Those of them that were marked. */
	u32 delivered_ce;
	/* Slow start ends at this many packets. */
	u32 ssthresh;
	/* The threshold before the last loss. */
	u32 prior_ssthresh;
	/* Whether a mark was ever seen. */
	u8 saw_ce;
	/* Whether a loss is being recovered from. */
	u8 in_loss;
};

/* What one acknowledgement told the sender. */
struct prague_ack {
	/* When it arrived. */
	u64 now;
	/* Smoothed RTT; 0 for not known. */
	u32 srtt_us;
	/* Packets newly delivered. */
	u32 delivered;
	/* Packets newly reported to have met congestion. */
	u32 delivered_ce;
	/* The first sequence number not yet acknowledged, and the next to be sent. */
	u32 una;
	u32 nxt;
	/* Whether the window was what limited the sender. */
	u32 limited;
};

/* Whether sequence number a is at b or later. */
static __always_inline int prague_reached(u32 a, u32 b)
{
	return a - b < 1u << 31;
}

static __always_inline u64 prague_at_least_min(u64 frac_cwnd)
{
	return frac_cwnd > PRAGUE_CWND_MIN ? frac_cwnd : PRAGUE_CWND_MIN;
}

/* The window in whole packets, rounded to the nearest. */
static __always_inline u32 prague_cwnd(const struct prague *s)
{
	return (u32)((s->frac_cwnd + (1u << (PRAGUE_CWND_BITS - 1))) >> PRAGUE_CWND_BITS);
}

/* The fraction of marks that the sender believes in, of 2^24. */
static __always_inline u32 prague_alpha(const struct prague *s)
{
	return s->average >> PRAGUE_SHIFT_G;
}

/* A new connection with a window of cwnd packets. */
static __always_inline void prague_start(struct prague *s, const struct prague_config *c, u32 cwnd,
					 u32 nxt, u64 now)
{
	u64 frac_cwnd = prague_at_least_min((u64)cwnd << PRAGUE_CWND_BITS);

	if (frac_cwnd > PRAGUE_CWND_MAX)
		frac_cwnd = PRAGUE_CWND_MAX;
	s->frac_cwnd = frac_cwnd;
	s->credit = 0;
	s->prior_frac_cwnd = 0;
	s->alpha_at = now;
	s->cut_at = 0;
	s->average = c->alpha_on_init << (PRAGUE_ALPHA_BITS - 10 + PRAGUE_SHIFT_G);
	s->window_end = nxt;
	s->recover = 0;
	s->delivered = 0;
	s->delivered_ce = 0;
	s->ssthresh = PRAGUE_NO_THRESHOLD;
	s->prior_ssthresh = PRAGUE_NO_THRESHOLD;
	s->saw_ce = 0;
	s->in_loss = 0;
}

/* Folds the fraction of marks since the last update into the average. */
static __always_inline void prague_update_alpha(struct prague *s)
{
	u32 delivered = s->delivered ? s->delivered : 1;
	/* Marks on packets that arrived twice are reported, their delivery is not. */
	u32 marked = s->delivered_ce < delivered ? s->delivered_ce : delivered;
	u32 fraction = (u32)(((u64)marked << PRAGUE_ALPHA_BITS) / delivered);

	/* RFC 8257 §3.3 step 6, with the average in units of g. */
	s->average = s->average - (s->average >> PRAGUE_SHIFT_G) + fraction;
	if (s->average > PRAGUE_AVERAGE_MAX)
		s->average = PRAGUE_AVERAGE_MAX;
}

/* Ends the time of observation after a round trip, but not before a virtual RTT passed. */
static __always_inline void prague_observe(struct prague *s, const struct prague_config *c,
					   const struct prague_ack *a)
{
	s->delivered += a->delivered;
	s->delivered_ce += a->delivered_ce;
	if (!prague_reached(a->una, s->window_end) || a->now - s->alpha_at < c->rtt_virt_us)
		return;
	/* Before the first mark there is nothing to average: alpha keeps its first value. */
	if (s->saw_ce)
		prague_update_alpha(s);
	s->window_end = a->nxt;
	s->alpha_at = a->now;
	s->delivered = 0;
	s->delivered_ce = 0;
}

/* Answers marks, at most once per virtual RTT. */
static __always_inline void prague_answer(struct prague *s, const struct prague_config *c,
					  const struct prague_ack *a, int first)
{
	u64 rtt = a->srtt_us > c->rtt_virt_us ? a->srtt_us : c->rtt_virt_us;
	u64 reduction;

	if (first) {
		/* It ends slow start: half the window, whatever alpha is. */
		reduction = s->frac_cwnd / 2;
	} else {
		if (a->now - s->cut_at < rtt)
			return;
		/* RFC 8257 §3.3 step 9: cwnd (1 - alpha/2), rounded to the nearest. */
		reduction = (s->frac_cwnd * prague_alpha(s) + (1ull << PRAGUE_ALPHA_BITS)) >>
			    (PRAGUE_ALPHA_BITS + 1);
	}
	s->frac_cwnd = prague_at_least_min(s->frac_cwnd - reduction);
	s->ssthresh = (u32)(s->frac_cwnd >> PRAGUE_CWND_BITS);
	s->cut_at = a->now;
}

/*
 * One packet per round trip for unmarked packets, and less where the RTT is shorter than the
 * virtual one: the square of their ratio makes the rate grow as on a path of the virtual RTT
 * (RFC 9331 §4.3). The remainder of the division waits, so that no increase is too small.
 */
static __always_inline void prague_increase(struct prague *s, const struct prague_config *c,
					    u32 srtt_us, u32 unmarked)
{
	u64 rtt = srtt_us ? srtt_us : 1;
	u64 scale = 1ull << 32;
	u64 gained;

	if (rtt < c->rtt_virt_us)
		scale = (rtt * rtt << 32) / ((u64)c->rtt_virt_us * c->rtt_virt_us);
	/* 2^(20 + 32 + 8), and the credit of a window that was larger: 2^39 at most. */
	gained = s->credit + (unmarked * scale << 8);
	s->credit = gained % s->frac_cwnd;
	s->frac_cwnd += gained / s->frac_cwnd;
}

static __always_inline void prague_grow(struct prague *s, const struct prague_config *c,
					const struct prague_ack *a)
{
	u64 threshold = (u64)s->ssthresh << PRAGUE_CWND_BITS;
	u32 delivered = a->delivered, unmarked;

	if (delivered > PRAGUE_DELIVERED_MAX)
		delivered = PRAGUE_DELIVERED_MAX;
	if (!a->limited || delivered <= a->delivered_ce)
		return;
	unmarked = delivered - a->delivered_ce;
	if (s->frac_cwnd < threshold) {
		/* RFC 5681 §3.1: slow start, up to the threshold. */
		u64 room = threshold - s->frac_cwnd;
		u64 grown = (u64)unmarked << PRAGUE_CWND_BITS;

		if (grown > room)
			grown = room;
		s->frac_cwnd += grown;
		unmarked -= (u32)(grown >> PRAGUE_CWND_BITS);
	}
	/* After a loss the window first has to show that it fits. */
	if (unmarked && !s->in_loss)
		prague_increase(s, c, a->srtt_us, unmarked);
	if (s->frac_cwnd > PRAGUE_CWND_MAX)
		s->frac_cwnd = PRAGUE_CWND_MAX;
}

/* An acknowledgement, in whatever state the transport is. */
static __always_inline void prague_on_ack(struct prague *s, const struct prague_config *c,
					  const struct prague_ack *a)
{
	if (s->in_loss && prague_reached(a->una, s->recover))
		s->in_loss = 0;
	if (a->delivered_ce) {
		int first = !s->saw_ce;

		s->saw_ce = 1;
		prague_observe(s, c, a);
		prague_answer(s, c, a, first);
	} else {
		prague_observe(s, c, a);
	}
	prague_grow(s, c, a);
}

/*
 * A loss: half the window, once until all that was sent before it is acknowledged (RFC 9331
 * §4.3, RFC 5681 §3.2). After a timeout it starts again from the least window, and slow start
 * leads to the half (RFC 5681 §3.1).
 */
static __always_inline void prague_on_loss(struct prague *s, u32 nxt, int timeout)
{
	if (!s->in_loss) {
		s->prior_frac_cwnd = s->frac_cwnd;
		s->prior_ssthresh = s->ssthresh;
		s->frac_cwnd = prague_at_least_min(s->frac_cwnd / 2);
		s->ssthresh = (u32)(s->frac_cwnd >> PRAGUE_CWND_BITS);
		s->in_loss = 1;
		s->recover = nxt;
	}
	if (timeout) {
		s->frac_cwnd = PRAGUE_CWND_MIN;
		s->recover = nxt;
	}
}

/* The loss was none: packets were late. */
static __always_inline void prague_on_undo(struct prague *s)
{
	if (s->frac_cwnd < s->prior_frac_cwnd)
		s->frac_cwnd = s->prior_frac_cwnd;
	if (s->ssthresh < s->prior_ssthresh)
		s->ssthresh = s->prior_ssthresh;
	s->in_loss = 0;
}

/*
 * Sending starts again after a pause: half the window for each retransmission timeout of it,
 * but not less than a new connection has (RFC 5681 §4.1, RFC 7661 §4). Any unit of time.
 */
static __always_inline void prague_on_restart(struct prague *s, u32 idle, u32 rto)
{
	u64 least = (u64)PRAGUE_INITIAL_WINDOW << PRAGUE_CWND_BITS;
	u32 halvings = idle / (rto ? rto : 1);
	u32 three_quarters = (u32)((s->frac_cwnd - s->frac_cwnd / 4) >> PRAGUE_CWND_BITS);
	u64 reduced;

	if (!halvings)
		return;
	if (s->ssthresh < three_quarters)
		s->ssthresh = three_quarters;
	reduced = s->frac_cwnd >> (halvings < 32 ? halvings : 32);
	if (reduced < least)
		reduced = least;
	if (s->frac_cwnd > reduced)
		s->frac_cwnd = reduced;
}

/*
 * Bytes per second: the window per round trip, and twice that early in slow start. What is in
 * flight counts where it is more, so that a reduced window does not hold back retransmissions.
 */
static __always_inline u64 prague_pacing_rate(const struct prague *s, u32 in_flight, u32 mss,
					      u32 srtt_us)
{
	/* 1/16 packets are precise enough: 2^(20 + 4 + 16 + 20 + 1) fits. */
	u64 window = s->frac_cwnd >> (PRAGUE_CWND_BITS - 4);
	u64 rate;

	if (in_flight > PRAGUE_DELIVERED_MAX)
		in_flight = PRAGUE_DELIVERED_MAX;
	if (window < (u64)in_flight << 4)
		window = (u64)in_flight << 4;
	/* As Linux: a millisecond where nothing is known. */
	rate = window * (mss & 0xffff) * 1000000 / (srtt_us ? srtt_us : 1000);
	if (s->frac_cwnd >> PRAGUE_CWND_BITS < s->ssthresh / 2)
		rate *= 2;
	return rate >> 4;
}

#endif
