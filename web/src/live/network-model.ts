// Where things stand in the picture of the network, and where a packet is at an age. A packet of the
// sample leaves its server, waits in the queue in slow motion (`SLOWER` times its real sojourn),
// crosses the link, and arrives; or falls where it was dropped.

import { DROPPED, type PacketEvent } from "./protocol";

export interface Spot {
  x: number;
  y: number;
}

/** A queue: a channel that fills from its exit, on the right. */
export interface Channel {
  left: number;
  right: number;
  y: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  servers: Spot[];
  clients: Spot[];
  queues: Channel[];
  /** Where the link begins and ends. */
  link: { from: Spot; to: Spot; height: number };
}

/** Waiting is drawn so many times as long as it was. */
export const SLOWER = 20;
/** At most so long, in ms. */
const LONGEST_MS = 1500;
const APPROACH_MS = 620;
const LINK_MS = 420;
const LEAVE_MS = 460;
const FALL_MS = 650;

/** The longest that a packet is to be seen. */
export const LIFE_MS = APPROACH_MS + LONGEST_MS + LINK_MS + LEAVE_MS;

/** A delay that fills its channel, in ms. */
export const FULL_MS = 200;

/** How far a queue is filled: the root, so that half a millisecond is seen beside a fifth of a second. */
export const filled = (delay_ms: number): number => Math.min(1, Math.sqrt(Math.max(0, delay_ms) / FULL_MS));

/** The least height of the picture, for a number of host pairs. The queues of two directions need a fixed minimum. */
export const leastHeight = (ends: number, ways: number): number => Math.max(56 + 50 * ends, ways > 1 ? 330 : 0);

/**
 * `part` is the share of the picture's height that the queues have: all of it, or one half where there are two
 * directions. The result always runs from left to right. The caller mirrors it for the way up.
 */
export function layout(
  width: number,
  height: number,
  ends: number,
  queues: number,
  part: "all" | "upper" | "lower" = "all",
): Layout {
  const narrow = width < 520;
  const side = narrow ? 26 : 60;
  const top = 34;
  const bottom = height - 22;
  const rows = (count: number, i: number): number => top + ((bottom - top) * (i + 0.5)) / count;
  const left = width * (narrow ? 0.27 : 0.29);
  const right = width * (narrow ? 0.6 : 0.58);
  const alone = part === "all";
  const thick = alone ? Math.min(38, Math.max(24, height * 0.14)) : Math.min(30, Math.max(20, height * 0.07));
  const middle = top + (bottom - top) * { all: 0.5, upper: 0.24, lower: 0.78 }[part];
  const apart = alone ? Math.min(height * 0.42, 100) : Math.min(height * 0.2, 76);
  return {
    width,
    height,
    servers: Array.from({ length: ends }, (_, i) => ({ x: side, y: rows(ends, i) })),
    clients: Array.from({ length: ends }, (_, i) => ({ x: width - side, y: rows(ends, i) })),
    queues: Array.from({ length: queues }, (_, i) => ({
      left,
      right,
      height: thick,
      y: queues === 1 ? middle : middle + (i - 0.5) * apart,
    })),
    link: {
      from: { x: right + width * 0.05, y: middle },
      to: { x: width * (narrow ? 0.79 : 0.78), y: middle },
      height: Math.min(18, thick * 0.5),
    },
  };
}

/** A point on a curve that leaves and arrives level. */
function along(from: Spot, to: Spot, t: number): Spot {
  const ease = t * t * (3 - 2 * t);
  return { x: from.x + (to.x - from.x) * t, y: from.y + (to.y - from.y) * ease };
}

export interface Placed extends Spot {
  /** It has been marked. */
  marked: boolean;
  /** It has been dropped and falls: 0 to 1. */
  fallen: number;
}

/** Where a packet is so many ms after it left its server; nothing before and after. */
export function place(
  at: Layout,
  [, group, queue, fate, sojourn_ms]: PacketEvent,
  age: number,
  jitter: number,
): Placed | undefined {
  const server = at.servers[group];
  const client = at.clients[group];
  // One queue may be L and C at once: where a discipline has just been changed.
  const channel = at.queues[Math.min(queue === 2 ? 0 : queue, at.queues.length - 1)];
  if (age < 0 || server === undefined || client === undefined || channel === undefined) return undefined;
  const lane = jitter * (channel.height - 10);
  const tail = channel.right - 6 - filled(sojourn_ms) * (channel.right - channel.left - 12);
  const entry: Spot = { x: channel.left, y: channel.y + lane };
  let left = age;
  const placed = (spot: Spot, marked = false, fallen = 0): Placed => ({ x: spot.x, y: spot.y, marked, fallen });
  if (left < APPROACH_MS) {
    // The empty part of the channel belongs to the way there.
    const t = left / APPROACH_MS;
    return placed(
      t < 0.8
        ? along({ x: server.x + 16, y: server.y }, entry, t / 0.8)
        : along(entry, { x: tail, y: entry.y }, (t - 0.8) / 0.2),
    );
  }
  left -= APPROACH_MS;
  const wait = Math.min(LONGEST_MS, SLOWER * sojourn_ms);
  if (left < wait) return placed({ x: tail + ((channel.right - 6 - tail) * left) / wait, y: entry.y });
  left -= wait;
  if (fate === DROPPED) {
    const t = left / FALL_MS;
    if (t >= 1) return undefined;
    return placed({ x: channel.right - 2 + 18 * t, y: entry.y + 90 * t * t }, false, Math.max(t, 0.01));
  }
  const marked = fate !== 0;
  const { from, to, height } = at.link;
  const inside = jitter * (height - 6);
  if (left < LINK_MS) {
    const t = left / LINK_MS;
    const mouth = { x: from.x, y: from.y + inside };
    return placed(
      t < 0.25
        ? along({ x: channel.right - 6, y: entry.y }, mouth, t / 0.25)
        : along(mouth, { x: to.x, y: to.y + inside }, (t - 0.25) / 0.75),
      marked,
    );
  }
  left -= LINK_MS;
  if (left < LEAVE_MS)
    return placed(along({ x: to.x, y: to.y + inside }, { x: client.x - 16, y: client.y }, left / LEAVE_MS), marked);
  return undefined;
}

/** A number from -½ to ½ that belongs to a packet and stays the same. */
export function jitterOf(state: number, index: number): number {
  let mixed = Math.imul(state * 64 + index + 1, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32 - 0.5;
}

/** Every how manieth packet of a sample to draw, so that about `most` of it are. */
export const stride = (sampled: number, most: number): number => Math.max(1, Math.ceil(sampled / most));
