// The charts of a report: titles, how to read them, axes, legends and tooltips. One object each.

import { queueName, UDP } from "./names";
import { digits, ms, percent, rate } from "./numbers";

/** Names of axes. */
export const AXES = {
  delay: "queueing delay (ms)",
  time: "time (s)",
  size: "size (KB)",
  sizeFrom: "size from (KB)",
  ms: "ms",
  us: "µs",
  mbps: "Mb/s",
  times: "×",
  percent: "%",
};

/** Lines of tooltips. */
export const TIP = {
  high: "99th percentile",
  mean: "mean",
  low: "1st percentile",
};

/** Names of runs, and of their places on an axis. */
export const RUNS = {
  ofFolder: (name: string, folder: string): string => `${name} · ${folder}`,
  meets: (discipline: string, senders: string): string => [discipline, senders].filter(Boolean).join(" · "),
  withSenders: (discipline: string, senders: string): string => `${discipline} (${senders})`,
  up: (sender: string): string => `${sender} up`,
  bothWays: (down: string, up: string): string => [down, up && `up ${up}`].filter(Boolean).join(", "),
  seed: (seed: number): string => `seed ${seed}`,
  /** The name of an axis over conditions. */
  key: (name: string, unit: string): string => (unit === "" ? name : `${name} (${unit})`),
  axis: (keys: string[], outer: string | undefined): string =>
    keys.join(" : ") + (outer === undefined ? "" : `, grouped by ${outer}`),
};

export const HEADLINE = {
  plain: "Queueing delay and rates, side by side",
  /** The senders of the packets; none where these are unknown. */
  wait: (senders: string, delay_ms: number, line: string): string =>
    `${senders === "" ? "" : `${senders} `}packets wait ${ms(delay_ms)} under ${line}`,
  also: (senders: string, delay_ms: number, line: string): string =>
    `${senders === "" ? "" : `${senders} `}${ms(delay_ms)} under ${line}`,
  l4s: "L4S",
  /** Who shares the link: long flows, and the kinds that are there. `rtt_ms` where all have the same. */
  note: (flows: number, kinds: Record<string, boolean>, bps: number, rtt_ms: number | undefined): string => {
    const others = Object.keys(kinds).filter((kind) => kinds[kind]);
    const long = flows === 1 ? ["one flow"] : flows > 1 ? [`${flows === 2 ? "two" : flows} flows`] : [];
    const list = [...long, ...others].join(" and ");
    const who = list === "" ? "No flow" : list.charAt(0).toUpperCase() + list.slice(1);
    const share = flows <= 1 && others.length === 0 ? "has" : "share";
    return (
      `${who} ${share} ${rate(bps)}${rtt_ms === undefined ? "" : `, base RTT ${ms(rtt_ms)}`}. ` +
      "Above: share of packets that waited so long or less; the numbers are means. Beneath: the rate of each flow."
    );
  },
  hovered: (delay_ms: number): string => `${ms(delay_ms, 3)} or less`,
};

export const DELAY = {
  /** The message: a part per run. */
  each: "Queueing delay of each run",
  means: (parts: string[]): string => (parts.length === 0 ? "Queueing delay" : `${parts.join("; ")} on average`),
  /** The delays of a run by name; a name of several parts ends in a colon. */
  of: (run: string, delays: string): string => `${run}${run.includes(",") ? ":" : ""} ${delays}`,
  mean: (queue: string, delay: string): string => {
    if (queue === "L") return `L4S queue ${delay}`;
    return queue === "C" ? `Classic ${delay}` : delay;
  },
  distribution:
    "Share of packets that waited so long or less. The further left, the better; the steeper, the steadier.",
  tail:
    "Share of packets that waited longer than so long, both axes logarithmic: the tail, which interactive traffic feels. " +
    "Lower left is better.",
  longer: (share: number): string => `${percent(share, 2)} wait longer`,
  course: "Queueing delay over time",
  courseNote:
    "Mean delay of each queue in each interval, on a logarithmic axis. " +
    "Left of the dashed line is the warm-up, which no statistic counts.",
  programs: "Queueing delay of programs over time",
  programsNote:
    "Mean delay of the packets of each group with programs in each interval, whichever queue they were in, " +
    "on a logarithmic axis. Packets below 200 B are left out.",
};

