// DCttH figures 7 on the right and 8: completion time over the theoretical one, by size of download.

import type { Series } from "../chart";
import type { Figure } from "../figure";
import { base, gridOf, heading, panelsAcross, tile, tipHead, tipLine, tooltip, xAxis, yAxis } from "../figure";
import { groupName, type Item, runNames } from "../runs";
import { trafficColour } from "../theme";
import { AXES, EFFICIENCY, TIP } from "../words/charts";
import { digits } from "../words/numbers";
import { efficiencyWords } from "./completion";
import { boxAt, decades } from "./delay";
import { level, whisker } from "./marks";

/** Runs with downloads. */
export const downloaded = (items: Item[]): Item[] =>
  items.filter(({ run }) => (run.summary.completion ?? []).length > 0);

/** `27 KB`. */
const kilo = (bytes: number): string => digits(bytes / 1000);

/** A panel per run. */
export function efficiency(drawn: Item[], all: Item[]): Figure {
  const names = runNames(all);
  const titles = drawn.map(({ run }) => names.get(run) ?? "");
  const columns = (width: number) => panelsAcross(titles, width);
  const bins = drawn.flatMap(({ run }) => run.summary.completion ?? []);
  const starts = [...new Set(bins.map(({ bin_bytes }) => bin_bytes[0]))].sort((a, b) => a - b);
  const spans = bins.flatMap(({ efficiency: e }) => [e.p1, e.p99]);
  const [least, most] = [Math.min(1, ...spans), decades([1, ...spans])[1]];
  // Room for who is a little faster than theory, without a decade of its own.
  const range = [least > 0.75 ? 0.75 : decades([least])[0], most] as const;
  return {
    name: "efficiency",
    title: EFFICIENCY.title,
    note: EFFICIENCY.note,
    height: (width) => 280 * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const boxes = tile(drawn.length, columns(canvas.width), canvas, { left: 44, right: 16, top: 54, bottom: 42 });
      const series = drawn.flatMap(({ run }, panel) => {
        const mine = run.summary.completion ?? [];
        const groups = [...new Set(mine.map(({ group }) => group))];
        return groups.map((group, i): Series => {
          const colour = trafficColour(theme, run.traffic[group]);
          return {
            type: "custom",
            name: groupName(run, group),
            xAxisIndex: panel,
            yAxisIndex: panel,
            renderItem: whisker(theme, colour, "circle", 4),
            itemStyle: { color: colour },
            clip: true,
            data: mine
              .filter((bin) => bin.group === group)
              .map(({ bin_bytes, efficiency: e, flows }) => {
                const x = starts.indexOf(bin_bytes[0]) + (i - (groups.length - 1) / 2) * 0.26;
                return [x, e.mean, Math.max(e.p1, range[0]), e.p99, bin_bytes[0], bin_bytes[1], flows];
              }),
          };
        });
      });
      // A custom series has no mark lines; an empty line has.
      const ideal = drawn.map(
        (_, panel): Series => ({
          type: "line",
          data: [],
          xAxisIndex: panel,
          yAxisIndex: panel,
          silent: true,
          markLine: level(theme, 1),
        }),
      );
      return {
        ...base(theme),
        title: drawn.map((item, i) => heading(theme, boxAt(boxes, i), titles[i] ?? "", efficiencyWords(theme, item))),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, gridIndex) =>
          xAxis(theme, {
            type: "value",
            gridIndex,
            min: -0.6,
            max: starts.length - 0.4,
            name: AXES.sizeFrom,
            splitLine: { show: false },
            axisLabel: {
              color: theme.soft,
              fontSize: 11,
              fontFamily: theme.font,
              customValues: starts.map((_, i) => i),
              formatter: (v: number) => kilo(starts[v] ?? 0),
            },
          }),
        ),
        yAxis: drawn.map((_, gridIndex) =>
          yAxis(theme, {
            type: "log",
            gridIndex,
            min: range[0],
            max: range[1],
            name: gridIndex % columns(canvas.width) === 0 ? AXES.times : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
            axisLabel: {
              color: theme.soft,
              fontSize: 11,
              fontFamily: theme.font,
              formatter: (v: number) => (Number.isInteger(Math.log10(v)) ? digits(v) : ""),
            },
          }),
        ),
        series: [...series, ...ideal],
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (params: unknown): string => {
            const hover = params as { seriesName?: string; color?: unknown; value?: unknown };
            const [, value = 0, p1 = 0, p99 = 0, from = 0, to = 0, flows = 0] = (
              Array.isArray(hover.value) ? hover.value : []
            ).map(Number);
            const colour = String(hover.color);
            return (
              tipHead(EFFICIENCY.hovered(hover.seriesName ?? "", flows, kilo(from), kilo(to))) +
              tipLine(colour, TIP.high, `${digits(p99)}×`) +
              tipLine(colour, TIP.mean, `${digits(value)}×`) +
              tipLine(colour, TIP.low, `${digits(p1)}×`)
            );
          },
        },
      };
    },
  };
}
