// Numbers and names as people say them.

/** Three significant digits, without a tail of zeros: 0.574, 15.2, 148. */
export function digits(value: number, significant = 3): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const decimals = significant - 1 - Math.floor(Math.log10(Math.abs(value)));
  const text = value.toFixed(Math.min(Math.max(decimals, 0), 9));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Milliseconds: `0.57 ms`. */
export const ms = (value: number, significant = 2): string => `${digits(value, value >= 99.5 ? 3 : significant)} ms`;

/** A share as a percentage: `8.7 %`, `99.9 %`. */
export const percent = (share: number, significant = 2): string =>
  `${digits(100 * share, share >= 0.0995 ? 3 : significant)} %`;

/** A rate given in bits per second: `24 Mb/s`. */
export function rate(bps: number): string {
  if (bps >= 1e9) return `${digits(bps / 1e9)} Gb/s`;
  return bps >= 1e6 ? `${digits(bps / 1e6)} Mb/s` : `${digits(bps / 1e3)} kb/s`;
}

/** A ratio: `1.5×`, or `1 : 6.7` below one half. */
export const ratio = (value: number): string =>
  value >= 0.5 || value <= 0 ? `${digits(value, 2)}×` : `1 : ${digits(1 / value, 2)}`;

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

const CC_NAMES: Record<string, string> = {
  reno: "Reno",
  cubic: "Cubic",
  dctcp: "DCTCP",
  prague: "Prague",
  bbr: "BBR",
  udp: "UDP",
};

/** A congestion control by its proper name; `ecn` tells Cubic with Classic ECN from Cubic. */
export const ccName = (cc: string, ecn: boolean): string => `${ecn ? "ECN-" : ""}${CC_NAMES[cc] ?? cc}`;

const QUEUE_NAMES: Record<string, string> = { L: "L4S", C: "Classic", Q: "all flows" };

/** A queue by what is in it. A discipline that isolates flows (FQ) counts as one too. */
export const queueName = (name: string): string => QUEUE_NAMES[name] ?? name;

const UNITS: Record<string, string> = {
  kbit: "kb/s",
  mbit: "Mb/s",
  gbit: "Gb/s",
  us: "µs",
  ms: "ms",
  s: "s",
  p: "packets",
  b: "B",
  kb: "kB",
  mb: "MB",
};

/** `40mbit` as number and unit: `["40", "Mb/s"]`; text without a known unit stays whole. */
export function quantity(value: string): [string, string] {
  const found = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(value);
  const unit = found?.[2] === undefined ? undefined : UNITS[found[2]];
  return found?.[1] !== undefined && unit !== undefined ? [found[1], unit] : [value, ""];
}

/** A key of a sweep as words: `link.rate` is the link rate, `group.*.rtt` the RTT. */
export function keyName(key: string): string {
  const group = /^(?:group|udp)\.([^.]+)\.(.+)$/.exec(key);
  const words = (group?.[2] ?? key).replace(/[._]/g, " ").replace(/\b(rtt|ecn)\b/, (word) => word.toUpperCase());
  if (group === null) return words;
  return group[1] === "*" ? words : `${words} ${group[1]}`;
}

/** A codepoint of the ECN field as standards write it; any other text as it is. */
export const codepoint = (value: string): string =>
  ({ ect0: "ECT(0)", ect1: "ECT(1)", "not-ect": "Not-ECT" })[value] ?? value;

/** Text that is safe inside HTML. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
