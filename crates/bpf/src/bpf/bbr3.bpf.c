/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * BBR, version 3 (draft-ietf-ccwg-bbr), for stock kernels.
 *
 * The behaviour is in the headers. This file connects them to TCP: the fields of the socket and of the
 * kernel's rate sample that each operation reads and writes.
 *
 * The control block has 104 bytes, and the state is several times that. So it is in memory of the
 * socket's own; a connection that gets none goes on with the kernel's Reno.
 */
#include "kernel.h"

static __always_inline u64 bbr3_random(void)
{
	return (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
}

#include "../c/bbr3.h"
#include "../c/departures.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct connection {
	struct bbr3 bbr;
	struct departures departures;
	/* The present acknowledgement. Of values here the verifier knows nothing, and so it follows a path
	 * once; of those on the stack it would do so for each combination of flags. */
	struct bbr3_ack ack;
	/* Lost segments, by the kernel's count, that the model has seen. */
	u32 lost;
};

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct connection *value;
} connections SEC(".maps");

static __always_inline struct connection *connection_of(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, 0);
}

static __always_inline void set_pacing(struct sock *sk, const struct bbr3 *s)
{
	u64 rate = s->pacing_rate;

	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

static __always_inline void set_window(struct sock *sk, const struct bbr3 *s)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = s->cwnd;
	tp->snd_ssthresh = s->ssthresh;
}

SEC("struct_ops")
void bbr3_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!c) {
		choose_reno(sk);
		return;
	}
	/* A socket that chose it before has the state of that time. */
	c->departures.count = 0;
	bbr3_start(&c->bbr, tp->snd_cwnd, tp->mss_cache, tp->delivered, tp->srtt_us >> 3,
		   tp->tcp_mstamp);
	departures_add(&c->departures, tp->delivered, tp->lost, in_flight(tp), tp->snd_nxt);
	c->lost = tp->lost;
	/* TCP paces by itself without fq. */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	set_window(sk, &c->bbr);
	set_pacing(sk, &c->bbr);
}

static __always_inline u8 repair_of(u32 state)
{
	switch (state) {
	case TCP_CA_Recovery:
		return BBR3_REPAIR_RECOVERY;
	case TCP_CA_Loss:
		return BBR3_REPAIR_TIMEOUT;
	}
	return BBR3_REPAIR_NONE;
}

/*
 * The kernel does not report which segments were lost. They were sent before the newest one that is
 * delivered, within the tolerance for reordering (RFC 8985). So its flight stands for theirs. Its
 * sequence number is one of bytes, so that no two reports are neighbours: each counts as a range.
 */
static __always_inline void report_losses(struct connection *c, const struct bbr3_ack *ack, u32 end)
{
	struct bbr3_loss loss = {
		.now = ack->now,
		.seq = end,
		.lost = ack->lost - ack->prior_lost,
		.tx_in_flight = ack->tx_in_flight,
		.delivered = ack->delivered,
		.app_limited = ack->app_limited,
	};

	if (c->lost == ack->lost)
		return;
	c->lost = ack->lost;
	bbr3_on_lost(&c->bbr, &loss);
}

