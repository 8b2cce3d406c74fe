/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * TCP Prague for stock kernels.
 *
 * The behaviour is in the headers. This file has the parts that differ in a BPF program, and the
 * receiver's side for kernels without AccECN, which is DCTCP's.
 *
 * Packets leave TCP as ECT(0): ect1.bpf.c makes them ECT(1).
 */
#include "kernel.h"
#include "echo.h"

/* The kernel defines a bit field's position. */
static __always_inline u32 cwnd_limited(const struct tcp_sock *tp)
{
	return read_bit_field(tp, is_cwnd_limited);
}

static __always_inline u32 jiffies32(void)
{
	return (u32)bpf_jiffies64();
}

#include "shown.h"

/* The loader writes it before the program is loaded (src/control.rs). */
const volatile struct prague_config settings = {};

static __always_inline const struct prague_config *prague_settings(struct sock *sk)
{
	const struct prague_config *written = (const struct prague_config *)&settings;

	/* Keeps the compiler from assuming that they are zeros. */
	__asm__("" : "+r"(written));
	return written;
}

static __always_inline struct prague_shown *prague_shown(struct sock *sk);

#include "../c/prague_tcp.h"

static __always_inline struct prague_shown *prague_shown(struct sock *sk)
{
	return bpf_sk_storage_get(&prague_sockets, sk, 0, 0);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* In the connection's control block. */
struct connection {
	struct prague_connection prague;
	struct echo echo;
};
_Static_assert(sizeof(struct connection) <= 13 * 8, "the control block has 104 bytes");

SEC("struct_ops")
void prague_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);

	if (leave_to_reno(sk))
		return;
	/* Without memory for it, the connection has no detector. */
	bpf_sk_storage_get(&prague_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	prague_tcp_init(sk);
	echo_start(&c->echo, tcp_sk(sk)->rcv_nxt);
}

SEC("struct_ops")
void prague_cong_control(u64 *ctx)
{
	prague_tcp_on_ack((struct sock *)ctx[0], (u32)ctx[2] & FLAG_ECE,
			  (const struct rate_sample *)ctx[3]);
}

SEC("struct_ops")
void prague_set_state(u64 *ctx)
{
	prague_tcp_set_state((struct sock *)ctx[0], (u8)ctx[1]);
}

SEC("struct_ops")
void prague_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct connection *c = inet_csk_ca(sk);
	u32 event = (u32)ctx[1];

	if (event == CA_EVENT_TX_START)
		prague_tcp_on_start(sk);
	else if ((event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE) &&
		 (tcp_sk(sk)->ecn_flags & TCP_ECN_MODE_ANY) == TCP_ECN_MODE_RFC3168)
		echo_segment(&c->echo, sk, event == CA_EVENT_ECN_IS_CE);
}

SEC("struct_ops")
void prague_tx_start(u64 *ctx)
{
	prague_tcp_on_start((struct sock *)ctx[0]);
}

SEC("struct_ops")
u32 prague_ssthresh(u64 *ctx)
{
	return prague_tcp_ssthresh((struct sock *)ctx[0]);
}

SEC("struct_ops")
u32 prague_undo_cwnd(u64 *ctx)
{
	return prague_tcp_undo_cwnd((struct sock *)ctx[0]);
}

SEC("struct_ops")
u32 prague_min_tso_segs(u64 *ctx)
{
	return prague_tcp_min_tso_segs((struct sock *)ctx[0]);
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
