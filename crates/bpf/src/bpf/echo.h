/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The receiver's side of DCTCP (RFC 8257 §3.2): it acknowledges every change between marked and
 * unmarked at once, so that the sender can count marks from ECE alone.
 */
#ifndef L4S_ECHO_H
#define L4S_ECHO_H

#include "kernel.h"

struct echo {
	/* The sequence number up to which data was acknowledged, or delayed, before this segment. */
	u32 rcv_nxt;
	/* DCTCP.CE: whether the last segment was marked. */
	u32 ce;
};

static __always_inline void echo_start(struct echo *e, u32 rcv_nxt)
{
	e->rcv_nxt = rcv_nxt;
	e->ce = 0;
}

/* A segment arrived, marked or not. The kernel calls it before it counts the segment as received. */
static __always_inline void echo_segment(struct echo *e, struct sock *sk, u32 ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (e->ce != ce) {
		/* The pending acknowledgement belongs to the old state: send it before the state changes. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			if (e->ce)
				tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
			else
				tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, e->rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	e->rcv_nxt = tp->rcv_nxt;
	e->ce = ce;
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
