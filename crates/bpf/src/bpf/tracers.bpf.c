/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Sends sets of tracers (Fallback §5) for connections with Prague, and reads their answers: see
 * tracing.h.
 *
 * At the egress of a device, if a connection requests a set (tracers.h), two copies of a data packet
 * follow it. At the ingress, the blocks that answer copies are removed from acknowledgements. The
 * congestion control takes their outcome with the acknowledgement that contained them.
 */
#include "ect1.h"
#include "shown.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Offsets in headers. */
#define IPV4_LENGTH 2
#define IPV4_FRAGMENT 6
#define IPV4_PROTOCOL 9
#define IPV4_SOURCE 12
#define IPV6_LENGTH 4
#define IPV6_NEXT 6
#define IPV6_SOURCE 8
#define IPV6_HEADER 40
#define TCP_SEQ 4
#define TCP_ACK_NUMBER 8
#define TCP_OFFSET 12
#define TCP_CHECKSUM 16
#define TCP_HEADER 20

#define IPPROTO_TCP 6
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

/* The most bytes that TCP options can have. */
#define OPTIONS_MAX 40
#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define SACK_BLOCK 8

/* A TCP packet. */
struct packet {
	/* The offsets of its headers and of its payload. */
	u32 ip;
	u32 tcp;
	u32 payload;
	u32 is_ipv6;
	u32 flags;
	u32 seq;
};

static __always_inline u32 to_host(u32 x)
{
	return __builtin_bswap32(x);
}

/* Finds the headers. Returns whether it is a whole TCP packet without headers between IP and TCP. */
static __always_inline int is_tcp(struct __sk_buff *skb, struct packet *p)
{
	u8 ip[10];
	struct {
		u32 ports;
		u32 seq;
		u32 ack;
		u8 offset;
		u8 flags;
	} tcp;

	p->ip = ip_header_of(skb);
	if (p->ip > MOST_BEFORE_IP || bpf_skb_load_bytes(skb, p->ip, ip, sizeof(ip)))
		return 0;
	p->is_ipv6 = ip[0] >> 4 == 6;
	if (p->is_ipv6) {
		if (ip[IPV6_NEXT] != IPPROTO_TCP)
			return 0;
		p->tcp = p->ip + IPV6_HEADER;
	} else {
		/* It is a fragment: more fragments follow, or it is not the first. */
		if (ip[0] >> 4 != 4 || ip[IPV4_PROTOCOL] != IPPROTO_TCP ||
		    ip[IPV4_FRAGMENT] & 0x3f || ip[IPV4_FRAGMENT + 1])
			return 0;
		p->tcp = p->ip + (ip[0] & 15) * 4;
	}
	if (bpf_skb_load_bytes(skb, p->tcp, &tcp, 14))
		return 0;
	p->payload = p->tcp + (tcp.offset >> 4) * 4;
	p->flags = tcp.flags;
	p->seq = to_host(tcp.seq);
	return 1;
}

/* --- Egress ------------------------------------------------------------------------------- */

/* Writes the length of the packet into its headers, which were made for `was` bytes of payload. The TCP
 * checksum is still that of the pseudo-header: the device, or the kernel for it, adds the rest. */
static __always_inline int set_length(struct __sk_buff *skb, const struct packet *p, u32 was, u32 is)
{
	u32 header = p->payload - p->tcp, around = p->is_ipv6 ? header : p->payload - p->ip;
	u16 from = __builtin_bswap16(around + was), to = __builtin_bswap16(around + is);
	u16 tcp_from = __builtin_bswap16(header + was), tcp_to = __builtin_bswap16(header + is);

	if (!p->is_ipv6 && bpf_l3_csum_replace(skb, p->ip + IPV4_CHECKSUM, from, to, sizeof(to)))
		return 0;
	if (bpf_skb_store_bytes(skb, p->ip + (p->is_ipv6 ? IPV6_LENGTH : IPV4_LENGTH), &to,
				sizeof(to), 0))
		return 0;
	return !bpf_l4_csum_replace(skb, p->tcp + TCP_CHECKSUM, tcp_from, tcp_to,
				    BPF_F_PSEUDO_HDR | sizeof(tcp_to));
}

/* Shortens the payload from `was` bytes to the `is` bytes in `last`. `end` is the sequence number behind
 * them. */
static __always_inline int shorten(struct __sk_buff *skb, const struct packet *p, const u8 *last,
				   u32 was, u32 is, u32 end)
{
	u32 seq = to_host(end - is);

	return !bpf_skb_store_bytes(skb, p->payload, last, is, 0) &&
	       !bpf_skb_store_bytes(skb, p->tcp + TCP_SEQ, &seq, sizeof(seq), 0) &&
	       !bpf_skb_change_tail(skb, p->payload + is, 0) && set_length(skb, p, was, is);
}

