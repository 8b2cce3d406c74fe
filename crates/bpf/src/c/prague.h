/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic of TCP Prague: pure functions over one connection's state.
 *
 * Prague is DCTCP adapted to the Internet (RFC 9331 §4.3): the window has a fraction, growth
 * does not depend on the RTT where that is short, and a mark is answered at most once per
 * virtual RTT.
 *
 * The BPF program and the host share it: the includer provides u8, u16, u32, u64, s64 and
 * __always_inline. Tests on the host compare it with l4s_cc::prague, integer by integer. There is no
 * signed division, no loop and nothing wider than 64 bits, so that any kernel can run it.
 *
 * Time is in microseconds. Sequence numbers may be bytes or segments; they wrap at 32 bits.
 */
#ifndef L4S_PRAGUE_H
#define L4S_PRAGUE_H

#include "classic_ecn.h"
#include "tracing.h"

/* The window is in packets with this many bits of fraction. */
#define PRAGUE_CWND_BITS 20
/* Feedback of one round trip needs two packets in flight. */
#define PRAGUE_CWND_MIN (2ull << PRAGUE_CWND_BITS)
/* Limits the window so that its product with alpha fits in 63 bits: 2^(19 + 20 + 24). */
#define PRAGUE_CWND_MAX (1ull << (19 + PRAGUE_CWND_BITS))
/* alpha is a fraction of 2^24. */
#define PRAGUE_ALPHA_BITS 24
/* RFC 8257 §3.3: g = 1/16. The average has as many bits more, so that rounding never stops it. */
#define PRAGUE_SHIFT_G 4
#define PRAGUE_AVERAGE_MAX (1u << (PRAGUE_ALPHA_BITS + PRAGUE_SHIFT_G))
/* No slow-start threshold yet, as in Linux' control block. */
#define PRAGUE_NO_THRESHOLD 0xffffffffu
/* More than one acknowledgement can deliver. It keeps the increase within 61 bits. */
#define PRAGUE_DELIVERED_MAX ((1u << 20) - 1)
/* RFC 6928. */
#define PRAGUE_INITIAL_WINDOW 10

/* How the growth depends on the RTT. */
#define PRAGUE_RTT_OFF 0
#define PRAGUE_RTT_RATE 1
#define PRAGUE_RTT_SCALABLE 2
#define PRAGUE_RTT_ADDITIVE 3
/* The scalable mode: the growth is a packet per round trip at about R0 + R1. */
#define PRAGUE_SCALABLE_R0 (1u << 14)
#define PRAGUE_SCALABLE_R1 1536u
/* The scalable and the additive mode do not change longer paths. */
#define PRAGUE_LONG_RTT 100000u
/* One packet per window, in the scale of growth. */
#define PRAGUE_ONE (1ull << 32)
/* Shorter paths get the rate of this RTT. Less than 2^16, so that its square fits in 32 bits. */
#define PRAGUE_RTT_VIRT 25000u
/* Rounds without a mark before there may be spare capacity. */
#define PRAGUE_QUIET_ROUNDS 8

/* The settings of a connection, made by l4s_cc::prague::kernel. Words of 64 bits, none of them
 * negative, so that they can be written to a file of the kernel as a row of numbers. */
struct prague_config {
	/* PRAGUE_RTT_OFF and so on. */
	u64 rtt_independence;
	/* Rounds after slow start before the rate is independent of the RTT. */
	u64 rtt_transition;
	/* Whether marks are averaged per virtual RTT. */
	u64 alpha_per_virtual;
	/* alpha before the first mark, in 1/1024. */
	u64 alpha_on_init;
	/* Whether it grows faster after some time without marks. */
	u64 fast;
	/* Whether slow start continues until marks are as frequent as in the steady state. */
	u64 gentle;
	/* Whether it looks for a Classic queue and falls back in one (Fallback). */
	u64 detects;
	/* alpha in a Classic queue, in 2^-24 (Fallback §6.1). Without a detector it and all fields below
	 * are 0. */
	u64 alpha_classic;
	/* Whether it grows like Reno there. */
	u64 classic_reno;
	struct classic_ecn_config detector;
};

