// Courses over time, and totals of a stretch of it.

import type { LaneState, QueueState, Station } from "./protocol";
import type { Moment } from "./ring";

/** Seconds before the moment that is shown, and a value. */
export type Course = [number, number][];

/** A value with the weight that it has in a mean. */
export type Weighted = [value: number, weight: number] | undefined;

/**
 * A quantity over time as means over bins of `width` seconds. Bins begin at multiples of it, so that
 * what was drawn once stays as it is while it moves on.
 */
export function course(
  moments: readonly Moment[],
  lane: number,
  width: number,
  value: (lane: LaneState, span_s: number) => Weighted,
): Course {
  const end = moments[moments.length - 1]?.state.time_s ?? 0;
  const points: Course = [];
  let bin = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let weight = 0;
  const close = (): void => {
    if (weight > 0) points.push([(bin + 0.5) * width - end, sum / weight]);
    sum = 0;
    weight = 0;
  };
  for (const { state } of moments) {
    const of = state.lanes[lane];
    if (of === undefined) continue;
    // The middle of its span decides where a state belongs.
    const at = Math.floor((state.time_s - state.span_s / 2) / width);
    if (at !== bin) {
      close();
      bin = at;
    }
    const found = value(of, state.span_s);
    if (found === undefined) continue;
    sum += found[0] * found[1];
    weight += found[1];
  }
  close();
  return points;
}

/** The mean of a quantity. */
export function average(
  moments: readonly Moment[],
  lane: number,
  value: (lane: LaneState, span_s: number) => Weighted,
): number | undefined {
  let sum = 0;
  let weight = 0;
  for (const { state } of moments) {
    const of = state.lanes[lane];
    const found = of === undefined ? undefined : value(of, state.span_s);
    if (found === undefined) continue;
    sum += found[0] * found[1];
    weight += found[1];
  }
  return weight === 0 ? undefined : sum / weight;
}

/** A quantity of a link, of the uplink. */
export const ofUplink =
  (value: (at: Station, span_s: number) => Weighted) =>
  (lane: LaneState, span_s: number): Weighted =>
    lane.uplink === undefined ? undefined : value(lane.uplink, span_s);

/** What the link could have carried per second: its rate, or that of its trace. */
export const capacity = (lane: Station, span_s: number): Weighted => [lane.link.rate_bps, span_s];

/** What the link carried over what it could have. */
export const utilization = (lane: Station, span_s: number): Weighted => [
  lane.link.utilization,
  span_s * lane.link.rate_bps,
];

export const groupRate =
  (group: number) =>
  (lane: LaneState, span_s: number): Weighted => {
    const state = lane.groups[group];
    return state === undefined ? undefined : [state.rate_bps, span_s];
  };

export const groupGoodput =
  (group: number) =>
  (lane: LaneState, span_s: number): Weighted => {
    const goodput = lane.groups[group]?.goodput_bps;
    return goodput === undefined ? undefined : [goodput, span_s];
  };

export const flowRate =
  (flow: number) =>
  (lane: LaneState, span_s: number): Weighted => {
    const state = lane.flows.find((one) => one.flow === flow);
    return state === undefined ? undefined : [state.rate_bps, span_s];
  };

export const queueDelay =
  (name: string) =>
  (lane: Station): Weighted => {
    const queue = lane.queues.find((one) => one.name === name);
    return queue?.delay_mean_ms === undefined ? undefined : [queue.delay_mean_ms, queue.packets];
  };

/** The share of a queue's forwarded packets that it marked. */
export const markShare =
  (name: string) =>
  (lane: Station): Weighted => {
    const queue = lane.queues.find((one) => one.name === name);
    return queue === undefined || queue.packets === 0 ? undefined : [queue.marked / queue.packets, queue.packets];
  };

/** The share of a queue's packets that it dropped. */
export const queueDrops =
  (name: string) =>
  (lane: Station): Weighted =>
    dropped(lane.queues.filter((queue) => queue.name === name));

/** The same of all queues together. */
export const dropShare = (lane: Station): Weighted => dropped(lane.queues);

function dropped(queues: QueueState[]): Weighted {
  const drops = queues.reduce((sum, queue) => sum + queue.dropped, 0);
  const all = queues.reduce((sum, queue) => sum + queue.packets, drops);
  return all === 0 ? undefined : [drops / all, all];
}

/** The share of all forwarded packets that were marked. */
export const allMarked = (lane: Station): Weighted => {
  const packets = lane.queues.reduce((sum, queue) => sum + queue.packets, 0);
  const marked = lane.queues.reduce((sum, queue) => sum + queue.marked, 0);
  return packets === 0 ? undefined : [marked / packets, packets];
};

/** Packets that wait. */
export const backlog = (lane: Station, span_s: number): Weighted => [lane.link.backlog_packets, span_s];

/** The window of one group over that of another. */
export const balance =
  (of: number, over: number) =>
  (lane: LaneState, span_s: number): Weighted => {
    const a = lane.groups[of]?.window_pkts;
    const b = lane.groups[over]?.window_pkts;
    return a === undefined || b === undefined || b <= 0 ? undefined : [a / b, span_s];
  };

export const score =
  (flow: number) =>
  (lane: LaneState, span_s: number): Weighted => {
    const value = lane.flows.find((one) => one.flow === flow)?.classic_ecn;
    return value === undefined ? undefined : [value, span_s];
  };

/** The flows that these moments have, by number, with their group. */
export function flowsOf(moments: readonly Moment[], lane: number): { flow: number; group: number; app: boolean }[] {
  const seen = new Map<number, { flow: number; group: number; app: boolean }>();
  for (const { state } of moments) {
    for (const { flow, group, app } of state.lanes[lane]?.flows ?? []) {
      if (!seen.has(flow)) seen.set(flow, { flow, group, app: app === true });
    }
  }
  return [...seen.values()].sort((a, b) => a.flow - b.flow);
}
