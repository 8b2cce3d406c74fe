// The charts of the live demo.

import { queueName } from "./names";
import { digits, ms, percent, rate, ratio } from "./numbers";

/** A queue as charts call it. */
const queueWord = (name: string): string => (name === "Q" ? "queue" : queueName(name));

/** A delay, or that there is none. */
const orNone = (delay_ms: number | undefined): string => (delay_ms === undefined ? "–" : ms(delay_ms));

/** What several charts share. */
export const CHART = {
  empty: "nothing to show yet",
  label: (title: string, words: string): string => `${title}. ${words}`,
  queue: queueWord,
  now: "now",
  /** A place on the axis of time. */
  ago: (time_s: number): string => (time_s === 0 ? "now" : `${time_s} s`),
  /** The same of a hovered point. */
  agoHovered: (time_s: number): string => (time_s > -0.15 ? "now" : `${digits(-time_s, 2)} s ago`),
  /** Labels of a delay axis: the last has the unit. */
  delayTick: (delay_ms: number, last: boolean): string => `${digits(delay_ms)}${last ? " ms" : ""}`,
  /** A flow by its client and number. */
  flow: (client: string | undefined, flow: number): string => `${client ?? "?"} #${flow}`,
};

export const HISTOGRAM = {
  title: "How long packets wait",
  note: "Share of the packets that waited so long in the queue. Further left is better.",
  mean: (queue: string, delay_ms: number | undefined): string => `${queueWord(queue)}: mean ${orNone(delay_ms)}`,
};

export const DISTRIBUTION = {
  title: "How many wait how long at most",
  note: "Share of the packets that waited so long or less. Left and steep is good.",
  most: (queue: string, delay_ms: number | undefined): string => `${queueWord(queue)}: 99 % within ${orNone(delay_ms)}`,
  hovered: (delay_ms: number): string => `within ${ms(delay_ms, 3)}`,
};

export const DELAYS = {
  title: "Queueing delay over time",
  note: "The mean of each queue, each fifth of a second.",
};

export const THROUGHPUT = {
  title: "Who gets how much",
  note:
    "What the link carried for each, at the IP layer. Dashed: goodput, where it is far below that. " +
    "Grey: what a link that varies could have carried.",
  capacity: "link",
  uplinkCapacity: "uplink",
  application: (flow: string): string => `${flow} (application)`,
  goodput: (name: string): string => `${name}, goodput`,
  rate: (name: string, bps: number): string => `${name} ${rate(bps)}`,
};

export const UTILIZATION = {
  title: "How much of the link is used",
  note: "What it carried over what it could have.",
  line: "used",
  uplink: "uplink used",
  now: (share: number): string => `link ${percent(share)}`,
  uplinkNow: (share: number): string => `uplink ${percent(share)} (dashed)`,
};

export const SIGNALS = {
  title: "What the queue tells senders",
  note: "Solid: share of packets marked. Dashed: share dropped.",
  marked: (queue: string): string => `${queueWord(queue)} marked`,
  dropped: (queue: string): string => `${queueWord(queue)} dropped`,
  now: (queue: string, marked: string, dropped: string): string =>
    `${queueWord(queue)}: ${marked} marked, ${dropped} dropped`,
};

export const UPLINK_DELAYS = {
  title: "Queueing delay of the uplink",
  note: "The mean of each queue on the way up, each fifth of a second; of acknowledgements where nobody sends data up.",
};

export const UPLINK_SIGNALS = {
  title: "What the uplink tells senders",
  note: "Solid: share of packets marked on the way up. Dashed: share dropped. Acknowledgements are among them.",
};

export const BALANCE = {
  title: "Window balance",
  note: "Congestion window of the first client's long flows over that of the second's. 1 is balance.",
  line: "balance",
  now: (a: string, b: string, value: number | undefined): string =>
    `${a} over ${b}: ${value === undefined ? "–" : ratio(value)}`,
};

export const COMPLETION = {
  title: "How long downloads take",
  note: "A dot per download of the last minute. The line is the theoretical time on an idle link.",
  now: (client: string, count: number, overIdeal: number): string =>
    `${client}: ${count}, ${ratio(overIdeal)} the ideal`,
  ideal: (client: string): string => `ideal ${client}`,
  size: (kilobytes: number): string =>
    kilobytes >= 1000 ? `${digits(kilobytes / 1000)} MB` : `${digits(kilobytes)} kB`,
  time: (time_ms: number): string => `${digits(time_ms)} ms`,
};

export const SCORES = {
  title: "Does Prague see a Classic queue?",
  note: "The classic_ecn score of each Prague flow: below 0 it takes the queue for L4S, above 1 for Classic.",
  classic: "above: Classic",
  now: (client: string | undefined, score: number): string => {
    const takes = score < 0 ? "an L4S queue" : score > 1 ? "a Classic queue" : "not sure";
    return `${client ?? "?"}: ${score.toFixed(1)}, ${takes}`;
  },
};
