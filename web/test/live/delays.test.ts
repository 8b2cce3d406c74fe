import { expect, it } from "vitest";
import { cdf, count, edge, linearBars, logBars, mean, outline, quantile } from "../../src/live/delays";
import { BUCKETS, bucket, lane } from "./sample";

/** One queue in which packets waited so long, in ms. */
const waited = (...delays: number[]) =>
  lane({
    queues: [
      {
        name: "L",
        packets: delays.length,
        marked: 0,
        dropped: 0,
        delay_mean_ms: delays.reduce((a, b) => a + b, 0) / delays.length,
        delays: delays.map((ms) => [bucket(ms), 1]),
      },
    ],
  });

it("buckets begin where the contract says", () => {
  expect(edge(BUCKETS, 0)).toBeCloseTo(0.001, 12);
  expect(edge(BUCKETS, 120)).toBeCloseTo(1, 12);
  expect(edge(BUCKETS, 280)).toBeCloseTo(10_000, 6);
});

it("the mean is that of the server, over all states, and of one queue", () => {
  const counts = count(BUCKETS, [waited(1, 2), waited(6)], "L");
  expect(mean(counts)).toBeCloseTo(3, 12);
  expect(counts.total).toBe(3);
  expect(mean(count(BUCKETS, [waited(1)], "C"))).toBeUndefined();
});

it("quantiles are right to a bucket, which is 6 % wide", () => {
  const counts = count(BUCKETS, [waited(...Array.from({ length: 1000 }, (_, i) => (i + 1) / 100))], "L");
  for (const q of [0.1, 0.5, 0.9, 0.99])
    expect(Math.abs(Math.log((quantile(BUCKETS, counts, q) ?? 0) / (10 * q)))).toBeLessThan(0.06);
  expect(quantile(BUCKETS, count(BUCKETS, [], "L"), 0.5)).toBeUndefined();
});

it("a distribution rises from 0 to 100 % and is flat where nothing waited", () => {
  const points = cdf(BUCKETS, count(BUCKETS, [waited(1, 1, 1, 100)], "L"));
  expect(points.map(([, share]) => share)).toEqual([0, 75, 75, 100]);
  expect(points.map(([ms]) => ms)).toEqual([...points.map(([ms]) => ms)].sort((a, b) => a - b));
});

it("histograms hold all packets, on either axis", () => {
  const counts = count(BUCKETS, [waited(0.5, 0.6, 5, 15)], "L");
  const sum = (bars: [number, number, number][]) => bars.reduce((all, [, , share]) => all + share, 0);
  expect(sum(logBars(BUCKETS, counts, 2, 0.01))).toBeCloseTo(100, 9);
  // Half of them wait less than 1 ms: all in the first bar, if it begins there.
  expect(logBars(BUCKETS, counts, 2, 1)[0]).toEqual([expect.closeTo(1, 9), expect.closeTo(10 ** 0.05, 9), 50]);
  expect(sum(linearBars(BUCKETS, counts, 40, 80))).toBeCloseTo(100, 9);
  // Half of the packets lie below 1 ms: in the first two of bars of half a millisecond.
  expect(sum(linearBars(BUCKETS, counts, 40, 80).slice(0, 2))).toBeCloseTo(50, 9);
  // What lies beyond the axis is not drawn.
  expect(sum(linearBars(BUCKETS, counts, 4, 8))).toBeCloseTo(50, 9);
});

it("an outline goes down to zero between bars that do not touch", () => {
  expect(
    outline([
      [1, 2, 10],
      [2, 3, 20],
      [5, 6, 5],
    ]),
  ).toEqual([
    [1, 0],
    [1, 10],
    [2, 10],
    [2, 20],
    [3, 20],
    [3, 0],
    [5, 0],
    [5, 5],
    [6, 5],
    [6, 0],
  ]);
  expect(outline([])).toEqual([]);
});
