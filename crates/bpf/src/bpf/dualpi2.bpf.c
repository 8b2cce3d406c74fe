/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * DualPI2 as a queue discipline of a device, with the shaper inside.
 *
 * A BPF queue discipline cannot change a packet. A program at the egress of a device can, and the
 * kernel runs it just before the discipline receives the packet. So there are two parts:
 *
 *   packet ──▶ decide ──────▶ enqueue ──▶ L ═════╗
 *              marks it, and   drops it,         ╟──▶ dequeue ──▶ device
 *              passes its      or queues it ─▶ C ╝    at the rate of the link
 *              verdict
 *
 * dualpi2.h makes every decision, on arrival. Updates of p' that are due are made when a packet
 * arrives or leaves, for the time at which each was due. The delays that they see do not depend on
 * later events, so no timer is needed.
 */
#include "kernel.h"

#define dualpi2_random() bpf_get_prandom_u32()
#include "../c/dualpi2.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Continue with the next program, and send the packet in the end. */
#define NEXT (-1)

/* The capacity of a queue of an instance, in packets; a power of two. */
#define ROOM (1u << 14)
/* Delays are counted in buckets, four per power of two of nanoseconds, up to 69 s. */
#define BUCKETS 144

/* The reasons why a packet is not sent, numbered after the verdicts. */
#define DROP_LIMIT DUALPI2_VERDICTS
/* The packet arrived by a path on which `decide` did not run. */
#define STRAY (DUALPI2_VERDICTS + 1)
#define FATES (DUALPI2_VERDICTS + 2)

/* --- State -------------------------------------------------------------------------------- */

/* A queued packet. */
struct slot {
	struct sk_buff __kptr *skb;
	u64 arrival;
	u32 bytes;
	u32 memory;
};

/* The outcomes of the packets of a queue; src/dualpi2.rs reads them. */
struct counts {
	u64 fates[FATES];
	u64 sent_packets;
	u64 sent_bytes;
	u64 sojourn_ns;
	u64 delays[BUCKETS];
};

/* A queue discipline in use. src/dualpi2.rs reads it. */
struct instance {
	/* Its device, the network namespace of the device, its handle. ifindex is 0 if it is free. */
	u32 ifindex;
	u32 netns;
	u32 handle;
	/* Aggregates of several packets that were sent as one, and the largest one in bytes. */
	u32 largest;
	u64 aggregates;
	/* Positions in the rings of slots. */
	u64 first[2];
	u64 next[2];
	struct dualpi2 state;
	struct counts counts[2];
};

/* The loader sets the number of instances; each has 2 * ROOM slots. The kernel's Qdisc has the number n
 * of its instance in `limit`, as n + 1; 0 is none. The field has no other use. */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	struct instance *value;
} instances SEC(".maps");

/* User space writes it at any time, word by word: each word is valid with any value of the others. */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	struct dualpi2_config *value;
} configs SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[2 * ROOM];
	u32 *key;
	struct slot *value;
} slots SEC(".maps");

/* The settings of new instances. */
struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[1];
	u32 *key;
	struct dualpi2_config *value;
} fresh SEC(".maps");

/* The loader sets it, as above. */
const volatile u32 instance_count = 1;

struct found {
	struct instance *instance;
	struct dualpi2_config *config;
	u32 number;
};

/* The instance with that number, counted from 1, in use or not. */
static __always_inline int find(struct found *f, u32 limit)
{
	f->number = limit - 1;
	f->instance = bpf_map_lookup_elem(&instances, &f->number);
	f->config = bpf_map_lookup_elem(&configs, &f->number);
	return f->instance && f->config;
}

static __always_inline struct slot *slot_of(u32 number, u32 queue, u64 place)
{
	u32 key = (number * 2 + queue) * ROOM + ((u32)place & (ROOM - 1));

	return bpf_map_lookup_elem(&slots, &key);
}

/* --- Updates ------------------------------------------------------------------------------ */

struct updates {
	struct found *found;
	u64 first;
};

static long update(u32 n, struct updates *updates)
{
	struct found *f = updates->found;
	struct instance *i = f->instance;
	struct dualpi2_config *c = f->config;

	dualpi2_update(c, &i->state, updates->first + n * c->tupdate);
	return 0;
}

