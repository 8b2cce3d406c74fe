/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * ECT(0) becomes ECT(1) on the way out of a device, since stock kernels have TCP send only
 * ECT(0) once a connection is established. Other codepoints stay (RFC 9331 §4.1).
 *
 * It works on devices with Ethernet headers and on those without, such as TUN: the kernel knows
 * where the IP header of a packet is.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Go on with the next program, and send the packet at last. */
#define NEXT (-1)

/* The ECN field is in the second byte: the last bits of IPv4's, the middle of IPv6's. */
#define IPV4_ECN 0x03
#define IPV4_ECT0 0x02
#define IPV4_ECT1 0x01
#define IPV4_CHECKSUM 10
#define IPV6_ECN 0x30
#define IPV6_ECT0 0x20
#define IPV6_ECT1 0x10

/* On a machine that does other things as well, only the packets of sockets with the congestion
 * control of that name: ECT(1) from any other sender would be a lie (RFC 9331 §4). */
const volatile u32 control[4] = {};

/* What becomes of ECT(0). */
#define LEAVE 0
#define TO_ECT1 1
#define TO_NOT_ECT 2

static __always_inline int wanted(struct __sk_buff *skb)
{
	const struct tcp_congestion_ops *ops;
	void *sk = skb->sk;
	const u32 *name;
	void *tp;
	u32 mode;

	if (!control[0])
		return TO_ECT1;
	if (!sk)
		return LEAVE;
	/* Not of those that are no whole socket yet, or no more. */
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return LEAVE;
	ops = inet_csk(tp)->icsk_ca_ops;
	if (!ops)
		return LEAVE;
	name = (const u32 *)ops->name;
	if (name[0] != control[0] || name[1] != control[1] || name[2] != control[2] ||
	    name[3] != control[3])
		return LEAVE;
	/* Marks have to come back one by one (RFC 9331 §4.2). The feedback of RFC 3168 is for a
	 * Classic sender. And Linux sends ECT(0) for a control that wants ECN even where the other
	 * end refused it, or where the control was chosen when it was too late to ask: then nobody
	 * would learn of a mark. */
	mode = tcp_sk(tp)->ecn_flags & TCP_ECN_MODE_ANY;
	if (!mode)
		return TO_NOT_ECT;
	return mode & TCP_ECN_MODE_ACCECN ? TO_ECT1 : LEAVE;
}

SEC("tc")
int ect1(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	/* On its way out, the packet begins with its link header, if any. */
	u32 at = (u32)kernel->network_header - kernel->mac_header;
	union {
		u8 byte[2];
		u16 word;
	} was, now;
	int want;

	if (at > 64 || bpf_skb_load_bytes(skb, at, &was, sizeof(was)))
		return NEXT;
	want = wanted(skb);
	if (want == LEAVE)
		return NEXT;
	now = was;
	if (was.byte[0] >> 4 == 4 && (was.byte[1] & IPV4_ECN) == IPV4_ECT0) {
		now.byte[1] ^= IPV4_ECT0 | (want == TO_ECT1 ? IPV4_ECT1 : 0);
		/* Both in the packet's order of bytes, as the checksum is. */
		if (bpf_l3_csum_replace(skb, at + IPV4_CHECKSUM, was.word, now.word, 2))
			return NEXT;
	} else if (was.byte[0] >> 4 == 6 && (was.byte[1] & IPV6_ECN) == IPV6_ECT0) {
		now.byte[1] ^= IPV6_ECT0 | (want == TO_ECT1 ? IPV6_ECT1 : 0);
	} else {
		return NEXT;
	}
	bpf_skb_store_bytes(skb, at, &now, sizeof(now), 0);
	return NEXT;
}

/* Does nothing, to see whether a program can be attached. */
SEC("tc")
int pass(struct __sk_buff *skb)
{
	return NEXT;
}
