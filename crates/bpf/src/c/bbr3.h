/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * BBR, version 3 (draft-ietf-ccwg-bbr, of August 2026): the twin of l4s_cc::bbr3, in the same order and
 * with the same names, without the option `ecn`.
 *
 * Pure functions over one connection's state. The includer provides u8, u32, u64, __always_inline and
 * bbr3_random(), which returns a random number of 64 bits. Tests on the host compare it with
 * l4s_cc::bbr3, acknowledgement by acknowledgement. There is no loop and no signed division.
 *
 * Time is in microseconds, data in segments. Totals of segments wrap at 32 bits.
 */
#ifndef L4S_BBR3_H
#define L4S_BBR3_H

#include "bandwidth.h"

#define BBR3_UNIT 256
/* Startup, draft §2.5: 2.77 is 4 ln 2. */
#define BBR3_STARTUP_GAIN (BBR3_UNIT * 277 / 100 + 1)
#define BBR3_DRAIN_GAIN (BBR3_UNIT / 2)
/* ProbeBW, draft §5.3.3. */
#define BBR3_DOWN_GAIN (BBR3_UNIT * 90 / 100)
#define BBR3_UP_GAIN (BBR3_UNIT * 5 / 4)
/* The window in products of bandwidth and RTT, draft §2.6, §5.3.3.5 and §2.16.2. */
#define BBR3_WINDOW_GAIN (2 * BBR3_UNIT)
#define BBR3_UP_WINDOW_GAIN (BBR3_UNIT * 9 / 4)
#define BBR3_PROBE_RTT_WINDOW_GAIN (BBR3_UNIT / 2)
/* Draft §2.8. */
#define BBR3_LEAST_WINDOW 4u
#define BBR3_BETA_TENTHS 7
#define BBR3_HEADROOM_PERCENT 15
#define BBR3_LOSS_PERCENT 2
/* The filters, draft §2.11 and §2.12. */
#define BBR3_OLDEST_CYCLE 1
#define BBR3_AGGREGATION_ROUNDS 10
#define BBR3_AGGREGATION_ROUNDS_IN_STARTUP 1
#define BBR3_EPOCH_SEGMENTS (1u << 20)
/* Draft §5.3.1.2 and §5.3.1.3. */
#define BBR3_ROUNDS_WITHOUT_GROWTH 3
#define BBR3_GROWTH (BBR3_UNIT * 5 / 4)
#define BBR3_STARTUP_RANGES 6
/* Draft §5.3.2. */
#define BBR3_DRAIN_ROUNDS 3
/* Draft §5.3.3.8.2: two to three seconds, in nanoseconds. */
#define BBR3_LEAST_WAIT_NS 2000000000ull
#define BBR3_WAIT_BY_CHANCE_NS 1000000000ull
#define BBR3_MOST_ROUNDS 63
/* Draft §5.3.3.9. */
#define BBR3_MOST_DOUBLINGS 30
/* Draft §2.16.1 and §2.16.2. */
#define BBR3_MIN_RTT_HOLDS 10000000u
#define BBR3_MEASURE_RTT_AFTER 5000000u
#define BBR3_PROBE_RTT_LASTS 200000u
/* The most bytes that one unit of segmentation offload holds. */
#define BBR3_OFFLOAD_BYTES 65536
/* As in Linux' control block. */
#define BBR3_NO_THRESHOLD 0x7fffffffu
/* No bound, no RTT, no state that was left. */
#define BBR3_NONE (~0ull)
#define BBR3_NO_RTT (~0u)
#define BBR3_NO_MODE 0xff

/* The states, and the phases of a probe for bandwidth (draft §5.1, §5.3.3). */
#define BBR3_STARTUP 0
#define BBR3_DRAIN 1
#define BBR3_DOWN 2
#define BBR3_CRUISE 3
#define BBR3_REFILL 4
#define BBR3_UP 5
#define BBR3_PROBE_RTT 6

/* How acknowledgements are related to the last probe (draft §2.14). */
#define BBR3_ACKS_INIT 0
#define BBR3_ACKS_REFILLING 1
#define BBR3_ACKS_STARTING 2
#define BBR3_ACKS_FEEDBACK 3
#define BBR3_ACKS_STOPPING 4

/* The repair of losses. */
#define BBR3_REPAIR_NONE 0
#define BBR3_REPAIR_RECOVERY 1
#define BBR3_REPAIR_TIMEOUT 2

/* The short-term bounds; BBR3_NONE from a probe to the next loss. */
struct bbr3_short_term {
	u64 bandwidth;
	u64 in_flight;
};

/* The data that the last round trip delivered, and whether it lost any (draft §5.5.10.3). */
struct bbr3_latest {
	u64 bandwidth;
	u32 in_flight;
	/* The next round trip begins when a segment is acknowledged that was sent after this many. */
	u32 next;
	u8 lost;
	u8 round_starts;
};

