/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic of the detector of Classic ECN ("TCP Prague Fall-back on Detection of a Classic
 * ECN AQM", called Fallback here): pure functions over one connection's state.
 *
 * The BPF program, the kernel of `--on linux` and the host share it: the includer provides u8,
 * u32, u64, s64 and __always_inline. Tests on the host compare it with l4s_cc::classic_ecn, integer
 * by integer, so change both together. There is no signed division, no loop, no floating point and
 * nothing wider than 64 bits. Signed numbers are shifted to the right arithmetically, as every
 * compiler of a kernel does it; none is shifted to the left.
 *
 * Time is in microseconds. Sequence numbers may be bytes or segments; they wrap at 32 bits.
 */
#ifndef L4S_CLASSIC_ECN_H
#define L4S_CLASSIC_ECN_H

/* The bits of fraction of the score. Every number in this scale comes with the settings. */
#define CLASSIC_ECN_BITS 24
/* The score 1: at it and above the queue is Classic (Fallback §3). */
#define CLASSIC_ECN_ONE (1ll << CLASSIC_ECN_BITS)
/* Weights are in 2^-8, and so are shares of a round trip. */
#define CLASSIC_ECN_WEIGHT_BITS 8
#define CLASSIC_ECN_SHARE_BITS 8
#define CLASSIC_ECN_UNIT (1 << (CLASSIC_ECN_BITS - CLASSIC_ECN_WEIGHT_BITS - CLASSIC_ECN_SHARE_BITS))
/* Larger RTTs count as this one: 24 bits (Fallback §B.1). */
#define CLASSIC_ECN_RTT_MAX ((1u << 24) - 1)
/* No RTT was measured. */
#define CLASSIC_ECN_NO_RTT 0xffffffffu
/* The factor that a logarithm carries on is in 2^-15: below 2^16. With an argument of 48 bits,
 * the product of two RTTs (Fallback §B.3), that is 64. */
#define CLASSIC_ECN_CARRY_BITS 15
#define CLASSIC_ECN_CARRY_START (3u << (CLASSIC_ECN_CARRY_BITS - 1))
#define CLASSIC_ECN_ARGUMENT_MAX ((u64)CLASSIC_ECN_RTT_MAX * CLASSIC_ECN_RTT_MAX)
/* Losses without a mark in between after which the bottleneck counts as one that does not mark. */
#define CLASSIC_ECN_NON_ECN_LOSSES 2
/* Round trips without a mark after which it counts as one that does not mark. */
#define CLASSIC_ECN_STALE_ROUNDS 50
/* The best rules: the weight of packets that came unmarked from a deep queue, in 2^-8. */
#define CLASSIC_ECN_UNMARKED_WEIGHT (2 << CLASSIC_ECN_WEIGHT_BITS)
/* The best rules: the part of V0, in 2^-8, below which a mean deviation counts as that part. */
#define CLASSIC_ECN_V_FLOOR (1u << (CLASSIC_ECN_SHARE_BITS - 1))
/* The best rules: the score only rises after this many rounds without a mark. */
#define CLASSIC_ECN_HOLD_ROUNDS 8
/* K2 in 1/16 (Fallback appendix C). */
#define CLASSIC_ECN_K2 32
/* A queue is deep if it delays packets by more than the time of this many packets and by more than
 * DEEP_MIN. */
#define CLASSIC_ECN_DEEP_PACKETS 3
#define CLASSIC_ECN_DEEP_MIN 2400u
/* The target delay of a Classic queue. Every L4S queue marks a packet with a larger delay. */
#define CLASSIC_ECN_CLASSIC_TARGET 15000u
/* The number of packets at the end of an L4S queue that its step does not mark. */
#define CLASSIC_ECN_FLOOR_PACKETS 2
/* The step of an L4S queue. D0 is at least the time of two packets and this. */
#define CLASSIC_ECN_STEP 1000
/* The variation of the RTT without a queue. V0 is at least the time of two packets and this. */
#define CLASSIC_ECN_JITTER 300
/* A receiver acknowledges at least this many segments at the start without delay. */
#define CLASSIC_ECN_QUICKACK_SEGMENTS 10
/* The token bucket of a shaper sends this many segments at the start back to back. */
#define CLASSIC_ECN_BURST_SEGMENTS 2
/* The evidence of unmarked round trips before a mark is averaged over about 2^4 round trips. */
#define CLASSIC_ECN_PENDING_SHIFT 4
/* A delayed acknowledgement is delayed by more than this. */
#define CLASSIC_ECN_DELAYED_ACK_MIN 20000u
/* A packet of 1514 B at 4 Mb/s. V0 and D0 follow no longer spacing. */
#define CLASSIC_ECN_SPACING_MAX 3028u
#define CLASSIC_ECN_NO_SPACING 0xffffffffu

/* The settings, made by l4s_cc::prague::kernel. Words of 64 bits, none of them negative, so that
 * they can be written to a file of the kernel as a row of numbers. */
struct classic_ecn_config {
	/* V, D and S in 2^-8: 16 at most. */
	u64 v, d, s;
	/* V0 and D0. */
	u64 v0_us, d0_us;
	/* lg(V0) and lg(D0) in 2^-24, known in advance to the last bit (Fallback §B.2). */
	u64 lg_v0, lg_d0;
	/* L_STICKY and C_STICKY in 2^-24: 1000 at most, so 34 bits. */
	u64 l_sticky, c_sticky;
	/* Whether a round lasts at least a virtual RTT. */
	u64 per_virtual;
	/* The RTT is smoothed over 2^shift_max acknowledgements at most (20). */
	u64 shift_max;
	/* Whether re-routes are kept out of the averages (Fallback appendix C). */
	u64 filters;
	/* Whether the rules are the best ones; otherwise they are the paper's. */
	u64 best;
	/* Whether tracers are sent. */
	u64 traces;
};

/* It reads the settings, and is part of the state. */
#include "tracers.h"

/* An average and the mean deviation from it (Fallback §4.3, §B.1). */
struct classic_ecn_smooth {
	/* fbk_srtt · 2^shift: 24 + 20 bits. */
	u64 srtt;
	/* fbk_mdev · 2^(shift + ratio): 24 + 21 bits. */
	u64 mdev;
	u32 shift;
	u32 ratio;
};

/* The treatment of outliers (Fallback appendix C). */
#define CLASSIC_ECN_NO_ALTERNATIVE 0
#define CLASSIC_ECN_BELOW 1
#define CLASSIC_ECN_ABOVE 2

struct classic_ecn {
	/* classic_ecn, and its maximum so far, in 2^-24. */
	s64 score, max;
	/* The evidence of the round trips since the last mark, while the score is at its floor. */
	s64 pending_evidence;
	/* The start of this round trip. */
	u64 began_us;
	/* The arrival times of the last immediate acknowledgement and of the last one. */
	u64 immediate_ack_us, last_ack_us;
	struct classic_ecn_smooth original, alternative;
	/* Rounds with a score above the floor, since the bottleneck last counted as one that does not
	 * mark. */
	u32 rounds;
	/* The gain of the averages is 2^-shift. */
	u32 shift;
	u32 depth;
	/* The carried factors of the logarithms, in 2^-15: of the deviation, of the depth or the product
	 * of both, and of V0 and D0 where they follow the spacing. */
	u32 log_mdev, log_depth, log_v0, log_d0;
	/* This round: it ends when `end` is acknowledged. */
	u32 end;
	u32 acks, limited_acks;
	u32 delivered, marked, deep_unmarked, unmarked_above_target;
	/* The least time between the deliveries of two packets. */
	u32 least;
	/* Losses, and rounds, since the last mark. */
	u32 losses;
	u32 unmarked_rounds;
	/* Whether there are averages. */
	u8 has_rtt;
	/* The side of the outlier that the second pair of averages started from, if there is one, and
	 * whether a second sample came. */
	u8 side;
	u8 confirmed;
	/* Whether immediate_ack_us is valid. */
	u8 has_immediate_ack;
	/* Whether a loss was detected in this round. */
	u8 lost;
	/* The tests by tracers, if they are on. */
	struct tracers tracers;
};

/* One acknowledgement. */
struct classic_ecn_sample {
	u64 now_us;
	/* The virtual RTT, for per_virtual. */
	u64 rtt_virt_us;
	/* The RTT of the newest acknowledged segment (Fallback §4.3), or CLASSIC_ECN_NO_RTT. */
	u32 rtt_us;
	u32 min_rtt_us;
	/* Segments newly delivered, and those of them that were marked. */
	u32 delivered;
	u32 delivered_ce;
	/* The first sequence number not yet acknowledged, and the next to be sent. */
	u32 una;
	u32 nxt;
	/* Segments acknowledged since the connection began; any large number is the same. */
	u32 acked;
	/* Whether the sender had nothing to send (Fallback §4.1.2). */
	u32 self_limited;
};

/*
 * The position of the highest bit; 0 for 0. It has no branch, and no comparison that a compiler turns
 * into one. The verifier of BPF follows both sides of each branch, and all combinations for many
 * logarithms in a row.
 */
static __always_inline u32 classic_ecn_ilog2(u64 x)
{
	/* Sets every bit below the highest. */
	x |= 1;
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	/* Counts the bits: in pairs, in fours, in eights, and the sum in the highest eight. */
	x -= (x >> 1) & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (u32)((x * 0x0101010101010101ull) >> 56) - 1;
}

/*
 * The logarithm of `argument`. The rounding errors of successive results add up to zero (Fallback §B.2):
 * the factor that a result omits multiplies the next argument.
 */
static __always_inline u32 classic_ecn_lg(u32 *carry, u64 argument)
{
	u64 scaled, rest;
	u32 log;

	if (argument < 1)
		argument = 1;
	if (argument > CLASSIC_ECN_ARGUMENT_MAX)
		argument = CLASSIC_ECN_ARGUMENT_MAX;
	/* 48 + 16 bits. The factor is at least 1, and so is the value that is shifted down to it below. */
	scaled = argument * *carry;
	log = (classic_ecn_ilog2(scaled) - CLASSIC_ECN_CARRY_BITS) & 63;
	/* Rounded to the nearest. The product is below 2^64 − 2^48, and the half 2^47 at most. */
	rest = (scaled + ((1ull << log) >> 1)) >> log;
	*carry = rest < (2u << CLASSIC_ECN_CARRY_BITS) ? (u32)rest :
							 (2u << CLASSIC_ECN_CARRY_BITS) - 1;
	return log;
}

/* The shift of the gain for this threshold: g = 2 · ssthresh^1.5, in powers of two (§4.3, §B.1). */
static __always_inline u32 classic_ecn_shift_of(u32 ssthresh, u32 most)
{
	u32 log = classic_ecn_ilog2(ssthresh);
	u32 shift = log + log / 2 + 1;

	return shift < most ? shift : most;
}

static __always_inline u32 classic_ecn_srtt_of(const struct classic_ecn_smooth *a)
{
	return (u32)(a->srtt >> (a->shift & 31));
}

static __always_inline u32 classic_ecn_mdev_of(const struct classic_ecn_smooth *a)
{
	return (u32)(a->mdev >> ((a->shift + a->ratio) & 31));
}

static __always_inline void classic_ecn_smooth(struct classic_ecn_smooth *a, u32 rtt)
{
	u32 srtt = classic_ecn_srtt_of(a), mdev = classic_ecn_mdev_of(a);
	u32 error = rtt > srtt ? rtt - srtt : srtt - rtt;

	/* The average stays between its inputs: it is g times a mean of them. */
	a->srtt = a->srtt + rtt - srtt;
	a->mdev = a->mdev + error - mdev;
}

static __always_inline void classic_ecn_set_shift(struct classic_ecn_smooth *a, u32 shift)
{
	if (shift >= a->shift) {
		a->srtt <<= (shift - a->shift) & 31;
		a->mdev <<= (shift - a->shift) & 31;
	} else {
		a->srtt >>= (a->shift - shift) & 31;
		a->mdev >>= (a->shift - shift) & 31;
	}
	a->shift = shift;
}

/* A new connection, at rest, whose first sequence number is una. */
static __always_inline void classic_ecn_start(struct classic_ecn *s,
					      const struct classic_ecn_config *c, u32 una)
{
	s->score = s->max = -(s64)c->l_sticky;
	s->pending_evidence = 0;
	s->began_us = 0;
	s->immediate_ack_us = s->last_ack_us = 0;
	s->original.srtt = s->original.mdev = 0;
	s->original.shift = s->original.ratio = 0;
	s->alternative = s->original;
	s->rounds = 0;
	s->shift = (u32)c->shift_max;
	s->depth = 0;
	s->log_mdev = s->log_depth = s->log_v0 = s->log_d0 = CLASSIC_ECN_CARRY_START;
	s->end = una;
	s->acks = s->limited_acks = 0;
	s->delivered = s->marked = s->deep_unmarked = s->unmarked_above_target = 0;
	s->lost = 0;
	s->least = CLASSIC_ECN_NO_SPACING;
	s->losses = s->unmarked_rounds = 0;
	s->has_rtt = s->has_immediate_ack = 0;
	s->side = CLASSIC_ECN_NO_ALTERNATIVE;
	s->confirmed = 0;
	tracers_start(&s->tracers);
}

/* The degree of Classic behaviour of the flow, from 0 to 1 in 2^-24 (Fallback §3). */
static __always_inline u32 classic_ecn_classic(const struct classic_ecn *s)
{
	if (s->score <= 0)
		return 0;
	return s->score < CLASSIC_ECN_ONE ? (u32)s->score : (u32)CLASSIC_ECN_ONE;
}

/* Whether the second averages have a second sample and deviate less. */
static __always_inline int classic_ecn_uses_alternative(const struct classic_ecn *s)
{
	return s->side && s->confirmed && s->alternative.mdev < s->original.mdev;
}

static __always_inline u32 classic_ecn_srtt(const struct classic_ecn *s)
{
	return classic_ecn_srtt_of(classic_ecn_uses_alternative(s) ? &s->alternative :
								     &s->original);
}

static __always_inline u32 classic_ecn_mdev(const struct classic_ecn *s)
{
	return classic_ecn_mdev_of(classic_ecn_uses_alternative(s) ? &s->alternative :
								     &s->original);
}

/* The bottleneck's time per packet; 0 if it is not known. */
static __always_inline u32 classic_ecn_spacing(const struct classic_ecn *s)
{
	if (s->least == CLASSIC_ECN_NO_SPACING)
		return 0;
	return s->least < CLASSIC_ECN_SPACING_MAX ? s->least : CLASSIC_ECN_SPACING_MAX;
}

/* Whether tracers found a single queue. The packets that the step of an L4S queue does not mark are
 * then no excuse. */
static __always_inline int classic_ecn_is_single_queue(const struct classic_ecn *s,
						       const struct classic_ecn_config *c)
{
	return c->traces && tracers_is_single_queue(&s->tracers);
}

/* Whether tracers found a dual queue. Its RTT is then no evidence. */
static __always_inline int classic_ecn_is_dual_queue(const struct classic_ecn *s,
						     const struct classic_ecn_config *c)
{
	return c->traces && tracers_is_dual_queue(&s->tracers);
}

/* The spacing that V0 and D0 follow; 0 if it is not known, and with the paper's rules. */
static __always_inline u32 classic_ecn_reference_spacing(const struct classic_ecn *s,
							 const struct classic_ecn_config *c)
{
	return classic_ecn_is_single_queue(s, c) ? 0 : classic_ecn_spacing(s);
}

/* The queueing delay above which an L4S queue marks every packet. */
static __always_inline u32 classic_ecn_deep_threshold(const struct classic_ecn *s,
						      const struct classic_ecn_config *c)
{
	u32 deep;

	if (classic_ecn_is_single_queue(s, c))
		return CLASSIC_ECN_STEP + CLASSIC_ECN_JITTER;
	deep = classic_ecn_reference_spacing(s, c) * CLASSIC_ECN_DEEP_PACKETS;
	return deep > CLASSIC_ECN_DEEP_MIN ? deep : CLASSIC_ECN_DEEP_MIN;
}

/* Whether the bottleneck counts as one that does not mark. Earlier marks are no evidence then. */
static __always_inline int classic_ecn_is_non_ecn(const struct classic_ecn *s)
{
	return s->losses >= CLASSIC_ECN_NON_ECN_LOSSES &&
	       s->unmarked_rounds >= CLASSIC_ECN_STALE_ROUNDS;
}

/* A mark wakes the detector (Fallback §4.1.1). */
static __always_inline void classic_ecn_on_mark(struct classic_ecn *s,
						const struct classic_ecn_config *c)
{
	s64 floor = -(s64)c->l_sticky;

	/* Another bottleneck may mark now. */
	if (classic_ecn_is_non_ecn(s))
		s->has_rtt = 0;
	s->losses = 0;
	s->unmarked_rounds = 0;
	if (s->score <= floor) {
		s->score = 1 + floor;
		if (!classic_ecn_is_dual_queue(s, c))
			s->score += s->pending_evidence;
		if (s->score > (s64)c->c_sticky)
			s->score = (s64)c->c_sticky;
		if (s->max < s->score)
			s->max = s->score;
	}
	s->pending_evidence = 0;
}

/* Keeps a re-route out of the averages (Fallback appendix C). */
static __always_inline void classic_ecn_filter(struct classic_ecn *s, u32 rtt)
{
	u32 srtt = classic_ecn_srtt_of(&s->original), mdev = classic_ecn_mdev_of(&s->original);
	u32 error = rtt > srtt ? rtt - srtt : srtt - rtt;
	u8 outlier = CLASSIC_ECN_NO_ALTERNATIVE;

	if (error > (u64)CLASSIC_ECN_K2 * mdev / 16)
		outlier = rtt > srtt ? CLASSIC_ECN_ABOVE : CLASSIC_ECN_BELOW;
	if (s->side == CLASSIC_ECN_NO_ALTERNATIVE) {
		if (outlier == CLASSIC_ECN_NO_ALTERNATIVE)
			return;
		/* K1 − 1 is G2·K2, and G2 times the deviation is the unscaled deviation. Rounded up. */
		s->alternative = s->original;
		s->alternative.srtt = (u64)rtt << (s->original.shift & 31);
		s->alternative.mdev += (CLASSIC_ECN_K2 * ((u64)mdev + 1) + 15) / 16;
		s->side = outlier;
		s->confirmed = 0;
		return;
	}
	classic_ecn_smooth(&s->alternative, rtt);
	s->confirmed = 1;
	/* Outliers on the other side are no evidence of a re-route. */
	if (outlier != s->side && s->alternative.mdev >= s->original.mdev) {
		s->side = CLASSIC_ECN_NO_ALTERNATIVE;
		s->confirmed = 0;
	}
}

/* Whether the receiver certainly acknowledged the newest segment without delay. */
static __always_inline int classic_ecn_is_immediate_ack(const struct classic_ecn_sample *a)
{
	return a->delivered >= 2 || a->acked <= CLASSIC_ECN_QUICKACK_SEGMENTS;
}

/* Whether the receiver did not delay the acknowledgement by its timer: it delays one from the
 * acknowledgement before it on. */
static __always_inline int classic_ecn_is_undelayed_ack(const struct classic_ecn *s,
							const struct classic_ecn_sample *a)
{
	return classic_ecn_is_immediate_ack(a) ||
	       a->now_us < s->last_ack_us + CLASSIC_ECN_DELAYED_ACK_MIN;
}

static __always_inline void classic_ecn_update_spacing(struct classic_ecn *s,
						       const struct classic_ecn_sample *a)
{
	if (!classic_ecn_is_immediate_ack(a) || a->acked <= CLASSIC_ECN_BURST_SEGMENTS)
		return;
	if (s->has_immediate_ack) {
		u64 gap = (a->now_us - s->immediate_ack_us) / (a->delivered ? a->delivered : 1);

		if (gap && gap < s->least)
			s->least = (u32)gap;
	}
	s->has_immediate_ack = 1;
	s->immediate_ack_us = a->now_us;
}

/* Passes an RTT on to the tracers. The sets of the first segments are no evidence. */
static __always_inline void classic_ecn_update_tracers(struct classic_ecn *s, u32 undelayed,
						       const struct classic_ecn_sample *a)
{
	u32 queued = a->rtt_us > a->min_rtt_us ? a->rtt_us - a->min_rtt_us : 0;
	u32 started = a->acked > CLASSIC_ECN_QUICKACK_SEGMENTS;

	tracers_on_rtt(&s->tracers, started && queued > classic_ecn_spacing(s) + CLASSIC_ECN_JITTER,
		       undelayed && !a->delivered_ce && queued > CLASSIC_ECN_STEP);
}

static __always_inline void classic_ecn_on_rtt(struct classic_ecn *s,
					       const struct classic_ecn_config *c,
					       const struct classic_ecn_sample *a)
{
	u32 rtt = a->rtt_us < CLASSIC_ECN_RTT_MAX ? a->rtt_us : CLASSIC_ECN_RTT_MAX;
	u32 queued = rtt > a->min_rtt_us ? rtt - a->min_rtt_us : 0;
	u32 unmarked = a->delivered > a->delivered_ce ? a->delivered - a->delivered_ce : 0;

	if (s->has_rtt) {
		if (c->filters)
			classic_ecn_filter(s, rtt);
		classic_ecn_smooth(&s->original, rtt);
	} else {
		/* From a deviation of 1 µs (§4.4). Its gain is half of that of the RTT (§4.3); with the
		 * best rules it is the same. */
		u32 ratio = c->best ? 0 : 1;

		s->has_rtt = 1;
		s->side = CLASSIC_ECN_NO_ALTERNATIVE;
		s->confirmed = 0;
		s->original.shift = s->shift;
		s->original.ratio = ratio;
		s->original.srtt = (u64)rtt << (s->shift & 31);
		s->original.mdev = 1ull << ((s->shift + ratio) & 31);
	}
	if (!c->best)
		return;
	classic_ecn_update_spacing(s, a);
	if (queued > classic_ecn_deep_threshold(s, c))
		s->deep_unmarked += unmarked;
	if (queued > CLASSIC_ECN_CLASSIC_TARGET)
		s->unmarked_above_target += unmarked;
}

/* A weight times the difference of a whole logarithm and a reference in 2^-24: 12 + 31 bits. */
static __always_inline s64 classic_ecn_weighted(u64 weight, u32 log, u64 reference)
{
	s64 difference = (s64)((u64)log << CLASSIC_ECN_BITS) - (s64)reference;

	return ((s64)weight * difference) >> CLASSIC_ECN_WEIGHT_BITS;
}

/* A part of a whole in 2^-8. */
static __always_inline s64 classic_ecn_share(u32 part, u32 whole)
{
	return (part << CLASSIC_ECN_SHARE_BITS) / (whole ? whole : 1);
}

/* The logarithms of deviation and depth over their references, weighted. */
static __always_inline s64 classic_ecn_logs(struct classic_ecn *s,
					    const struct classic_ecn_config *c, u32 mdev, u32 v0,
					    u32 d0)
{
	u64 lg_v0 = c->lg_v0, lg_d0 = c->lg_d0;
	u32 log;

	if (v0 != (u32)c->v0_us)
		lg_v0 = (u64)classic_ecn_lg(&s->log_v0, v0) << CLASSIC_ECN_BITS;
	if (s->depth <= d0)
		return classic_ecn_weighted(c->v, classic_ecn_lg(&s->log_mdev, mdev), lg_v0);
	if (d0 != (u32)c->d0_us)
		lg_d0 = (u64)classic_ecn_lg(&s->log_d0, d0) << CLASSIC_ECN_BITS;
	if (c->v == c->d) {
		/* One logarithm of the product replaces two (Fallback §B.3). */
		log = classic_ecn_lg(&s->log_depth, (u64)(mdev ? mdev : 1) * s->depth);
		return classic_ecn_weighted(c->v, log, lg_v0 + lg_d0);
	}
	log = classic_ecn_lg(&s->log_mdev, mdev);
	return classic_ecn_weighted(c->v, log, lg_v0) +
	       classic_ecn_weighted(c->d, classic_ecn_lg(&s->log_depth, s->depth), lg_d0);
}

/* The evidence of packets that were unmarked or lost where an L4S queue marks all packets. */
static __always_inline s64 classic_ecn_evidence(const struct classic_ecn *s,
						const struct classic_ecn_config *c)
{
	s64 evidence = classic_ecn_share(s->deep_unmarked, s->delivered);

	if (!c->best)
		return 0;
	/* The whole range of the score. */
	if (s->unmarked_above_target > CLASSIC_ECN_FLOOR_PACKETS)
		return (s64)c->l_sticky + (s64)c->c_sticky;
	/* An L4S queue marks everything before it drops anything (RFC 9332 §4.2.3). */
	if (s->lost && s->marked < s->delivered)
		evidence += classic_ecn_share(1, 1);
	return CLASSIC_ECN_UNMARKED_WEIGHT * evidence * CLASSIC_ECN_UNIT;
}

/* V·lg(v/V0) + D·lg(max(d/D0, 1)) − S·s (Fallback §4.2), and the evidence of unmarked packets. */
static __always_inline s64 classic_ecn_delta(struct classic_ecn *s,
					     const struct classic_ecn_config *c, u32 mdev)
{
	/* The time of two packets. */
	u32 packets = 2 * classic_ecn_reference_spacing(s, c);
	u32 v0 = (u32)c->v0_us, d0 = (u32)c->d0_us, least = 0;
	s64 delta;

	if (packets) {
		if (v0 < packets + CLASSIC_ECN_JITTER)
			v0 = packets + CLASSIC_ECN_JITTER;
		if (d0 < packets + CLASSIC_ECN_STEP)
			d0 = packets + CLASSIC_ECN_STEP;
	}
	if (c->best)
		least = (u32)(((u64)v0 * CLASSIC_ECN_V_FLOOR) >> CLASSIC_ECN_SHARE_BITS);
	delta = classic_ecn_logs(s, c, mdev > least ? mdev : least, v0, d0);
	delta -= (s64)c->s * classic_ecn_share(s->limited_acks, s->acks) * CLASSIC_ECN_UNIT;
	return delta + classic_ecn_evidence(s, c);
}

/* Once per round trip. */
static __always_inline void classic_ecn_end_round(struct classic_ecn *s,
						  const struct classic_ecn_config *c,
						  const struct classic_ecn_sample *a)
{
	s64 floor = -(s64)c->l_sticky, ceiling = (s64)c->c_sticky;
	u32 srtt = s->has_rtt ? classic_ecn_srtt(s) : 0;

	if (s->unmarked_rounds < 0xffffffffu)
		s->unmarked_rounds++;
	s->depth = srtt > a->min_rtt_us ? srtt - a->min_rtt_us : 0;
	if (s->score <= floor)
		s->pending_evidence += classic_ecn_evidence(s, c) -
				       (s->pending_evidence >> CLASSIC_ECN_PENDING_SHIFT);
	if (classic_ecn_is_non_ecn(s)) {
		/* The bottleneck changed (Fallback §4.1.1). A Classic queue drops packets too, so that
		 * the best rules keep a score above 0. */
		if (!c->best || s->score <= 0) {
			s->score = floor;
			s->rounds = 0;
		}
	} else if (s->score > floor) {
		s->rounds++;
		/* Both kinds of queue mark every packet if they have too many flows. */
		if (!classic_ecn_is_dual_queue(s, c) &&
		    (!c->best || s->marked != s->delivered)) {
			s64 delta = classic_ecn_delta(s, c, s->has_rtt ? classic_ecn_mdev(s) : 0);

			if (delta > 0 || !c->best ||
			    s->unmarked_rounds <= CLASSIC_ECN_HOLD_ROUNDS)
				s->score += delta;
			if (s->score < floor)
				s->score = floor;
			if (s->score > ceiling)
				s->score = ceiling;
			if (s->max < s->score)
				s->max = s->score;
		}
	}
	if (c->traces) {
		s64 before = s->score;

		s->score = tracers_on_round(&s->tracers, c, before, s->marked > 0);
		/* A single queue was found. */
		if (s->score > before && s->max < s->score)
			s->max = s->score;
	}
	s->end = a->nxt;
	s->began_us = a->now_us;
	s->acks = s->limited_acks = 0;
	s->delivered = s->marked = s->deep_unmarked = s->unmarked_above_target = 0;
	s->lost = 0;
}

/* An acknowledgement. */
static __always_inline void classic_ecn_on_ack(struct classic_ecn *s,
					       const struct classic_ecn_config *c,
					       const struct classic_ecn_sample *a)
{
	if (a->delivered_ce)
		classic_ecn_on_mark(s, c);
	if (a->rtt_us != CLASSIC_ECN_NO_RTT && !classic_ecn_is_non_ecn(s)) {
		u32 undelayed = !c->best || classic_ecn_is_undelayed_ack(s, a);

		if (c->traces)
			classic_ecn_update_tracers(s, undelayed, a);
		if (undelayed)
			classic_ecn_on_rtt(s, c, a);
	}
	s->last_ack_us = a->now_us;
	s->acks++;
	s->limited_acks += !!a->self_limited;
	s->delivered += a->delivered;
	s->marked += a->delivered_ce < a->delivered ? a->delivered_ce : a->delivered;
	if (a->una - s->end < 1u << 31 &&
	    (!c->per_virtual || a->now_us >= s->began_us + a->rtt_virt_us))
		classic_ecn_end_round(s, c, a);
}

/* The slow-start threshold changed, in segments, and with it the gain. */
static __always_inline void classic_ecn_on_threshold(struct classic_ecn *s,
						     const struct classic_ecn_config *c,
						     u32 ssthresh)
{
	s->shift = classic_ecn_shift_of(ssthresh, (u32)c->shift_max);
	if (s->has_rtt)
		classic_ecn_set_shift(&s->original, s->shift);
	if (s->has_rtt && s->side)
		classic_ecn_set_shift(&s->alternative, s->shift);
}

/* A loss was detected. */
static __always_inline void classic_ecn_on_loss(struct classic_ecn *s)
{
	if (s->losses < 0xffffffffu)
		s->losses++;
	s->lost = 1;
}

/* The sender was idle for this many retransmission timeouts. Each halves a positive score
 * (Fallback §4.2, C_FRAC_IDLE). */
static __always_inline void classic_ecn_on_idle(struct classic_ecn *s, u32 timeouts)
{
	if (s->score > 0)
		s->score >>= timeouts < 63 ? timeouts : 63;
}

/* Whether the next segment is to be sent as a set of tracers (Fallback §5.2). If so, that set counts
 * as sent. */
static __always_inline int classic_ecn_wants_tracers(struct classic_ecn *s)
{
	return tracers_take_set(&s->tracers);
}

/* A set of tracers was answered. overtaken: whether the order changed (Fallback §5.3). */
static __always_inline void classic_ecn_on_traced(struct classic_ecn *s,
						  const struct classic_ecn_config *c, int overtaken)
{
	if (c->traces)
		s->score = tracers_on_answer(&s->tracers, c, overtaken, s->score);
}

/* The state that a socket reports. */
struct classic_ecn_report {
	s64 score, max;
	u32 rounds, srtt_us, mdev_us, depth_us, spacing_us;
	/* alpha in 2^-24. */
	u32 alpha;
};

static __always_inline void classic_ecn_report(const struct classic_ecn *s,
					       struct classic_ecn_report *r)
{
	r->score = s->score;
	r->max = s->max;
	r->rounds = s->rounds;
	r->srtt_us = s->has_rtt ? classic_ecn_srtt(s) : 0;
	r->mdev_us = s->has_rtt ? classic_ecn_mdev(s) : 0;
	r->depth_us = s->depth;
	r->spacing_us = classic_ecn_spacing(s);
}

#endif
