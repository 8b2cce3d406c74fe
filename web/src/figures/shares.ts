// The flows' shares relative to an equal share of the link.

import type { Group, Run, Spread } from "../data";
import type { Value } from "../runs";
import { SHARES } from "../words/charts";

/** The rate of a group's flows over an equal share, with the ends of a spread of its rates. */
function share(group: Group, spread: Spread | undefined): Value | undefined {
  const { normalized_rate: value, rate_per_flow_bps: rate } = group;
  if (value === undefined || rate === undefined || rate <= 0) return undefined;
  const of = (bps: number): number => (bps * value) / rate;
  return { value, low: of(spread?.p1 ?? rate), high: of(spread?.p99 ?? rate) };
}

/** From the slowest flow to the fastest. */
export const shareOf = (group: Group): Value | undefined => share(group, group.flow_rates_bps);

/** From the slowest second to the fastest. */
export const shareOverTime = (group: Group): Value | undefined => share(group, group.rate_over_time_bps);

/** `flows of a kind get 0.6 to 1.8 times an equal share`, from the least to the most. */
export function shareWords(runs: Run[]): string {
  const shares = runs.flatMap((run) => run.summary.groups.flatMap((group) => shareOf(group)?.value ?? []));
  if (shares.length === 0) return SHARES.none;
  return SHARES.range(Math.min(...shares), Math.max(...shares));
}

/** A name for files, of letters, digits and dashes. */
export const slug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
