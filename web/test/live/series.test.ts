import { expect, it } from "vitest";
import {
  average,
  balance,
  course,
  dropShare,
  flowsOf,
  groupGoodput,
  groupRate,
  markShare,
  queueDelay,
  utilization,
} from "../../src/live/series";
import { aboutRate } from "../../src/live/tiles";
import { lane, moment, state } from "./sample";

const queue = (packets: number, marked: number, dropped: number, delay_mean_ms?: number) => ({
  name: "L",
  packets,
  marked,
  dropped,
  delays: [] as [number, number][],
  ...(delay_mean_ms === undefined ? {} : { delay_mean_ms }),
});

it("a mean delay weighs packets, not states", () => {
  const moments = [
    moment(state(1, { lanes: [lane({ queues: [queue(30, 0, 0, 1)] })] })),
    moment(state(2, { lanes: [lane({ queues: [queue(10, 0, 0, 5)] })] })),
    moment(state(3, { lanes: [lane({ queues: [queue(0, 0, 0)] })] })),
  ];
  // (30 · 1 + 10 · 5) / 40
  expect(average(moments, 0, queueDelay("L"))).toBeCloseTo(2, 12);
  expect(average(moments, 0, queueDelay("C"))).toBeUndefined();
});

it("marks are of what was forwarded, drops of what came", () => {
  const moments = [moment(state(1, { lanes: [lane({ queues: [queue(90, 9, 10)] })] }))];
  expect(average(moments, 0, markShare("L"))).toBeCloseTo(0.1, 12);
  expect(average(moments, 0, dropShare)).toBeCloseTo(0.1, 12);
});

it("utilization weighs time and the link's rate", () => {
  const at = (rate_bps: number, share: number) =>
    lane({ link: { rate_bps, utilization: share, backlog_bytes: 0, backlog_packets: 0 } });
  const moments = [moment(state(1, { lanes: [at(30e6, 1)] })), moment(state(2, { lanes: [at(10e6, 0)] }))];
  expect(average(moments, 0, utilization)).toBeCloseTo(0.75, 12);
});

it("bins of a course stay where they are while time goes on", () => {
  const group = (rate_bps: number) => lane({ groups: [{ name: "A", rate_bps, packets: 1, marked: 0, dropped: 0 }] });
  const moments = Array.from({ length: 40 }, (_, i) => moment(state(i + 1, { lanes: [group(i + 1)] })));
  const values = (count: number) => course(moments.slice(0, count), 0, 0.2, groupRate(0)).map(([, y]) => y);
  // Four states of 50 ms in each bin: 1..4, 5..8, …
  expect(values(40).slice(0, 3)).toEqual([2.5, 6.5, 10.5].map((v) => expect.closeTo(v, 9)));
  expect(values(41).slice(0, 9)).toEqual(values(38).slice(0, 9));
});

it("goodput is an average of what groups report, and UDP sources have none", () => {
  const of = (goodput_bps?: number) =>
    lane({
      groups: [
        {
          name: "A",
          rate_bps: 9,
          packets: 1,
          marked: 0,
          dropped: 0,
          ...(goodput_bps === undefined ? {} : { goodput_bps }),
        },
      ],
    });
  // Real clients report in some states only.
  const moments = [12, 0, 3].map((bps, i) => moment(state(i + 1, { lanes: [of(bps)] })));
  expect(average(moments, 0, groupGoodput(0))).toBe(5);
  expect(average([moment(state(1, { lanes: [of()] }))], 0, groupGoodput(0))).toBeUndefined();
});

it("a goodput far below its rate is said in the place of the share", () => {
  expect(aboutRate(10e6, 20e6, 9.65e6)).toBe("50 % of the traffic");
  expect(aboutRate(10e6, 20e6, 8.4e6)).toBe("goodput 8.4 Mb/s");
  expect(aboutRate(10e6, 20e6, undefined)).toBe("50 % of the traffic");
  expect(aboutRate(0, 0, 0)).toBe("");
});

it("balance is one window over another, and absent without both", () => {
  const windows = (a?: number, b?: number) =>
    lane({
      groups: [a, b].map((window_pkts, i) => ({
        name: "AB".charAt(i),
        rate_bps: 0,
        packets: 0,
        marked: 0,
        dropped: 0,
        ...(window_pkts === undefined ? {} : { window_pkts }),
      })),
    });
  expect(balance(0, 1)(windows(30, 10), 1)?.[0]).toBe(3);
  expect(balance(0, 1)(windows(30), 1)).toBeUndefined();
});

it("flows are found in whatever state has them", () => {
  const flow = (number: number) => ({ flow: number, group: 0, rate_bps: 0, cwnd_pkts: 1 });
  const moments = [
    moment(state(1, { lanes: [lane({ flows: [flow(3)] })] })),
    moment(state(2, { lanes: [lane({ flows: [flow(1), flow(3)] })] })),
  ];
  expect(flowsOf(moments, 0).map(({ flow: number }) => number)).toEqual([1, 3]);
});
