// The data of a report: the contract with the crate l4s-report (`data.rs`).
//
// Numbers come as measured; absent measurements are absent, never zero.

/** Everything that one report shows. */
export interface Data {
  /** The version of l4s that drew it. */
  version: string;
  /** Result folders, side by side. */
  folders: Folder[];
  /** The differences between two of them, where they were compared. */
  differences?: Differences;
}

/** The table that `l4s compare` prints. */
export interface Differences {
  /** The names of its columns: two of words, and the others of numbers. */
  head: string[];
  /** A row per measurement that differs. */
  rows: string[][];
  /** The lines below it. */
  notes: string[];
}

/** One result folder. */
export interface Folder {
  /** Its label: the folder's name, made unique where two are alike. */
  label: string;
  /** Name of the scenario. */
  scenario: string;
  /** The substrate: sim, kernel, linux, qdisc. */
  on: string;
  /** The version of l4s that ran it. */
  version: string;
  /** The scenario as run, in TOML. */
  text: string;
  runs: Run[];
}

/** One run. */
export interface Run {
  /** Its number in the folder, from 1. */
  number: number;
  /** The queue discipline's kind: dualpi2, pie, fq_codel… */
  aqm: string;
  /** The traffic of each group or UDP source. */
  traffic: Record<string, Traffic>;
  /** Base round trip of each group in milliseconds, queue excluded. */
  base_rtt_ms: Record<string, number>;
  /** The command that reproduces just this run. */
  command: string;
  summary: Summary;
  /** Distributions and series; only for some runs of a big sweep. */
  curves?: Curves;
  /** A few points of each group's flows; of every run of a sweep over two numbers of flows. */
  sketch?: Sketch[];
  /** The flows of its programs; only of runs with curves. */
  programs?: ProgramFlows;
}

/** The flows of programs: those that carried most, and the others as one row. */
export interface ProgramFlows {
  /** In descending order of bytes. */
  largest: ProgramFlow[];
  others?: ProgramFlow;
  /** The number of flows in `others`. */
  more: number;
}

/** A flow of a program, as read from its headers (columns of flows.parquet). */
export interface ProgramFlow {
  group: string;
  protocol: string | null;
  client: string | null;
  server: string | null;
  start_s: number;
  end_s: number | null;
  bytes: number;
  rate_bps: number | null;
  retransmits: number;
  not_ect: number;
  ect0: number;
  ect1: number;
  marks: number;
  drops: number;
  delay_mean_ms: number | null;
  delay_p99_ms: number | null;
  rtt_mean_ms: number | null;
}

/** A group in one run of a sweep over two numbers of flows: enough for a cell of a matrix. */
export interface Sketch {
  group: string;
  /** Rate of each flow in percent of an equal share of the link: means over equal parts of the run,
   * the warm-up included. */
  share: (number | null)[][];
  /** Delay at the middles of equal parts of the distribution: of two values, the 25th and the 75th
   * percentile. */
  delay_ms: number[];
}

/** How a sender answers congestion, as far as colours care. */
export type Traffic = "l4s" | "classic-ecn" | "classic" | "udp" | "program";

/** Distributions and time series of one run. */
export interface Curves {
  /** When statistics start, in seconds. */
  warmup_s: number;
  /** Cumulative distribution of the delay of each queue. */
  cdf: Cdf[];
  /** Delay of each queue over time. */
  delay: DelaySeries[];
  /** Rate of each flow over time; of each group, where there are many flows, and of each group with programs. */
  rate: RateSeries[];
  /** The inputs and the verdicts of the detector of Classic ECN of each flow that has one. */
  detector?: DetectorSeries[];
  /** The kind of the queue, and since when; only with a detector. */
  truth?: { s: number; truth: Truth }[];
  /** Rate of each group and UDP source over time, where there is a UDP source. */
  output?: RateSeries[];
  /** How long downloads took, by group. */
  downloads?: Downloads[];
  /** Delay of the packets of each group with programs over time. */
  program_delay?: ProgramDelay[];
}

/** Queueing delay of the packets of a group over time. */
export interface ProgramDelay {
  group: string;
  /** Ends of the intervals, in seconds. */
  s: number[];
  /** Mean delay; absent when no packet came. */
  mean_ms: (number | null)[];
}

/** The kinds of queues. */
export type Truth = "l4s" | "classic";