/* Whether TCP left the checksum, but not the encryption (TLS), to the device. A device encrypts by the
 * socket. Copies have no socket, and the kernel would drop them. */
static __always_inline int can_be_copied(struct __sk_buff *skb)
{
	const struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);

	return read_bit_field(kernel, ip_summed) == CHECKSUM_PARTIAL &&
	       !(has_field(kernel, decrypted) && read_bit_field(kernel, decrypted));
}

/* Whether the device may send copies through another of its queues than their front, so that this machine
 * changes their order: no socket keeps them together. A queue discipline before the device's queues (any
 * but mq) keeps the order. */
static __always_inline int scatters(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	struct net_device *dev = kernel->dev;
	const char *id;

	if (dev->real_num_tx_queues == 1)
		return 0;
	id = dev->qdisc->ops->id;
	return id[0] == 'm' && id[1] == 'q';
}

/* Returns the socket's state if the packet may be a front: data that is sent for the first time, on a
 * connection that only TCP itself paces. A pacing queue (fq) takes copies, which have no socket, for
 * another flow's. */
static __always_inline struct prague_shown *of_front(struct __sk_buff *skb, struct packet *p)
{
	void *full = skb->sk;
	struct tcp_sock *tp;

	if (full)
		full = bpf_sk_fullsock(full);
	if (!full)
		return 0;
	tp = bpf_skc_to_tcp_sock(full);
	if (!tp || ((struct sock *)tp)->sk_pacing_status == SK_PACING_FQ)
		return 0;
	if (!is_tcp(skb, p) || p->flags & (TCP_FIN | TCP_SYN | TCP_RST) || p->seq != tp->snd_nxt)
		return 0;
	if (skb->len < p->payload + TRACING_FRONT_MIN || skb->len - p->ip > 0xffff ||
	    !can_be_copied(skb) || scatters(skb))
		return 0;
	return bpf_sk_storage_get(&prague_sockets, full, 0, 0);
}

/* Sends the unchanged front first, then the middle. The original packet becomes the rear, so that the object
 * that TCP passed down leaves last. Copies have no socket: they pass this program once more, unchanged. A
 * failure on the way causes at most a duplicate. */
static __always_inline void send_set(struct __sk_buff *skb, const struct packet *p, u32 end)
{
	u32 payload = skb->len - p->payload;
	u8 last[TRACING_MIDDLE];

	if (bpf_skb_load_bytes(skb, skb->len - TRACING_MIDDLE, last, sizeof(last)) ||
	    bpf_clone_redirect(skb, skb->ifindex, 0))
		return;
	if (shorten(skb, p, last, payload, TRACING_MIDDLE, end) &&
	    rewrite_ecn(skb, p->ip, ECT1, ECT0) && !bpf_clone_redirect(skb, skb->ifindex, 0) &&
	    rewrite_ecn(skb, p->ip, ECT0, ECT1))
		shorten(skb, p, last + TRACING_MIDDLE - TRACING_REAR, TRACING_MIDDLE, TRACING_REAR,
			end);
}

SEC("tc")
int leave(struct __sk_buff *skb)
{
	struct prague_shown *shown;
	struct packet p;
	u32 end;

	if (!to_wanted(skb))
		return NEXT;
	shown = of_front(skb, &p);
	if (!shown || !classic_ecn_wants_tracers(&shown->detector))
		return NEXT;
	end = p.seq + (skb->len - p.payload);
	/* Before an answer can arrive. */
	tracing_sent(&shown->tracing, end);
	send_set(skb, &p, end);
	return NEXT;
}

/* --- Ingress ------------------------------------------------------------------------------ */

/* The options of an acknowledgement. */
struct options {
	/* Large enough for any length in a field of 6 bits, which is the bound that the verifier has. */
	u8 byte[64];
	u32 length;
	/* The position of the option with blocks. */
	u32 sack;
};

/* Finds the blocks of an acknowledgement. Returns whether there are any. */
static __always_inline int has_blocks(struct __sk_buff *skb, const struct packet *p,
				      struct options *o)
{
	u32 at = 0;

	o->length = p->payload - p->tcp - TCP_HEADER;
	if (o->length > OPTIONS_MAX)
		return 0;
	/* Linux 7.3 requires a length that is not 0, and keeps the lower bound only if it is checked last,
	 * on its own. The compiler would reorder both checks. */
	__asm__("" : "+r"(o->length));
	if (o->length < 2 + SACK_BLOCK)
		return 0;
	if (bpf_skb_load_bytes(skb, p->tcp + TCP_HEADER, o->byte, o->length))
		return 0;
	for (u32 i = 0; i < OPTIONS_MAX; i++) {
		u32 kind, length;

		if (at + 2 + SACK_BLOCK > o->length || at >= OPTIONS_MAX)
			return 0;
		kind = o->byte[at];
		if (kind == OPTION_END)
			return 0;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		length = o->byte[at + 1];
		if (kind == OPTION_SACK) {
			o->sack = at;
			return length >= 2 + SACK_BLOCK && at + length <= o->length;
		}
		if (length < 2)
			return 0;
		at += length;
	}
	return 0;
}