/* The settings of l4s_cc::prague::Config::linux(); a test compares them with it. */
#define PRAGUE_STOCK { .rtt_independence = PRAGUE_RTT_RATE, .alpha_per_virtual = 1 }

struct prague {
	/* The window in 2^-20 packets. */
	u64 frac_cwnd;
	/* The remainder of the last increase, in 2^-40 packets times the window. */
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
	/* Rounds until the rate is independent of the RTT. */
	u32 transition;
	/* Rounds of observation since the last mark. */
	u16 quiet;
	/* Rounds of fast growth since then. */
	u16 looking;
	/* Whether the connection ever saw a mark. */
	u8 saw_ce;
	/* Whether it recovers from a loss. */
	u8 in_loss;
	/* Whether there was a loss since the last mark. The bottleneck may then be one that does not
	 * mark. */
	u8 after_loss;
	/* PRAGUE_RTT_OFF and so on: the configured value, unless there is no ECN. */
	u8 independence;
};

/* The information of one acknowledgement. */
struct prague_ack {
	/* Its arrival time. */
	u64 now;
	/* Smoothed RTT; 0 for not known. */
	u32 srtt_us;
	/* The RTT of the newest acknowledged packet, or CLASSIC_ECN_NO_RTT; and the lowest RTT. */
	u32 rtt_us;
	u32 min_rtt_us;
	/* Packets newly delivered. */
	u32 delivered;
	/* Packets newly reported to have met congestion. */
	u32 delivered_ce;
	/* The first sequence number not yet acknowledged, and the next to be sent. */
	u32 una;
	u32 nxt;
	/* Packets acknowledged since the connection began; any number that is large will do. */
	u32 acked;
	/* Whether the window limited the sender. */
	u32 limited;
	/* Whether the sender had nothing to send. */
	u32 app_limited;
};

/* The state that does not fit in a kernel's control block of a connection, and that user space reads. */
struct prague_shown {
	struct classic_ecn detector;
	/* Moving average of the fraction of marks, as in struct prague. */
	u32 average;
	/* Packets acknowledged, counted while there are few. */
	u32 acked;
	/* The sets of tracers in flight. */
	struct tracing tracing;
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

/* The sender's estimate of the fraction of marks, in 2^-24. */
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
	s->average = (u32)c->alpha_on_init << (PRAGUE_ALPHA_BITS - 10 + PRAGUE_SHIFT_G);
	s->window_end = nxt;
	s->recover = 0;
	s->delivered = 0;
	s->delivered_ce = 0;
	s->ssthresh = PRAGUE_NO_THRESHOLD;
	s->prior_ssthresh = PRAGUE_NO_THRESHOLD;
	s->transition = (u32)c->rtt_transition;
	s->quiet = 0;
	s->looking = 0;
	s->saw_ce = 0;
	s->in_loss = 0;
	s->after_loss = 0;
	s->independence = (u8)c->rtt_independence;
}

/* The least time between two answers to marks for a flow of this RTT: the RTT whose rate it gets. 0 if that
 * is its own RTT. */
static __always_inline u64 prague_rtt_virt(const struct prague *s, u32 srtt_us)
{
	if (s->independence == PRAGUE_RTT_OFF)
		return 0;
	return PRAGUE_RTT_VIRT + (s->independence == PRAGUE_RTT_ADDITIVE ? srtt_us : 0);
}

/* Whether no event has set a threshold yet. Unless the exit is gentle, the first mark sets it. */
static __always_inline int prague_in_first_slow_start(const struct prague *s,
						      const struct prague_config *c)
{
	return c->gentle && s->ssthresh == PRAGUE_NO_THRESHOLD;
}

/* Whether the RTT rose enough to show a growing queue, as in HyStart (RFC 9406 §4.2): by an eighth, at least
 * 4 ms and at most 16 ms. */
