// Names of disciplines, congestion controls, queues and keys, as people write them.

import { amount } from "./numbers";

const AQM_NAMES: Record<string, string> = {
  dualpi2: "DualPI2",
  "curvy-red": "Curvy RED",
  curvy_red: "Curvy RED",
  pi2: "PI2",
  pie: "PIE",
  codel: "CoDel",
  fq_codel: "FQ-CoDel",
  cobalt: "COBALT",
  red: "RED",
  fifo: "FIFO",
};

/** A queue discipline by its proper name. */
export const aqmName = (kind: string): string => AQM_NAMES[kind] ?? kind;

/** What has no congestion control. */
export const UDP = "UDP";

const CC_NAMES: Record<string, string> = {
  reno: "Reno",
  cubic: "Cubic",
  dctcp: "DCTCP",
  prague: "Prague",
  bbr: "BBR",
  bbr3: "BBRv3",
  udp: UDP,
};

const IDENTIFIERS = new Set([...Object.keys(AQM_NAMES), ...Object.keys(CC_NAMES).flatMap((cc) => [cc, `ecn-${cc}`])]);

/** Whether a label of a case has words of the user's own, and not identifiers alone, such as `pie ecn-cubic:cubic`. */
export const isOwnLabel = (label: string): boolean =>
  label.split(/[ ,:]+/).some((word) => word !== "" && !IDENTIFIERS.has(word));

/** A congestion control by its proper name; `ecn` tells Cubic with Classic ECN from Cubic. */
export const ccName = (cc: string, ecn: boolean): string => `${ecn ? "ECN-" : ""}${CC_NAMES[cc] ?? cc}`;

/** A group with its control: `A · Prague`. */
export const groupOf = (name: string, control: string): string => `${name} · ${control}`;

const QUEUE_NAMES: Record<string, string> = { L: "L4S", C: "Classic", Q: "all flows" };

/** A queue by what is in it. A discipline that isolates flows (FQ) counts as one too. */
export const queueName = (name: string): string => QUEUE_NAMES[name] ?? name;

/** A key of a sweep as words: `link.rate` is the link rate, `group.*.rtt` the RTT. */
export function keyName(key: string): string {
  const group = /^(?:group|udp)\.([^.]+)\.(.+)$/.exec(key);
  const words = (group?.[2] ?? key).replace(/[._]/g, " ").replace(/\b(rtt|ecn)\b/, (word) => word.toUpperCase());
  if (group === null) return words;
  return group[1] === "*" ? words : `${words} ${group[1]}`;
}

/** A key and its value: `link rate 40 Mb/s`. */
export const setting = (key: string, value: string): string => `${keyName(key)} ${amount(value)}`;

/** A codepoint of the ECN field as standards write it; any other text as it is. */
export const codepoint = (value: string): string =>
  ({ ect0: "ECT(0)", ect1: "ECT(1)", "not-ect": "Not-ECT" })[value] ?? value;
