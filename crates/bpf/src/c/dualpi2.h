/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic of DualPI2: pure functions over the state of one bottleneck.
 *
 * Two queues, isolated in delay and coupled in capacity (RFC 9332, DCttH §3). A PI controller
 * updates the base probability p'. The probability for Classic packets is its square, for L4S packets
 * k times it. The functions are in the order of a packet's life: admit, decide, enter, schedule,
 * leave. Separate from packets are the update of p' and the clock of the link.
 *
 * Unlike in l4s_aqm::dualpi2, everything is decided when a packet arrives, since a BPF queue
 * discipline cannot change a packet that leaves (docs/guides/host.md). For the coupled signal that is
 * `drop_at = "enqueue"`. The L queue's own AQM needs the queueing delay of the packet, which is
 * predicted from the packets ahead of it. On a link of known rate the prediction is exact.
 *
 * The BPF program and the host share it: the includer provides u8, u32, u64, s64,
 * __always_inline and dualpi2_random(). Tests on the host compare it with l4s_aqm::dualpi2,
 * decision by decision. There is no loop and no signed division.
 *
 * Times are nanoseconds of a clock that starts anywhere. Probabilities are in 2^-32, and
 * 2^32 - 1 is certain, as in l4s_units::Probability.
 */
#ifndef L4S_DUALPI2_H
#define L4S_DUALPI2_H

#define DUALPI2_L 0
#define DUALPI2_C 1
#define DUALPI2_NONE 2

/* The full frame that "one packet" refers to: l4s_aqm::MTU. */
#define DUALPI2_MTU 1514
#define DUALPI2_ONE 0xffffffffu
/* Nanoseconds per second, and bits per byte: bytes times this are in a rate's unit. */
#define DUALPI2_BITS 8000000000ull

/* The native L4S AQM: none, by the queueing delay in nanoseconds, by the number of packets ahead. */
#define DUALPI2_NATIVE_NONE 0
#define DUALPI2_NATIVE_WAIT 1
#define DUALPI2_NATIVE_PACKETS 2

#define DUALPI2_STRICT 0
#define DUALPI2_WRR 1
#define DUALPI2_TSFIFO 2

#define ECN_NOT_ECT 0
#define ECN_ECT_1 1
#define ECN_ECT_0 2
#define ECN_CE 3

/* The fate of a packet. Of two marks the one with the higher probability is named. */
#define DUALPI2_PASS 0
#define DUALPI2_MARK_STEP 1
#define DUALPI2_MARK_COUPLED 2
#define DUALPI2_MARK_CLASSIC 3
#define DUALPI2_DROP_AQM 4
#define DUALPI2_DROP_OVERLOAD 5
#define DUALPI2_VERDICTS 6

/* The drain rate of a link of unknown rate is measured over at least this many bytes, so that the batches
 * in which a device takes packets have no effect (RFC 8033 §4.3 takes 16 KiB; BQL's are larger). */
#define DUALPI2_MEASURE (64u << 10)

/* The settings, made by l4s_aqm::dualpi2::kernel. Words of 64 bits, none of them negative. */
struct dualpi2_config {
	u64 target;
	u64 tupdate;
	/* Gains: 2^-32 of probability per nanosecond of delay, times 2^gain_shift. */
	u64 alpha;
	u64 beta;
	u64 gain_shift;
	u64 k;
	/* p' never exceeds this. */
	u64 cap;
	/* k·p' from which both queues apply the Classic drop. */
	u64 drop_from;
	/* DUALPI2_NATIVE_*, never marked up to `low`, always from `high`; equal for a step. */
	u64 native;
	u64 low;
	u64 high;
	/* The native AQM does not mark a packet with fewer packets than this ahead in the L queue. */
	u64 min_qlen_step;
	u64 scheduler;
	/* The least percentage of the link for Classic, for WRR. */
	u64 protection;
	/* The head start of L and the speed of its time, for the time-shifted FIFO. */
	u64 t_shift;
	u64 t_speed;
	/* A bit for each codepoint: which are queued in the L queue, and which get scalable marks. */
	u64 dualq;
	u64 marking;
	/* A Classic signal marks an ECN-capable packet instead of dropping it. */
	u64 classic_ecn;
	/* Probability accumulates, and no random number is drawn (RFC 9332 §A.1). */
	u64 recur;
	/* With a smaller backlog than this, the controller's signal is withheld. */
	u64 min_backlog;
	u64 limit_packets;
	u64 limit_bytes;
	u64 limit_memory;
	/* The rate of the link in bits per second, 0 for a link that limits itself. And how much of the time
	 * in which it was not served it may catch up on. */
	u64 rate;
	u64 burst;
};

