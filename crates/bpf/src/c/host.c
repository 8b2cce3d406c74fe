/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic as functions of the host, which tests compare with l4s_cc (tests/twins).
 */
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
/* The C library has its own definition. */
#ifndef __always_inline
#define __always_inline inline
#endif

#include "dctcp.h"
#include "prague.h"

void l4s_dctcp_start(struct dctcp *s, u32 window_end)
{
	dctcp_start(s, window_end);
}

void l4s_dctcp_observe(struct dctcp *s, u32 delivered, u32 delivered_ce, u32 una, u32 nxt)
{
	dctcp_observe(s, delivered, delivered_ce, una, nxt);
}

u32 l4s_dctcp_ssthresh(const struct dctcp *s, u32 cwnd)
{
	return dctcp_ssthresh(s, cwnd);
}

u32 l4s_dctcp_loss(u32 cwnd)
{
	return dctcp_loss(cwnd);
}

void l4s_prague_stock(struct prague_config *c)
{
	*c = (struct prague_config)PRAGUE_STOCK;
}

void l4s_prague_start(struct prague *s, const struct prague_config *c, u32 cwnd, u32 nxt, u64 now)
{
	prague_start(s, c, cwnd, nxt, now);
}

void l4s_prague_on_ack(struct prague *s, const struct prague_config *c, struct classic_ecn *d,
		       const struct prague_ack *a)
{
	prague_on_ack(s, c, d, a);
}

void l4s_prague_on_loss(struct prague *s, const struct prague_config *c, struct classic_ecn *d,
			u32 nxt, int timeout)
{
	prague_on_loss(s, c, d, nxt, timeout);
}

void l4s_prague_on_undo(struct prague *s, const struct prague_config *c, struct classic_ecn *d)
{
	prague_on_undo(s, c, d);
}

void l4s_prague_on_restart(struct prague *s, const struct prague_config *c, struct classic_ecn *d,
			   u32 idle, u32 rto)
{
	prague_on_restart(s, c, d, idle, rto);
}

u32 l4s_prague_cwnd(const struct prague *s)
{
	return prague_cwnd(s);
}

u64 l4s_prague_pacing_rate(const struct prague *s, u32 in_flight, u32 mss, u32 srtt_us)
{
	return prague_pacing_rate(s, in_flight, mss, srtt_us);
}

void l4s_classic_ecn_start(struct classic_ecn *s, const struct classic_ecn_config *c, u32 una)
{
	classic_ecn_start(s, c, una);
}

void l4s_classic_ecn_on_ack(struct classic_ecn *s, const struct classic_ecn_config *c,
			    const struct classic_ecn_sample *a)
{
	classic_ecn_on_ack(s, c, a);
}

void l4s_classic_ecn_on_threshold(struct classic_ecn *s, const struct classic_ecn_config *c,
				  u32 ssthresh)
{
	classic_ecn_on_threshold(s, c, ssthresh);
}

void l4s_classic_ecn_on_loss(struct classic_ecn *s)
{
	classic_ecn_on_loss(s);
}

void l4s_classic_ecn_on_idle(struct classic_ecn *s, u32 timeouts)
{
	classic_ecn_on_idle(s, timeouts);
}

int l4s_classic_ecn_wants_tracers(struct classic_ecn *s)
{
	return classic_ecn_wants_tracers(s);
}

void l4s_classic_ecn_on_traced(struct classic_ecn *s, const struct classic_ecn_config *c,
			       int overtaken)
{
	classic_ecn_on_traced(s, c, overtaken);
}

void l4s_tracers_start(struct tracers *t)
{
	tracers_start(t);
}

s64 l4s_tracers_on_round(struct tracers *t, const struct classic_ecn_config *c, s64 score,
			 int marked)
{
	return tracers_on_round(t, c, score, marked);
}

int l4s_tracers_take_set(struct tracers *t)
{
	return tracers_take_set(t);
}

void l4s_tracers_on_rtt(struct tracers *t, int queued, int unmarked)
{
	tracers_on_rtt(t, queued, unmarked);
}

s64 l4s_tracers_on_answer(struct tracers *t, const struct classic_ecn_config *c, int overtaken,
			  s64 score)
{
	return tracers_on_answer(t, c, overtaken, score);
}

void l4s_classic_ecn_report(const struct classic_ecn *s, struct classic_ecn_report *r)
{
	classic_ecn_report(s, r);
}

void l4s_tracing_sent(struct tracing *t, u32 end)
{
	tracing_sent(t, end);
}

u32 l4s_tracing_is_answer(struct tracing *t, u32 ack, u32 from, u32 to, u32 twice)
{
	return tracing_is_answer(t, ack, from, to, twice);
}

u32 l4s_tracing_take(struct tracing *t, u32 *overtaken)
{
	return tracing_take(t, overtaken);
}

/* The size of a socket's value in the map of the BPF program, in bytes. */
u32 l4s_prague_shown_size(void)
{
	return sizeof(struct prague_shown);
}

void l4s_prague_report(const struct prague_shown *shown, struct prague_report *r)
{
	prague_report(shown, r);
}

/* The caller provides random numbers, so that both sides have the same ones. */
static _Thread_local u32 (*draw)(void *);
static _Thread_local void *drawn_from;

static u32 dualpi2_random(void)
{
	return draw(drawn_from);
}

#include "dualpi2.h"

void l4s_dualpi2_start(const struct dualpi2_config *c, struct dualpi2 *s, u64 now)
{
	dualpi2_start(c, s, now);
}