/* The long-term bound, and how a probe raises it (draft §5.3.3.9). */
struct bbr3_long_term {
	/* BBR3_NONE before a probe lost too much. */
	u64 in_flight;
	/* Segments acknowledged per segment of growth; 0 where no probe raises it. */
	u64 per;
	/* Segments acknowledged since the last growth. */
	u64 acked;
	/* How often the growth per round trip has doubled. */
	u32 doublings;
};

/* The search for the end of growth (draft §5.3.1.2). */
struct bbr3_full_pipe {
	/* The rate before the round trips without growth. */
	u64 baseline;
	u32 rounds;
	/* It was reached once in this connection, and since the search began. */
	u8 reached;
	u8 now;
};

/* The lowest RTT of ten seconds, and that of five (draft §5.3.4.3). */
struct bbr3_min_rtt {
	u64 lowest_at;
	u64 recent_at;
	u32 lowest;
	u32 recent;
	/* It is due for a measurement. */
	u8 expired;
};

/* The state of the probes (draft §5.3.3). */
struct bbr3_cycle {
	u64 rounds_since_up;
	u64 began;
	u64 wait_ns;
	u8 ack_phase;
	/* Losses are those of segments sent in a probe that was not answered yet. */
	u8 samples_probe;
	/* The last probe lost too much. */
	u8 prev_too_high;
	/* The last probe ended where the one before it had lost too much. */
	u8 prev_precautionary;
};

/* The measurement of the RTT (draft §5.3.4), once the flight is small enough. */
struct bbr3_probe_rtt {
	u64 until;
	u8 measures;
	u8 round_over;
};

/* The model when the present repair of losses began (draft §5.5.11.1). */
struct bbr3_saved {
	struct bbr3_short_term short_term;
	u64 in_flight_longterm;
	u8 exists;
	/* The state that was left because of losses. */
	u8 left;
};

struct bbr3 {
	struct max_filter max_bw;
	struct max_filter extra_acked;
	struct bbr3_short_term short_term;
	struct bbr3_long_term long_term;
	struct bbr3_latest latest;
	struct bbr3_full_pipe full;
	struct bbr3_min_rtt min_rtt;
	struct bbr3_cycle cycle;
	struct bbr3_probe_rtt probe_rtt;
	struct bbr3_saved saved;
	u64 cycle_count;
	u64 round_count;
	/* The round trip in which drain began. */
	u64 drain_round;
	/* In bytes per second; 0 before bbr3_start(). */
	u64 pacing_rate;
	/* An epoch of aggregation: when it began, and what it delivered (draft §5.5.9). */
	u64 epoch_at;
	u64 epoch_acked;
	/* The next round trip begins when a segment is acknowledged that was sent after this many. */
	u32 round_next;
	/* Segments delivered in total at the last acknowledgement. */
	u32 delivered;
	/* The ranges of segments lost in this round trip, and the last one. */
	u32 ranges;
	u32 last_lost;
	u32 cwnd;
	u32 ssthresh;
	u32 initial_window;
	/* The window before a repair or a measurement of the RTT. */
	u32 prior_cwnd;
	/* The segments that leave together. */
	u32 quantum;
	u8 mode;
	u8 round_starts;
	u8 has_last_lost;
	/* Sending starts again after a pause. */
	u8 restarts;
	u8 prior_repair;
};

/* An acknowledgement, and the newest segment that it delivered. */
struct bbr3_ack {
	u64 now;
	/* The time in which the segments of the sample were sent or acknowledged; 0: no rate. */
	u64 interval_us;
	/* Segments delivered in total, and when the newest segment was sent. */
	u32 delivered;
	u32 prior_delivered;
	/* Segments lost in the same way. */
	u32 lost;
	u32 prior_lost;
	/* Segments in flight when the newest segment was sent, itself included; 0: unknown. */
	u32 tx_in_flight;
	/* Segments newly delivered. */
	u32 acked;
	/* The RTT of the newest segment, or BBR3_NO_RTT. */
	u32 rtt_us;
	u32 in_flight;
	u32 mss;
	/* Whether the application held the sender back when the newest segment was sent. */
	u8 app_limited;
	/* Whether the last flight was as large as the window allowed. */
	u8 limited;
	/* Whether it echoed congestion. */
	u8 ece;
	/* BBR3_REPAIR_NONE and so on. */
	u8 repair;
};

/* A segment that was found to be lost, and the flight that it was sent in. */
struct bbr3_loss {
	u64 now;
	/* Its number. */
	u32 seq;
	/* Segments lost since it was sent, itself included. */
	u32 lost;
	u32 tx_in_flight;
	/* Segments delivered in total. */
	u32 delivered;
	u8 app_limited;
};

/* Whether a total reached another one, also if it wrapped in between. */
static __always_inline u32 bbr3_reached(u32 total, u32 other)
{
	return total - other < 1u << 31;
}

static __always_inline u64 bbr3_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 bbr3_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* --- The model --------------------------------------------------------------------------- */