export const RATES = {
  title: "Rate of each flow over time",
  note: (programs: boolean, goodput: boolean): string =>
    "Bytes on the wire that left the bottleneck, per flow. Equal heights mean equal shares." +
    (programs ? " The flows of a group's programs are one line." : "") +
    (goodput ? " Dashed: goodput, where it is far below the rate." : ""),
  mean: (group: string, flows: number, bps: number): string => `${group} ${flows > 1 ? `${flows} × ` : ""}${rate(bps)}`,
  together: (group: string): string => `${group} together`,
  flow: (group: string, flow: number): string => `${group} #${flow}`,
  goodput: (name: string): string => `${name}, goodput`,
};

export const OUTPUT = {
  title: "What the link carries over time, by sender",
  note:
    "Rates stacked on each other: all flows of a group together, and the unresponsive ones. " +
    "The numbers are means per flow. Left of the dashed line is the warm-up.",
};

export const COMPLETION = {
  title: "How long each download took",
  note:
    "A dot per download, from before its SYN until its close, over its size; both logarithmic. " +
    "The line is the theoretical time: handshake, request and the item at the full rate of the link, without a queue. " +
    "The numbers are mean completion times over it.",
  /** `same` where one in as many is drawn of each group. */
  thinned: (every: number, same: boolean): string =>
    ` One download in ${same ? "" : "up to "}${every} is drawn, evenly over the run.`,
  mean: (group: string, overIdeal: number): string => `${group} ${digits(overIdeal)}×`,
  hovered: (kilobytes: number): string => `${digits(kilobytes)} KB`,
  ideal: "theoretical",
  idealOf: (rtt_ms: number): string => `theoretical, RTT ${ms(rtt_ms)}`,
  around: (group: string, [from, to]: [number, number]): string =>
    `${group}, mean of ${digits(from)} to ${digits(to)} KB`,
};

export const EFFICIENCY = {
  title: "How far downloads are from their theoretical time, by size",
  note:
    "Completion time over that with the whole link and no queue: 1 is ideal. A dot is the mean of sizes from one bound " +
    "to the next, a line reaches from the 1st to the 99th percentile. Logarithmic.",
  hovered: (group: string, flows: number, from: string, to: string): string =>
    `${group}, ${flows} downloads of ${from} to ${to} KB`,
};

/** What a detector of Classic ECN goes by. */
export const SCORES = {
  score: {
    title: "Is the queue a Classic one? The score over time",
    note:
      "From 1 up a flow takes the queue for a Classic one, at 0 and below for an L4S one, and changes over in between. " +
      "Green: what the queue is; amber, red: what it is not, which costs the flow, or others.",
    unit: "score",
  },
  depth: {
    title: "Queue as the sender makes it out",
    note: "Smoothed RTT over the lowest one. From 2 ms up it speaks for a Classic queue.",
    unit: "ms",
  },
  deviation: {
    title: "How much the RTT varies",
    note: "Mean deviation of the smoothed RTT. From 0.75 ms up it speaks for a Classic queue.",
    unit: "ms",
  },
};

/** Shares of flows over an equal one. */
export const SHARES = {
  none: "rates of flows",
  range: (least: number, most: number): string =>
    `flows of a kind get ${digits(least, 2)} to ${digits(most, 2)} times an equal share`,
  one: (share: number): string => `${digits(share)}× an equal share`,
};

