// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Prague, built into the kernel of `--on linux`.
 *
 * The behaviour is in the headers, which the BPF program of stock kernels has too. This file has the
 * parts that differ in the kernel. The listener and the client must both have chosen it, since each flag
 * is read where a packet of the handshake is made or received:
 *
 *  - NEEDS_ACCECN asks for AccECN, and grants it;
 *  - ECT_1_NEGOTIATION makes SYN and SYN/ACK ECT(1). Later packets would be ECT(0), so build.sh makes
 *    tcp_ecn_send() read the flag as well;
 *  - NO_FALLBACK_RFC3168: with a peer that has only the ECN of RFC 3168 there is no ECN, so no
 *    receiver's side is needed here.
 *
 * Each network namespace has settings of its own: net/ipv4/tcp_prague is struct prague_config of
 * prague.h as a row of numbers. TCP_CC_INFO returns the state of a connection.
 */
#include <linux/module.h>
#include <linux/inet_diag.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

/* The functions that the headers require. */
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

#include "prague.h"

/* The settings until something is written to the file. */
static const struct prague_config prague_stock = PRAGUE_STOCK;

struct prague_net {
	struct prague_config settings;
	struct ctl_table_header *header;
};

static unsigned int prague_net_id;

static const struct prague_config *prague_settings(struct sock *sk)
{
	struct prague_net *net = net_generic(sock_net(sk), prague_net_id);

	return &net->settings;
}

static struct prague_shown *prague_shown(struct sock *sk);

#include "prague_tcp.h"

/* In the connection's control block. */
struct connection {
	struct prague_connection prague;
	/* Null if there was no memory for it. */
	struct prague_shown *shown;
};

static struct prague_shown *prague_shown(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);

	return c->shown;
}

static struct tcp_congestion_ops prague_without_ecn;

static void prague_init(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);

	c->shown = kzalloc(sizeof(*c->shown), GFP_ATOMIC);
	if (!tcp_ecn_mode_any(tcp_sk(sk)))
		inet_csk(sk)->icsk_ca_ops = &prague_without_ecn;
	prague_tcp_init(sk);
}

static void prague_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	prague_tcp_on_ack(sk, flag & PRAGUE_FLAG_ECE, rs);
}

static void prague_release(struct sock *sk)
{
	struct connection *c = inet_csk_ca(sk);

	kfree(c->shown);
	c->shown = NULL;
}

/*
 * The state of a connection, in the five words that there is room for. The score and its maximum are in
 * 2^-16; they are 1000 at most. Smoothed RTT, deviation and depth have 24 bits, and the upper bytes have
 * the number of rounds. It is not returned to ss, which would take it for another control's.
 */
static size_t prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	struct prague_shown *shown = prague_shown(sk);
	struct classic_ecn_report r;
	u32 words[5];

	BUILD_BUG_ON(sizeof(words) > sizeof(*info));
	if (ext != ~0U || !shown)
		return 0;
	classic_ecn_report(&shown->detector, &r);
	words[0] = (u32)(r.score >> (CLASSIC_ECN_BITS - 16));
	words[1] = (u32)(r.max >> (CLASSIC_ECN_BITS - 16));
	words[2] = (r.rounds >> 16 & 0xff) << 24 | (r.srtt_us & 0xffffff);
	words[3] = (r.rounds >> 8 & 0xff) << 24 | (r.mdev_us & 0xffffff);
	words[4] = (r.rounds & 0xff) << 24 | (r.depth_us & 0xffffff);
	memcpy(info, words, sizeof(words));
	return sizeof(words);
}

#define PRAGUE_OPERATIONS						\
	.init			= prague_init,				\
	.release		= prague_release,			\
	.get_info		= prague_get_info,			\
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

/* For connections without ECN, which are Not-ECT only if no control requires ECN. */
static struct tcp_congestion_ops prague_without_ecn __read_mostly = {
	PRAGUE_OPERATIONS,
};

static const struct ctl_table prague_file = {
	.procname	= "tcp_prague",
	.maxlen		= sizeof(struct prague_config),
	.mode		= 0644,
	.proc_handler	= proc_doulongvec_minmax,
};

static int __net_init prague_net_init(struct net *net)
{
	struct prague_net *own = net_generic(net, prague_net_id);
	struct ctl_table *file = kmemdup(&prague_file, sizeof(prague_file), GFP_KERNEL);

	BUILD_BUG_ON(sizeof(unsigned long) != sizeof(u64));
	if (!file)
		return -ENOMEM;
	own->settings = prague_stock;
	file->data = &own->settings;
	own->header = register_net_sysctl_sz(net, "net/ipv4", file, 1);
	if (!own->header) {
		kfree(file);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit prague_net_exit(struct net *net)
{
	struct prague_net *own = net_generic(net, prague_net_id);
	const struct ctl_table *file = own->header->ctl_table_arg;

	unregister_net_sysctl_table(own->header);
	kfree(file);
}

static struct pernet_operations prague_net_operations = {
	.init	= prague_net_init,
	.exit	= prague_net_exit,
	.id	= &prague_net_id,
	.size	= sizeof(struct prague_net),
};

static int __init prague_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct connection) > ICSK_CA_PRIV_SIZE);
	error = register_pernet_subsys(&prague_net_operations);
	if (error)
		return error;
	error = tcp_register_congestion_control(&prague);
	if (error)
		unregister_pernet_subsys(&prague_net_operations);
	return error;
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague);
	unregister_pernet_subsys(&prague_net_operations);
}

module_init(prague_register);
module_exit(prague_unregister);

MODULE_AUTHOR("The l4s developers");
MODULE_DESCRIPTION("TCP Prague");
MODULE_LICENSE("GPL");
