// Every figure that the data allows, in the order in which a page shows them. The page, the SVG
// files and the PNG files all come from here.

import type { Data } from "./data";
import type { Figure } from "./figure";
import { completion, downloading } from "./figures/completion";
import { conditionFigures } from "./figures/conditions";
import { course, type Drawn, distribution, programCourse, programmed } from "./figures/delay";
import { downloaded, efficiency } from "./figures/efficiency";
import { HEADLINE_RUNS, headline } from "./figures/headline";
import { matrices } from "./figures/matrix";
import { isMix, mixes } from "./figures/mix";
import { output, overloaded } from "./figures/output";
import { overload } from "./figures/overload";
import { rates } from "./figures/rates";
import { scores } from "./figures/scores";
import { type Choice, firstSeeds, type Item, items, keep, layOut, toCompare, variedKeys } from "./runs";

/** The reader's choice. */
export interface View {
  /** Runs with curves to draw; unless set, one seed of each condition. */
  runs?: Item[];
  choice: Choice;
}

/** The view of a report before any choice. */
export const EVERYTHING: View = { choice: { only: {} } };

/** Panels side by side are read easily up to here. */
export const PANELS = 6;

/** With more runs than this, the reader chooses which to draw. */
export const HEADLINE_LIMIT = HEADLINE_RUNS;

/** Items whose curves are in the data. */
export const drawable = (all: Item[]): Drawn[] =>
  all.flatMap((item) => (item.run.curves === undefined ? [] : [{ ...item, curves: item.run.curves }]));

/** Items with curves in the order in which a reader chooses: one seed of each condition, then the others. */
export function choosable(all: Item[]): { first: Drawn[]; others: Drawn[] } {
  const drawn = drawable(all);
  const first = toCompare(firstSeeds(drawn));
  const shown = new Set(first);
  return { first, others: drawn.filter((item) => !shown.has(item)) };
}

/** One seed of each condition: as they ran, and those of several folders in turns. */
function unchosen(data: Data, all: Item[]): Drawn[] {
  const first = firstSeeds(drawable(all));
  return data.folders.length > 1 ? toCompare(first) : first;
}

/** With more conditions than this a chart over them is a wall; the reader chooses fewer. */
const CONDITIONS = 250;

/** Every figure. */
export function figures(data: Data, view: View = EVERYTHING): Figure[] {
  const all = items(data);
  const drawn = view.runs === undefined ? unchosen(data, all) : drawable(view.runs);
  const panels = view.runs === undefined ? drawn.slice(0, PANELS) : drawn;
  const list: Figure[] = [];
  if (drawn.length > 0) {
    if (view.runs === undefined && all.length <= HEADLINE_RUNS && firstSeeds(all).length === drawn.length)
      list.push(headline(drawn, all));
    list.push(distribution(drawn, all, false), distribution(drawn, all, true));
    const timed = panels.filter(({ curves }) => curves.delay.length > 0);
    if (timed.length > 0) list.push(course(timed, all));
    const own = programmed(panels);
    if (own.length > 0) list.push(programCourse(own, all));
    const rated = panels.filter(({ curves }) => curves.rate.length > 0);
    if (rated.length > 0) list.push(rates(rated, all));
    const crowded = overloaded(panels);
    if (crowded.length > 0) list.push(output(crowded, all));
    const clouds = downloading(panels);
    if (clouds.length > 0) list.push(completion(clouds, all));
    const sized = downloaded(panels);
    if (sized.length > 0) list.push(efficiency(sized, all));
    list.push(...scores(panels, all));
  }
  if (all.length > 1 || variedKeys(all).length > 0) {
    const kept = keep(all, view.choice);
    const axis = layOut(all, view.choice);
    list.push(...overload(kept));
    if (axis.conditions.length <= CONDITIONS) {
      if (isMix(kept)) list.push(...mixes(axis));
      list.push(...conditionFigures(axis));
    }
    list.push(...matrices(all));
  }
  return list;
}
