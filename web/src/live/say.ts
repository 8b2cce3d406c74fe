// The sentences of the page.

import { aqmName } from "../words/names";
import { ms, percent } from "../words/numbers";
import { count, mean } from "./delays";
import type { Buckets } from "./protocol";
import { laneOf, lastSeconds, type Moment, PERIOD_MS } from "./ring";
import { average, utilization } from "./series";

/** Hints for the viewer, by the label of a preset. */
const PRESETS: Record<string, string> = {
  DualPI2:
    "Two queues share one link. L4S packets (blue) wait less than a millisecond, Classic ones (orange) about 15 ms, and yet each flow gets about half of the link.",
  "Without AQM":
    "A plain buffer: the Classic flow fills it, and everybody waits in it. Switch an application on and see how late its picture is.",
  PIE: "One queue that is kept short for all: better than a full buffer, yet the L4S flow waits as long as the Classic one.",
  "FQ-CoDel":
    "A queue for each flow. Flows no longer wait for each other, but each still waits for itself: a few milliseconds.",
  "One greedy download":
    "One long download has all that short ones leave. Look at how long the short ones take (second last chart), then switch the queue to FIFO.",
  Overload:
    "A sender that does not listen (UDP) asks for more than the link has. DualPI2 then drops in both queues, which keeps even the L queue at about 15 ms. Lower its rate, and the others come back.",
  "A Classic queue in the way":
    "The bottleneck marks, but is a Classic one. Prague notices that by its score (last chart): above 0 it begins to fall back to the Classic answer, above 1 it has.",
};

export const aboutPreset = (label: string): string => PRESETS[label] ?? "";

const NAMES: Record<string, string> = { L: "L queue", C: "C queue", Q: "Queue" };

/** `L queue 0.5 ms, C queue 15 ms, link 99 % used`, of the last seconds. */
export function sentence(buckets: Buckets, moments: readonly Moment[], lane: number, seconds = 5): string {
  const recent = lastSeconds(moments, seconds);
  const last = recent[recent.length - 1];
  const settings = last?.settings.lanes[lane];
  if (settings === undefined) return "";
  const states = laneOf(recent, lane);
  const parts = settings.aqm.queues.map((name) => {
    const value = mean(count(buckets, states, name));
    return `${NAMES[name] ?? name} ${value === undefined ? "empty" : ms(value)}`;
  });
  const used = average(recent, lane, utilization);
  if (used !== undefined) parts.push(`link ${percent(used)} used`);
  return `${parts.join(", ")}.`;
}

/** The same of all lanes, each by its discipline. */
export function sentences(buckets: Buckets, moments: readonly Moment[]): string {
  const lanes = moments[moments.length - 1]?.settings.lanes ?? [];
  if (lanes.length < 2) return sentence(buckets, moments, 0);
  return lanes.map(({ aqm }, i) => `${aqmName(aqm.kind)}: ${sentence(buckets, moments, i)}`).join(" ");
}

/** The speed of virtual time relative to the set one: 1 when the machine keeps up. */
export function pace(moments: readonly Moment[]): number {
  const recent = moments.slice(-41);
  const last = recent[recent.length - 1];
  const first = recent.find(({ state }) => state.run === last?.state.run && state.speed === last.state.speed);
  if (first === undefined || last === undefined) return 1;
  const asked = ((last.state.number - first.state.number) * PERIOD_MS * last.state.speed) / 1000;
  return asked < 0.5 * last.state.speed ? 1 : (last.state.time_s - first.state.time_s) / asked;
}

/** Names the limits that a session has reached in the last 2 s: downloads under way, and send buffers. */
export function full(moments: readonly Moment[], most: number | undefined): string {
  const lanes = lastSeconds(moments, 2).flatMap(({ state }) => state.lanes);
  const reached: string[] = [];
  if (lanes.some(({ turned_away }) => turned_away !== undefined)) {
    const many = most === undefined ? "As many downloads" : `${most.toLocaleString("en")} downloads`;
    reached.push(`${many} are under way, the most that a session may have: those that come now are turned away.`);
  }
  if (lanes.some(({ skipped }) => skipped !== undefined)) {
    reached.push("A send buffer of 4 MiB is full: frames that come now are skipped.");
  }
  return reached.join(" ");
}

/** A machine that cannot keep up slows virtual time: says by how much, or nothing. */
export function lateness(moments: readonly Moment[]): string {
  const last = moments[moments.length - 1];
  const ratio = pace(moments);
  if (last === undefined || ratio > 0.93 || last.state.late_s < 0.05 * last.state.speed) return "";
  // In steps: a number that flutters is no news.
  return `The machine that simulates cannot keep up: virtual time runs at ${percent(Math.max(0.05, Math.round(20 * ratio) / 20))} of the speed asked for. The results are the same, only later.`;
}
