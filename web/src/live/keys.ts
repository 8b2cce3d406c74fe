// A control is a `--set`: the keys of controls, and values as text that `--set` takes.

import { CONTROLS } from "../words/live";
import type { Keys, Kind, Param } from "./protocol";

/** The table of a discipline: the bottleneck's or the uplink's. */
export type Place = "aqm" | "uplink.aqm";

/** A number without an exponent and without a tail of zeros. */
function plain(value: number): string {
  const text = value.toFixed(9);
  return text.replace(/\.?0+$/, "");
}

/** A rate: `20mbit`. */
export function rateText(bps: number): string {
  if (bps === 0) return "0bit";
  if (bps >= 1e9) return `${plain(bps / 1e9)}gbit`;
  return bps >= 1e6 ? `${plain(bps / 1e6)}mbit` : `${plain(bps / 1e3)}kbit`;
}

/** A time given in ms: `15ms`, `500us`. */
export function timeText(ms: number): string {
  if (ms === 0) return "0s";
  if (ms >= 1000) return `${plain(ms / 1000)}s`;
  return ms >= 1 ? `${plain(ms)}ms` : `${plain(ms * 1000)}us`;
}

/** Downloads per second: `10/s`. */
export const perSecond = (rate: number): string => `${plain(rate)}/s`;

export const linkRate = (bps: number): Keys => ({ "link.rate": rateText(bps) });
export const uplinkRate = (bps: number): Keys => ({ "uplink.rate": rateText(bps) });
export const flows = (group: string, count: number): Keys => ({ [`group.${group}.flows`]: String(count) });
export const rtt = (group: string, ms: number): Keys => ({ [`group.${group}.rtt`]: timeText(ms) });
export const control = (group: string, kind: string): Keys => ({ [`group.${group}.cc`]: kind });
export const web = (group: string, rate: number): Keys => ({ [`web.${group}.rate`]: perSecond(rate) });
export const app = (group: string, bps: number): Keys => ({ [`app.${group}.rate`]: rateText(bps) });
export const udpRate = (name: string, bps: number): Keys => ({ [`udp.${name}.rate`]: rateText(bps) });
export const udpEcn = (name: string, ecn: string): Keys => ({ [`udp.${name}.ecn`]: ecn });
export const loss = (path: string, chance: number): Keys => ({ [`path.${path}.loss`]: plain(chance) });
export const jitter = (path: string, ms: number): Keys => ({ [`path.${path}.jitter`]: timeText(ms) });
/** Another discipline: with its own defaults, without settings of the last one. */
export const discipline = (kind: string, at: Place = "aqm"): Keys => ({ [at]: kind });
export const profile = (name: string, at: Place = "aqm"): Keys => ({ [`${at}.profile`]: name });
/** A parameter of the discipline; nothing takes it back. */
export const param = (name: string, value: string, at: Place = "aqm"): Keys => ({
  [`${at}.${name}`]: value === "" ? null : value,
});

const SECONDS: Record<string, number> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };
const BYTES: Record<string, number> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** Number and unit of text such as `15ms`. */
function parts(text: string): [number, string] | undefined {
  const found = /^\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\s*$/.exec(text);
  return found === null ? undefined : [Number(found[1]), (found[2] ?? "").toLowerCase()];
}

/** The text of a field for a value of the scenario: times as a number of ms, packets as a number. */
export function shown(param: Param, value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = String(value);
  const found = parts(text);
  if (found === undefined) return text;
  const [number, unit] = found;
  if (param.type === "time" && SECONDS[unit] !== undefined) return plain(number * SECONDS[unit] * 1000);
  if (param.type === "packets" && unit === "p") return plain(number);
  if (param.type === "number" || param.type === "count") return plain(number);
  return text;
}

/** The unit beside a field. */
export function unitOf(param: Param): string {
  if (param.type === "time") return CONTROLS.ms;
  if (param.type === "packets") return CONTROLS.packets;
  return param.unit ?? "";
}

/** Limits of a field in the unit that it shows. */
export function limits(param: Param): { min?: number; max?: number } {
  const scale = param.type === "time" ? 1000 : 1;
  return {
    ...(param.min === undefined ? {} : { min: param.min * scale }),
    ...(param.max === undefined ? {} : { max: param.max * scale }),
  };
}

const clamp = (value: number, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }): number =>
  Math.min(Math.max(value, min), max);

/** The entry of a field as text for `--set`, within the limits; anything but a number is not changed. */
export function entered(param: Param, input: string): string {
  const text = input.trim();
  const found = parts(text);
  if (text === "" || found === undefined) return text;
  const [number, unit] = found;
  switch (param.type) {
    case "time": {
      const ms = unit === "" ? number : SECONDS[unit] === undefined ? undefined : number * SECONDS[unit] * 1000;
      return ms === undefined ? text : timeText(clamp(ms, limits(param)));
    }
    case "packets":
      return unit === "" || unit === "p" ? `${plain(clamp(Math.round(number), limits(param)))}p` : text;
    case "count":
      return unit === "" ? plain(clamp(Math.round(number), limits(param))) : text;
    case "number":
      return unit === "" ? plain(clamp(number, limits(param))) : text;
    case "bytes": {
      if (unit === "") return `${plain(clamp(Math.round(number), limits(param)))}b`;
      const size = BYTES[unit];
      if (size === undefined) return text;
      const inside = clamp(number * size, limits(param));
      return inside === number * size ? text : `${plain(inside)}b`;
    }
    default:
      return text;
  }
}

/** A discipline or congestion control by its kind. */
export const kindOf = (kinds: Kind[], kind: string): Kind | undefined => kinds.find((one) => one.kind === kind);
