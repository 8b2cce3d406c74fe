// The traffic lights: squares and schedules in words, and the text of their page and picture.

import type { Truth } from "../data";
import type { Counts, Lights, Look, Said, Schedule, Square } from "../lights/data";
import { aqmName } from "./names";
import { amount, digits, seconds } from "./numbers";

export const TITLE = "Is the queue a Classic one? What TCP Prague says in the end";

export const PAGE = {
  facts: (runs: number, length_s: number, seed: number): string =>
    `${runs} runs of ${length_s} s · Fallback §7.5 · seed ${seed}`,
  legend: "Legend",
  howToRead:
    "A row is a mix of traffic, Prague:ECN-Cubic: a number of long flows, L short ones as of the web, " +
    "1L both, a one that is limited by its application. " +
    "A column is a base RTT at a link rate. A square is wrong if in the end the score of a long flow is, or the scores " +
    "of more than a tenth of the short ones.",
  drawnBy: (version: string): string => `Run and drawn by l4s ${version}.`,
};

export const PICTURE = {
  note: (runs: number, length_s: number): string =>
    `${runs} runs of ${length_s} s. A row is a mix of traffic, Prague:ECN-Cubic: a number of long flows, ` +
    "L short ones, 1L both, a limited by its application. A column is a base RTT in ms at a link rate.",
  counts: (ours: string, papers: string): string => (papers === "" ? ours : `${ours}. The paper: ${papers}`),
};

/** A matrix as a table. */
export const MATRIX = {
  name: (schedule: string, counts: string): string => `${schedule}: ${counts}`,
  rtt: "ms",
  counts: (ours: string, papers: string): string => `${ours}. ${papers === "" ? "" : `The paper: ${papers}`}`,
};

/** The details of a square. */
export const DETAIL = {
  name: "The square",
  hint:
    "Point at a square, or go there with the arrow keys, to see its score over time. " +
    "Click or press Enter to pin it and get its command; Escape lets it go.",
  lastScore: "last score",
  ratio: "rates, Prague over Cubic",
  shortFlows: "short flows scored, wrong",
  chart: "Score over time",
  noScore: "No score was kept.",
  howToRead: (dots: boolean): string =>
    `Score: Classic from 1, L4S up to 0.${dots ? " Dots: short flows, when they ended." : ""}`,
  command: "This run alone: ",
};

/** The counts of all schedules. */
export const TOTALS = {
  title: "Totals",
  head: ["schedule", "right", "at rest", "amber", "red", "red with Cubic", "amber by link rate"],
  of: (count: number, all: number): string => `${count} of ${all}`,
  at: (count: number, rate: string): string => `${count} at ${rate}`,
  /** The rates by which the paper counts. */
  classes: ["4 Mb/s", "12 Mb/s", "40 Mb/s", "more"],
  unknown: (count: number): string => `(${count} without a detector)`,
  paper: "the paper",
};

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
  const names = aqms.map((aqm, i) => `${aqmName(aqm)}${i > 0 ? ` from ${seconds(since_s)}` : ""}`);
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

/** `1L:9 · 40 Mb/s · 20 ms`. */
export function where(lights: Lights, { at: [, mix, rate, rtt] }: Square): string {
  return [lights.traffic[mix], amount(lights.rates[rate] ?? ""), amount(lights.rtts[rtt] ?? "")].join(" · ");
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
