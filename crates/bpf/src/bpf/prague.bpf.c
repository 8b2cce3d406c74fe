/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * TCP Prague for stock kernels.
 *
 * cong_control takes the kernel's place in every state: neither proportional rate reduction nor
 * the restart after a pause happen without us. Marks are counted by the kernel, exactly where
 * AccECN was negotiated, and from ECE otherwise; then the receiver's side is DCTCP's.
 *
 * Packets leave TCP as ECT(0): ect1.bpf.c makes them ECT(1).
 */
#include "kernel.h"
#include "echo.h"
#include "../c/prague.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* In the connection's control block. */
struct connection {
	struct prague prague;
	struct echo echo;
	/* What the kernel had counted when the last acknowledgement was seen. */
	u32 delivered;
	u32 delivered_ce;
	/* The kernel began a reduction; the next acknowledgement tells for what. */
	u8 reducing;
	/* Recovery began; the first retransmission must not wait for the window. */
	u8 recovering;
};
_Static_assert(sizeof(struct connection) <= 13 * 8, "the control block has 104 bytes");

/* Without ECN there is nothing to be scalable with: growth is Reno's (RFC 9331 §4.3). */
static __always_inline struct prague_config config_of(const struct tcp_sock *tp)
{
	struct prague_config config = {
		.rtt_virt_us = tp->ecn_flags & (TCP_ECN_RFC3168 | TCP_ECN_ACCECN) ? 25000 : 0,
	};

	return config;
}

static __always_inline void set_pacing(struct sock *sk, u32 mss)
{
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = prague_pacing_rate(&c->prague, in_flight(tp), mss, tp->srtt_us >> 3);

	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

static __always_inline void set_window(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = prague_cwnd(&c->prague);
	tp->snd_ssthresh = c->prague.ssthresh;
}

SEC("struct_ops")
void prague_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague_config config = config_of(tp);

	prague_start(&c->prague, &config, tp->snd_cwnd, tp->snd_nxt, tp->tcp_mstamp);
	echo_start(&c->echo, tp->rcv_nxt);
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->reducing = 0;
	c->recovering = 0;
	/* TCP paces by itself where no fq is below. */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	set_pacing(sk, tp->mss_cache);
}

/* In slow start, half the window in use is enough: it may double. */
static __always_inline u32 is_limited(const struct prague *s, const struct tcp_sock *tp)
{
	u32 cwnd = prague_cwnd(s);

	return read_bit_field(tp, is_cwnd_limited) ||
	       (cwnd < s->ssthresh && cwnd < 2 * tp->max_packets_out);
}

SEC("struct_ops")
void prague_cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flag = (u32)ctx[2];
	u32 delivered = tp->delivered, delivered_ce = tp->delivered_ce;
	struct prague_ack ack = {
		.now = tp->tcp_mstamp,
		.srtt_us = tp->srtt_us >> 3,
		.delivered = delivered - c->delivered,
		.delivered_ce = delivered_ce - c->delivered_ce,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.limited = is_limited(&c->prague, tp),
	};
	struct prague_config config = config_of(tp);

	c->delivered = delivered;
	c->delivered_ce = delivered_ce;
	if (c->reducing) {
		/* Not for a mark: a tail loss that a probe repaired, or a queue of this host. */
		c->reducing = 0;
		if (!ack.delivered_ce && !(flag & FLAG_ECE))
			prague_on_loss(&c->prague, ack.nxt, 0);
	}
	prague_on_ack(&c->prague, &config, &ack);
	set_window(sk);
	if (c->recovering) {
		/* The lost segment goes first, whatever is in flight (RFC 6675 §5 step 4.3). */
		u32 first = in_flight(tp) + 1;

		c->recovering = 0;
		if (tp->snd_cwnd < first)
			tp->snd_cwnd = first;
	}
	set_pacing(sk, tp->mss_cache);
}

SEC("struct_ops")
void prague_set_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u8 state = (u8)ctx[1];

	/* Nothing to steer before the connection is established. */
	if (!c->prague.frac_cwnd)
		return;
	if (state == TCP_CA_CWR) {
		c->reducing = 1;
	} else if (state == TCP_CA_Recovery) {
		prague_on_loss(&c->prague, tp->snd_nxt, 0);
		set_window(sk);
		c->recovering = 1;
	} else if (state == TCP_CA_Loss) {
		/* The window is the kernel's until the next acknowledgement: what it sends again. */
		prague_on_loss(&c->prague, tp->snd_nxt, 1);
		tp->snd_ssthresh = c->prague.ssthresh;
	}
}

static __always_inline void on_start(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c->prague.frac_cwnd)
		return;
	prague_on_restart(&c->prague, (u32)bpf_jiffies64() - tp->lsndtime, inet_csk(sk)->icsk_rto);
	set_window(sk);
	set_pacing(sk, tp->mss_cache);
}

SEC("struct_ops")
void prague_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	u32 event = (u32)ctx[1];

	if (event == CA_EVENT_TX_START)
		on_start(sk);
	else if ((event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) &&
		 (tcp_sk(sk)->ecn_flags & (TCP_ECN_RFC3168 | TCP_ECN_ACCECN)) == TCP_ECN_RFC3168)
		echo_segment(&c->echo, sk, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
void prague_tx_start(u64 *ctx)
{
	on_start((struct sock *)ctx[0]);
}

/* What the kernel would reduce to. It does not: cong_control sets the window. */
SEC("struct_ops")
u32 prague_ssthresh(u64 *ctx)
{
	struct connection *c = inet_csk_ca((struct sock *)ctx[0]);

	return prague_cwnd(&c->prague);
}

SEC("struct_ops")
u32 prague_undo_cwnd(u64 *ctx)
{
	struct connection *c = inet_csk_ca((struct sock *)ctx[0]);

	prague_on_undo(&c->prague);
	return prague_cwnd(&c->prague);
}

/* No more of a burst than offload makes by itself. */
SEC("struct_ops")
u32 prague_min_tso_segs(u64 *ctx)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)prague_init,
	.ssthresh = (void *)prague_ssthresh,
	.cong_control = (void *)prague_cong_control,
	.set_state = (void *)prague_set_state,
	.cwnd_event = (void *)prague_cwnd_event,
	.cwnd_event_tx_start = (void *)prague_tx_start,
	.undo_cwnd = (void *)prague_undo_cwnd,
	.min_tso_segs = (void *)prague_min_tso_segs,
};
