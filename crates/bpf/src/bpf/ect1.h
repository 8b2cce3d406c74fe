/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * ECT(0) becomes ECT(1) at the egress of a device, since TCP in stock kernels sends only ECT(0) once
 * a connection is established. Other codepoints are unchanged (RFC 9331 §4.1).
 *
 * It works on devices with Ethernet headers and on those without, such as TUN: the kernel has the
 * position of the IP header of a packet.
 */
#ifndef L4S_ECT1_H
#define L4S_ECT1_H

#include "kernel.h"

/* Continue with the next program, and send the packet in the end. */
#define NEXT (-1)

/* A link header is not longer than this. */
#define MOST_BEFORE_IP 64
#define IPV4_CHECKSUM 10
/* The ECN field is in the second byte: the last bits in IPv4, the middle bits in IPv6. */
#define ECN_MASK 3
#define IPV6_ECN_SHIFT 4
#define NOT_ECT 0
#define ECT1 1
#define ECT0 2

/* On a machine with other traffic, only the packets of sockets with the congestion control of that
 * name are changed: ECT(1) from any other sender would be wrong (RFC 9331 §4). */
const volatile u32 control[4] = {};

/* The codepoint that replaces ECT(0). */
static __always_inline u32 wanted(struct __sk_buff *skb)
{
	const struct tcp_congestion_ops *ops;
	void *sk = skb->sk;
	const u32 *name;
	void *tp;
	u32 mode;

	if (!control[0])
		return ECT1;
	if (!sk)
		return ECT0;
	/* Sockets that are not complete yet, or no longer, are left out. */
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return ECT0;
	ops = inet_csk(tp)->icsk_ca_ops;
	if (!ops)
		return ECT0;
	name = (const u32 *)ops->name;
	if (name[0] != control[0] || name[1] != control[1] || name[2] != control[2] ||
	    name[3] != control[3])
		return ECT0;
	/* The peer has to report each mark (RFC 9331 §4.2). The feedback of RFC 3168 is for a Classic
	 * sender. Linux also sends ECT(0) for a control that needs ECN if the peer refused ECN, or if the
	 * control was chosen after the handshake. Then nobody would report a mark. */
	mode = tcp_sk(tp)->ecn_flags & TCP_ECN_MODE_ANY;
	if (!mode)
		return NOT_ECT;
	return mode & TCP_ECN_MODE_ACCECN ? ECT1 : ECT0;
}

/* The position of the IP header. An outgoing packet begins with its link header, if it has one; so does an
 * incoming one, for a program on the device. */
static __always_inline u32 ip_header_of(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return (u32)kernel->network_header - kernel->mac_header;
}

/* Changes the codepoint of a packet from `from` to `to`. Returns whether it was `from` and is `to` now. */
static __always_inline int rewrite_ecn(struct __sk_buff *skb, u32 at, u32 from, u32 to)
{
	union {
		u8 byte[2];
		u16 word;
	} was, now;

	if (at > MOST_BEFORE_IP || bpf_skb_load_bytes(skb, at, &was, sizeof(was)))
		return 0;
	now = was;
	if (was.byte[0] >> 4 == 4 && (was.byte[1] & ECN_MASK) == from) {
		now.byte[1] ^= from ^ to;
		/* Both are in network byte order, as the checksum is. */
		if (bpf_l3_csum_replace(skb, at + IPV4_CHECKSUM, was.word, now.word, 2))
			return 0;
	} else if (was.byte[0] >> 4 == 6 && (was.byte[1] >> IPV6_ECN_SHIFT & ECN_MASK) == from) {
		now.byte[1] ^= (from ^ to) << IPV6_ECN_SHIFT;
	} else {
		return 0;
	}
	return !bpf_skb_store_bytes(skb, at, &now, sizeof(now), 0);
}

/* Makes ECT(0) ECT(1). Returns whether the packet was changed. */
static __always_inline int to_wanted(struct __sk_buff *skb)
{
	u32 to = wanted(skb);

	return to != ECT0 && rewrite_ecn(skb, ip_header_of(skb), ECT0, to) && to == ECT1;
}

#endif