SEC("struct_ops")
void bbr3_cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct rate_sample *rate = (const struct rate_sample *)ctx[3];
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *c = connection_of(sk);
	struct departure departure;
	struct bbr3_ack *ack;

	if (!c)
		return;
	ack = &c->ack;
	*ack = (struct bbr3_ack) {
		.now = tp->tcp_mstamp,
		.delivered = tp->delivered,
		.lost = tp->lost,
		.prior_lost = tp->lost,
		.rtt_us = rate->rtt_us >= 0 ? (u32)rate->rtt_us : BBR3_NO_RTT,
		.in_flight = in_flight(tp),
		.mss = tp->mss_cache,
		.app_limited = rate->is_app_limited,
		.ece = !!((u32)ctx[2] & FLAG_ECE),
		.repair = repair_of(read_bit_field(inet_csk(sk), icsk_ca_state)),
	};
	/* In slow start, half the window in use is enough: it may double. */
	ack->limited = read_bit_field(tp, is_cwnd_limited) ||
		      (c->bbr.cwnd < c->bbr.ssthresh && c->bbr.cwnd < 2 * tp->max_packets_out);
	departures_end(&c->departures, rate->prior_in_flight, tp->snd_nxt);
	if (rate->delivered >= 0) {
		ack->acked = rate->acked_sacked;
		ack->prior_delivered = rate->prior_delivered;
		if (rate->interval_us > 0)
			ack->interval_us = rate->interval_us;
		departure = departures_find(&c->departures, rate->prior_delivered,
					    rate->last_end_seq, rate->is_retrans, ack->mss);
		ack->prior_lost = departure.lost;
		ack->tx_in_flight = departure.in_flight;
		report_losses(c, ack, rate->last_end_seq);
	}
	bbr3_on_ack(&c->bbr, ack);
	departures_add(&c->departures, ack->delivered, ack->lost, ack->in_flight, tp->snd_nxt);
	/* While it measures the RTT, the rate says nothing about the path (draft §5.3.4.3). */
	if (c->bbr.mode == BBR3_PROBE_RTT)
		tp->app_limited = ack->delivered + ack->in_flight ?: 1;
	set_window(sk, &c->bbr);
	set_pacing(sk, &c->bbr);
}

SEC("struct_ops")
void bbr3_set_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = connection_of(sk);
	u8 state = (u8)ctx[1];

	if (!c)
		return;
	if (state == TCP_CA_Recovery)
		bbr3_begin_repair(&c->bbr);
	/* The kernel sets the same window. */
	else if (state == TCP_CA_Loss)
		bbr3_on_timeout(&c->bbr, in_flight(tcp_sk(sk)));
}

/* The first packet after a pause. */
static __always_inline void on_start(struct sock *sk)
{
	struct connection *c = connection_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* Nor is anything in flight where all of it was lost. */
	if (!c || !tp->app_limited)
		return;
	bbr3_on_restart(&c->bbr, tp->mss_cache, tp->tcp_mstamp);
	set_window(sk, &c->bbr);
	set_pacing(sk, &c->bbr);
}

SEC("struct_ops")
void bbr3_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c;

	if ((u32)ctx[1] == CA_EVENT_TX_START)
		on_start(sk);
	/* A timeout that no repair has answered. */
	if ((u32)ctx[1] == CA_EVENT_LOSS && (c = connection_of(sk))) {
		bbr3_begin_repair(&c->bbr);
		/* cong_control reports its losses later, with the next acknowledgement. */
		bbr3_note_loss(&c->bbr, tcp_sk(sk)->delivered);
	}
}

SEC("struct_ops")
void bbr3_tx_start(u64 *ctx)
{
	on_start((struct sock *)ctx[0]);
}

/* The value to which the kernel would reduce. It does not: cong_control sets the window. */
SEC("struct_ops")
u32 bbr3_ssthresh(u64 *ctx)
{
	return tcp_sk((struct sock *)ctx[0])->snd_ssthresh;
}

SEC("struct_ops")
u32 bbr3_undo_cwnd(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = connection_of(sk);

	if (!c)
		return tcp_sk(sk)->snd_cwnd;
	bbr3_on_undo(&c->bbr);
	return c->bbr.cwnd;
}

/* Draft §5.6.3. The kernel makes larger units by itself: those of a millisecond, and more on short paths. */
SEC("struct_ops")
u32 bbr3_min_tso_segs(u64 *ctx)
{
	return 2;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)bbr3_init,
	.ssthresh = (void *)bbr3_ssthresh,
	.cong_control = (void *)bbr3_cong_control,
	.set_state = (void *)bbr3_set_state,
	.cwnd_event = (void *)bbr3_cwnd_event,
	.cwnd_event_tx_start = (void *)bbr3_tx_start,
	.undo_cwnd = (void *)bbr3_undo_cwnd,
	.min_tso_segs = (void *)bbr3_min_tso_segs,
};