/* The rate that suits the path at present (BBR.bw). BBR3_NONE is above any rate. */
static __always_inline u64 bbr3_bw(const struct bbr3 *s)
{
	return bbr3_min(s->max_bw.best[0].value, s->short_term.bandwidth);
}

/* The segments of a product of bandwidth and RTT, times a gain (draft §5.6.4.2). */
static __always_inline u64 bbr3_product(const struct bbr3 *s, u64 bandwidth, u32 gain)
{
	if (s->min_rtt.lowest == BBR3_NO_RTT)
		return s->initial_window;
	return bandwidth_segments(bandwidth, s->min_rtt.lowest, gain);
}

static __always_inline u64 bbr3_bdp(const struct bbr3 *s)
{
	return bbr3_product(s, bbr3_bw(s), BBR3_UNIT);
}

/* The product, unless the window is smaller (draft §5.3.3.8.3). */
static __always_inline u64 bbr3_target(const struct bbr3 *s)
{
	return bbr3_min(bbr3_bdp(s), s->cwnd);
}

/* Draft §5.6.4.2 and §5.5.8: three bursts, and two segments more while looking for bandwidth. */
static __always_inline u64 bbr3_with_bursts(const struct bbr3 *s, u64 segments)
{
	u64 least = bbr3_max(3ull * s->quantum, BBR3_LEAST_WINDOW);

	return bbr3_max(segments, least) + (s->mode == BBR3_UP ? 2 : 0);
}

static __always_inline u64 bbr3_in_flight_at(const struct bbr3 *s, u64 bandwidth)
{
	return bbr3_with_bursts(s, bbr3_product(s, bandwidth, BBR3_UNIT));
}

/* Half a product of bandwidth and RTT (draft §5.6.4.5). */
static __always_inline u64 bbr3_probe_rtt_window(const struct bbr3 *s)
{
	u64 half = bbr3_product(s, bbr3_bw(s), BBR3_PROBE_RTT_WINDOW_GAIN);

	return bbr3_max(half, BBR3_LEAST_WINDOW);
}

/* The long-term bound less the room for others (draft §2.8). */
static __always_inline u64 bbr3_with_headroom(const struct bbr3 *s)
{
	u64 bound = s->long_term.in_flight, headroom;

	if (bound == BBR3_NONE)
		return BBR3_NONE;
	headroom = bbr3_max(bound * BBR3_HEADROOM_PERCENT / 100, 1);
	return bbr3_max(bound > headroom ? bound - headroom : 0, BBR3_LEAST_WINDOW);
}

/* Whether more than 2 % of a flight was lost (draft §5.5.10.2). Of an unknown flight it is not. */
static __always_inline u32 bbr3_is_too_high(u32 lost, u32 in_flight)
{
	return in_flight && (u64)lost * 100 > (u64)in_flight * BBR3_LOSS_PERCENT;
}

static __always_inline u32 bbr3_lost_too_much(const struct bbr3_ack *a)
{
	return bbr3_is_too_high(a->lost - a->prior_lost, a->tx_in_flight);
}

/* How much could be in flight before 2 % of it was lost (draft §5.5.10.2). */
static __always_inline u64 bbr3_in_flight_at_loss(const struct bbr3_loss *l)
{
	u64 before = l->tx_in_flight ? l->tx_in_flight - 1 : 0;
	u64 lost = l->lost ? (u64)(l->lost - 1) * 100 : 0, most = before * BBR3_LOSS_PERCENT;
	u64 room = most > lost ? most - lost : 0, rest = 100 - BBR3_LOSS_PERCENT;

	return before + (room + rest - 1) / rest;
}

/* A loss was detected when this much was delivered. The first one begins a round trip. */
static __always_inline void bbr3_note_loss(struct bbr3 *s, u32 delivered)
{
	if (!s->latest.lost)
		s->latest.next = delivered;
	s->latest.lost = 1;
}

/* The search for the end of growth begins again. */
static __always_inline void bbr3_restart_full(struct bbr3 *s, u64 baseline)
{
	s->full.baseline = baseline;
	s->full.rounds = 0;
	s->full.now = 0;
}

/* The growth of the next round trip of a probe is twice that of the last one. */
static __always_inline void bbr3_steepen(struct bbr3 *s)
{
	struct bbr3_long_term *l = &s->long_term;

	l->per = bbr3_max(s->cwnd >> l->doublings, 1);
	l->doublings = bbr3_min(l->doublings + 1, BBR3_MOST_DOUBLINGS);
}

/* --- The window and the rate (draft §5.6) ------------------------------------------------- */

/* The last window that neither a repair nor a measurement of the RTT reduced (draft §5.6.4.4). */
static __always_inline void bbr3_save_window(struct bbr3 *s)
{
	u32 is_whole = s->prior_repair == BBR3_REPAIR_NONE && s->mode != BBR3_PROBE_RTT;

	s->prior_cwnd = is_whole ? s->cwnd : bbr3_max(s->prior_cwnd, s->cwnd);
}