/* In the same way as the BPF program makes them. */
void l4s_dualpi2_catch_up(const struct dualpi2_config *c, struct dualpi2 *s, u64 now)
{
	u64 missed = dualpi2_missed(c, s, now), first = s->due;
	u64 single = dualpi2_one_by_one(s, missed);

	s->due += missed * c->tupdate;
	for (u64 n = 0; n < single; n++)
		dualpi2_update(c, s, first + n * c->tupdate);
	dualpi2_update_rest(c, s, missed - single);
}

u32 l4s_dualpi2_classify(const struct dualpi2_config *c, u32 ecn)
{
	return dualpi2_classify(c, ecn);
}

int l4s_dualpi2_admits(const struct dualpi2_config *c, const struct dualpi2 *s, u64 bytes,
		       u64 memory)
{
	return dualpi2_admits(c, s, bytes, memory);
}

u32 l4s_dualpi2_decide(const struct dualpi2_config *c, struct dualpi2 *s, u32 queue, u32 ecn,
		       u64 now, u32 (*random)(void *), void *from)
{
	draw = random;
	drawn_from = from;
	return dualpi2_decide(c, s, queue, ecn, now);
}

u64 l4s_dualpi2_foresee(const struct dualpi2_config *c, const struct dualpi2 *s, u64 now)
{
	return dualpi2_foresee(c, s, now);
}

void l4s_dualpi2_enter(struct dualpi2 *s, u32 queue, u64 bytes, u64 memory, u64 now)
{
	dualpi2_enter(s, queue, bytes, memory, now);
}

u32 l4s_dualpi2_schedule(const struct dualpi2_config *c, struct dualpi2 *s, u64 now)
{
	return dualpi2_schedule(c, s, now);
}

void l4s_dualpi2_leave(const struct dualpi2_config *c, struct dualpi2 *s, u32 queue, u64 bytes,
		       u64 memory, u64 head, u64 now)
{
	dualpi2_leave(c, s, queue, bytes, memory, head, now);
}

void l4s_dualpi2_send(const struct dualpi2_config *c, struct dualpi2 *s, u64 bytes, u64 now)
{
	dualpi2_send(c, s, bytes, now);
}

u64 l4s_dualpi2_free_at(const struct dualpi2_config *c, const struct dualpi2 *s)
{
	return dualpi2_free_at(c, s);
}

/* SplitMix64, as in the simulator, so that both sides have the same random numbers. */
static _Thread_local u64 chance;

static u64 bbr3_random(void)
{
	u64 z = chance += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

#include "bbr3.h"
#include "departures.h"

/* The model and the decision, for tests. */
struct bbr3_report {
	u64 max_bw;
	u64 bw_shortterm;
	u64 inflight_shortterm;
	u64 inflight_longterm;
	u64 bdp;
	u64 extra_acked;
	u64 round_count;
	u64 pacing_rate;
	u32 min_rtt;
	u32 full_bw_count;
	u32 cwnd;
	u32 ssthresh;
	u32 quantum;
	u8 full_bw_reached;
	u8 full_bw_now;
	u8 idle_restart;
	u8 mode;
};

u32 l4s_bbr3_size(void)
{
	return sizeof(struct bbr3);
}

void l4s_bbr3_seed(u64 seed)
{
	chance = seed;
}

void l4s_bbr3_start(struct bbr3 *s, u32 cwnd, u32 mss, u32 delivered, u32 srtt_us, u64 now)
{
	bbr3_start(s, cwnd, mss, delivered, srtt_us, now);
}

void l4s_bbr3_on_lost(struct bbr3 *s, const struct bbr3_loss *l)
{
	bbr3_on_lost(s, l);
}

void l4s_bbr3_on_ack(struct bbr3 *s, const struct bbr3_ack *a)
{
	bbr3_on_ack(s, a);
}

void l4s_bbr3_begin_repair(struct bbr3 *s)
{
	bbr3_begin_repair(s);
}

void l4s_bbr3_on_timeout(struct bbr3 *s, u32 in_flight)
{
	bbr3_on_timeout(s, in_flight);
}

void l4s_bbr3_on_undo(struct bbr3 *s)
{
	bbr3_on_undo(s);
}

void l4s_bbr3_on_restart(struct bbr3 *s, u32 mss, u64 now)
{
	bbr3_on_restart(s, mss, now);
}

void l4s_bbr3_report(const struct bbr3 *s, struct bbr3_report *r)
{
	*r = (struct bbr3_report) {
		.max_bw = s->max_bw.best[0].value,
		.bw_shortterm = s->short_term.bandwidth,
		.inflight_shortterm = s->short_term.in_flight,
		.inflight_longterm = s->long_term.in_flight,
		.bdp = bbr3_bdp(s),
		.extra_acked = s->extra_acked.best[0].value,
		.round_count = s->round_count,
		.pacing_rate = s->pacing_rate,
		.min_rtt = s->min_rtt.lowest,
		.full_bw_count = s->full.rounds,
		.cwnd = s->cwnd,
		.ssthresh = s->ssthresh,
		.quantum = s->quantum,
		.full_bw_reached = s->full.reached,
		.full_bw_now = s->full.now,
		.idle_restart = s->restarts,
		.mode = s->mode,
	};
}

void l4s_departures_add(struct departures *d, u32 delivered, u32 lost, u32 in_flight, u32 nxt)
{
	departures_add(d, delivered, lost, in_flight, nxt);
}

void l4s_departures_end(struct departures *d, u32 in_flight, u32 nxt)
{
	departures_end(d, in_flight, nxt);
}

void l4s_departures_find(struct departures *d, u32 delivered, u32 end, u32 again, u32 mss,
			 struct departure *found)
{
	*found = departures_find(d, delivered, end, again, mss);
}
