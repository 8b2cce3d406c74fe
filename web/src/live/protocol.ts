// The messages between the page and its server: docs/reference/live-protocol.md as types.

export const PROTOCOL = 1;

/** Where the buckets of a delay histogram lie. */
export interface Buckets {
  first_ms: number;
  per_decade: number;
  count: number;
}

/** A parameter of a discipline. */
export interface Param {
  name: string;
  about: string;
  accepts: string;
  type: "bool" | "count" | "number" | "time" | "times" | "time-or-packets" | "packets" | "bytes" | "choice";
  unit?: string;
  min?: number;
  max?: number;
  max_packets?: number;
  words?: string[];
}

/** A discipline or a congestion control. */
export interface Kind {
  kind: string;
  about: string;
  profiles: { name: string; about: string }[];
  params: Param[];
}

export interface Point {
  number: number;
  label: string;
}

export interface Greeting {
  type?: "greeting";
  protocol: number;
  version: string;
  on: string;
  scenario: string;
  points: Point[];
  delay_buckets: Buckets;
  limits: {
    sessions: number;
    viewers: number;
    flows: number;
    downloads?: number;
    rate_bps: number;
    message_bytes: number;
    compare: boolean;
    speed: { min: number; max: number };
  };
  disciplines: Kind[];
  controls: Kind[];
}

/** Keys of the scenario and their values, as `--set` takes them. `null` takes a key back. */
export type Keys = Record<string, string | null>;

export interface LinkSettings {
  /** Empty where the link follows a trace; `rate_bps` is the mean of that. */
  rate: string;
  rate_bps: number;
  trace?: string;
  buffer: string;
}

export interface AqmSettings {
  kind: string;
  profile: string;
  values: Record<string, unknown>;
  queues: string[];
}

/** A link with its discipline: the bottleneck, or the uplink. */
export interface StationSettings {
  link: LinkSettings;
  aqm: AqmSettings;
}

export interface LaneSettings extends StationSettings {
  set: Record<string, string>;
  uplink?: StationSettings;
}

export interface GroupSettings {
  name: string;
  /** It sends through the uplink. */
  up?: boolean;
  cc: string;
  cc_profile: string;
  ecn: string;
  flows: number;
  rtt: string;
  rtt_ms: number;
  web?: { rate: string; per_s: number };
  app?: { rate: string; rate_bps: number; fps: number; adapt: boolean; flows: number };
}

export interface UdpSettings {
  name: string;
  up?: boolean;
  rate: string;
  rate_bps: number;
  ecn: string;
  packet: string;
}

/** An imperfect stretch of the way. */
export interface PathSettings {
  name: string;
  up?: boolean;
  /** As text; and the chance, where each packet is lost independently. */
  loss: string;
  loss_chance?: number;
  /** As text; and the longest, where it is uniform and keeps the order. */
  jitter: string;
  jitter_ms?: number;
}

export interface Settings {
  type: "settings";
  number: number;
  name: string;
  point?: number | null;
  text: string;
  /** Absent where the scenario is no bundled one. */
  command?: string;
  set: Record<string, string>;
  paused: boolean;
  speed: number;
  lanes: LaneSettings[];
  groups: GroupSettings[];
  udp: UdpSettings[];
  /** Absent where there are none. */
  paths?: PathSettings[];
}

export interface QueueState {
  name: string;
  packets: number;
  marked: number;
  dropped: number;
  delay_mean_ms?: number;
  delay_max_ms?: number;
  delays: [number, number][];
}

export interface GroupState {
  name: string;
  rate_bps: number;
  /** Bits that the clients passed on to their applications per second; absent for a UDP source. */
  goodput_bps?: number;
  packets: number;
  marked: number;
  dropped: number;
  window_pkts?: number;
  rtt_ms?: number;
}

export interface FlowState {
  flow: number;
  group: number;
  app?: boolean;
  rate_bps: number;
  cwnd_pkts: number;
  srtt_ms?: number;
  alpha?: number;
  classic_ecn?: number;
}

export interface Download {
  group: number;
  bytes: number;
  time_ms: number;
  ideal_ms: number;
}

/** Forwarded, marked, dropped: the third number of a packet's event. */
export const MARKED = 1;
export const DROPPED = 2;

/** When (ms since the last state), group, queue (0 L, 1 C, 2 Q), fate, and sojourn in ms. */
export type PacketEvent = [number, number, number, number, number];

/** What happened at a link with its queues. */
export interface Station {
  link: { rate_bps: number; utilization: number; backlog_packets: number; backlog_bytes: number; p_base?: number };
  queues: QueueState[];
  packets: PacketEvent[];
}

export interface LaneState extends Station {
  uplink?: Station;
  groups: GroupState[];
  flows: FlowState[];
  downloads: Download[];
  /** Downloads that were given up, and that did not begin. Absent where there are none. */
  gave_up?: number;
  turned_away?: number;
  /** Frames that were skipped because a send buffer was full. Absent where there are none. */
  skipped?: number;
  frames: { group: number; delay_ms: number }[];
}

export interface State {
  type: "state";
  number: number;
  run: number;
  time_s: number;
  span_s: number;
  speed: number;
  late_s: number;
  lanes: LaneState[];
}

export interface Fault {
  type: "error";
  id?: number;
  field?: string;
  message: string;
  help?: string;
}

export type Message = Settings | State | Fault | { type: "done"; id: number } | { type: "over" };

export type Command =
  | { do: "set"; set: Keys; lane?: number }
  | { do: "load"; point?: number; text?: string; set?: Keys }
  | { do: "compare"; set: Keys | null }
  | { do: "restart" }
  | { do: "pause"; paused: boolean }
  | { do: "speed"; speed: number };