static __always_inline void bbr3_restore_window(struct bbr3 *s)
{
	s->cwnd = bbr3_max(s->cwnd, s->prior_cwnd);
}

static __always_inline u32 bbr3_pacing_gain(const struct bbr3 *s)
{
	switch (s->mode) {
	case BBR3_STARTUP:
		return BBR3_STARTUP_GAIN;
	case BBR3_DRAIN:
		return BBR3_DRAIN_GAIN;
	case BBR3_DOWN:
		return BBR3_DOWN_GAIN;
	case BBR3_UP:
		return BBR3_UP_GAIN;
	}
	return BBR3_UNIT;
}

/* Draft §5.6.2: a first sample below the rate of the initial window only says that it was sent slowly. */
static __always_inline void bbr3_set_pacing_rate(struct bbr3 *s, u32 mss, u32 gain)
{
	u64 rate = bandwidth_pacing_rate(bbr3_bw(s), mss, gain);

	if (s->full.reached || rate > s->pacing_rate)
		s->pacing_rate = bbr3_max(rate, 1);
}

/* Draft §5.6.3: the segments of a millisecond leave together, and at least two. */
static __always_inline void bbr3_set_quantum(struct bbr3 *s, u32 mss)
{
	u64 bytes = bbr3_min(s->pacing_rate / 1000, BBR3_OFFLOAD_BYTES);

	s->quantum = bbr3_max((u32)bytes / mss, 2);
}

/* Draft §5.6.4.5 and §5.6.4.7: the bounds of the window. */
static __always_inline u64 bbr3_window_bound(const struct bbr3 *s)
{
	u64 bound = BBR3_NONE;

	if (s->mode == BBR3_CRUISE)
		bound = bbr3_with_headroom(s);
	else if (s->mode == BBR3_PROBE_RTT)
		bound = bbr3_min(bbr3_with_headroom(s), bbr3_probe_rtt_window(s));
	else if (s->mode != BBR3_STARTUP && s->mode != BBR3_DRAIN)
		bound = s->long_term.in_flight;
	return bbr3_max(bbr3_min(bound, s->short_term.in_flight), BBR3_LEAST_WINDOW);
}

/* Draft §5.6.4.6. */
static __always_inline void bbr3_set_window(struct bbr3 *s, const struct bbr3_ack *a)
{
	u64 cwnd = s->cwnd, target;
	u32 gain = BBR3_WINDOW_GAIN;

	if (s->mode == BBR3_UP)
		gain = BBR3_UP_WINDOW_GAIN;
	else if (s->mode == BBR3_PROBE_RTT)
		gain = BBR3_PROBE_RTT_WINDOW_GAIN;
	target = bbr3_product(s, bbr3_bw(s), gain) + s->extra_acked.best[0].value;
	target = bbr3_with_bursts(s, target);
	if (s->full.reached)
		cwnd = bbr3_min(cwnd + a->acked, target);
	else if (cwnd < target || a->delivered < s->initial_window)
		cwnd += a->acked;
	cwnd = bbr3_min(bbr3_max(cwnd, BBR3_LEAST_WINDOW), bbr3_window_bound(s));
	s->cwnd = bbr3_min(cwnd, ~0u);
}

/* --- States (draft §5.3) ------------------------------------------------------------------ */

static __always_inline void bbr3_enter_startup(struct bbr3 *s)
{
	s->mode = BBR3_STARTUP;
	s->ssthresh = BBR3_NO_THRESHOLD;
}

static __always_inline void bbr3_begin_down(struct bbr3 *s, u64 now)
{
	s->latest.bandwidth = 0;
	s->latest.in_flight = 0;
	s->latest.lost = 0;
	s->long_term.per = 0;
	/* Flows that share a path probe at different times. */
	s->cycle.rounds_since_up = bbr3_random() % 2;
	s->cycle.wait_ns = BBR3_LEAST_WAIT_NS + bbr3_random() % BBR3_WAIT_BY_CHANCE_NS;
	s->cycle.began = now;
	s->cycle.ack_phase = BBR3_ACKS_STOPPING;
	s->round_next = s->delivered;
	s->mode = BBR3_DOWN;
}

static __always_inline void bbr3_forget_short_term(struct bbr3 *s)
{
	s->short_term.bandwidth = BBR3_NONE;
	s->short_term.in_flight = BBR3_NONE;
}

static __always_inline void bbr3_begin_refill(struct bbr3 *s)
{
	bbr3_forget_short_term(s);
	s->long_term.doublings = 0;
	s->long_term.acked = 0;
	s->cycle.prev_precautionary = 0;
	s->cycle.ack_phase = BBR3_ACKS_REFILLING;
	s->round_next = s->delivered;
	s->mode = BBR3_REFILL;
}