/** Charts over the conditions of a sweep. */
export const CONDITIONS = {
  track: (line: string, queue: string): string => (queue === "Q" ? line : `${line} ${queueName(queue)}`),
  /** A title that gives one number per track, as long as they are few. */
  message: (what: string, parts: string[]): string =>
    parts.length === 0 || parts.length > 5 ? `${what} per condition` : `${what}: ${parts.join(", ")}`,
  delay: {
    title: "Mean queueing delay",
    note: "A dot is the mean, the line reaches from the 1st to the 99th percentile of packets. Logarithmic.",
  },
  signals: {
    title: (alone: boolean): string =>
      alone ? "Packets marked and dropped" : "Packets marked and dropped per condition",
    note:
      "Filled: share of forwarded packets that were marked. Hollow: share of arriving packets that were dropped. " +
      "Nothing is drawn where it is zero. Logarithmic.",
    mark: (name: string): string => `${name} marked`,
    drop: (name: string): string => `${name} dropped`,
  },
  window: {
    title: "Window ratio",
    note:
      "Packets in flight of a flow of the first group over one of the second. " + "The line at 1 is perfect balance.",
  },
  rate: {
    title: "Rate ratio",
    note: "Rate of a flow of the first group over one of the second. The line at 1 is equal shares.",
  },
  ratio: {
    /** The groups of a ratio, from its key: `A_B`. */
    groups: (key: string): string => key.replace("_", " to "),
    title: (what: string, groups: string | undefined, alone: boolean): string =>
      `${what}${groups === undefined ? "" : ` of ${groups}`}${alone ? "" : ", furthest from balance"}`,
    unit: "ratio",
  },
  shares: {
    title: (line: string, shares: string): string => `${line}: ${shares}`,
    note:
      "Rate of a flow over an equal share. A dot is the mean, the line reaches from the 1st to the 99th percentile " +
      "of windows of one second. Logarithmic.",
    unit: "share",
  },
  utilization: {
    title: (alone: boolean): string => (alone ? "Utilization" : "Least utilization"),
    note: "All bytes sent, over what the link could carry.",
  },
  lateness: {
    title: (alone: boolean): string =>
      alone ? "Lateness of packets at the bottleneck" : "Lateness of packets at the bottleneck per condition",
    note:
      "How long after their time packets left, in real time. Filled: the 99th percentile. Hollow: the median. A run is fit " +
      "for comparisons below the line, if its base RTT is 5 ms or more. Logarithmic.",
    p50: (name: string): string => `${name} median`,
    p99: (name: string): string => `${name} 99th percentile`,
  },
  processor: {
    title: "Least cores per Gb/s of the data plane",
    note: "Processor time of the data plane over the data that it forwards, in real time. Logarithmic.",
    unit: "cores per Gb/s",
  },
};

/** Pictures of a sweep over mixes of flows. */
export const MIX = {
  title: (line: string, shares: string): string => `${line}, mix by mix: ${shares}`,
  note:
    "Bars and dots are means; lines reach from the 1st to the 99th percentile, of flows above and of packets beneath it. " +
    "Filled dots: marked; hollow: dropped; nothing where it is zero.",
  rates: "Rate per flow, of an equal share",
  delay: "Queueing delay (ms)",
  utilization: "Utilization (%)",
  link: "link",
  signals: "Marked and dropped (%)",
  marked: (queue: string): string => `${queue} marked`,
  dropped: (queue: string): string => `${queue} dropped`,
};

export const OVERLOAD = {
  title: "What an unresponsive sender leaves to the others, the faster it sends",
  note:
    "From the top: output of the link by sender, stacked; window of a flow of the first group over one of the second; " +
    "packets marked (filled) and dropped (hollow), nothing where it is zero; " +
    "queueing delay, mean and 1st to 99th percentile.",
  rows: ["Link output (Mb/s)", "Window ratio", "Marked, dropped (%)", "Queueing delay (ms)"],
  ratio: "window ratio",
  marked: (queue: string): string => `${queueName(queue)} marked`,
  dropped: (queue: string): string => `${queueName(queue)} dropped`,
  ecn: (codepoint: string): string => `${UDP} ${codepoint}`,
  axis: `${UDP} (Mb/s)`,
  hovered: (rate: string): string => `${UDP} at ${rate}`,
};

/** Matrices of small pictures. */
export const MATRIX = {
  flows: (group: string): string => `flows of ${group}`,
  ratesTitle: (name: string, shares: string): string => `${name}: ${shares}`,
  ratesNote: (length_s: number): string =>
    `A cell per mix, a thin line per flow: its rate over ${digits(length_s)} s from left to right, ` +
    "from 0 to twice an equal share of the link. The grey line is the equal share; what is above twice is cut.",
  delay: (group: string, delay_ms: number): string => `${group} ${ms(delay_ms)}`,
  delaysTitle: (name: string, delays: string[]): string =>
    `${name}: mean queueing delay of ${delays.join(", ")} over all mixes`,
  /** From and to, and where lines stand between. */
  delaysNote: (low: number, high: number, lines: number[]): string => {
    const upright = lines.length === 0 ? "" : `; upright lines at ${lines.map((v) => digits(v)).join(", ")} ms`;
    return (
      "A cell per mix: the share of each kind's packets, from 0 to 100 % upwards, that waited so long or less, " +
      `from ${digits(low)} to ${digits(high)} ms, logarithmic${upright}. The further left, the better.`
    );
  },
  hovered: (mean_ms: number, high_ms: number): string => `${ms(mean_ms, 3)}, 99th percentile ${ms(high_ms, 3)}`,
};
