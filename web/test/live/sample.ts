// Made-up settings and states for tests of the live page.

import type { Buckets, LaneState, Settings, State } from "../../src/live/protocol";
import type { Moment } from "../../src/live/ring";

export const BUCKETS: Buckets = { first_ms: 0.001, per_decade: 40, count: 281 };

/** The bucket of a delay in ms: that of the server. */
export const bucket = (ms: number): number => Math.min(280, Math.max(0, Math.trunc(Math.log10(ms / 0.001) * 40)));

export const settings = (more: Partial<Settings> = {}): Settings => ({
  type: "settings",
  number: 1,
  name: "live",
  point: 0,
  text: "",
  command: "l4s run live",
  set: {},
  paused: false,
  speed: 1,
  lanes: [
    {
      set: {},
      link: { rate: "20mbit", rate_bps: 20e6, buffer: "40000p" },
      aqm: { kind: "dualpi2", profile: "linux", values: {}, queues: ["L", "C"] },
    },
  ],
  groups: [
    { name: "A", cc: "prague", cc_profile: "best", ecn: "auto", flows: 1, rtt: "10ms", rtt_ms: 10 },
    { name: "B", cc: "cubic", cc_profile: "linux", ecn: "auto", flows: 1, rtt: "10ms", rtt_ms: 10 },
  ],
  udp: [{ name: "U", rate: "0bit", rate_bps: 0, ecn: "ect1", packet: "1500b" }],
  ...more,
});

export const lane = (more: Partial<LaneState> = {}): LaneState => ({
  link: { rate_bps: 20e6, utilization: 0.98, backlog_packets: 0, backlog_bytes: 0 },
  queues: [],
  groups: [],
  flows: [],
  downloads: [],
  frames: [],
  packets: [],
  ...more,
});

/** State `number` of a run without pauses. */
export const state = (number: number, more: Partial<State> = {}): State => ({
  type: "state",
  number,
  run: 1,
  time_s: number * 0.05,
  span_s: 0.05,
  speed: 1,
  late_s: 0,
  lanes: [lane()],
  ...more,
});

export const moment = (of: State, under = settings()): Moment => ({ at: of.number * 50, state: of, settings: under });
