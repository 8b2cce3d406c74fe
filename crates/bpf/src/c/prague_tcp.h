/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * TCP Prague between a kernel's TCP and the arithmetic: the values that each operation of a congestion
 * control reads from the socket and writes to it.
 *
 * A BPF program and code in the kernel share it. The includer provides the kernel's types, and the
 * functions that differ between the two: in_flight(tp), cwnd_limited(tp), jiffies32(),
 * prague_settings(sk) and prague_shown(sk). The last is null if a connection got no memory for it.
 *
 * cong_control replaces the kernel's own in every state: proportional rate reduction and the restart
 * after a pause happen only here. The kernel counts marks: exactly where AccECN was negotiated, and
 * from ECE otherwise. The peer may then report only that there was a mark.
 */
#ifndef L4S_PRAGUE_TCP_H
#define L4S_PRAGUE_TCP_H

#include "prague.h"

/* A limit: all larger counts have the same effect. */
#define PRAGUE_ACKED_MAX (1u << 20)

/* The meaning of ECE, if marks are reported by it (RFC 3168). */
#define PRAGUE_ECHO_UNKNOWN 0
/* There was a mark; repeated until CWR arrives. */
#define PRAGUE_ECHO_CLASSIC 1
/* The acknowledged packets were marked, as DCTCP's and Prague's receivers report it (RFC 8257 §3.2). */
#define PRAGUE_ECHO_EXACT 2

#define PRAGUE_ALONE 2

/* First in the connection's control block. */
struct prague_connection {
	struct prague prague;
	/* The kernel's counts at the last acknowledgement. */
	u32 delivered;
	u32 delivered_ce;
	/* The kernel began a reduction; the next acknowledgement shows its reason. PRAGUE_ALONE if the CWR
	 * of an earlier one has arrived. */
	u8 reducing;
	/* Recovery began; the first retransmission must not wait for the window. */
	u8 recovering;
	/* PRAGUE_ECHO_UNKNOWN and so on. */
	u8 echo;
	/* ECE was answered, and CWR is in the first packet that had not been sent then. */
	u8 answering;
	/* While `answering`, the acknowledgement number of the last ECE. Otherwise the next sequence
	 * number to be sent when the last reduction began. */
	u32 ece_una;
};

/* The connection's detector; null if there is none, or no ECN that it could judge. */
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
		tracing_begin(&shown->tracing);
		shown->average = c->prague.average;
		shown->acked = 0;
	}
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->reducing = 0;
	c->recovering = 0;
	c->echo = PRAGUE_ECHO_UNKNOWN;
	c->answering = 0;
	c->ece_una = tp->snd_una - 1;
	/* TCP paces by itself without fq. */
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

/*
 * An acknowledgement of a connection whose peer reports marks as ECE. A receiver of RFC 3168 repeats
 * ECE for a round trip, until CWR arrives. The number of marked packets is not known, and a mark has the
 * meaning of a loss (RFC 3168 §5). So it is answered as a loss, once until the packet that TCP sent
 * with CWR is acknowledged.
 *
 * A receiver that reports the mark of each packet clears ECE before it can have received CWR. From then
 * on its marks are counted.
 */
static __always_inline void prague_tcp_on_echo(struct prague_connection *c,
					       const struct prague_config *config,
					       struct classic_ecn *detector,
					       const struct prague_ack *ack, u32 ece,
					       u32 reducing, u32 sacked)
{
	struct prague *s = &c->prague;

	if (c->echo == PRAGUE_ECHO_EXACT)
		return;
	if (s->in_loss && prague_reached(ack->una, s->recover))
		s->in_loss = 0;
	if (!s->in_loss)
		c->answering = 0;
	if (ece) {
		c->echo = PRAGUE_ECHO_CLASSIC;
		if (!s->in_loss) {
			/* CWR is in the next packet: acknowledgements after it may have ECE again. */
			prague_on_loss(s, config, detector, ack->nxt + 1, 0);
			/* An undo of a spurious loss must not revert it. */
			s->prior_frac_cwnd = s->frac_cwnd;
			s->prior_ssthresh = s->ssthresh;
			c->answering = reducing == PRAGUE_ALONE && c->ece_una == ack->nxt;
		}
		if (c->answering)
			c->ece_una = ack->una;
		/* The mark is answered: prague_on_ack() only counts. */
		s->saw_ce = 1;
		s->cut_at = ack->now;
	} else if (c->answering && !sacked && !prague_reached(c->ece_una, ack->una)) {
		/* It was sent after the one with ECE, and before CWR arrived. */
		c->echo = PRAGUE_ECHO_EXACT;
	}
}

