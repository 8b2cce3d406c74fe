// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Prague, built into the kernel of `--on linux`.
 *
 * What it does is in the headers, which the BPF program of stock kernels has too; here is what
 * the kernel has in its own way. The listener and the client must both have chosen it, for each
 * flag is looked at where a packet of the handshake is made or read:
 *
 *  - NEEDS_ACCECN asks for AccECN, and grants it;
 *  - ECT_1_NEGOTIATION makes SYN and SYN/ACK ECT(1). What follows would be ECT(0): build.sh has
 *    tcp_ecn_send() look at the flag as well;
 *  - NO_FALLBACK_RFC3168: with a peer that has only the ECN of RFC 3168 there is none at all, so
 *    that no receiver's side is needed here.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* What the headers ask for. */
static __always_inline u32 in_flight(const struct tcp_sock *tp)
{
	return tcp_packets_in_flight(tp);
}

static __always_inline u32 cwnd_limited(const struct tcp_sock *tp)
{
	return tp->is_cwnd_limited;
}

static __always_inline u32 jiffies32(void)
{
	return tcp_jiffies32;
}

/* FLAG_ECE of tcp_input.c. */
#define PRAGUE_FLAG_ECE 0x40

#include "prague_tcp.h"

static struct tcp_congestion_ops prague_without_ecn;

static void prague_init(struct sock *sk)
{
	if (!tcp_ecn_mode_any(tcp_sk(sk)))
		inet_csk(sk)->icsk_ca_ops = &prague_without_ecn;
	prague_tcp_init(sk);
}

static void prague_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	prague_tcp_on_ack(sk, flag & PRAGUE_FLAG_ECE);
}

#define PRAGUE_OPERATIONS						\
	.init			= prague_init,				\
	.ssthresh		= prague_tcp_ssthresh,			\
	.cong_control		= prague_cong_control,			\
	.set_state		= prague_tcp_set_state,			\
	.cwnd_event_tx_start	= prague_tcp_on_start,			\
	.undo_cwnd		= prague_tcp_undo_cwnd,			\
	.min_tso_segs		= prague_tcp_min_tso_segs,		\
	.owner			= THIS_MODULE,				\
	.name			= "prague"

static struct tcp_congestion_ops prague __read_mostly = {
	PRAGUE_OPERATIONS,
	.flags			= TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN |
				  TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION |
				  TCP_CONG_NO_FALLBACK_RFC3168,
};

/* For connections without ECN, which are Not-ECT only where nothing asks for more. */
static struct tcp_congestion_ops prague_without_ecn __read_mostly = {
	PRAGUE_OPERATIONS,
};

static int __init prague_register(void)
{
	BUILD_BUG_ON(sizeof(struct prague_connection) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&prague);
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague);
}

module_init(prague_register);
module_exit(prague_unregister);

MODULE_AUTHOR("The l4s developers");
MODULE_DESCRIPTION("TCP Prague");
MODULE_LICENSE("GPL");
