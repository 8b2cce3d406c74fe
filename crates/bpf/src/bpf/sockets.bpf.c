/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Lists the sockets that have Prague, in every network namespace: a reader gets a record of each. It
 * is attached to the map in which Prague keeps the state that it shows (prague.bpf.c).
 */
#include "kernel.h"
#include "../c/prague.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* src/sockets.rs reads it. */
struct record {
	struct prague_report report;
	u32 cwnd;
	u32 state;
	u16 family;
	/* Both in host byte order. */
	u16 local_port;
	u16 peer_port;
	u16 zero;
	/* In network byte order; IPv4 uses only the first word. */
	u32 local[4];
	u32 peer[4];
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __core;

SEC("iter/bpf_sk_storage_map")
int sockets(u64 *ctx)
{
	struct bpf_iter_meta *meta = (struct bpf_iter_meta *)ctx[0];
	struct sock *sk = (struct sock *)ctx[2];
	const struct prague_shown *shown = (const struct prague_shown *)ctx[3];
	struct sock_common *common;
	struct record r = {};
	struct tcp_sock *tp;
	u16 port;

	if (!sk || !shown)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	common = &sk->__sk_common;
	prague_report(shown, &r.report);
	r.cwnd = tp->snd_cwnd;
	r.state = common->skc_state;
	r.family = common->skc_family;
	r.local_port = common->skc_num;
	port = common->skc_dport;
	r.peer_port = (u16)(port << 8 | port >> 8);
	if (r.family == AF_INET6) {
		r.local[0] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		r.local[1] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		r.local[2] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		r.local[3] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		r.peer[0] = common->skc_v6_daddr.in6_u.u6_addr32[0];
		r.peer[1] = common->skc_v6_daddr.in6_u.u6_addr32[1];
		r.peer[2] = common->skc_v6_daddr.in6_u.u6_addr32[2];
		r.peer[3] = common->skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		r.local[0] = common->skc_rcv_saddr;
		r.peer[0] = common->skc_daddr;
	}
	bpf_seq_write(meta->seq, &r, sizeof(r));
	return 0;
}
