/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The arithmetic of DCTCP (RFC 8257), as in Linux: pure functions over one connection's state.
 *
 * The BPF program and the host share it: the includer provides u32 and u64 and
 * __always_inline. Tests on the host compare it with l4s_cc::dctcp, integer by integer.
 *
 * Sequence numbers may be bytes or segments; they wrap at 32 bits.
 */
#ifndef L4S_DCTCP_H
#define L4S_DCTCP_H

/* alpha is a fraction of 2^10. */
#define DCTCP_ALPHA_BITS 10
#define DCTCP_ALPHA_ONE (1u << DCTCP_ALPHA_BITS)
/* RFC 8257 §3.3: g = 1/16. */
#define DCTCP_SHIFT_G 4

struct dctcp {
	/* Moving average of the fraction of marked segments, from 0 to DCTCP_ALPHA_ONE. */
	u32 alpha;
	/* The window of observation ends when this is acknowledged. */
	u32 window_end;
	/* Segments delivered in this window of observation. */
	u32 delivered;
	/* Those of them whose acknowledgement echoed congestion. */
	u32 delivered_ce;
};

/* A new connection, whose first window of observation ends at window_end. */
static __always_inline void dctcp_start(struct dctcp *s, u32 window_end)
{
	/* RFC 8257 §3.3: alpha starts at 1, so that the first mark halves the window. */
	s->alpha = DCTCP_ALPHA_ONE;
	s->window_end = window_end;
	s->delivered = 0;
	s->delivered_ce = 0;
}

/* Folds the window's fraction of marks into alpha. */
static __always_inline void dctcp_update_alpha(struct dctcp *s)
{
	u32 decay = s->alpha >> DCTCP_SHIFT_G;
	u32 delivered = s->delivered ? s->delivered : 1;

	/*
	 * RFC 8257 §3.3 step 6: alpha = (1 - g) alpha + g M. If the shift rounds the decay to zero,
	 * the rest of alpha is subtracted, so that alpha can reach zero.
	 */
	s->alpha -= decay ? decay : s->alpha;
	if (s->delivered_ce) {
		u64 marked = (u64)s->delivered_ce << (DCTCP_ALPHA_BITS - DCTCP_SHIFT_G);

		s->alpha += (u32)(marked / delivered);
		if (s->alpha > DCTCP_ALPHA_ONE)
			s->alpha = DCTCP_ALPHA_ONE;
	}
}

/*
 * An acknowledgement: how much it delivered, how much of that was marked, the first sequence
 * number not yet acknowledged, and the next one to be sent.
 */
static __always_inline void dctcp_observe(struct dctcp *s, u32 delivered, u32 delivered_ce,
					  u32 una, u32 nxt)
{
	s->delivered += delivered;
	s->delivered_ce += delivered_ce;
	/* Not before that, even if sequence numbers wrapped in between. */
	if (una - s->window_end < 1u << 31) {
		dctcp_update_alpha(s);
		s->window_end = nxt;
		s->delivered = 0;
		s->delivered_ce = 0;
	}
}

/* The window that answers marks (RFC 8257 §3.3 step 9): cwnd (1 - alpha/2), at least 2. */
static __always_inline u32 dctcp_ssthresh(const struct dctcp *s, u32 cwnd)
{
	u32 reduced = cwnd - (u32)(((u64)cwnd * s->alpha) >> (DCTCP_ALPHA_BITS + 1));

	return reduced > 2 ? reduced : 2;
}

/* The window that answers a loss (RFC 8257 §3.5): half, at least 2. */
static __always_inline u32 dctcp_loss(u32 cwnd)
{
	return cwnd / 2 > 2 ? cwnd / 2 : 2;
}

#endif