static __always_inline int prague_rose(const struct prague_ack *a)
{
	u32 rise = a->min_rtt_us / 8;

	if (rise < 4000)
		rise = 4000;
	if (rise > 16000)
		rise = 16000;
	return a->rtt_us != CLASSIC_ECN_NO_RTT && a->rtt_us > (u64)a->min_rtt_us + rise;
}

/* Slow start ends at the present window. */
static __always_inline void prague_set_threshold(struct prague *s, const struct prague_config *c,
						 struct classic_ecn *d)
{
	s->ssthresh = (u32)(s->frac_cwnd >> PRAGUE_CWND_BITS);
	if (d)
		classic_ecn_on_threshold(d, &c->detector, s->ssthresh);
}

/* Slow start ends at this window instead, if it is larger. */
static __always_inline void prague_raise_threshold(struct prague *s, const struct prague_config *c,
						   struct classic_ecn *d, u32 ssthresh)
{
	if (s->ssthresh < ssthresh)
		s->ssthresh = ssthresh;
	if (d)
		classic_ecn_on_threshold(d, &c->detector, s->ssthresh);
}

/* The degree of Classic behaviour, in 2^-24. */
static __always_inline u32 prague_classic(const struct classic_ecn *d)
{
	return d ? classic_ecn_classic(d) : 0;
}

/* Folds the fraction of marks since the last update into the average. */
static __always_inline void prague_update_alpha(struct prague *s)
{
	u32 delivered = s->delivered ? s->delivered : 1;
	/* Marks on packets that arrived twice are reported, but their delivery is not. */
	u32 marked = s->delivered_ce < delivered ? s->delivered_ce : delivered;
	u32 fraction = (u32)(((u64)marked << PRAGUE_ALPHA_BITS) / delivered);

	/* RFC 8257 §3.3 step 6, with the average in units of g. */
	s->average = s->average - (s->average >> PRAGUE_SHIFT_G) + fraction;
	if (s->average > PRAGUE_AVERAGE_MAX)
		s->average = PRAGUE_AVERAGE_MAX;
}

/* RFC 8257 §3.3 step 9: cwnd·alpha/2, rounded to the nearest, of 2^(39 + 24) and a half. */
static __always_inline u64 prague_reduction(const struct prague *s, u64 alpha)
{
	return (s->frac_cwnd * alpha + (1ull << PRAGUE_ALPHA_BITS)) >> (PRAGUE_ALPHA_BITS + 1);
}

static __always_inline void prague_reduce(struct prague *s, const struct prague_config *c,
					  struct classic_ecn *d, u64 reduction, u64 now)
{
	s->frac_cwnd = prague_at_least_min(s->frac_cwnd - reduction);
	s->cut_at = now;
	prague_set_threshold(s, c, d);
}

/*
 * A round trip of slow start with marks is over. In its steady state a scalable control gets two marks
 * per round trip at any window (DCttH §2.1). Fewer marks occur by chance, in a queue that is shared.
 */
static __always_inline void prague_leave_slow_start(struct prague *s,
						    const struct prague_config *c,
						    struct classic_ecn *d, u64 now)
{
	u32 delivered = s->delivered ? s->delivered : 1;
	u32 marked = s->delivered_ce < delivered ? s->delivered_ce : delivered;
	u64 alpha = ((u64)marked << PRAGUE_ALPHA_BITS) / delivered;

	if (s->delivered_ce < 2)
		return;
	/* The answer is to the marks of this round trip; the average takes them as any others. */
	prague_update_alpha(s);
	prague_reduce(s, c, d, prague_reduction(s, alpha), now);
}

/*
 * Counts a round. There is spare capacity after more rounds without a mark than a scalable flow has that is
 * alone in its queue (DCTCP §3.3: √(W/2) rounds).
 */
