// The data of the traffic lights: the contract with the crate l4s-report (`lights.rs`).

import type { Truth } from "../data";

/** Everything that the page shows. */
export interface Lights {
  /** The name of the scenario. */
  name: string;
  /** The version of l4s that ran it. */
  version: string;
  seed: number;
  /** How long a run is, in seconds. */
  duration_s: number;
  /** A matrix each. */
  schedules: Schedule[];
  /** Mixes of traffic, Prague:ECN-Cubic: the rows of a matrix. */
  traffic: string[];
  /** Link rates, and base RTTs within each: the columns. */
  rates: string[];
  rtts: string[];
  /** When scores were sampled, in seconds: the same for every run. */
  times: number[];
  squares: Square[];
  /** In the order of the schedules. */
  tallies: Tally[];
  /** The counts of the paper, by name of the schedule. */
  paper: Said[];
}

/** The outcome of a run: right, at rest (which counts as right), safe but wrong, unsafe. */
export type Verdict = "right" | "rest" | "amber" | "red";

/** How a square looks; one without a detector has a look too. */
export type Look = Verdict | "unknown";

export const lookOf = (square: Square): Look => square.verdict ?? "unknown";

/** Which discipline there is, and which later. */
export interface Schedule {
  name: string;
  /** The kinds of its disciplines, in order. */
  aqms: string[];
  /** The kind of the last one. */
  truth: Truth;
  /** When the last one came, in seconds. */
  since_s: number;
  /** The burst of the link, in milliseconds. */
  aggregation_ms?: number;
}

/** One run. */
export interface Square {
  /** Places in `schedules`, `traffic`, `rates` and `rtts`. */
  at: [number, number, number, number];
  /** Absent where no flow had a detector. */
  verdict: Verdict | null;
  /** The last score of long flows, mean. */
  score?: number;
  /** Short flows that are evidence, and those of them that were wrong. */
  short?: [number, number];
  /** Rate of a long Prague flow over that of a long Cubic flow. */
  ratio?: number;
  /** The command that reproduces just this run. */
  command: string;
  /** The score of long flows at each of `times`: mean, and lowest and highest of several. */
  mean?: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  /** When short flows that were scored ended, and their last score. */
  ends?: [number, number][];
}

/** Squares by verdict. */
export interface Counts {
  /** Those at rest too. */
  right: number;
  rest: number;
  amber: number;
  red: number;
  unknown: number;
}

/** The squares of a schedule, counted. */
export interface Tally {
  all: Counts;
  with_cubic: Counts;
  without_cubic: Counts;
  by_rate: Counts[];
}

/** The paper's counts of a schedule. */
export interface Said {
  schedule: string;
  /** Squares right, amber and red of 500. */
  counts?: [number, number, number];
  /** Amber squares at 4, 12 and 40 Mb/s, and above. */
  amber_by_rate?: [number, number, number, number];
  words: string;
}

/** The paper's counts of a schedule. */
export const saidOf = (lights: Lights, { name }: Schedule): Said | undefined =>
  lights.paper.find(({ schedule }) => schedule === name);