static __always_inline void bbr3_begin_up(struct bbr3 *s, u64 rate)
{
	s->cycle.samples_probe = 1;
	s->cycle.ack_phase = BBR3_ACKS_STARTING;
	s->round_next = s->delivered;
	bbr3_restart_full(s, rate);
	s->mode = BBR3_UP;
	bbr3_steepen(s);
}

/* A round trip of fast recovery in startup lost more than 2 %, in at least six places (draft §5.3.1.3). */
static __always_inline void bbr3_check_losses_of_startup(struct bbr3 *s, const struct bbr3_ack *a)
{
	u32 ranges = s->ranges;

	s->ranges = 0;
	s->has_last_lost = 0;
	if (s->full.reached || ranges < BBR3_STARTUP_RANGES)
		return;
	if (a->repair != BBR3_REPAIR_RECOVERY || !bbr3_lost_too_much(a))
		return;
	if (s->saved.exists)
		s->saved.left = BBR3_STARTUP;
	s->full.reached = 1;
	s->full.now = 1;
	s->long_term.in_flight = bbr3_max(bbr3_bdp(s), s->latest.in_flight);
}

/* Draft §5.3.1. */
static __always_inline void bbr3_leave_startup(struct bbr3 *s, const struct bbr3_ack *a)
{
	if (s->latest.round_starts)
		bbr3_check_losses_of_startup(s, a);
	if (s->mode == BBR3_STARTUP && s->full.reached) {
		s->mode = BBR3_DRAIN;
		s->drain_round = s->round_count;
		/* Below it half the window in use would count as all of it. */
		s->ssthresh = BBR3_LEAST_WINDOW;
	}
}

/* Draft §5.3.2: the queue is gone, or the bandwidth was overestimated. */
static __always_inline void bbr3_leave_drain(struct bbr3 *s, const struct bbr3_ack *a)
{
	if (s->mode != BBR3_DRAIN)
		return;
	if (a->in_flight <= bbr3_in_flight_at(s, bbr3_bw(s)) ||
	    s->round_count > s->drain_round + BBR3_DRAIN_ROUNDS)
		bbr3_begin_down(s, a->now);
}

/* Whether the window is used up, and is the long-term bound. */
static __always_inline u32 bbr3_uses_bound(const struct bbr3 *s, const struct bbr3_ack *a)
{
	/* No window reaches BBR3_NONE. */
	return a->limited && s->cwnd >= s->long_term.in_flight;
}

/* The last answers to a probe have come; true if another one begins at once (draft §5.3.3.6). */
static __always_inline u32 bbr3_end_answers(struct bbr3 *s, const struct bbr3_ack *a)
{
	s->cycle.samples_probe = 0;
	s->cycle.ack_phase = BBR3_ACKS_INIT;
	if (s->mode < BBR3_DOWN || s->mode > BBR3_UP)
		return 0;
	/* The measurements of the cycle before leave (draft §5.5.6). */
	if (!a->app_limited)
		s->cycle_count++;
	if (!s->cycle.prev_precautionary || s->cycle.prev_too_high)
		return 0;
	bbr3_begin_refill(s);
	return 1;
}

static __always_inline void bbr3_raise_long_term(struct bbr3 *s, const struct bbr3_ack *a)
{
	struct bbr3_long_term *l = &s->long_term;

	if (l->in_flight != BBR3_NONE)
		l->in_flight = bbr3_max(l->in_flight, a->tx_in_flight);
	if (s->mode != BBR3_UP || !bbr3_uses_bound(s, a))
		return;
	if (l->per) {
		l->acked += a->acked;
		l->in_flight += l->acked / l->per;
		l->acked %= l->per;
	}
	if (s->round_starts)
		bbr3_steepen(s);
}

/* Takes the answers to a probe; true if they led to the next phase. */
static __always_inline u32 bbr3_adapt_long_term(struct bbr3 *s, const struct bbr3_ack *a)
{
	if (s->round_starts && s->cycle.ack_phase == BBR3_ACKS_STARTING)
		s->cycle.ack_phase = BBR3_ACKS_FEEDBACK;
	if (s->round_starts && s->cycle.ack_phase == BBR3_ACKS_STOPPING && bbr3_end_answers(s, a))
		return 1;
	if (!bbr3_lost_too_much(a))
		bbr3_raise_long_term(s, a);
	return 0;
}

