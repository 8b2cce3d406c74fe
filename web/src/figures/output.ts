// Overload over time: the output of the bottleneck, by sender, stacked.

import type { Series } from "../chart";
import type { Figure } from "../figure";
import { groupName, type Item } from "../runs";
import { groupColour, type Theme } from "../theme";
import { OUTPUT } from "../words/charts";
import { type Drawn, warmupMark } from "./delay";
import { ratePanels } from "./rates";

/** Runs with an unresponsive sender. */
export const overloaded = (drawn: Drawn[]): Drawn[] => drawn.filter(({ curves }) => (curves.output ?? []).length > 0);

/** A panel per run. */
export function output(drawn: Drawn[], all: Item[]): Figure {
  const words = {
    name: "output-time",
    title: OUTPUT.title,
    note: OUTPUT.note,
  };
  const link = Math.max(...drawn.map(({ run }) => run.summary.link.rate_bps / 1e6));
  return ratePanels(words, drawn, all, { max: link, interval: link / 4 }, areas);
}

/** An area per sender. */
const areas = (theme: Theme, { run, curves }: Drawn, panel: number): Series[] =>
  (curves.output ?? []).map((line, i): Series => {
    const colour = groupColour(theme, run, line.group);
    return {
      type: "line",
      name: groupName(run, line.group),
      stack: `run ${panel}`,
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: line.s.map((s, k) => [s, line.mbps[k] ?? 0]),
      showSymbol: false,
      lineStyle: { color: theme.paper, width: 0.5 },
      areaStyle: { color: colour, opacity: 0.9 },
      itemStyle: { color: colour },
      emphasis: { disabled: true },
      clip: true,
      ...(i === 0 ? warmupMark(theme, curves.warmup_s) : {}),
    };
  });
