/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * How much was lost and in flight when a segment left.
 *
 * BBR, version 3 judges a flight by the losses since it was sent. Stock Linux keeps the segments
 * delivered at each departure (tcp_rate.c), and neither of the two. So there is a record for
 * each acknowledgement here: a segment that was sent after it has its total of delivered segments, by which the
 * record is found when the segment is delivered.
 *
 * The includer provides u32 and __always_inline. Totals and sequence numbers wrap at 32 bits.
 */
#ifndef L4S_DEPARTURES_H
#define L4S_DEPARTURES_H

/* A power of two. */
#define DEPARTURES_RECORDS 256
/* A flight makes no more records than this, so that all have those of the last round trip. */
#define DEPARTURES_PER_FLIGHT 128

/* The departures between an acknowledgement and the next one with a record. */
struct departures_record {
	/* Segments delivered in total after the acknowledgement, and lost. */
	u32 delivered;
	u32 lost;
	/* Segments in flight after the last of the departures, and the sequence number behind it. */
	u32 in_flight;
	u32 nxt;
};

struct departures {
	struct departures_record records[DEPARTURES_RECORDS];
	/* Records ever made. */
	u32 count;
};

/* A segment's departure. */
struct departure {
	u32 lost;
	/* Itself included. */
	u32 in_flight;
};

static __always_inline struct departures_record *departures_at(struct departures *d, u32 number)
{
	return &d->records[number & (DEPARTURES_RECORDS - 1)];
}

/* After an acknowledgement this much is delivered and lost in total. */
static __always_inline void departures_add(struct departures *d, u32 delivered, u32 lost,
					   u32 in_flight, u32 nxt)
{
	struct departures_record *last = departures_at(d, d->count - 1);

	if (d->count && delivered - last->delivered <= in_flight / DEPARTURES_PER_FLIGHT)
		return;
	last = departures_at(d, d->count++);
	last->delivered = delivered;
	last->lost = lost;
	last->in_flight = in_flight;
	last->nxt = nxt;
}

/* The next acknowledgement arrived, with this flight before it and this next sequence number. */
static __always_inline void departures_end(struct departures *d, u32 in_flight, u32 nxt)
{
	struct departures_record *last = departures_at(d, d->count - 1);

	last->in_flight = in_flight;
	last->nxt = nxt;
}

/*
 * The departure of a segment that was sent when this much was delivered: `end` is the sequence number behind
 * it. After a retransmission its place among the departures is unknown: then it is the last one.
 */
static __always_inline struct departure departures_find(struct departures *d, u32 delivered,
							u32 end, u32 again, u32 mss)
{
	u32 kept = d->count < DEPARTURES_RECORDS ? d->count : DEPARTURES_RECORDS;
	u32 oldest = d->count - kept, place = 0, after;
	struct departures_record *found;
	struct departure departure;

	/* The newest one that had no more delivered. */
	for (u32 step = DEPARTURES_RECORDS / 2; step; step /= 2) {
		found = departures_at(d, oldest + place + step);
		if (place + step < kept && delivered - found->delivered < 1u << 31)
			place += step;
	}
	found = departures_at(d, oldest + place);
	after = again ? 0 : (found->nxt - end + mss - 1) / mss;
	departure.lost = found->lost;
	departure.in_flight = after < found->in_flight ? found->in_flight - after : 1;
	return departure;
}

#endif