struct dualpi2_queue {
	u64 packets;
	u64 bytes;
	/* The arrival time of the packet at its head; undefined if it is empty. */
	u64 head;
};

struct dualpi2 {
	struct dualpi2_queue queues[2];
	u64 memory;
	/* The delay at the last update of p', and when the next one is due. */
	u64 q_prev;
	u64 due;
	/* Of the weighted scheduler, in byte·percent: L is served while it is not positive. */
	s64 credit;
	/* Probability accumulated per queue. */
	u64 sums[2];
	/* The link is free from this time on; and the remainder of the division that gave it. */
	u64 free_at;
	u64 rest;
	/* Of a link that limits itself: bits per second, and the state of their measurement. */
	u64 drain;
	u64 measured_from;
	u64 measured;
	u32 p_prime;
};

/* --- The controller (DCttH Algorithm 3) --------------------------------------------------- */

struct dualpi2_wide {
	u64 high;
	u64 low;
};

/* a·b, exactly: a signed number of 63 bits times an unsigned one, in two's complement. */
static __always_inline struct dualpi2_wide dualpi2_product(s64 a, u64 b)
{
	u64 m = a < 0 ? -(u64)a : (u64)a;
	u64 m0 = (u32)m, m1 = m >> 32, b0 = (u32)b, b1 = b >> 32;
	u64 low = m0 * b0, mid = m1 * b0 + (low >> 32), other = m0 * b1 + (u32)mid;
	struct dualpi2_wide w = { m1 * b1 + (mid >> 32) + (other >> 32), other << 32 | (u32)low };

	if (a < 0) {
		w.low = -w.low;
		w.high = ~w.high + !w.low;
	}
	return w;
}

/* The change of p' by an update: α·(q - target) + β·(q - q_prev), rounded towards zero, and limited to the
 * change that moves p' from one end of its range to the other. */
static __always_inline s64 dualpi2_delta(const struct dualpi2_config *c, u64 q, u64 q_prev)
{
	struct dualpi2_wide a = dualpi2_product((s64)(q - c->target), c->alpha);
	struct dualpi2_wide b = dualpi2_product((s64)(q - q_prev), c->beta);
	struct dualpi2_wide sum = { a.high + b.high + (a.low + b.low < a.low), a.low + b.low };
	int negative = sum.high >> 63;
	u64 magnitude;

	if (negative) {
		sum.low = -sum.low;
		sum.high = ~sum.high + !sum.low;
	}
	/* 0 < gain_shift < 64. */
	magnitude = sum.high << (64 - c->gain_shift) | sum.low >> c->gain_shift;
	if (sum.high >> c->gain_shift || magnitude > DUALPI2_ONE)
		magnitude = DUALPI2_ONE;
	return negative ? -(s64)magnitude : (s64)magnitude;
}

static __always_inline void dualpi2_add(const struct dualpi2_config *c, struct dualpi2 *s,
					s64 delta)
{
	s64 p = (s64)s->p_prime + delta;

	if (p < 0)
		p = 0;
	if (p > (s64)c->cap)
		p = (s64)c->cap;
	s->p_prime = (u32)p;
}

/* The time from `then` to `now`, or 0 if `now` is earlier. */
static __always_inline u64 dualpi2_since(u64 now, u64 then)
{
	return now > then ? now - then : 0;
}