/* Makes the updates that are due. Of several processors that call it at once, one makes them. */
static __always_inline void catch_up(struct found *f, u64 now)
{
	struct dualpi2 *s = &f->instance->state;
	u64 missed = dualpi2_missed(f->config, s, now), single;
	struct updates updates = { f, s->due };
	u64 due = updates.first + missed * f->config->tupdate;

	if (!missed || __sync_val_compare_and_swap(&s->due, updates.first, due) != updates.first)
		return;
	single = dualpi2_one_by_one(s, missed);
	bpf_loop((u32)single, update, &updates, 0);
	dualpi2_update_rest(f->config, s, missed - single);
}

/* --- Before the discipline ---------------------------------------------------------------- */

/* `decide` passes these on to `enqueue` in the packet's control block: this value, the device, the queue,
 * the verdict, and the time. Without this value the packet did not pass `decide`. */
#define TOLD 0x4c345351u

struct told {
	u32 told;
	u32 ifindex;
	u16 queue;
	u16 fate;
	u32 arrival[2];
};

/* The position of the ECN field: the last bits of the second byte in IPv4, the middle bits of that byte in
 * IPv6. In IPv6 it is before any extension header. Every fragment has it, in both versions. */
struct ecn_field {
	u32 at;
	u32 version;
	union {
		u8 byte[2];
		u16 word;
	} was;
};

#define IPV4_CHECKSUM 10
/* Within the second byte. */
#define IPV6_ECN_SHIFT 4
/* A VLAN in a VLAN, and one more. */
#define VLAN_TAGS 3
#define VLAN_HLEN 4

/* Loads two bytes of a packet, in network byte order. Those of its first piece are read directly; the
 * kernel reads others. */
static __always_inline int load(struct __sk_buff *skb, u32 at, u16 *word)
{
	void *from = (void *)(long)skb->data + at;

	if (from + sizeof(*word) > (void *)(long)skb->data_end)
		return !bpf_skb_load_bytes(skb, at, word, sizeof(*word));
	*word = *(u16 *)from;
	return 1;
}

/* Finds the ECN field. Packets other than IP have none. */
static __always_inline int find_ecn(struct __sk_buff *skb, struct sk_buff *kernel,
				    struct ecn_field *field)
{
	u16 type = 0;

	if (kernel->dev->type == ARPHRD_ETHER) {
		/* Tags that the device will insert are not in the packet yet. */
		field->at = ETH_HLEN - 2;
		for (int tags = 0; tags <= VLAN_TAGS; tags++) {
			if (!load(skb, field->at, &type))
				return 0;
			if (type != ETH_P_8021Q && type != ETH_P_8021AD)
				break;
			field->at += VLAN_HLEN;
		}
		field->at += sizeof(type);
		if (type != ETH_P_IP && type != ETH_P_IPV6)
			return 0;
	} else {
		field->at = (u32)kernel->network_header - kernel->mac_header;
	}
	if (field->at > 64 || !load(skb, field->at, &field->was.word))
		return 0;
	field->version = field->was.byte[0] >> 4;
	return field->version == 4 || field->version == 6;
}

static __always_inline u32 ecn_of(const struct ecn_field *field)
{
	return field->version == 4 ? field->was.byte[1] & 3 :
				     field->was.byte[1] >> IPV6_ECN_SHIFT & 3;
}

/* Sets CE. Returns whether the packet is CE now. */
static __always_inline int set_ce(struct __sk_buff *skb, const struct ecn_field *field)
{
	struct ecn_field now = *field;

	if (field->version == 4) {
		now.was.byte[1] |= ECN_CE;
		/* Both are in network byte order, as the checksum is. */
		if (bpf_l3_csum_replace(skb, field->at + IPV4_CHECKSUM, field->was.word,
					now.was.word, 2))
			return 0;
	} else {
		now.was.byte[1] |= ECN_CE << IPV6_ECN_SHIFT;
	}
	return !bpf_skb_store_bytes(skb, field->at, &now.was, sizeof(now.was), 0);
}