/* The dependence of the growth on the RTT. Without exact marks the control cannot be scalable, and the
 * growth is Reno's (RFC 9331 §4.3). */
static __always_inline void prague_tcp_set_growth(struct prague_connection *c,
						  const struct prague_config *config, u32 mode)
{
	if (mode && c->echo != PRAGUE_ECHO_CLASSIC) {
		c->prague.independence = (u8)config->rtt_independence;
		return;
	}
	c->prague.independence = PRAGUE_RTT_OFF;
	/* It does not grow faster after some time without marks either. */
	c->prague.after_loss = 1;
}

/* Takes the answers to sets of tracers, if any arrived since the last acknowledgement. */
static __always_inline void prague_tcp_on_traced(const struct prague_config *config,
						 struct classic_ecn *detector,
						 struct tracing *tracing)
{
	u32 overtaken;

	if (config->detector.traces && tracing_take(tracing, &overtaken))
		classic_ecn_on_traced(detector, &config->detector, overtaken);
}

/* An acknowledgement; ece: whether it had ECE, or a count of marks. */
static __always_inline void prague_tcp_on_ack(struct sock *sk, u32 ece,
					      const struct rate_sample *rate)
{
	struct prague_connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered, delivered_ce = tp->delivered_ce;
	struct prague_ack ack = {
		.now = tp->tcp_mstamp,
		.srtt_us = tp->srtt_us >> 3,
		/* The RTT of the newest packet that this acknowledgement reported, also by SACK; below 0
		 * if the packet was sent twice. */
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
	u32 mode = tp->ecn_flags & TCP_ECN_MODE_ANY, reducing = c->reducing;

	if (shown) {
		if (shown->acked < PRAGUE_ACKED_MAX)
			shown->acked += ack.delivered;
		ack.acked = shown->acked;
	}
	c->delivered = delivered;
	c->delivered_ce = delivered_ce;
	if (reducing) {
		/* The reason is no mark: a tail loss that a probe repaired, or a queue of this host. */
		c->reducing = 0;
		if (!ack.delivered_ce && !ece)
			prague_on_loss(&c->prague, config, detector, ack.nxt, 0);
	}
	if (mode == TCP_ECN_MODE_RFC3168)
		prague_tcp_on_echo(c, config, detector, &ack, ece, reducing, tp->sacked_out);
	prague_tcp_set_growth(c, config, mode);
	prague_on_ack(&c->prague, config, detector, &ack);
	if (detector)
		prague_tcp_on_traced(config, detector, &shown->tracing);
	if (shown)
		shown->average = c->prague.average;
	set_window(sk);
	if (c->recovering) {
		/* The lost segment is sent first, for any number in flight (RFC 6675 §5 step 4.3). */
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

	/* There is no state before the connection is established. */
	if (!c->prague.frac_cwnd)
		return;
	detector = detector_of(config, tp, prague_shown(sk));
	/* Each reduction sets CWR in the next packet. */
	if (state == TCP_CA_CWR) {
		c->reducing = prague_reached(c->ece_una, tp->snd_una) ? 1 : PRAGUE_ALONE;
		c->answering = 0;
		c->ece_una = tp->snd_nxt;
	} else if (state == TCP_CA_Recovery) {
		prague_on_loss(&c->prague, config, detector, tp->snd_nxt, 0);
		set_window(sk);
		c->recovering = 1;
		c->answering = 0;
		c->ece_una = tp->snd_nxt;
	} else if (state == TCP_CA_Loss) {
		/* The kernel sets the window until the next acknowledgement: it retransmits. */
		prague_on_loss(&c->prague, config, detector, tp->snd_nxt, 1);
		c->answering = 0;
		c->ece_una = tp->snd_nxt;
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

/* The value to which the kernel would reduce. It does not: cong_control sets the window. */
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

/* Limits a burst to the minimum that segmentation offload makes by itself. */
static __always_inline u32 prague_tcp_min_tso_segs(struct sock *sk)
{
	return 1;
}

#endif