static __always_inline void prague_end_round(struct prague *s)
{
	u64 beyond;

	if (s->delivered_ce) {
		s->quiet = 0;
		s->looking = 0;
		return;
	}
	if (s->quiet < 0xffff)
		s->quiet++;
	beyond = s->quiet > PRAGUE_QUIET_ROUNDS ? s->quiet - PRAGUE_QUIET_ROUNDS : 0;
	if (!s->looking && beyond * beyond <= s->frac_cwnd >> PRAGUE_CWND_BITS)
		return;
	if (s->looking < 0xffff)
		s->looking++;
}

/* Ends the time of observation after a round trip, but not before a virtual RTT passed. */
static __always_inline void prague_observe(struct prague *s, const struct prague_config *c,
					   struct classic_ecn *d, const struct prague_ack *a)
{
	int first = prague_in_first_slow_start(s, c);
	u64 least = c->alpha_per_virtual && !first ? prague_rtt_virt(s, a->srtt_us) : 0;

	s->delivered += a->delivered;
	s->delivered_ce += a->delivered_ce;
	if (!prague_reached(a->una, s->window_end) || a->now - s->alpha_at < least)
		return;
	/* Before the first mark there is nothing to average: alpha keeps its first value. */
	if (s->saw_ce && first)
		prague_leave_slow_start(s, c, d, a->now);
	else if (s->saw_ce)
		prague_update_alpha(s);
	if (s->transition && s->frac_cwnd >> PRAGUE_CWND_BITS >= s->ssthresh)
		s->transition--;
	prague_end_round(s);
	s->window_end = a->nxt;
	s->alpha_at = a->now;
	s->delivered = 0;
	s->delivered_ce = 0;
}

/* The fraction of marks to answer, in 2^-24: between a scalable and a Classic control's (Fallback
 * §6.1). */
static __always_inline u64 prague_alpha_now(const struct prague *s, const struct prague_config *c,
					    const struct classic_ecn *d)
{
	/* 24 bits each, and one more for the value 1: their products have 50. */
	u64 alpha = prague_alpha(s), classic = prague_classic(d);

	/* Alternative 2: the larger of both. */
	classic = (classic * c->alpha_classic) >> PRAGUE_ALPHA_BITS;
	return alpha > classic ? alpha : classic;
}

/* Answers marks, at most once per virtual RTT. */
static __always_inline void prague_answer(struct prague *s, const struct prague_config *c,
					  struct classic_ecn *d, const struct prague_ack *a,
					  int first)
{
	int slow_start = prague_in_first_slow_start(s, c);
	u64 rtt = prague_rtt_virt(s, a->srtt_us), reduction;

	if (slow_start && !prague_rose(a))
		return;
	if (rtt < a->srtt_us)
		rtt = a->srtt_us;
	/* The first mark, or one in slow start, ends slow start: half the window, for any alpha. */
	if (first || slow_start)
		reduction = s->frac_cwnd / 2;
	else if (a->now - s->cut_at >= rtt)
		reduction = prague_reduction(s, prague_alpha_now(s, c, d));
	else
		return;
	prague_reduce(s, c, d, reduction, a->now);
}

/*
 * The growth of the window for an unmarked packet, in 2^-32 packets per window: one packet, and less
 * where the RTT is shorter than the virtual one. With the square of their ratio the rate grows as on a
 * path of the virtual RTT (RFC 9331 §4.3). 2^35 at most, in the scalable mode.
 */
static __always_inline u64 prague_scale(const struct prague *s, u32 srtt_us)
{
	u64 rtt = srtt_us ? srtt_us : 1, virt = PRAGUE_RTT_VIRT, above;

	if (s->transition || s->independence == PRAGUE_RTT_OFF)
		return PRAGUE_ONE;
	if (s->independence == PRAGUE_RTT_RATE)
		/* 2^(32 + 32). */
		return rtt < virt ? (rtt * rtt << 32) / (virt * virt) : PRAGUE_ONE;
	if (rtt > PRAGUE_LONG_RTT)
		return PRAGUE_ONE;
	if (s->independence == PRAGUE_RTT_SCALABLE) {
		/* rtt/R0 · (1/8 + min(max(rtt − R1, 0), R0)/R0) */
		above = rtt > PRAGUE_SCALABLE_R1 ? rtt - PRAGUE_SCALABLE_R1 : 0;
		if (above > PRAGUE_SCALABLE_R0)
			above = PRAGUE_SCALABLE_R0;
		return (rtt * (PRAGUE_SCALABLE_R0 / 8 + above)) << 4;
	}
	/* The square has 34 bits. */
	return ((rtt * rtt << 28) / ((virt + rtt) * (virt + rtt))) << 4;
}

