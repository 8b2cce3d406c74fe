// The page of the live demo: its head, controls, pictures, numbers and messages.

import { aqmName, codepoint, queueName, UDP } from "./names";
import { digits, mbps, ms, percent, rate } from "./numbers";

export const HEADER = {
  /** The scenario of the plain command is called as the command is. */
  title: (scenario: string): string => (scenario === "live" ? "l4s live" : `${scenario} · l4s live`),
  lead: "Several senders, one bottleneck: who waits, and for how long?",
  kernel: " Real Linux TCP, in real time.",
  try: "Try",
  presets: "Presets",
  bar: "Discipline and time",
  queue: "Queue",
  disciplines: "Queue discipline",
  beside: "side by side with ",
  nothing: "nothing",
  speed: "speed ",
  restart: "Restart",
  restartHint: "From time zero",
  pause: "Pause",
  pauseHint: "Stops virtual time, for everyone who watches this session",
  freeze: "Freeze",
  freezeHint: "Space",
  share: "Share",
};

/** Hints for the viewer, by the label of a preset of the scenario `live`. */
const PRESETS: Record<string, string> = {
  DualPI2:
    "Two queues share one link. L4S packets (blue) wait less than a millisecond, Classic ones (orange) about 15 ms, " +
    "and yet each flow gets about half of the link.",
  "Without AQM":
    "A plain buffer: the Classic flow fills it, and everybody waits in it. " +
    "Switch an application on and see how late its picture is.",
  PIE:
    "One queue that is kept short for all: better than a full buffer, " +
    "yet the L4S flow waits as long as the Classic one.",
  "FQ-CoDel":
    "A queue for each flow. Flows no longer wait for each other, " +
    "but each still waits for itself: a few milliseconds.",
  "One greedy download":
    "One long download has all that short ones leave. " +
    "Look at how long the short ones take (second last chart), then switch the queue to FIFO.",
  Overload:
    "A sender that does not listen (UDP) asks for more than the link has. DualPI2 then drops in both queues, " +
    "which keeps even the L queue at about 15 ms. Lower its rate, and the others come back.",
  "A Classic queue in the way":
    "The bottleneck marks, but is a Classic one. Prague notices that by its score (last chart): " +
    "above 0 it begins to fall back to the Classic answer, above 1 it has.",
};

/** The hint of a preset; none of another scenario's, whose label may be the same. */
export const aboutPreset = (scenario: string, label: string): string =>
  scenario === "live" ? (PRESETS[label] ?? "") : "";

export const CONTROLS = {
  name: "Controls",
  link: "Link",
  uplink: "Uplink",
  discipline: "Queue discipline",
  rate: "Rate",
  trace: "Trace",
  traceOf: (name: string, mean_bps: number): string => `${name}, ${rate(mean_bps)} on average`,
  off: "off",
  client: (name: string): string => `Client ${name}`,
  downloads: "Downloads",
  uploads: "Uploads",
  noDownloads: "none",
  congestionControl: "Congestion control",
  rtt: "Base round trip",
  web: "Web load",
  webRate: (perSecond: number): string => `${perSecond}/s`,
  app: (rate_mbps: number): string => `Application, ${mbps(rate_mbps)}`,
  appHint: "Pictures that are sent as they come, 30 a second: a game, a call, a remote desktop",
  udp: (name: string): string => `${UDP} ${name}`,
  aboutUdp: "Sends at its rate, whatever happens to it.",
  ecn: "ECN",
  codepoint: (word: string): string => (word === "ce" ? "CE" : codepoint(word)),
  path: (name: string): string => `Path ${name}`,
  aboutPath: (up: boolean): string => `A stretch of the way ${up ? "up" : "down"} that may lose and delay packets.`,
  loss: "Loss",
  jitter: "Jitter",
  none: "none",
  upTo: (most_ms: number): string => `up to ${ms(most_ms)}`,
  profile: "Profile",
  profileChoice: (name: string, about: string): string => (about === "" ? name : `${name}: ${about}`),
  parameters: (count: number): string => (count === 1 ? "Its parameter" : `Its ${count} parameters`),
  parameterHint: (about: string, accepts: string): string => `${about}. Accepts ${accepts}.`,
  notSet: "not set",
  /** Units beside a field. */
  ms: "ms",
  packets: "packets",
};

/** How charts look back. */
export const LOOK = {
  window: "Delays of the last",
  windowChoice: (length_s: number): string => `${length_s} s`,
  delayAxis: "Delay axis",
  logarithmic: "log",
  linear: "linear",
  rates: "Rates of",
  clients: "clients",
  flows: "each flow",
};

/** The meaning of the shapes in the picture of the network. */
export const LEGEND = {
  packet: "a packet",
  marked: "marked: please slow down",
  dropped: "dropped",
  note: "A sample of the real packets; waiting is drawn 20 times as long.",
};

export const FOOTER = {
  /** Text around the names of keys. */
  keys: "Keys: ",
  space: "space",
  freezes: " freezes and returns; while frozen ",
  step: " step back and forth. Every control works with the keyboard.",
  missed: (count: number): string =>
    `${count} ${count === 1 ? "state was" : "states were"} left out because this page was slow to read; ` +
    "charts have gaps there.",
};

export const TIMELINE = {
  name: "Past",
  label: "Frozen at",
  hint: "The session goes on. Arrow keys step, space returns.",
  back: "Back to live",
  at: (time: string, ago_s: number): string => `${time} s${ago_s < 0.03 ? "" : `, ${ago_s.toFixed(1)} s before`}`,
};

