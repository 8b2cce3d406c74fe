import { expect, it } from "vitest";
import { display, laneOf, lastSeconds, Ring } from "../../src/live/ring";
import { moment, settings, state } from "./sample";

it("a ring keeps the latest and counts what was left out", () => {
  const ring = new Ring(100);
  for (let i = 1; i <= 500; i++) if (i !== 300 && i !== 301) ring.push(state(i), settings(), i * 50);
  expect(ring.moments()).toHaveLength(100);
  expect(ring.last?.state.number).toBe(500);
  expect(ring.moments()[0]?.state.number).toBe(401);
  expect(ring.missed).toBe(2);
  ring.clear();
  expect([ring.moments().length, ring.missed]).toEqual([0, 0]);
});

it("a copy of the moments stays as it is", () => {
  const ring = new Ring(10);
  for (let i = 1; i <= 10; i++) ring.push(state(i), settings(), i * 50);
  const kept = ring.moments();
  for (let i = 11; i <= 200; i++) ring.push(state(i), settings(), i * 50);
  expect(kept.map(({ state: { number } }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it("states are shown a period apart although they come unevenly, and at once after a gap", () => {
  // 50 ms after the last at 1000; it came 20 ms late: a tenth of that later.
  expect(display(1000, 1070)).toBeCloseTo(1052, 9);
  expect(display(1000, 5000)).toBe(5000);
  expect(display(undefined, 7)).toBe(7);
  // Never backwards.
  expect(display(1000, 600)).toBe(1000);
});

it("the last seconds are of virtual time and of one run", () => {
  const moments = Array.from({ length: 100 }, (_, i) => moment(state(i + 1)));
  expect(lastSeconds(moments, 1)).toHaveLength(20);
  expect(lastSeconds(moments, 100)).toHaveLength(100);
  expect(lastSeconds([], 1)).toEqual([]);
  const restarted = [
    ...moments,
    moment(state(101, { run: 2, time_s: 0.05 })),
    moment(state(102, { run: 2, time_s: 0.1 })),
  ];
  expect(lastSeconds(restarted, 5).map(({ state: { number } }) => number)).toEqual([101, 102]);
});

it("a lane that is not there has no states", () => {
  expect(laneOf([moment(state(1))], 0)).toHaveLength(1);
  expect(laneOf([moment(state(1))], 1)).toEqual([]);
});
