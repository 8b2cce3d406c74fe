/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Bandwidth as BBR computes with it, and the filter for a maximum: the twin of l4s_cc::bbr::bandwidth.
 *
 * A bandwidth is in segments per microsecond, in 2^-24, and time is in microseconds. A kernel has no
 * products of 128 bits. So each step has a limit that its product with the next factor needs. They are
 * far above any path: 2^30 segments in flight, and 8 Tb/s.
 */
#ifndef L4S_BANDWIDTH_H
#define L4S_BANDWIDTH_H

#define BANDWIDTH_BITS 24
/* Gains are in 1/256, and below 4. */
#define BANDWIDTH_GAIN_BITS 8
/* 2^30 segments: with a gain the product has 64 bits. */
#define BANDWIDTH_DATA_MAX ((1ull << 54) - 1)
/* With a segment of up to 2^16 bytes and a gain the product has 63 bits. */
#define BANDWIDTH_MAX (1ull << 37)
/* Bytes per microsecond in 2^-24, before they are made bytes per second, a factor of 20 bits. */
#define BANDWIDTH_BYTES_MAX ((1ull << 44) - 1)
/* Paced 1 % below: the queue at the bottleneck drains. */
#define BANDWIDTH_PACED_PER_SECOND (1000000 / 100 * 99)

static __always_inline u64 bandwidth_of(u32 segments, u64 interval_us)
{
	return ((u64)segments << BANDWIDTH_BITS) / interval_us;
}

/* The segments of a time, in 2^-24. */
static __always_inline u64 bandwidth_data(u64 bandwidth, u64 time_us)
{
	if (time_us && bandwidth > BANDWIDTH_DATA_MAX / time_us)
		return BANDWIDTH_DATA_MAX;
	return bandwidth * time_us;
}

/* The segments of a time with this gain, rounded up. */
static __always_inline u64 bandwidth_segments(u64 bandwidth, u64 time_us, u32 gain)
{
	u64 scaled = (bandwidth_data(bandwidth, time_us) * gain) >> BANDWIDTH_GAIN_BITS;

	return (scaled + (1u << BANDWIDTH_BITS) - 1) >> BANDWIDTH_BITS;
}

/* Bytes per second with this gain. */
static __always_inline u64 bandwidth_pacing_rate(u64 bandwidth, u32 mss, u32 gain)
{
	u64 bytes = bandwidth < BANDWIDTH_MAX ? bandwidth : BANDWIDTH_MAX;

	bytes = (bytes * mss * gain) >> BANDWIDTH_GAIN_BITS;
	if (bytes > BANDWIDTH_BYTES_MAX)
		bytes = BANDWIDTH_BYTES_MAX;
	return (bytes * BANDWIDTH_PACED_PER_SECOND) >> BANDWIDTH_BITS;
}

struct max_sample {
	u64 round;
	u64 value;
};

/* The best sample, the best after that, and the best after both (Kathleen Nichols' algorithm). */
struct max_filter {
	struct max_sample best[3];
};

/* Takes the sample of a round trip; those older than `window` round trips leave. */
static __always_inline void max_filter_take(struct max_filter *f, u64 window, u64 value, u64 round)
{
	struct max_sample new = { .round = round, .value = value };
	u64 age;

	if (value >= f->best[0].value || round - f->best[2].round > window) {
		f->best[0] = f->best[1] = f->best[2] = new;
		return;
	}
	if (value >= f->best[1].value)
		f->best[1] = f->best[2] = new;
	else if (value >= f->best[2].value)
		f->best[2] = new;
	age = round - f->best[0].round;
	if (age > window) {
		/* The best one leaves, and perhaps the second one, too. */
		f->best[0] = f->best[1];
		f->best[1] = f->best[2];
		f->best[2] = new;
		if (round - f->best[0].round > window) {
			f->best[0] = f->best[1];
			f->best[1] = f->best[2];
			f->best[2] = new;
		}
	} else if (f->best[1].round == f->best[0].round && age > window / 4) {
		/* A quarter of the window passed without a second choice: this one is it. */
		f->best[1] = f->best[2] = new;
	} else if (f->best[2].round == f->best[1].round && age > window / 2) {
		f->best[2] = new;
	}
}

#endif