/* Growth outside of slow start. The remainder of the division is kept, so that no increase is too
 * small. */
static __always_inline void prague_increase(struct prague *s, const struct prague_config *c,
					    const struct classic_ecn *d, u32 srtt_us, u32 unmarked)
{
	u64 scale = prague_scale(s, srtt_us), gained;
	u32 classic = prague_classic(d);

	/* Interpolates from there to 1 by the degree of Classic behaviour: 35 bits and a sign, times 25. */
	if (c->classic_reno && classic)
		scale += (u64)((((s64)PRAGUE_ONE - (s64)scale) * classic) >> PRAGUE_ALPHA_BITS);
	/* 2^(20 + 35 + 8), and the credit of a window that was larger: 2^39 at most. */
	gained = s->credit + (unmarked * scale << 8);
	s->credit = gained % s->frac_cwnd;
	s->frac_cwnd += gained / s->frac_cwnd;
	if (c->fast && !s->after_loss && !classic && s->looking) {
		/* A millisecond's worth of packets per round trip, or per virtual one. It doubles after each
		 * round trip that remains unmarked, up to an eighth of the window. */
		u64 rtt = srtt_us > PRAGUE_RTT_VIRT ? srtt_us : PRAGUE_RTT_VIRT;
		u64 most = rtt / 8 > 1000 ? rtt / 8 : 1000, step = most;

		if (s->looking <= 16 && 1000ull << (s->looking - 1) < most)
			step = 1000ull << (s->looking - 1);
		s->frac_cwnd += unmarked * ((step << PRAGUE_CWND_BITS) / rtt);
	}
}

static __always_inline void prague_grow(struct prague *s, const struct prague_config *c,
					const struct classic_ecn *d, const struct prague_ack *a)
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
	/* After a loss, no growth until the reduced window was acknowledged. */
	if (unmarked && !s->in_loss)
		prague_increase(s, c, d, a->srtt_us, unmarked);
	if (s->frac_cwnd > PRAGUE_CWND_MAX)
		s->frac_cwnd = PRAGUE_CWND_MAX;
}

/* Passes an acknowledgement to the detector. */
static __always_inline void prague_detect(const struct prague *s, const struct prague_config *c,
					  struct classic_ecn *d, const struct prague_ack *a)
{
	struct classic_ecn_sample sample = {
		.now_us = a->now,
		.rtt_virt_us = prague_rtt_virt(s, a->srtt_us),
		.rtt_us = a->rtt_us,
		.min_rtt_us = a->min_rtt_us,
		.delivered = a->delivered,
		.delivered_ce = a->delivered_ce,
		.una = a->una,
		.nxt = a->nxt,
		.acked = a->acked,
		.self_limited = a->app_limited,
	};

	classic_ecn_on_ack(d, &c->detector, &sample);
}

/* An acknowledgement, in any state of the transport. d is the connection's detector, or null if there is
 * none. */
static __always_inline void prague_on_ack(struct prague *s, const struct prague_config *c,
					  struct classic_ecn *d, const struct prague_ack *a)
{
	int first = a->delivered_ce && !s->saw_ce;