/* Begins the next phase of a probe when it is due (draft §5.3.3.9). */
static __always_inline void bbr3_update_cycle(struct bbr3 *s, const struct bbr3_ack *a, u64 rate)
{
	u64 most;

	if (!s->full.reached || bbr3_adapt_long_term(s, a))
		return;
	switch (s->mode) {
	case BBR3_DOWN:
	case BBR3_CRUISE:
		/* After the wait, or when Reno would (draft §5.3.3.8.3). */
		most = bbr3_min(bbr3_target(s), BBR3_MOST_ROUNDS);
		if ((a->now - s->cycle.began) * 1000 > s->cycle.wait_ns ||
		    s->cycle.rounds_since_up >= most)
			bbr3_begin_refill(s);
		/* Neither a queue is left, nor is the room of others in use. */
		else if (s->mode == BBR3_DOWN && a->in_flight <= bbr3_with_headroom(s) &&
			 a->in_flight <= bbr3_in_flight_at(s, s->max_bw.best[0].value))
			s->mode = BBR3_CRUISE;
		return;
	case BBR3_REFILL:
		/* From now on acknowledgements are those of a full path. */
		if (s->round_starts)
			bbr3_begin_up(s, rate);
		return;
	case BBR3_UP:
		/* A flight that lost too much the last time is not held for a round trip (draft §5.3.3.6). */
		if (s->cycle.prev_too_high && a->in_flight >= s->long_term.in_flight)
			s->cycle.prev_precautionary = 1;
		/* The rate did not grow because the bound did not let it. */
		else if (bbr3_uses_bound(s, a))
			bbr3_restart_full(s, rate);
		if (!s->cycle.prev_precautionary && !s->full.now)
			return;
		s->cycle.prev_too_high = 0;
		bbr3_begin_down(s, a->now);
	}
}

/* Takes the RTT of an acknowledgement (draft §5.3.4.3). */
static __always_inline void bbr3_update_min_rtt(struct bbr3 *s, const struct bbr3_ack *a)
{
	struct bbr3_min_rtt *m = &s->min_rtt;

	m->expired = a->now > m->recent_at + BBR3_MEASURE_RTT_AFTER;
	/* BBR3_NO_RTT is above any RTT. */
	if (a->rtt_us != BBR3_NO_RTT && (m->expired || a->rtt_us < m->recent)) {
		m->recent = a->rtt_us;
		m->recent_at = a->now;
	}
	if (m->recent != BBR3_NO_RTT &&
	    (a->now > m->lowest_at + BBR3_MIN_RTT_HOLDS || m->recent < m->lowest)) {
		m->lowest = m->recent;
		m->lowest_at = m->recent_at;
	}
}

/* Ends the measurement of the RTT, where its time is over. */
static __always_inline void bbr3_end_probe_rtt(struct bbr3 *s, u64 now)
{
	if (!s->probe_rtt.measures || now <= s->probe_rtt.until)
		return;
	/* The next one is due after five seconds. */
	s->min_rtt.recent_at = now;
	bbr3_restore_window(s);
	/* The losses of so small a flight are no bound (draft §5.3.4.4). */
	bbr3_forget_short_term(s);
	if (s->full.reached) {
		/* The flight is already small enough to cruise. */
		bbr3_begin_down(s, now);
		s->mode = BBR3_CRUISE;
	} else {
		bbr3_enter_startup(s);
	}
}

/* For 200 ms and a round trip after the flight has become small (draft §5.3.4). */
static __always_inline void bbr3_measure_rtt(struct bbr3 *s, const struct bbr3_ack *a)
{
	struct bbr3_probe_rtt *p = &s->probe_rtt;

	if (!p->measures) {
		if (a->in_flight > bbr3_probe_rtt_window(s))
			return;
		p->measures = 1;
		p->until = a->now + BBR3_PROBE_RTT_LASTS;
		p->round_over = 0;
		s->round_next = s->delivered;
		return;
	}
	p->round_over |= s->round_starts;
	if (p->round_over)
		bbr3_end_probe_rtt(s, a->now);
}

static __always_inline void bbr3_check_probe_rtt(struct bbr3 *s, const struct bbr3_ack *a)
{
	/* A pause emptied the queue as well. */
	if (s->mode != BBR3_PROBE_RTT && s->min_rtt.expired && !s->restarts) {
		bbr3_save_window(s);
		s->mode = BBR3_PROBE_RTT;
		s->probe_rtt.measures = 0;
		s->cycle.ack_phase = BBR3_ACKS_STOPPING;
		s->round_next = s->delivered;
	}
	if (s->mode == BBR3_PROBE_RTT)
		bbr3_measure_rtt(s, a);
	/* A pause ends with the first delivery after it. */
	if (a->acked)
		s->restarts = 0;
}

/* --- An acknowledgement, in the order of draft §5.2.3 -------------------------------------- */

/* Whether it begins round trips: of the connection, and of the last losses. */
static __always_inline void bbr3_update_rounds(struct bbr3 *s, const struct bbr3_ack *a, u64 rate)
{
	struct bbr3_latest *l = &s->latest;

	s->round_starts = 0;
	l->round_starts = 0;
	if (!a->acked)
		return;
	l->bandwidth = bbr3_max(l->bandwidth, rate);
	l->in_flight = bbr3_max(l->in_flight, a->delivered - a->prior_delivered);
	if (bbr3_reached(a->prior_delivered, l->next)) {
		l->round_starts = 1;
		l->next = a->delivered;
	}
	if (bbr3_reached(a->prior_delivered, s->round_next)) {
		s->round_starts = 1;
		s->round_next = a->delivered;
		s->round_count++;
		s->cycle.rounds_since_up++;
	}
}