/** Downloads of a group that completed after the warm-up. */
export interface Downloads {
  group: string;
  /** One in this number is here, in the order in which they began. */
  every: number;
  bytes: number[];
  ms: number[];
  /** Sizes, ascending, with the theoretical completion time of each in milliseconds. */
  ideal: [number, number][];
}

/** `share[i]` of the packets waited `ms[i]` or less. */
export interface Cdf {
  queue: string;
  ms: number[];
  share: number[];
}

/** Delay of one queue over time. */
export interface DelaySeries {
  queue: string;
  s: number[];
  mean_ms: (number | null)[];
}

/** Rate of one flow over time. */
export interface RateSeries {
  group: string;
  /** Its number in the run; absent for all flows of the group together. */
  flow?: number;
  s: number[];
  mbps: (number | null)[];
  /** Where the goodput of its group is far below its rate. */
  goodput_mbps?: (number | null)[];
}

/** A detector of Classic ECN over time. */
export interface DetectorSeries {
  group: string;
  flow: number;
  s: number[];
  /** Classic from 1, L4S up to 0. */
  score: (number | null)[];
  /** The likely depth of the queue. */
  depth_ms: (number | null)[];
  /** The mean deviation of the RTT. */
  mdev_ms: (number | null)[];
}

/** The summary of one run (the design's section 4.3), as `l4s run --json` prints it. */
export interface Summary {
  scenario: string;
  on: string;
  seed: number;
  version: string;
  set: Record<string, string | number | boolean>;
  link: { rate_bps: number; utilization: number };
  queues: Queue[];
  hops?: Hop[];
  paths?: Path[];
  groups: Group[];
  completion?: Completion[];
  ratios?: Record<string, number>;
  engine: Engine;
}

/** The cost of a run. */
export interface Engine {
  virtual_s: number;
  packets: number;
  /** How late packets left the bottleneck, in real time. */
  lateness_us?: { p50: number; p99: number; max: number };
  /** Processor time that a packet cost the data plane, in real time. */
  packet_ns?: number;
}

/** Packets on an imperfect stretch, and how many had each effect. */
export interface Path {
  name: string;
  packets: number;
  lost: number;
  corrupted: number;
  duplicated: number;
  held_back: number;
  mangled: number;
}

/** A distribution of delays in milliseconds, over packets. */
export interface Delay {
  mean: number;
  p1: number;
  p25: number;
  p50: number;
  p75: number;
  p99: number;
  p999: number;
  max: number;
}

/** First percentile, mean and 99th percentile. */
export interface Spread {
  p1: number;
  mean: number;
  p99: number;
}

/** Downloads of a group whose size falls in one bin. */
export interface Completion {
  group: string;
  /** From, inclusive, and to, exclusive. */
  bin_bytes: [number, number];
  flows: number;
  time_ms: Spread;
  /** Completion time over the theoretical one. */
  efficiency: Spread;
}

export interface Queue {
  /** L, C, or Q where there is but one. */
  name: string;
  packets: number;
  delay_ms?: Delay;
  mark?: number;
  drop?: number;
}

/** The links of a hop together. */
export interface Hop {
  name: string;
  /** Absent where it is no link. */
  utilization?: number;
  queues: Queue[];
}

/**
 * Whether a goodput is below 0.85 of its rate: much was sent again, or waited for segments that were
 * missing. Headers alone are 3.5 % of segments of 1500 B. As `GroupSummary::goodput_lags`.
 */
export const lags = (rate_bps: number, goodput_bps: number | undefined): goodput_bps is number =>
  goodput_bps !== undefined && goodput_bps < 0.85 * rate_bps;

export interface Group {
  name: string;
  cc: string;
  /** Of its data; absent for "down". */
  direction?: "up";
  flows: number;
  rate_bps: number;
  rate_per_flow_bps?: number;
  normalized_rate?: number;
  window_pkts?: number;
  rtt_ms?: number;
  packets: number;
  delay_ms?: Delay;
  /** Packets below 200 B, and their delay. Absent without any. */
  small_packets?: number;
  small_delay_ms?: Spread;
  mark?: number;
  drop?: number;
  /** Frames of its applications; absent without any. */
  app?: object;
  /** Bits that the clients passed on to their applications per second; absent for UDP. */
  goodput_bps?: number;
  retransmits: number;
  /** In windows of a second. */
  rate_over_time_bps?: Spread;
  flow_rates_bps?: Spread;
}
