/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The parts of a kernel that the programs need: the fields of its types that they use, with the
 * offsets left to CO-RE, and the numbers of its helpers, which never change. It is maintained by
 * hand, so that the build needs neither a kernel's headers nor libbpf's.
 */
#ifndef L4S_KERNEL_H
#define L4S_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define __always_inline inline __attribute__((always_inline))
#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __core __attribute__((preserve_access_index))
/* A field of a map's value that holds a reference to an object of the kernel. */
#define __kptr __attribute__((btf_type_tag("kptr")))

/* --- Types ------------------------------------------------------------------------------- */

struct in6_addr {
	union {
		u32 u6_addr32[4];
	} in6_u;
} __core;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	/* In network byte order. */
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} __core;

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
} __core;

struct inet_sock {
	struct sock sk;
} __core;

struct tcp_congestion_ops;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u32 icsk_rto;
	u8 icsk_ca_state : 5;
	const struct tcp_congestion_ops *icsk_ca_ops;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
} __core;

struct minmax_sample {
	u32 v;
} __core;

struct minmax {
	struct minmax_sample s[3];
} __core;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 packets_out;
	u32 max_packets_out;
	u32 prior_cwnd;
	u32 lsndtime;
	u32 rcv_nxt;
	u32 snd_nxt;
	u32 snd_una;
	u32 srtt_us;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u64 tcp_mstamp;
	struct minmax rtt_min;
} __core;

struct rate_sample {
	u32 prior_delivered;
	/* Below 0 where nothing was delivered whose departure is known. */
	int delivered;
	/* Below 0 where it is shorter than the lowest RTT, or unknown. */
	long interval_us;
	long rtt_us;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	_Bool is_app_limited;
	_Bool is_retrans;
} __core;

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

/* libbpf moves each member to its place in the kernel's own structure, by name. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	/* Replaces CA_EVENT_TX_START since about 7.0. The loader removes it where the kernel lacks it. */
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*init)(struct sock *sk);
	u32 flags;
	char name[16];
} __core;

/* The loader writes these three (src/control.rs). */
_Static_assert(__builtin_offsetof(struct tcp_congestion_ops, cwnd_event_tx_start) == 32, "");
_Static_assert(__builtin_offsetof(struct tcp_congestion_ops, flags) == 80, "");
_Static_assert(__builtin_offsetof(struct tcp_congestion_ops, name) == 84, "");

struct Qdisc;

struct ns_common {
	u32 inum;
} __core;

struct net {
	struct ns_common ns;
} __core;

typedef struct {
	struct net *net;
} __core possible_net_t;

struct net_device {
	u16 type;
	u32 ifindex;
	possible_net_t nd_net;
	struct Qdisc *qdisc;
	u32 real_num_tx_queues;
} __core;

struct sk_buff {
	u16 network_header;
	u16 mac_header;
	u32 truesize;
	u32 len;
	u8 ip_summed : 2;
	/* Only in kernels that support devices with encryption. */
	u8 decrypted : 1;
	struct net_device *dev;
	char cb[48];
} __core;

/* The view of a packet that a program on a device has; part of the kernel's stable interface. */
struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto,
		priority, ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end,
		napi_id, family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port,
		local_port, data_meta;
	u64 flow_keys, tstamp;
	u32 wire_len, gso_segs;
	void *sk;
};

_Static_assert(__builtin_offsetof(struct __sk_buff, sk) == 168, "as linux/bpf.h has it");

/* The view of a packet that queue disciplines have; `data` is cb of __sk_buff. */
struct qdisc_skb_cb {
	u32 pkt_len;
	u8 data[20];
} __core;

struct gnet_stats_queue {
	u32 qlen;
	u32 backlog;
	u32 drops;
} __core;

struct qdisc_skb_head {
	u32 qlen;
} __core;

struct netdev_queue {
	struct net_device *dev;
} __core;

struct Qdisc {
	u32 limit;
	const struct Qdisc_ops *ops;
	u32 handle;
	u32 parent;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} __core;

/* Packets that are freed after the lock of a queue discipline is released. */
struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
} __core;

/* libbpf moves each member to its place in the kernel's own structure, by name. */
struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, void *arg, void *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

/* The loader writes the name (src/dualpi2.rs). */
_Static_assert(__builtin_offsetof(struct Qdisc_ops, id) == 0, "");

/* --- Values ------------------------------------------------------------------------------ */

/* In icsk_ack.pending: an acknowledgement is delayed; one is due now. */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* In ecn_flags: RFC 3168 or AccECN was negotiated; the receiver has to echo ECE. */
#define TCP_ECN_MODE_RFC3168 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16
#define TCP_ECN_MODE_ANY (TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN)

/* In cong_control's flag: the acknowledgement had ECE, or a count of marks. */
#define FLAG_ECE 0x40

#define AF_INET6 10