static __always_inline u64 dualpi2_head_sojourn(const struct dualpi2_queue *q, u64 now)
{
	return q->packets ? dualpi2_since(now, q->head) : 0;
}

/* The number of updates that are due. They are made before anything else happens. The queues did not change
 * in the meantime, so each update sees the same as at its own time. */
static __always_inline u64 dualpi2_missed(const struct dualpi2_config *c, const struct dualpi2 *s,
					  u64 now)
{
	return now < s->due ? 0 : (now - s->due) / c->tupdate + 1;
}

/* The update of time `at`: the queue with the longer delay controls p' (DCttH §3.4). */
static __always_inline void dualpi2_update(const struct dualpi2_config *c, struct dualpi2 *s,
					   u64 at)
{
	u64 l = dualpi2_head_sojourn(&s->queues[DUALPI2_L], at);
	u64 q = dualpi2_head_sojourn(&s->queues[DUALPI2_C], at);

	if (l > q)
		q = l;
	dualpi2_add(c, s, dualpi2_delta(c, q, s->q_prev));
	s->q_prev = q;
}

/* How many of the due updates have to be made one by one. On an idle link it is one, since only the integral
 * term is left after it. On a link that does not send although packets are queued it is all of them, up to a
 * number after which p' is certain. */
#define DUALPI2_UPDATES 4096

static __always_inline u64 dualpi2_one_by_one(const struct dualpi2 *s, u64 missed)
{
	u64 most = s->queues[DUALPI2_L].packets || s->queues[DUALPI2_C].packets ? DUALPI2_UPDATES : 1;

	return missed < most ? missed : most;
}

/* The other updates, at once. */
static __always_inline void dualpi2_update_rest(const struct dualpi2_config *c, struct dualpi2 *s,
						u64 updates)
{
	s64 step = dualpi2_delta(c, s->q_prev, s->q_prev);

	if (step < 0)
		dualpi2_add(c, s, updates >= DUALPI2_ONE ? -(s64)DUALPI2_ONE : step * (s64)updates);
}

/* --- A packet arrives --------------------------------------------------------------------- */

static __always_inline u32 dualpi2_classify(const struct dualpi2_config *c, u32 ecn)
{
	return c->dualq >> ecn & 1 ? DUALPI2_L : DUALPI2_C;
}

static __always_inline int dualpi2_admits(const struct dualpi2_config *c, const struct dualpi2 *s,
					  u64 bytes, u64 memory)
{
	const struct dualpi2_queue *l = &s->queues[DUALPI2_L], *classic = &s->queues[DUALPI2_C];

	return l->packets + classic->packets < c->limit_packets &&
	       l->bytes + classic->bytes + bytes <= c->limit_bytes &&
	       s->memory + memory <= c->limit_memory;
}

/* The time that the link takes for this many bytes. */
static __always_inline u64 dualpi2_time_of(u64 bytes, u64 rate)
{
	return bytes * DUALPI2_BITS / rate;
}

/* The predicted queueing delay of a packet that joins the L queue now: the time until the link is free, for
 * the packets ahead, and for the Classic packets that the weighted scheduler serves in between. The
 * time-shifted FIFO serves none before the Classic delay exceeds the L4S delay by `t_shift`. */
static __always_inline u64 dualpi2_foresee(const struct dualpi2_config *c, const struct dualpi2 *s,
					   u64 now)
{
	u64 rate = c->rate ? c->rate : s->drain;
	u64 ahead = s->queues[DUALPI2_L].bytes;

	/* No rate was measured yet. */
	if (!rate)
		return 0;
	if (c->scheduler == DUALPI2_WRR && s->queues[DUALPI2_C].packets) {
		s64 over = s->credit + (s64)(c->protection * ahead);
		u64 turn = (100 - c->protection) * DUALPI2_MTU, classic;

		if (over > 0 && turn) {
			classic = ((u64)over + turn - 1) / turn * DUALPI2_MTU;
			ahead += classic < s->queues[DUALPI2_C].bytes ?
					 classic : s->queues[DUALPI2_C].bytes;
		}
	}
	return dualpi2_since(s->free_at, now) + dualpi2_time_of(ahead, rate);
}

