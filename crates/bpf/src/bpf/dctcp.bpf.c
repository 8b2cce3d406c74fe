/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * DCTCP (RFC 8257) for kernels that were built without it.
 *
 * The sender counts marks in in_ack_event and answers them in ssthresh; growth and recovery are
 * the kernel's own. The receiver echoes every change of the mark at once.
 */
#include "kernel.h"
#include "echo.h"
#include "../c/dctcp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* In the connection's control block. */
struct connection {
	struct dctcp dctcp;
	struct echo echo;
	/* The kernel's counts at the last acknowledgement. */
	u32 delivered;
	u32 delivered_ce;
	/* The window before the last loss. */
	u32 loss_cwnd;
};
_Static_assert(sizeof(struct connection) <= 13 * 8, "the control block has 104 bytes");

SEC("struct_ops")
void dctcp_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (leave_to_reno(sk))
		return;
	dctcp_start(&c->dctcp, tp->snd_nxt);
	echo_start(&c->echo, tp->rcv_nxt);
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->loss_cwnd = 0;
}

SEC("struct_ops")
u32 dctcp_reduce(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	c->loss_cwnd = cwnd;
	return dctcp_ssthresh(&c->dctcp, cwnd);
}

SEC("struct_ops")
void dctcp_in_ack_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered, delivered_ce = tp->delivered_ce;

	dctcp_observe(&c->dctcp, delivered - c->delivered, delivered_ce - c->delivered_ce,
		      tp->snd_una, tp->snd_nxt);
	c->delivered = delivered;
	c->delivered_ce = delivered_ce;
}

/* A loss is answered as in Reno (RFC 8257 §3.5), even if a mark was just answered. */
static __always_inline void on_loss(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	c->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = dctcp_loss(tp->snd_cwnd);
}

SEC("struct_ops")
void dctcp_set_state(u64 *ctx)
{
	if ((u8)ctx[1] == TCP_CA_Recovery)
		on_loss((struct sock *)ctx[0]);
}

SEC("struct_ops")
void dctcp_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	u32 event = (u32)ctx[1];

	if (event == CA_EVENT_LOSS)
		on_loss(sk);
	else if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		echo_segment(&c->echo, sk, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
void dctcp_cong_avoid(u64 *ctx)
{
	tcp_reno_cong_avoid((struct sock *)ctx[0], (u32)ctx[1], (u32)ctx[2]);
}

SEC("struct_ops")
u32 dctcp_undo_cwnd(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return cwnd > c->loss_cwnd ? cwnd : c->loss_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_reduce,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
};