SEC("tc")
int decide(struct __sk_buff *skb)
{
	struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	struct net_device *device = kernel->dev;
	struct Qdisc *sch = device->qdisc;
	u64 now = bpf_ktime_get_ns();
	struct ecn_field field = {};
	u32 ecn, queue, fate;
	struct found f;

	/* Another discipline, or none, may have replaced ours. */
	if (!sch || !find(&f, sch->limit) || f.instance->ifindex != device->ifindex ||
	    f.instance->netns != device->nd_net.net->ns.inum || f.instance->handle != sch->handle)
		return NEXT;
	catch_up(&f, now);
	ecn = find_ecn(skb, kernel, &field) ? ecn_of(&field) : ECN_NOT_ECT;
	queue = dualpi2_classify(f.config, ecn);
	fate = dualpi2_decide(f.config, &f.instance->state, queue, ecn, now);
	if (fate >= DUALPI2_MARK_STEP && fate <= DUALPI2_MARK_CLASSIC &&
	    (ecn == ECN_CE || !set_ce(skb, &field)))
		fate = DUALPI2_PASS;
	skb->cb[0] = TOLD;
	skb->cb[1] = skb->ifindex;
	skb->cb[2] = queue | fate << 16;
	skb->cb[3] = (u32)now;
	skb->cb[4] = now >> 32;
	return NEXT;
}

/* --- The discipline ----------------------------------------------------------------------- */

static __always_inline struct qdisc_skb_cb *control_block(struct sk_buff *skb)
{
	return (struct qdisc_skb_cb *)skb->cb;
}

static __always_inline void count(struct found *f, u32 queue, u32 fate)
{
	if (fate < FATES)
		f->instance->counts[queue & 1].fates[fate]++;
}