/* The marking probability of the L queue's own AQM for a packet that joins it now. */
static __always_inline u32 dualpi2_native(const struct dualpi2_config *c, const struct dualpi2 *s,
					  u64 now)
{
	u64 packets = s->queues[DUALPI2_L].packets, wait;

	if (c->native == DUALPI2_NATIVE_NONE || packets < c->min_qlen_step)
		return 0;
	wait = c->native == DUALPI2_NATIVE_PACKETS ? packets : dualpi2_foresee(c, s, now);
	if (wait <= c->low)
		return 0;
	if (wait >= c->high)
		return DUALPI2_ONE;
	/* Less than 2^32 ns apart: l4s_aqm::dualpi2::kernel ensures that. */
	return (u32)((wait - c->low) * DUALPI2_ONE / (c->high - c->low));
}

static __always_inline int dualpi2_hits(const struct dualpi2_config *c, struct dualpi2 *s,
					u32 queue, u32 p, int twice)
{
	u64 sum;

	if (!c->recur)
		return p && dualpi2_random() <= p && (!twice || dualpi2_random() <= p);
	if (twice)
		p = (u32)((u64)p * p >> 32);
	if (p == DUALPI2_ONE)
		return 1;
	sum = s->sums[queue & 1] + p;
	s->sums[queue & 1] = sum > DUALPI2_ONE ? sum - DUALPI2_ONE : sum;
	return sum > DUALPI2_ONE;
}

/* The fate of a packet that joins `queue` now (DCttH Algorithm 2 and §3.4). */
static __always_inline u32 dualpi2_decide(const struct dualpi2_config *c, struct dualpi2 *s,
					  u32 queue, u32 ecn, u64 now)
{
	int acts = s->queues[DUALPI2_L].bytes + s->queues[DUALPI2_C].bytes >= c->min_backlog;
	u32 p_prime = s->p_prime, native, coupled;
	u64 p_l = p_prime * c->k;
	int overloaded = p_l >= c->drop_from;

	/* A mark can signal no more than that, so both queues apply the Classic drop. */
	if (acts && overloaded && dualpi2_hits(c, s, queue, p_prime, 1))
		return DUALPI2_DROP_OVERLOAD;
	if (c->marking >> ecn & 1) {
		native = queue == DUALPI2_L ? dualpi2_native(c, s, now) : 0;
		coupled = !acts ? 0 : p_l > DUALPI2_ONE ? DUALPI2_ONE : (u32)p_l;
		if (dualpi2_hits(c, s, queue, native > coupled ? native : coupled, 0))
			return native > coupled ? DUALPI2_MARK_STEP : DUALPI2_MARK_COUPLED;
	} else if (acts && !overloaded && dualpi2_hits(c, s, queue, p_prime, 1)) {
		return c->classic_ecn && ecn != ECN_NOT_ECT ? DUALPI2_MARK_CLASSIC :
							      DUALPI2_DROP_AQM;
	}
	return DUALPI2_PASS;
}

static __always_inline void dualpi2_enter(struct dualpi2 *s, u32 queue, u64 bytes, u64 memory,
					  u64 now)
{
	struct dualpi2_queue *q = &s->queues[queue & 1];

	if (!q->packets)
		q->head = now;
	q->packets++;
	q->bytes += bytes;
	s->memory += memory;
}

/* --- A packet leaves ---------------------------------------------------------------------- */

/* With a Classic share below one half, L starts with credit. */
static __always_inline s64 dualpi2_initial_credit(const struct dualpi2_config *c)
{
	return c->scheduler == DUALPI2_WRR ?
		       DUALPI2_MTU * (2 * (s64)c->protection - 100) : 0;
}