/* Draft §5.5.10.3: once per round trip with losses, towards the rate and flight that it delivered. */
static __always_inline void bbr3_adapt_short_term(struct bbr3 *s)
{
	struct bbr3_short_term *b = &s->short_term;
	/* Short-term bounds do not hold while it looks for more bandwidth. */
	u32 probes = s->mode == BBR3_STARTUP || s->mode == BBR3_REFILL || s->mode == BBR3_UP;

	if (!probes && s->latest.lost) {
		u64 bw = b->bandwidth == BBR3_NONE ? s->max_bw.best[0].value : b->bandwidth;
		u64 in_flight = b->in_flight == BBR3_NONE ? s->cwnd : b->in_flight;

		b->bandwidth = bbr3_max(bw * BBR3_BETA_TENTHS / 10, s->latest.bandwidth);
		b->in_flight = bbr3_max(in_flight * BBR3_BETA_TENTHS / 10, s->latest.in_flight);
	}
	s->latest.lost = 0;
}

/* Draft §5.5.9: the segments delivered beyond those that the bandwidth lets expect. */
static __always_inline void bbr3_update_aggregation(struct bbr3 *s, const struct bbr3_ack *a)
{
	u64 due, extra, window = BBR3_AGGREGATION_ROUNDS;

	if (!a->acked)
		return;
	if (!s->full.reached)
		window = BBR3_AGGREGATION_ROUNDS_IN_STARTUP;
	due = bandwidth_data(bbr3_bw(s), a->now - s->epoch_at) >> BANDWIDTH_BITS;
	if (s->epoch_acked <= due || s->epoch_acked + a->acked >= BBR3_EPOCH_SEGMENTS) {
		s->epoch_at = a->now;
		s->epoch_acked = 0;
		due = 0;
	}
	s->epoch_acked = bbr3_min(s->epoch_acked + a->acked, BBR3_EPOCH_SEGMENTS - 1);
	extra = s->epoch_acked > due ? s->epoch_acked - due : 0;
	max_filter_take(&s->extra_acked, window, bbr3_min(extra, s->cwnd), s->round_count);
}

/* Takes the rate at the end of a round trip in which the application did not hold back. */
static __always_inline void bbr3_update_full(struct bbr3 *s, u64 rate)
{
	struct bbr3_full_pipe *f = &s->full;

	/* A sample that is too short has no rate, and shows neither growth nor its end. */
	if (f->now || !rate)
		return;
	if (rate >= (f->baseline * BBR3_GROWTH) >> BANDWIDTH_GAIN_BITS) {
		bbr3_restart_full(s, rate);
		return;
	}
	f->rounds++;
	f->now = f->rounds >= BBR3_ROUNDS_WITHOUT_GROWTH;
	f->reached |= f->now;
}

static __always_inline void bbr3_update_model(struct bbr3 *s, const struct bbr3_ack *a)
{
	u64 rate = 0;

	if (a->acked && a->interval_us)
		rate = bandwidth_of(a->delivered - a->prior_delivered, a->interval_us);
	bbr3_update_rounds(s, a, rate);
	/* Draft §3.7: who sends ECT has to treat a mark as congestion. */
	if (a->ece)
		bbr3_note_loss(s, a->delivered);
	/* Draft §5.5.5: while the application holds back, a low rate says nothing about the path. */
	if (rate && (!a->app_limited || rate >= s->max_bw.best[0].value))
		max_filter_take(&s->max_bw, BBR3_OLDEST_CYCLE, rate, s->cycle_count);
	if (s->latest.round_starts)
		bbr3_adapt_short_term(s);
	bbr3_update_aggregation(s, a);
	if (s->round_starts && !a->app_limited)
		bbr3_update_full(s, rate);
	bbr3_leave_startup(s, a);
	bbr3_leave_drain(s, a);
	bbr3_update_cycle(s, a, rate);
	bbr3_update_min_rtt(s, a);
	bbr3_check_probe_rtt(s, a);
	if (s->latest.round_starts) {
		/* A round trip is over, and answered. */
		s->latest.bandwidth = rate;
		s->latest.in_flight = a->delivered - a->prior_delivered;
	}
}

/* --- Events ------------------------------------------------------------------------------- */