SEC("struct_ops")
int enqueue(u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct Qdisc *sch = (struct Qdisc *)ctx[1];
	struct bpf_sk_buff_ptr *to_free = (struct bpf_sk_buff_ptr *)ctx[2];
	const struct told *told = (const struct told *)control_block(skb)->data;
	u32 bytes = control_block(skb)->pkt_len, memory = skb->truesize, skb_len = skb->len;
	u32 queue = DUALPI2_C, fate = STRAY;
	struct slot *slot;
	struct dualpi2 *s;
	struct found f;
	u64 now;

	if (!find(&f, sch->limit))
		goto drop;
	s = &f.instance->state;
	if (told->told == TOLD && told->ifindex == f.instance->ifindex) {
		queue = told->queue & 1;
		fate = told->fate;
		now = (u64)told->arrival[1] << 32 | told->arrival[0];
		count(&f, queue, fate);
	} else {
		now = bpf_ktime_get_ns();
		catch_up(&f, now);
		/* The packet can no longer be marked. */
		count(&f, queue, fate);
		fate = dualpi2_decide(f.config, s, queue, ECN_NOT_ECT, now);
	}
	if (fate == DUALPI2_DROP_AQM || fate == DUALPI2_DROP_OVERLOAD) {
		/* The sender learns of the drop a round trip later, as from any other bottleneck. */
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_SUCCESS | NET_XMIT_BYPASS;
	}
	if (!dualpi2_admits(f.config, s, bytes, memory) || s->queues[queue].packets >= ROOM) {
		count(&f, queue, DROP_LIMIT);
		goto drop;
	}
	slot = slot_of(f.number, queue, f.instance->next[queue]);
	if (!slot)
		goto drop;
	slot->arrival = now;
	slot->bytes = bytes;
	slot->memory = memory;
	skb = bpf_kptr_xchg(&slot->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	f.instance->next[queue]++;
	/* Several packets, each with its own headers. */
	if (bytes > skb_len) {
		f.instance->aggregates++;
		if (bytes > f.instance->largest)
			f.instance->largest = bytes;
	}
	dualpi2_enter(s, queue, bytes, memory, now);
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

static __always_inline u32 bucket_of(u64 delay)
{
	u32 log = 0;

	if (delay < 4)
		return (u32)delay;
	for (u32 step = 32; step; step >>= 1) {
		if (delay >> (log + step))
			log += step;
	}
	log = log * 4 + (u32)(delay >> (log - 2) & 3);
	return log < BUCKETS ? log : BUCKETS - 1;
}

static __always_inline void count_sent(struct found *f, u32 queue, u32 bytes, u64 sojourn)
{
	struct counts *counts = &f->instance->counts[queue & 1];
	u32 bucket = bucket_of(sojourn);

	counts->sent_packets++;
	counts->sent_bytes += bytes;
	counts->sojourn_ns += sojourn;
	if (bucket < BUCKETS)
		counts->delays[bucket]++;
}

SEC("struct_ops")
struct sk_buff *dequeue(u64 *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	u64 now, free_at, head;
	struct slot *slot, *behind;
	struct sk_buff *skb;
	struct dualpi2 *s;
	u32 queue, bytes;
	struct found f;

	/* The kernel calls until there is no packet, and below a shaper such as htb not even then. */
	if (!find(&f, sch->limit))
		return 0;
	s = &f.instance->state;
	now = bpf_ktime_get_ns();
	catch_up(&f, now);
	queue = dualpi2_schedule(f.config, s, now);
	if (queue == DUALPI2_NONE)
		return 0;
	queue &= 1;
	free_at = dualpi2_free_at(f.config, s);
	if (free_at > now) {
		bpf_qdisc_watchdog_schedule(sch, free_at, 0);
		return 0;
	}
	slot = slot_of(f.number, queue, f.instance->first[queue]);
	behind = slot_of(f.number, queue, f.instance->first[queue] + 1);
	if (!slot || !behind)
		return 0;
	skb = bpf_kptr_xchg(&slot->skb, 0);
	bytes = slot->bytes;
	head = behind->arrival;
	f.instance->first[queue]++;
	dualpi2_leave(f.config, s, queue, bytes, slot->memory, head, now);
	dualpi2_send(f.config, s, bytes, now);
	count_sent(&f, queue, bytes, dualpi2_since(now, slot->arrival));
	sch->q.qlen--;
	sch->qstats.backlog -= bytes;
	/* It is never null here, but the verifier cannot know that. */
	if (!skb)
		return 0;
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

struct taking {
	struct found found;
	u32 ifindex;
	u32 taken;
};

/* Takes instance n if it is free. */
static long take(u32 n, struct taking *t)
{
	if (!find(&t->found, n + 1) ||
	    __sync_val_compare_and_swap(&t->found.instance->ifindex, 0, t->ifindex))
		return 0;
	t->taken = 1;
	return 1;
}

SEC("struct_ops")
int init(u64 *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	struct net_device *device = sch->dev_queue->dev;
	struct taking t = { .ifindex = device->ifindex };
	const struct dualpi2_config *config;
	struct instance *i;
	u32 zero = 0;

	config = bpf_map_lookup_elem(&fresh, &zero);
	/* `decide` looks at the root of a device, and one bottleneck has one pair of queues. */
	if (!config || !config->tupdate || sch->parent != TC_H_ROOT)
		return -EINVAL;
	bpf_loop(instance_count, take, &t, 0);
	if (!t.taken || !find(&t.found, t.found.number + 1))
		return -ENOSPC;
	i = t.found.instance;
	*t.found.config = *config;
	i->netns = device->nd_net.net->ns.inum;
	i->handle = sch->handle;
	i->largest = 0;
	i->aggregates = 0;
	i->first[0] = i->next[0] = 0;
	i->first[1] = i->next[1] = 0;
	/* Word by word: clang has no other way in BPF. */
	for (u32 n = 0; n < sizeof(i->counts) / (sizeof(u64)); n++)
		((volatile u64 *)i->counts)[n] = 0;
	dualpi2_start(t.found.config, &i->state, bpf_ktime_get_ns());
	sch->limit = t.found.number + 1;
	return 0;
}

struct freeing {
	struct found found;
	u32 queue;
};

/* Frees the first packet of a queue. */
static long free_first(u32 n, struct freeing *f)
{
	struct instance *i = f->found.instance;
	u32 queue = f->queue & 1;
	struct slot *slot;
	struct sk_buff *skb;

	if (i->first[queue] == i->next[queue])
		return 1;
	slot = slot_of(f->found.number, queue, i->first[queue]++);
	if (!slot)
		return 1;
	skb = bpf_kptr_xchg(&slot->skb, 0);
	if (skb)
		bpf_kfree_skb(skb);
	return 0;
}

SEC("struct_ops")
void reset(u64 *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	struct freeing f = {};

	/* After a failed `init` there is no instance. */
	if (!find(&f.found, sch->limit))
		return;
	bpf_loop(ROOM, free_first, &f, 0);
	f.queue = 1;
	bpf_loop(ROOM, free_first, &f, 0);
	dualpi2_start(f.found.config, &f.found.instance->state, bpf_ktime_get_ns());
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops")
void destroy(u64 *ctx)
{
	struct Qdisc *sch = (struct Qdisc *)ctx[0];
	struct found f;

	if (!find(&f, sch->limit))
		return;
	sch->limit = 0;
	f.instance->ifindex = 0;
}

SEC(".struct_ops.link")
struct Qdisc_ops discipline = {
	.id = "l4s_dualpi2",
	.enqueue = (void *)enqueue,
	.dequeue = (void *)dequeue,
	.init = (void *)init,
	.reset = (void *)reset,
	.destroy = (void *)destroy,
};