/* The queue to serve. As in Linux, the scheduler starts again where the link asks and nothing waits. */
static __always_inline u32 dualpi2_schedule(const struct dualpi2_config *c, struct dualpi2 *s,
					    u64 now)
{
	const struct dualpi2_queue *l = &s->queues[DUALPI2_L], *classic = &s->queues[DUALPI2_C];
	int l_first = 1;

	if (!l->packets && !classic->packets) {
		s->credit = dualpi2_initial_credit(c);
		return DUALPI2_NONE;
	}
	if (!l->packets)
		return DUALPI2_C;
	if (!classic->packets)
		return DUALPI2_L;
	if (c->scheduler == DUALPI2_WRR)
		l_first = s->credit <= 0;
	else if (c->scheduler == DUALPI2_TSFIFO)
		l_first = (dualpi2_since(now, l->head) << c->t_speed) + c->t_shift >=
			  dualpi2_since(now, classic->head);
	return l_first ? DUALPI2_L : DUALPI2_C;
}

/* Measures the rate at which a link that limits itself takes queued packets. */
static __always_inline void dualpi2_measure(struct dualpi2 *s, u64 bytes, u64 now)
{
	u64 rate;

	if (!s->queues[DUALPI2_L].packets && !s->queues[DUALPI2_C].packets) {
		/* The link may idle now. */
		s->measured_from = 0;
		return;
	}
	if (!s->measured_from) {
		s->measured_from = now;
		s->measured = 0;
		return;
	}
	s->measured += bytes;
	if (s->measured < DUALPI2_MEASURE || now <= s->measured_from)
		return;
	rate = s->measured * DUALPI2_BITS / (now - s->measured_from);
	s->drain = s->drain ? s->drain - s->drain / 8 + rate / 8 : rate;
	s->measured_from = now;
	s->measured = 0;
}

/* A packet left `queue`, and the one behind it had arrived at `head`. */
static __always_inline void dualpi2_leave(const struct dualpi2_config *c, struct dualpi2 *s,
					  u32 queue, u64 bytes, u64 memory, u64 head, u64 now)
{
	struct dualpi2_queue *q = &s->queues[queue & 1];
	u64 l, classic;

	q->packets--;
	q->bytes -= bytes;
	q->head = head;
	s->memory -= memory;
	l = s->queues[DUALPI2_L].packets;
	classic = s->queues[DUALPI2_C].packets;
	/* The credit changes only while the other queue has packets. */
	if (c->scheduler == DUALPI2_WRR) {
		if (queue == DUALPI2_L && classic)
			s->credit += (s64)(c->protection * bytes);
		else if (queue != DUALPI2_L && l)
			s->credit -= (s64)((100 - c->protection) * bytes);
	}
	if (!c->rate)
		dualpi2_measure(s, bytes, now);
}

/* --- The link ----------------------------------------------------------------------------- */

/* The time at which the link takes the next packet; not after now if it takes it at once. */
static __always_inline u64 dualpi2_free_at(const struct dualpi2_config *c, const struct dualpi2 *s)
{
	return c->rate ? s->free_at : 0;
}

/* The link takes this many bytes now. It loses the time in which it was free, except for up to `burst`: a
 * late timer costs nothing. */
static __always_inline void dualpi2_send(const struct dualpi2_config *c, struct dualpi2 *s,
					 u64 bytes, u64 now)
{
	u64 earliest = dualpi2_since(now, c->burst), total;

	if (!c->rate)
		return;
	if (s->free_at < earliest) {
		s->free_at = earliest;
		s->rest = 0;
	}
	/* The remainder is carried over, so that the rate is never rounded. */
	total = bytes * DUALPI2_BITS + s->rest;
	s->free_at += total / c->rate;
	s->rest = total % c->rate;
}

/* --- Start -------------------------------------------------------------------------------- */

/* An empty bottleneck. */
static __always_inline void dualpi2_start(const struct dualpi2_config *c, struct dualpi2 *s,
					  u64 now)
{
	*s = (struct dualpi2){};
	s->due = now + c->tupdate;
	s->credit = dualpi2_initial_credit(c);
}

#endif