export const LANE = {
  stage: (kind: string): string => `Bottleneck with ${aqmName(kind)}`,
  charts: (kind: string): string => `Charts of ${aqmName(kind)}`,
};

/** The picture of the network. */
export const NETWORK = {
  name: "The network",
  about: (kind: string, uplink: string | undefined, sentence: string): string => {
    const back = uplink === undefined ? "" : `, and clients back through an uplink (${uplink})`;
    return `Servers send through one bottleneck (${kind}) to clients${back}. ${sentence}`;
  },
  queue: (name: string, up: boolean, narrow: boolean): string => {
    if (name === "Q") return up ? "Uplink" : narrow ? "Queue" : "One queue";
    if (up) return narrow ? `Up ${name}` : `Uplink, ${queueName(name)} queue`;
    return narrow ? name : `${queueName(name)} queue`;
  },
  empty: "empty",
  used: (share: number, narrow: boolean): string => (narrow ? percent(share) : `${percent(share)} used`),
  server: (name: string): string => `server ${name}`,
  client: (name: string): string => `client ${name}`,
};

/** The picture of an application. */
export const PANORAMA = {
  name: "A landscape as the application shows it",
  about: (words: string): string => `A landscape as the application shows it: ${words}`,
  /** `kind` where there are two. */
  late: (kind: string | undefined, delay_ms: number | undefined): string => {
    const where = kind === undefined ? "" : `${aqmName(kind)}: `;
    return `${where}${delay_ms === undefined ? "no picture yet" : `the picture is ${ms(delay_ms)} late`}`;
  },
};

export const TILES = {
  delay: (queue: string): string => (queue === "Q" ? "Queueing delay" : `${queueName(queue)} queueing delay`),
  uplinkDelay: (queue: string): string =>
    queue === "Q" ? "Uplink queueing delay" : `Uplink ${queueName(queue)} queueing delay`,
  uplinkUsed: "Uplink used",
  uplinkAbout: (marked: number, dropped: number, packets: number): string =>
    `${percent(marked)} marked, ${percent(dropped)} dropped, ${digits(packets)} packets queued`,
  empty: "empty",
  mostBelow: (delay: string): string => `99 % below ${delay}`,
  used: "Link used",
  dropped: (share: number): string => `${share > 0 ? percent(share) : "nothing"} dropped`,
  rate: (name: string): string => `Rate ${name}`,
  goodput: (rate: string): string => `goodput ${rate}`,
  traffic: (share: number): string => `${percent(share)} of the traffic`,
};

const QUEUES: Record<string, string> = { L: "L queue", C: "C queue", Q: "Queue" };

/** The state of the network in a sentence. */
export const SENTENCE = {
  queue: (name: string, delay_ms: number | undefined): string =>
    `${QUEUES[name] ?? name} ${delay_ms === undefined ? "empty" : ms(delay_ms)}`,
  used: (share: number): string => `link ${percent(share)} used`,
  uplinkQueue: (name: string, delay_ms: number | undefined): string =>
    `uplink ${QUEUES[name] ?? name} ${delay_ms === undefined ? "empty" : ms(delay_ms)}`,
  uplinkUsed: (share: number): string => `uplink ${percent(share)} used`,
  whole: (parts: string[]): string => `${parts.join(", ")}.`,
  ofLane: (kind: string, sentence: string): string => `${aqmName(kind)}: ${sentence}`,
};

/** What holds a session up. */
export const LIMITS = {
  downloads: (most: number | undefined): string => {
    const many = most === undefined ? "As many downloads" : `${most.toLocaleString("en")} downloads`;
    return `${many} are under way, the most that a session may have: those that come now are turned away.`;
  },
  frames: "A send buffer of 4 MiB is full: frames that come now are skipped.",
  late: (speed: number): string =>
    `The machine that simulates cannot keep up: virtual time runs at ${percent(speed)} of the speed asked for. ` +
    "The results are the same, only later.",
};

/** A fault with its remedy. */
export const faultText = (message: string, help: string | undefined): string =>
  help === undefined ? message : `${message} (${help})`;

export const FAULTS = {
  version: "The server is of another version than this page. Reload the page.",
  damagedLink: "This link is damaged: there is no scenario in it.",
  sessionOver: "The session of this link is over. This is a new one.",
  connectionLost: "the connection was lost",
  noConnection: "there is no connection",
  answer: (status: number): string => `the server answers ${status}`,
};

export const BANNER = {
  trying: "Trying again…",
  tryNow: "Try now",
  lost: (why: string): string =>
    `${why === "" ? "The server does not answer." : `The server says: ${why}`} Trying again by itself.`,
  close: "Close",
  token: (wrong: boolean): string =>
    wrong ? "That is not the server's token. Its token: " : "This server asks for a token: ",
  enter: "Enter",
};

export const CONSENT = {
  title: "Run the scenario of this link?",
  about: "The address of this page brought it along. Nothing of it runs before you say so.",
  scenario: "The scenario",
  beside: (keys: string[]): string => `Side by side with: ${keys.join(", ")}`,
  run: "Run it",
  leave: "Not now",
};

export const SHARE = {
  title: "Share this scenario",
  link: "A link to it as it stands now",
  session: "A link to this very session: all who open it see and turn the same",
  command: "A command that runs it",
  download: (file: string): string => `Download ${file}`,
  accepted: "l4s run FILE accepts it.",
  close: "Close",
  copy: "Copy",
  copyLabel: (label: string): string => `Copy: ${label}`,
  copied: "Copied.",
  notCopied: "Press Ctrl+C to copy.",
  noLink: (error: unknown): string => `There is no link: ${String(error)}`,
  tooLong: "the link is too long",
};
