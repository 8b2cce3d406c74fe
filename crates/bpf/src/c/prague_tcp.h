/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * TCP Prague between a kernel's TCP and the arithmetic: what each operation of a congestion
 * control reads from the socket, and what it writes there.
 *
 * A BPF program and code in the kernel share it. The includer provides the kernel's types, and
 * what the two have in different ways: in_flight(tp), cwnd_limited(tp), jiffies32(),
 * prague_settings(sk) and prague_shown(sk), which is null where a connection got no memory for it.
 *
 * cong_control takes the kernel's place in every state: neither proportional rate reduction nor
 * the restart after a pause happen without us. Marks are counted by the kernel, exactly where
 * AccECN was negotiated, and from ECE otherwise.
 */
#ifndef L4S_PRAGUE_TCP_H
#define L4S_PRAGUE_TCP_H

#include "prague.h"

/* More than this is many. */
#define PRAGUE_ACKED_MAX (1u << 20)

/* First in the connection's control block. */
struct prague_connection {
	struct prague prague;
	/* What the kernel had counted when the last acknowledgement was seen. */
	u32 delivered;
	u32 delivered_ce;
	/* The kernel began a reduction; the next acknowledgement tells for what. */
	u8 reducing;
	/* Recovery began; the first retransmission must not wait for the window. */
	u8 recovering;
};

/* The connection's detector; null where there is none, or no ECN that it could judge. */
static __always_inline struct classic_ecn *detector_of(const struct prague_config *config,
						       const struct tcp_sock *tp,
						       struct prague_shown *shown)
{
	if (!shown || !config->detects || !(tp->ecn_flags & TCP_ECN_MODE_ANY))
		return 0;
	return &shown->detector;
}

static __always_inline void set_pacing(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = prague_pacing_rate(&c->prague, in_flight(tp), tp->mss_cache, tp->srtt_us >> 3);

	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

static __always_inline void set_window(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = prague_cwnd(&c->prague);
	tp->snd_ssthresh = c->prague.ssthresh;
}

static __always_inline void prague_tcp_init(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct prague_config *config = prague_settings(sk);
	struct prague_shown *shown = prague_shown(sk);

	prague_start(&c->prague, config, tp->snd_cwnd, tp->snd_nxt, tp->tcp_mstamp);
	if (shown) {
		classic_ecn_start(&shown->detector, &config->detector, tp->snd_una);
		shown->average = c->prague.average;
		shown->acked = 0;
	}
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->reducing = 0;
	c->recovering = 0;
	/* TCP paces by itself where no fq is below. */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	set_pacing(sk);
}

/* In slow start, half the window in use is enough: it may double. */
static __always_inline u32 is_limited(const struct prague *s, const struct tcp_sock *tp)
{
	u32 cwnd = prague_cwnd(s);

	return cwnd_limited(tp) || (cwnd < s->ssthresh && cwnd < 2 * tp->max_packets_out);
}

/* An acknowledgement; ece says whether it brought ECE, or a count of marks. */
static __always_inline void prague_tcp_on_ack(struct sock *sk, u32 ece,
					      const struct rate_sample *rate)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered, delivered_ce = tp->delivered_ce;
	struct prague_ack ack = {
		.now = tp->tcp_mstamp,
		.srtt_us = tp->srtt_us >> 3,
		/* Of the newest packet that this acknowledgement told of, by SACK too; below 0 where
		 * it was sent twice. */
		.rtt_us = rate->rtt_us >= 0 ? (u32)rate->rtt_us : CLASSIC_ECN_NO_RTT,
		.min_rtt_us = tp->rtt_min.s[0].v,
		.delivered = delivered - c->delivered,
		.delivered_ce = delivered_ce - c->delivered_ce,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.limited = is_limited(&c->prague, tp),
		.app_limited = rate->is_app_limited,
	};
	const struct prague_config *config = prague_settings(sk);
	struct prague_shown *shown = prague_shown(sk);
	struct classic_ecn *detector = detector_of(config, tp, shown);

	/* Without ECN there is nothing to be scalable with: growth is Reno's (RFC 9331 §4.3). */
	if (!(tp->ecn_flags & TCP_ECN_MODE_ANY))
		c->prague.independence = PRAGUE_RTT_OFF;
	if (shown) {
		if (shown->acked < PRAGUE_ACKED_MAX)
			shown->acked += ack.delivered;
		ack.acked = shown->acked;
	}
	c->delivered = delivered;
	c->delivered_ce = delivered_ce;
	if (c->reducing) {
		/* Not for a mark: a tail loss that a probe repaired, or a queue of this host. */
		c->reducing = 0;
		if (!ack.delivered_ce && !ece)
			prague_on_loss(&c->prague, config, detector, ack.nxt, 0);
	}
	prague_on_ack(&c->prague, config, detector, &ack);
	if (shown)
		shown->average = c->prague.average;
	set_window(sk);
	if (c->recovering) {
		/* The lost segment goes first, whatever is in flight (RFC 6675 §5 step 4.3). */
		u32 first = in_flight(tp) + 1;

		c->recovering = 0;
		if (tp->snd_cwnd < first)
			tp->snd_cwnd = first;
	}
	set_pacing(sk);
}

static __always_inline void prague_tcp_set_state(struct sock *sk, u8 state)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	const struct prague_config *config = prague_settings(sk);
	struct classic_ecn *detector;

	/* Nothing to steer before the connection is established. */
	if (!c->prague.frac_cwnd)
		return;
	detector = detector_of(config, tp, prague_shown(sk));
	if (state == TCP_CA_CWR) {
		c->reducing = 1;
	} else if (state == TCP_CA_Recovery) {
		prague_on_loss(&c->prague, config, detector, tp->snd_nxt, 0);
		set_window(sk);
		c->recovering = 1;
	} else if (state == TCP_CA_Loss) {
		/* The window is the kernel's until the next acknowledgement: what it sends again. */
		prague_on_loss(&c->prague, config, detector, tp->snd_nxt, 1);
		tp->snd_ssthresh = c->prague.ssthresh;
	}
}

/* The first packet after a pause. */
static __always_inline void prague_tcp_on_start(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct prague_config *config = prague_settings(sk);

	if (!c->prague.frac_cwnd)
		return;
	prague_on_restart(&c->prague, config, detector_of(config, tp, prague_shown(sk)),
			  jiffies32() - tp->lsndtime, inet_csk(sk)->icsk_rto);
	set_window(sk);
	set_pacing(sk);
}

/* What the kernel would reduce to. It does not: cong_control sets the window. */
static __always_inline u32 prague_tcp_ssthresh(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);

	return prague_cwnd(&c->prague);
}

static __always_inline u32 prague_tcp_undo_cwnd(struct sock *sk)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	const struct prague_config *config = prague_settings(sk);

	prague_on_undo(&c->prague, config, detector_of(config, tp, prague_shown(sk)));
	return prague_cwnd(&c->prague);
}

/* No more of a burst than offload makes by itself. */
static __always_inline u32 prague_tcp_min_tso_segs(struct sock *sk)
{
	return 1;
}

#endif
