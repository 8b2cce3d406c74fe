// Numbers with their units, as people write them.

/** Three significant digits, without a tail of zeros: 0.574, 15.2, 148. */
export function digits(value: number, significant = 3): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const decimals = significant - 1 - Math.floor(Math.log10(Math.abs(value)));
  const text = value.toFixed(Math.min(Math.max(decimals, 0), 9));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Milliseconds: `0.57 ms`. */
export const ms = (value: number, significant = 2): string => `${digits(value, value >= 99.5 ? 3 : significant)} ms`;

/** A delay in milliseconds, of two digits that do not jump in width: `3.0 ms`, `95 µs`. */
export const steadyDelay = (value: number): string =>
  value < 0.095
    ? `${digits(value * 1000, 2)} µs`
    : value < 9.95
      ? `${value.toPrecision(2)} ms`
      : `${Math.round(value)} ms`;

/** A share as a percentage: `8.7 %`, `99.9 %`. */
export const percent = (share: number, significant = 2): string =>
  `${digits(100 * share, share >= 0.0995 ? 3 : significant)} %`;

/** A rate given in bits per second: `24 Mb/s`. */
export function rate(bps: number): string {
  if (bps >= 1e9) return `${digits(bps / 1e9)} Gb/s`;
  return bps >= 1e6 ? `${digits(bps / 1e6)} Mb/s` : `${digits(bps / 1e3)} kb/s`;
}

/** A rate given in Mb/s. */
export const mbps = (value: number): string => `${digits(value)} Mb/s`;

/** A time given in seconds: `2.5 s`. */
export const seconds = (value: number): string => `${digits(value)} s`;

/** A ratio: `1.5×`, or `1 : 6.7` below one half. */
export const ratio = (value: number): string =>
  value >= 0.5 || value <= 0 ? `${digits(value, 2)}×` : `1 : ${digits(1 / value, 2)}`;

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

/** A value and its range: `15 ms (1 ms to 30 ms)`. */
export const inRange = (value: number, low: number, high: number, print: (value: number) => string): string =>
  `${print(value)} (${print(low)} to ${print(high)})`;

/** `40mbit` as number and unit: `["40", "Mb/s"]`; text without a known unit stays whole. */
export function quantity(value: string): [string, string] {
  const found = /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(value);
  const unit = found?.[2] === undefined ? undefined : UNITS[found[2]];
  return found?.[1] !== undefined && unit !== undefined ? [found[1], unit] : [value, ""];
}

/** `40mbit` as `40 Mb/s`. */
export const amount = (value: string): string => quantity(value).filter(Boolean).join(" ");