#define SOL_TCP 6
#define TCP_CONGESTION 13

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define SK_PACING_FQ 2

/* In ip_summed: the checksum field has the sum of the pseudo-header, and the device adds the rest. */
#define CHECKSUM_PARTIAL 3

/* In flags: the replaced value is part of the pseudo-header. */
#define BPF_F_PSEUDO_HDR 0x10
/* Instead of a namespace's number: the namespace of the packet's device. */
#define BPF_F_CURRENT_NETNS (-1)

#define EINVAL 22
#define ENOSPC 28

#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
/* The packet was dropped, and its sender is not informed. */
#define NET_XMIT_BYPASS 0x00020000
/* Of a device: it has Ethernet headers. */
#define ARPHRD_ETHER 1
#define ETH_HLEN 14
/* In network byte order, on a little-endian machine. */
#define ETH_P_IP 0x0008
#define ETH_P_IPV6 0xdd86
#define ETH_P_8021Q 0x0081
#define ETH_P_8021AD 0xa888
/* Parent of a queue discipline: none, as it is the root of its device. */
#define TC_H_ROOT 0xffffffffu

#define BPF_MAP_TYPE_ARRAY 2
/* Storage of a socket, freed with it. */
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1

/* --- Helpers and functions of the kernel -------------------------------------------------- */

static long (*const bpf_skb_store_bytes)(struct __sk_buff *skb, u32 offset, const void *from,
					 u32 len, u64 flags) = (void *)9;
static long (*const bpf_l3_csum_replace)(struct __sk_buff *skb, u32 offset, u64 from, u64 to,
					 u64 flags) = (void *)10;
static long (*const bpf_l4_csum_replace)(struct __sk_buff *skb, u32 offset, u64 from, u64 to,
					 u64 flags) = (void *)11;
static long (*const bpf_clone_redirect)(struct __sk_buff *skb, u32 ifindex,
					u64 flags) = (void *)13;
static long (*const bpf_skb_load_bytes)(const void *skb, u32 offset, void *to,
					u32 len) = (void *)26;
static s64 (*const bpf_csum_diff)(u32 *from, u32 from_size, u32 *to, u32 to_size,
				  u32 seed) = (void *)28;
static long (*const bpf_skb_change_tail)(struct __sk_buff *skb, u32 len,
					 u64 flags) = (void *)38;
static long (*const bpf_setsockopt)(void *sk, int level, int name, void *value,
				    int len) = (void *)49;
static void *(*const bpf_sk_lookup_tcp)(struct __sk_buff *skb, void *tuple, u32 size, u64 netns,
					u64 flags) = (void *)84;
static long (*const bpf_sk_release)(void *sk) = (void *)86;
static void *(*const bpf_sk_fullsock)(void *sk) = (void *)95;
static long (*const bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value,
					 u64 flags) = (void *)107;
struct seq_file;
static long (*const bpf_seq_write)(struct seq_file *seq, const void *data,
				   u32 len) = (void *)127;
static void *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static void *(*const bpf_kptr_xchg)(void *kptr, void *value) = (void *)194;
static long (*const bpf_loop)(u32 n, void *callback, void *context, u64 flags) = (void *)181;

extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 slack) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* --- Access ------------------------------------------------------------------------------ */

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline void *inet_csk_ca(struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

/* The kernel also defines a bit field's position and width. */
#define read_bit_field(s, field)                                                               \
	({                                                                                     \
		const u8 *at = (const u8 *)(s) + __builtin_preserve_field_info((s)->field, 0); \
		u64 value = 0;                                                                 \
		switch (__builtin_preserve_field_info((s)->field, 1)) {                        \
		case 1: value = *at; break;                                                    \
		case 2: value = *(const u16 *)at; break;                                       \
		case 4: value = *(const u32 *)at; break;                                       \
		case 8: value = *(const u64 *)at; break;                                       \
		}                                                                              \
		value <<= __builtin_preserve_field_info((s)->field, 4);                        \
		value >>= __builtin_preserve_field_info((s)->field, 5);                        \
		value;                                                                         \
	})

/* Whether the kernel's type has that field. */
#define has_field(s, field) __builtin_preserve_field_info((s)->field, 2)

/* Gives a connection to the kernel's Reno. */
static __always_inline int choose_reno(struct sock *sk)
{
	char reno[] = "reno";

	return !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

/*
 * Leaves a connection without ECN to the kernel's Reno. For a control with TCP_CONG_NEEDS_ECN the
 * kernel makes packets ECT even if the peer has no ECN, and then nobody reports a mark. Reno does not
 * have that flag, and every kernel has Reno.
 */
static __always_inline int leave_to_reno(struct sock *sk)
{
	return !(tcp_sk(sk)->ecn_flags & TCP_ECN_MODE_ANY) && choose_reno(sk);
}

/* Packets in flight (RFC 6675 §3). */
static __always_inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

#endif