/* A connection is established, with this smoothed RTT or 0 (draft §5.2.1). */
static __always_inline void bbr3_start(struct bbr3 *s, u32 cwnd, u32 mss, u32 delivered, u32 srtt_us,
				       u64 now)
{
	u32 rtt = srtt_us ? srtt_us : 1000;

	__builtin_memset(s, 0, sizeof(*s));
	bbr3_enter_startup(s);
	s->cwnd = cwnd;
	s->initial_window = cwnd;
	s->delivered = delivered;
	s->round_next = delivered;
	s->latest.next = delivered;
	bbr3_forget_short_term(s);
	s->long_term.in_flight = BBR3_NONE;
	s->min_rtt.lowest = s->min_rtt.recent = srtt_us ? srtt_us : BBR3_NO_RTT;
	s->min_rtt.lowest_at = s->min_rtt.recent_at = now;
	s->epoch_at = now;
	s->saved.left = BBR3_NO_MODE;
	s->pacing_rate = bandwidth_pacing_rate(bandwidth_of(cwnd, rtt), mss, BBR3_STARTUP_GAIN);
	bbr3_set_quantum(s, mss);
}

/* A segment was lost: reported before the acknowledgement that showed it (draft §5.5.10.2). */
static __always_inline void bbr3_on_lost(struct bbr3 *s, const struct bbr3_loss *l)
{
	bbr3_note_loss(s, l->delivered);
	/* The next segment after it is in the same range. */
	if (!s->has_last_lost || l->seq != s->last_lost + 1)
		s->ranges++;
	s->last_lost = l->seq;
	s->has_last_lost = 1;
	if (!s->cycle.samples_probe || !bbr3_is_too_high(l->lost, l->tx_in_flight))
		return;
	/* A probe lost too much with this flight: it is the bound, once per probe. But the bound goes
	 * down by no more than Cubic would. */
	s->cycle.prev_too_high = 1;
	s->cycle.samples_probe = 0;
	if (!l->app_limited) {
		u64 least = bbr3_target(s) * BBR3_BETA_TENTHS / 10;

		s->long_term.in_flight = bbr3_max(bbr3_in_flight_at_loss(l), least);
	}
	if (s->mode == BBR3_UP) {
		if (s->saved.exists)
			s->saved.left = s->mode;
		bbr3_begin_down(s, l->now);
	}
}

static __always_inline void bbr3_on_ack(struct bbr3 *s, const struct bbr3_ack *a)
{
	s->delivered = a->delivered;
	/* The repair of losses is over (draft §5.6.4.4). */
	if (s->prior_repair != BBR3_REPAIR_NONE && a->repair == BBR3_REPAIR_NONE)
		bbr3_restore_window(s);
	bbr3_update_model(s, a);
	bbr3_set_pacing_rate(s, a->mss, bbr3_pacing_gain(s));
	bbr3_set_quantum(s, a->mss);
	bbr3_set_window(s, a);
	s->prior_repair = a->repair;
}

/* The transport begins to repair losses (draft §5.5.11.1, §5.6.4.4). */
static __always_inline void bbr3_begin_repair(struct bbr3 *s)
{
	bbr3_save_window(s);
	s->saved.short_term = s->short_term;
	s->saved.in_flight_longterm = s->long_term.in_flight;
	s->saved.exists = 1;
	s->saved.left = BBR3_NO_MODE;
}

/* A retransmission timeout, after bbr3_begin_repair() if it is the first. One segment more may leave
 * (draft §5.6.4.4). */
static __always_inline void bbr3_on_timeout(struct bbr3 *s, u32 in_flight)
{
	s->cwnd = in_flight + 1;
	s->prior_repair = BBR3_REPAIR_TIMEOUT;
}

/* Nothing was lost (draft §5.5.11.2). */
static __always_inline void bbr3_on_undo(struct bbr3 *s)
{
	struct bbr3_saved *saved = &s->saved;
	u32 may_return = s->mode != BBR3_PROBE_RTT;

	bbr3_restore_window(s);
	s->latest.lost = 0;
	bbr3_restart_full(s, 0);
	if (!saved->exists)
		return;
	saved->exists = 0;
	/* The larger one of each bound; none is larger than any. */
	s->short_term.bandwidth = bbr3_max(s->short_term.bandwidth, saved->short_term.bandwidth);
	s->short_term.in_flight = bbr3_max(s->short_term.in_flight, saved->short_term.in_flight);
	s->long_term.in_flight = bbr3_max(s->long_term.in_flight, saved->in_flight_longterm);
	if (saved->left == BBR3_STARTUP && s->mode != BBR3_STARTUP) {
		s->full.reached = 0;
		if (may_return)
			bbr3_enter_startup(s);
	} else if (saved->left == BBR3_UP && s->mode != BBR3_UP && may_return) {
		/* The probe begins again. */
		bbr3_begin_refill(s);
	}
}

/* Sending starts again after a pause (draft §5.4.1): at the rate of the model, without a burst. */
static __always_inline void bbr3_on_restart(struct bbr3 *s, u32 mss, u64 now)
{
	s->restarts = 1;
	s->epoch_at = now;
	s->epoch_acked = 0;
	if (s->mode == BBR3_PROBE_RTT)
		bbr3_end_probe_rtt(s, now);
	else if (s->mode >= BBR3_DOWN && s->mode <= BBR3_UP)
		bbr3_set_pacing_rate(s, mss, BBR3_UNIT);
}

#endif