static __always_inline u32 word_at(const u8 *byte)
{
	return (u32)byte[0] << 24 | byte[1] << 16 | byte[2] << 8 | byte[3];
}

/* Whether the second block contains all of the first, [from, to). */
static __always_inline u32 came_twice(const struct options *o, u32 from, u32 to)
{
	u32 at = o->sack + 2 + SACK_BLOCK;

	if (o->sack > OPTIONS_MAX - 2 - SACK_BLOCK || o->byte[o->sack + 1] < 2 + 2 * SACK_BLOCK)
		return 0;
	return from - word_at(o->byte + at) < 1u << 31 &&
	       word_at(o->byte + at + 4) - to < 1u << 31;
}

/* The connection of the packet. */
static __always_inline void *socket_of(struct __sk_buff *skb, const struct packet *p)
{
	/* The addresses, then the ports, as in the packet. */
	union {
		struct {
			u8 address[8];
			u32 ports;
		} ipv4;
		struct {
			u8 address[32];
			u32 ports;
		} ipv6;
	} tuple;

	if (p->is_ipv6) {
		if (bpf_skb_load_bytes(skb, p->ip + IPV6_SOURCE, tuple.ipv6.address, 32) ||
		    bpf_skb_load_bytes(skb, p->tcp, &tuple.ipv6.ports, 4))
			return 0;
		return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	}
	if (bpf_skb_load_bytes(skb, p->ip + IPV4_SOURCE, tuple.ipv4.address, 8) ||
	    bpf_skb_load_bytes(skb, p->tcp, &tuple.ipv4.ports, 4))
		return 0;
	return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
}

/* Removes the first block: the bytes before the next block, or all of the option, become padding. */
static __always_inline void take_out(struct __sk_buff *skb, const struct packet *p,
				     struct options *o)
{
	u32 at = o->sack, length;
	u8 was[64];
	u8 blocks;
	s64 difference;

	if (at > OPTIONS_MAX - 2 - SACK_BLOCK)
		return;
	__builtin_memcpy(was, o->byte, sizeof(was));
	blocks = o->byte[at + 1] - SACK_BLOCK;
	for (u32 i = 0; i < SACK_BLOCK; i++)
		o->byte[at + i] = OPTION_NOP;
	o->byte[at + SACK_BLOCK] = blocks > 2 ? OPTION_SACK : OPTION_NOP;
	o->byte[at + SACK_BLOCK + 1] = blocks > 2 ? blocks : OPTION_NOP;
	/* A header consists of whole words. The verifier needs the check that it is not empty, which the
	 * compiler would remove. */
	length = o->length & 60;
	__asm__("" : "+r"(length));
	if (!length)
		return;
	difference = bpf_csum_diff((u32 *)was, length, (u32 *)o->byte, length, 0);
	if (difference >= 0 &&
	    !bpf_skb_store_bytes(skb, p->tcp + TCP_HEADER, o->byte, length, 0))
		bpf_l4_csum_replace(skb, p->tcp + TCP_CHECKSUM, 0, difference, 0);
}

SEC("tc")
int arrive(struct __sk_buff *skb)
{
	struct prague_shown *shown;
	struct options o;
	struct packet p;
	u32 from, to, ack, answers = 0;
	void *sk;

	if (!is_tcp(skb, &p) || !has_blocks(skb, &p, &o) || o.sack > OPTIONS_MAX - 2 - SACK_BLOCK)
		return NEXT;
	from = word_at(o.byte + o.sack + 2);
	to = word_at(o.byte + o.sack + 6);
	if (to - from != TRACING_MIDDLE && to - from != TRACING_REAR)
		return NEXT;
	if (bpf_skb_load_bytes(skb, p.tcp + TCP_ACK_NUMBER, &ack, sizeof(ack)))
		return NEXT;
	sk = socket_of(skb, &p);
	if (!sk)
		return NEXT;
	shown = bpf_sk_storage_get(&prague_sockets, sk, 0, 0);
	if (shown)
		answers = tracing_is_answer(&shown->tracing, to_host(ack), from, to,
					    came_twice(&o, from, to));
	bpf_sk_release(sk);
	if (answers)
		take_out(skb, &p, &o);
	return NEXT;
}
