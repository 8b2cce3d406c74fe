// How long to wait before trying again: twice as long each time, up to a limit, and not in step with
// all others who lost the same server.

export const FIRST_MS = 400;
export const LONGEST_MS = 10_000;

/** After this number of failures; `random` from 0 to 1. */
export const wait = (failures: number, random: number): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** failures) * (0.75 + 0.5 * random);
