// The last minute and more, as it came: the data of charts, and of steps back.

import type { LaneState, Settings, State } from "./protocol";

/** A state, when it is to be shown, and the settings that it came under. */
export interface Moment {
  /** On the clock of the display, in ms. */
  at: number;
  state: State;
  settings: Settings;
}

/** States come twenty times a second. */
export const PERIOD_MS = 50;

/** How many are kept: 75 s of them. */
export const KEPT = 1500;

export class Ring {
  private all: Moment[] = [];
  /** States that the server did not send, because this viewer was slow. */
  missed = 0;

  constructor(private readonly kept = KEPT) {}

  push(state: State, settings: Settings, now: number): Moment {
    const last = this.last;
    if (last !== undefined && state.number > last.state.number + 1) this.missed += state.number - last.state.number - 1;
    const moment = { at: display(last?.at, now), state, settings };
    this.all.push(moment);
    // In chunks: an array that loses its first element each time is moved each time.
    if (this.all.length > this.kept + 100) this.all.splice(0, this.all.length - this.kept);
    return moment;
  }

  clear(): void {
    this.all = [];
    this.missed = 0;
  }

  get last(): Moment | undefined {
    return this.all[this.all.length - 1];
  }

  /** All that is kept, the oldest first: a copy that does not change. */
  moments(): Moment[] {
    return this.all.slice(-this.kept);
  }
}

/**
 * When to show a state that came `now`: a period after the one before, so that motion is even while
 * messages are not; in small steps towards when it came; at once after a gap.
 */
export function display(last: number | undefined, now: number): number {
  if (last === undefined) return now;
  const even = last + PERIOD_MS;
  return Math.abs(now - even) > 5 * PERIOD_MS ? Math.max(now, last) : even + 0.1 * (now - even);
}

/** The moments of the last one's run that lie less than `seconds` virtual seconds before it. */
export function lastSeconds(moments: readonly Moment[], seconds: number): Moment[] {
  const end = moments[moments.length - 1];
  if (end === undefined) return [];
  let from = moments.length;
  while (from > 0) {
    const moment = moments[from - 1];
    if (moment === undefined || moment.state.run !== end.state.run) break;
    // 1e-6: times are sums of spans.
    if (moment.state.time_s <= end.state.time_s - seconds + 1e-6) break;
    from--;
  }
  return moments.slice(from);
}

/** One lane of these moments. */
export const laneOf = (moments: readonly Moment[], lane: number): LaneState[] =>
  moments.flatMap(({ state }) => state.lanes[lane] ?? []);
