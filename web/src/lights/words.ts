// Squares and schedules in words.

import type { Truth } from "../data";
import { aqmName } from "../words/names";
import { digits, quantity } from "../words/numbers";
import type { Counts, Lights, Said, Schedule, Square } from "./data";

/** How a square looks; one without a detector has a look too. */
export type Look = "right" | "rest" | "amber" | "red" | "unknown";

export const lookOf = (square: Square): Look => square.verdict ?? "unknown";

/** Every look with its meaning, as a legend has them. */
export const LEGEND: [Look, string][] = [
  ["right", "right"],
  ["rest", "right, at rest: no mark was seen"],
  ["amber", "amber: Classic said of an L4S queue"],
  ["red", "red: L4S said of a Classic queue"],
  ["unknown", "no detector"],
];

/** `CoDel, DualPI2 from 10 s, in bursts of 2 ms`; a single one with the scenario's name for it. */
export function scheduleName({ name, aqms, since_s, aggregation_ms }: Schedule): string {
  const [aqm = ""] = aqms;
  const more = name.startsWith(`${aqm} `) && aqms.length === 1 && aggregation_ms === undefined;
  if (more) return aqmName(aqm) + name.slice(aqm.length);
  const names = aqms.map((aqm, i) => `${aqmName(aqm)}${i > 0 ? ` from ${digits(since_s)} s` : ""}`);
  if (aggregation_ms !== undefined) names.push(`in bursts of ${digits(aggregation_ms)} ms`);
  return names.join(", ");
}

const queueOf = (truth: Truth): string => (truth === "l4s" ? "L4S" : "Classic");

/** The outcome of a run. */
export function outcome(square: Square, { truth }: Schedule): string {
  switch (square.verdict) {
    case "right":
      return `Right: the queue is ${queueOf(truth)}, and was taken for it`;
    case "rest":
      return "At rest: no mark was seen, so nothing had to be found out";
    case "amber":
      return "Amber: the queue is L4S and was taken for Classic";
    case "red":
      return "Red: the queue is Classic and was taken for L4S";
    default:
      return "No flow had a detector";
  }
}

/** `40mbit` as `40 Mb/s`. */
export const say = (value: string): string => quantity(value).filter(Boolean).join(" ");

/** `1L:9 · 40 Mb/s · 20 ms`. */
export function where(lights: Lights, { at: [, mix, rate, rtt] }: Square): string {
  return [lights.traffic[mix], say(lights.rates[rate] ?? ""), say(lights.rtts[rtt] ?? "")].join(" · ");
}

const FLOWS: Record<string, string> = {
  "0": "no",
  L: "short",
  "1L": "1 long and short",
  a: "1 application-limited",
};

/** `1L:9` as `1 long and short Prague, 9 long ECN-Cubic flows`. */
export function mixInWords(mix: string): string {
  const [a = "", b = ""] = mix.split(":");
  const flows = (of: string): string => FLOWS[of] ?? (/^\d+$/.test(of) ? `${of} long` : of);
  return `${flows(a)} Prague, ${flows(b)} ECN-Cubic flows`;
}

/** `361 right, 139 amber, 0 red of 500`. */
export function countsInWords(counts: Counts): string {
  const { right, rest, amber, red, unknown } = counts;
  const parts = [`${right} right${rest > 0 ? ` (${rest} at rest)` : ""}`, `${amber} amber`, `${red} red`];
  if (unknown > 0) parts.push(`${unknown} without a detector`);
  return `${parts.join(", ")} of ${right + amber + red + unknown}`;
}

/** The same of the paper; empty where it gives no numbers. */
export function saidInWords(said: Said | undefined): string {
  if (said?.counts === undefined) return "";
  const [right, amber, red] = said.counts;
  return `${right} right, ${amber} amber, ${red} red of ${right + amber + red}`;
}

export const saidOf = (lights: Lights, { name }: Schedule): Said | undefined =>
  lights.paper.find(({ schedule }) => schedule === name);
