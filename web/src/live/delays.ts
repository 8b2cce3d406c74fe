// Queueing delays as counts per bucket: their mean, quantiles, distribution and histogram. Buckets are
// of equal width on a logarithmic axis; within one, packets are taken to lie evenly on that axis.

import type { Buckets, Station } from "./protocol";

/** Packets per bucket. */
export interface Counts {
  per: Float64Array;
  total: number;
  /** The sum of all delays, in ms, as the server measured them: not from the buckets. */
  sum_ms: number;
}

/** Where a bucket begins, in ms. */
export const edge = (buckets: Buckets, i: number): number => buckets.first_ms * 10 ** (i / buckets.per_decade);

/** The delays of packets in one queue during these states. */
export function count(buckets: Buckets, lanes: Iterable<Pick<Station, "queues">>, queue: string): Counts {
  const counts: Counts = { per: new Float64Array(buckets.count), total: 0, sum_ms: 0 };
  for (const lane of lanes) {
    for (const state of lane.queues) {
      if (state.name !== queue) continue;
      let packets = 0;
      for (const [bucket, n] of state.delays) {
        counts.per[bucket] = (counts.per[bucket] ?? 0) + n;
        packets += n;
      }
      counts.total += packets;
      counts.sum_ms += packets * (state.delay_mean_ms ?? 0);
    }
  }
  return counts;
}

export const mean = ({ total, sum_ms }: Counts): number | undefined => (total === 0 ? undefined : sum_ms / total);

/** The delay that a share `q` of the packets does not exceed, in ms. */
export function quantile(buckets: Buckets, { per, total }: Counts, q: number): number | undefined {
  if (total === 0) return undefined;
  let left = q * total;
  for (let i = 0; i < per.length; i++) {
    const n = per[i] ?? 0;
    if (n > 0 && left <= n) return edge(buckets, i + left / n);
    left -= n;
  }
  return edge(buckets, per.length);
}

/** The cumulative distribution: delay in ms, percent of the packets that waited so long or less. */
export function cdf(buckets: Buckets, { per, total }: Counts): [number, number][] {
  const points: [number, number][] = [];
  let sum = 0;
  per.forEach((n, i) => {
    if (n === 0) return;
    const before = (100 * sum) / total;
    // A flat piece before this bucket, where there were empty ones.
    const last = points[points.length - 1];
    const from = edge(buckets, i);
    if (last === undefined || last[0] < from * 0.999) points.push([from, before]);
    sum += n;
    points.push([edge(buckets, i + 1), (100 * sum) / total]);
  });
  return points;
}

/** A bar of a histogram: from and to in ms, percent of the packets. */
export type Bar = [number, number, number];

/**
 * A histogram for a logarithmic axis: `merge` buckets per bar; the first bar, which begins at
 * `floor_ms`, has all below it too.
 */
export function logBars(buckets: Buckets, { per, total }: Counts, merge: number, floor_ms: number): Bar[] {
  const bars: Bar[] = [];
  if (total === 0) return bars;
  const first = Math.round(Math.log10(floor_ms / buckets.first_ms) * buckets.per_decade);
  let n = 0;
  for (let i = 0; i < first; i++) n += per[i] ?? 0;
  for (let i = first; i < per.length; i += merge) {
    for (let j = i; j < Math.min(i + merge, per.length); j++) n += per[j] ?? 0;
    if (n > 0) bars.push([edge(buckets, i), edge(buckets, i + merge), (100 * n) / total]);
    n = 0;
  }
  return bars;
}

/** A histogram for a linear axis from 0 to `top` ms: buckets spread over equal bars. */
export function linearBars(buckets: Buckets, { per, total }: Counts, top: number, bars: number): Bar[] {
  if (total === 0) return [];
  const share = new Float64Array(bars);
  const width = top / bars;
  per.forEach((n, i) => {
    if (n === 0) return;
    const from = i === 0 ? 0 : edge(buckets, i);
    const to = edge(buckets, i + 1);
    for (let bar = Math.floor(from / width); bar < bars && bar * width < to; bar++) {
      const overlap = Math.min(to, (bar + 1) * width) - Math.max(from, bar * width);
      if (overlap > 0) share[bar] = (share[bar] ?? 0) + (100 * n * overlap) / (to - from) / total;
    }
  });
  return [...share].map((value, i): Bar => [i * width, (i + 1) * width, value]);
}

/** Bars as the outline of a staircase, for a line with an area below. */
export function outline(bars: Bar[]): [number, number][] {
  const points: [number, number][] = [];
  for (const [from, to, share] of bars) {
    const last = points[points.length - 1];
    if (last === undefined) points.push([from, 0]);
    else if (last[0] < from * 0.999) points.push([last[0], 0], [from, 0]);
    points.push([from, share], [to, share]);
  }
  const last = points[points.length - 1];
  if (last !== undefined) points.push([last[0], 0]);
  return points;
}
