// What the page says of the last seconds.

import { LIMITS, SENTENCE } from "../words/live";
import { count, mean } from "./delays";
import type { Buckets } from "./protocol";
import { laneOf, lastSeconds, type Moment, PERIOD_MS } from "./ring";
import { average, ofUplink, utilization } from "./series";

/** `L queue 0.5 ms, C queue 15 ms, link 99 % used`, of the last seconds. */
export function sentence(buckets: Buckets, moments: readonly Moment[], lane: number, seconds = 5): string {
  const recent = lastSeconds(moments, seconds);
  const last = recent[recent.length - 1];
  const settings = last?.settings.lanes[lane];
  if (settings === undefined) return "";
  const states = laneOf(recent, lane);
  const parts = settings.aqm.queues.map((name) => {
    return SENTENCE.queue(name, mean(count(buckets, states, name)));
  });
  const used = average(recent, lane, utilization);
  if (used !== undefined) parts.push(SENTENCE.used(used));
  const up = states.flatMap(({ uplink }) => uplink ?? []);
  for (const name of settings.uplink?.aqm.queues ?? []) {
    parts.push(SENTENCE.uplinkQueue(name, mean(count(buckets, up, name))));
  }
  const usedUp = settings.uplink === undefined ? undefined : average(recent, lane, ofUplink(utilization));
  if (usedUp !== undefined) parts.push(SENTENCE.uplinkUsed(usedUp));
  return SENTENCE.whole(parts);
}

/** The same of all lanes, each by its discipline. */
export function sentences(buckets: Buckets, moments: readonly Moment[]): string {
  const lanes = moments[moments.length - 1]?.settings.lanes ?? [];
  if (lanes.length < 2) return sentence(buckets, moments, 0);
  return lanes.map(({ aqm }, i) => SENTENCE.ofLane(aqm.kind, sentence(buckets, moments, i))).join(" ");
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
    reached.push(LIMITS.downloads(most));
  }
  if (lanes.some(({ skipped }) => skipped !== undefined)) {
    reached.push(LIMITS.frames);
  }
  return reached.join(" ");
}

/** A machine that cannot keep up slows virtual time: says by how much, or nothing. */
export function lateness(moments: readonly Moment[]): string {
  const last = moments[moments.length - 1];
  const ratio = pace(moments);
  if (last === undefined || ratio > 0.93 || last.state.late_s < 0.05 * last.state.speed) return "";
  // In steps: a number that flutters is no news.
  return LIMITS.late(Math.max(0.05, Math.round(20 * ratio) / 20));
}