	if (s->in_loss && prague_reached(a->una, s->recover))
		s->in_loss = 0;
	if (d)
		prague_detect(s, c, d, a);
	if (a->delivered_ce) {
		s->saw_ce = 1;
		s->after_loss = 0;
		s->quiet = 0;
		s->looking = 0;
	}
	prague_observe(s, c, d, a);
	if (a->delivered_ce)
		prague_answer(s, c, d, a, first);
	if (prague_in_first_slow_start(s, c) && prague_rose(a))
		prague_set_threshold(s, c, d);
	prague_grow(s, c, d, a);
}

/*
 * A loss: half the window, once until all data that was sent before is acknowledged (RFC 9331
 * §4.3, RFC 5681 §3.2). After a timeout it starts again from the minimum window, and slow start
 * leads to the half (RFC 5681 §3.1).
 */
static __always_inline void prague_on_loss(struct prague *s, const struct prague_config *c,
					   struct classic_ecn *d, u32 nxt, int timeout)
{
	if (!s->in_loss) {
		s->prior_frac_cwnd = s->frac_cwnd;
		s->prior_ssthresh = s->ssthresh;
		s->frac_cwnd = prague_at_least_min(s->frac_cwnd / 2);
		s->in_loss = 1;
		s->after_loss = 1;
		s->quiet = 0;
		s->looking = 0;
		s->recover = nxt;
		prague_set_threshold(s, c, d);
		if (d)
			classic_ecn_on_loss(d);
	}
	if (timeout) {
		s->frac_cwnd = PRAGUE_CWND_MIN;
		s->recover = nxt;
	}
}

/* The loss was spurious: packets were late. */
static __always_inline void prague_on_undo(struct prague *s, const struct prague_config *c,
					   struct classic_ecn *d)
{
	if (s->frac_cwnd < s->prior_frac_cwnd)
		s->frac_cwnd = s->prior_frac_cwnd;
	s->in_loss = 0;
	prague_raise_threshold(s, c, d, s->prior_ssthresh);
}

/*
 * Sending starts again after a pause: half the window for each retransmission timeout of the pause, but
 * not less than the window of a new connection (RFC 5681 §4.1, RFC 7661 §4). Times have any unit.
 */
static __always_inline void prague_on_restart(struct prague *s, const struct prague_config *c,
					      struct classic_ecn *d, u32 idle, u32 rto)
{
	u64 least = (u64)PRAGUE_INITIAL_WINDOW << PRAGUE_CWND_BITS;
	u32 halvings = idle / (rto ? rto : 1);
	u32 three_quarters = (u32)((s->frac_cwnd - s->frac_cwnd / 4) >> PRAGUE_CWND_BITS);
	u64 reduced;

	if (!halvings)
		return;
	prague_raise_threshold(s, c, d, three_quarters);
	reduced = s->frac_cwnd >> (halvings < 32 ? halvings : 32);
	if (reduced < least)
		reduced = least;
	if (s->frac_cwnd > reduced)
		s->frac_cwnd = reduced;
	if (d)
		classic_ecn_on_idle(d, halvings);
}

/*
 * Bytes per second: the window per round trip, and twice that early in slow start. If more than the
 * window is in flight, that counts instead, so that a reduced window does not delay retransmissions.
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
	/* As in Linux: a millisecond if the RTT is not known. */
	rate = window * (mss & 0xffff) * 1000000 / (srtt_us ? srtt_us : 1000);
	if (s->frac_cwnd >> PRAGUE_CWND_BITS < s->ssthresh / 2)
		rate *= 2;
	return rate >> 4;
}

/* The state that user space can read. */
struct prague_report {
	struct classic_ecn_report detector;
	/* Sets of tracers: sent, and those of them that were overtaken, or came in order. */
	u32 sets, overtaken, in_order;
	u32 zero;
};

static __always_inline void prague_report(const struct prague_shown *shown,
					  struct prague_report *r)
{
	classic_ecn_report(&shown->detector, &r->detector);
	r->detector.alpha = shown->average >> PRAGUE_SHIFT_G;
	r->sets = shown->tracing.sent;
	r->overtaken = shown->tracing.overtaken;
	r->in_order = shown->tracing.in_order;
	r->zero = 0;
}

#endif
