// The page of a report: its head, tiles, controls and tables.

import { queueName } from "./names";
import { ms, rate, seconds } from "./numbers";

export const MODE = {
  flip: "Switch between light and dark",
};

export const HEADER = {
  scenarios: (names: string[]): string => names.join(" and "),
  runs: (count: number): string => `${count} ${count === 1 ? "run" : "runs"}`,
  links: (least_bps: number, most_bps: number): string =>
    least_bps === most_bps ? `${rate(least_bps)} link` : `links from ${rate(least_bps)} to ${rate(most_bps)}`,
  length: (length_s: number, runs: number): string => `${seconds(length_s)}${runs > 1 ? " each" : ""}`,
  on: (substrates: string[]): string => `on ${substrates.join(", ")}`,
};

export const FOOTER = {
  folder: (label: string, version: string, on: string): string => `${label}: l4s ${version} on ${on}`,
  made: (folders: string[], seeds: number[], version: string): string => {
    const of = seeds.length === 1 ? `Seed ${seeds[0]}` : `Seeds ${seeds[0]} to ${seeds[seeds.length - 1]}`;
    return `${folders.join("; ")}. ${of}. Drawn by l4s ${version}.`;
  },
  software: "Software inside this page",
};

/** `folder` where there are several. */
export const scenarioTitle = (folder: string | undefined): string =>
  `The scenario as run${folder === undefined ? "" : ` · ${folder}`}`;

export const TILES = {
  name: "Headline numbers",
  meanOf: (seeds: number): string => `mean of ${seeds} seeds`,
  delay: (queue: string): string => (queue === "Q" ? "Queueing delay" : `${queueName(queue)} queueing delay`),
  /** The delay of the only queue of the bottleneck. */
  delayOfAll: "Queueing delay, all flows",
  delayAt: (delay: string, hop: string): string => `${delay}, ${hop}`,
  most: (delay_ms: number): string => `99 % wait less than ${ms(delay_ms)}`,
  used: "Link used",
  /** The groups of a ratio, from its key: `A_B`. */
  ratio: (key: string): string => `Rate of ${key.replace("_", " over ")}`,
  goodput: (group: string): string => `Goodput of ${group}`,
  ofRate: (bps: number): string => `of ${rate(bps)} forwarded`,
  dropped: "Packets dropped",
  none: "none",
};

export const CARDS = {
  runs: "Runs",
  conditions: "Conditions",
  tail: "Show the tail",
};

export const CONTROLS = {
  runs: "Runs in the charts below",
  conditions: "Conditions in the charts below",
  groupBy: "group by",
  all: "all",
};

/** The numbers of a chart, for readers of tables and for screen readers. */
export const NUMBERS = {
  summary: "Numbers of this chart",
  inRuns: "The table of all runs has the numbers.",
  inTables: "Tables of the numbers follow the chart.",
  /** Names of the axes that decide which table a curve has. */
  delayAxis: "queueing delay",
  timeAxis: "time",
  distribution: "Percentiles of the queueing delay (ms)",
  percentiles: (shares: number[]): string[] => ["curve", ...shares.map((share) => `p${share}`)],
  course: (unit: string): string => `Values over time${unit === "" ? "" : ` (${unit})`}, the warm-up included`,
  range: ["curve", "lowest", "mean", "highest"],
};

export const TABLE = {
  scroll: (title: string): string => `${title}: table`,
  chart: (title: string): string => `${title}: chart`,
};

const QUEUES: Record<string, string> = { L: "L4S", C: "Classic", Q: "queue" };

export const DIFFERENCES = { title: "Differences" };

/** The table of all runs, by column. */
export const RUN_TABLE = {
  title: "All runs",
  run: "run",
  discipline: "discipline",
  seed: "seed",
  /** What the columns of a hop begin with. */
  hop: (name: string): string => `${name}: `,
  mean: (hop: string, queue: string): string => `${hop}${QUEUES[queue] ?? queue} mean (ms)`,
  p99: (hop: string, queue: string): string => `${hop}${QUEUES[queue] ?? queue} p99 (ms)`,
  marked: (hop: string, queue: string): string => `${hop}${QUEUES[queue] ?? queue} marked (%)`,
  dropped: (hop: string, queue: string): string => `${hop}${QUEUES[queue] ?? queue} dropped (%)`,
  used: (hop: string): string => `${hop}used (%)`,
  /** The share of the packets on an imperfect stretch with this effect. */
  effect: (path: string, effect: string): string => `${path}: ${effect} (%)`,
  effects: {
    lost: "lost",
    corrupted: "corrupted",
    duplicated: "duplicated",
    held_back: "held back",
    mangled: "mangled",
  },
  rate: (group: string): string => `${group} (Mb/s)`,
  goodput: (group: string): string => `${group} goodput (Mb/s)`,
  delayMean: (group: string): string => `${group} mean (ms)`,
  delayP99: (group: string): string => `${group} p99 (ms)`,
  smallMean: (group: string): string => `${group} small mean (ms)`,
  smallP99: (group: string): string => `${group} small p99 (ms)`,
  ratio: (key: string): string => key.replace(/_/g, " "),
  command: "repeat it",
};

/** The tables of the flows of programs, by column. */
export const PROGRAMS = {
  /** `run` where there are several. */
  title: (run: string | undefined): string => `Flows of programs${run === undefined ? "" : `: ${run}`}`,
  others: (count: number): string => `${count} others`,
  group: "group",
  protocol: "protocol",
  client: "client",
  server: "server",
  rate: "rate (Mb/s)",
  delayMean: "delay mean (ms)",
  delayP99: "delay p99 (ms)",
  marks: "marks",
  drops: "drops",
  ect1: "ECT(1)",
  ect0: "ECT(0)",
  notEct: "Not-ECT",
  rtt: "RTT (ms)",
  retransmissions: "retransmissions",
  start: "start (s)",
  end: "end (s)",
};
