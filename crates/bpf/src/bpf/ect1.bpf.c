/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * ECT(1) for the packets that leave a device: see ect1.h.
 */
#include "ect1.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int ect1(struct __sk_buff *skb)
{
	to_wanted(skb);
	return NEXT;
}

/* Does nothing. The loader attaches it to test whether a program can be attached. */
SEC("tc")
int pass(struct __sk_buff *skb)
{
	return NEXT;
}
