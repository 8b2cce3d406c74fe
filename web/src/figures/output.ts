// Overload over time: what leaves the bottleneck, by sender, stacked.

import type { Series } from "../chart";
import type { Figure } from "../figure";
import { base, columnsFor, gridOf, heading, tile, yAxis } from "../figure";
import { groupName, type Item, runNames } from "../runs";
import { digits } from "../text";
import { trafficColour } from "../theme";
import { boxAt, type Drawn, endOf, lineTip, timeAxis, warmupMark } from "./delay";
import { rateWords } from "./rates";

/** Runs with an unresponsive sender. */
export const overloaded = (drawn: Drawn[]): Drawn[] => drawn.filter(({ curves }) => (curves.output ?? []).length > 0);

/** A panel per run. */
export function output(drawn: Drawn[], all: Item[]): Figure {
  const names = runNames(all);
  const columns = (width: number) => columnsFor(drawn.length, width, 320);
  const link = Math.max(...drawn.map(({ run }) => run.summary.link.rate_bps / 1e6));
  return {
    name: "output-time",
    title: "What the link carries over time, by sender",
    note: "Rates stacked on each other: all flows of a group together, and the unresponsive ones. The numbers are means per flow. Left of the dashed line is the warm-up.",
    height: (width) => 250 * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const boxes = tile(drawn.length, columns(canvas.width), canvas, { left: 44, right: 16, top: 54, bottom: 42 });
      return {
        ...base(theme),
        title: drawn.map((item, i) => heading(theme, boxAt(boxes, i), names.get(item.run) ?? "", rateWords(theme, item))),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, i) => timeAxis(theme, i, endOf(drawn))),
        yAxis: drawn.map((_, i) =>
          yAxis(theme, {
            type: "value",
            gridIndex: i,
            min: 0,
            max: link,
            interval: link / 4,
            name: i % columns(canvas.width) === 0 ? "Mb/s" : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          }),
        ),
        series: drawn.flatMap(({ run, curves }, panel) =>
          (curves.output ?? []).map((line, i): Series => {
            const colour = trafficColour(theme, run.traffic[line.group]);
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
          }),
        ),
        tooltip: lineTip(theme, (x) => `${digits(x)} s`, (y) => `${digits(y)} Mb/s`),
      };
    },
  };
}
