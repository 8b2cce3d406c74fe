// DCttH figure 7 on the left: how long each download took, over its size, and how long it would take
// with the whole link and no queue.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams, CustomSeriesRenderItemReturn } from "echarts";
import type { Series } from "../chart";
import type { Downloads } from "../data";
import type { Figure, Word } from "../figure";
import { base, gridOf, heading, panelsAcross, tile, tipHead, tipLine, xAxis, yAxis } from "../figure";
import { groupName, type Item, runNames } from "../runs";
import { type Theme, trafficColour } from "../theme";
import { AXES, COMPLETION } from "../words/charts";
import { digits, ms } from "../words/numbers";
import { boxAt, type Drawn, decades, lineTip } from "./delay";
import { dotsPath } from "./marks";

/** Runs with downloads. */
export const downloading = (drawn: Drawn[]): Drawn[] =>
  drawn.filter(({ curves }) => (curves.downloads ?? []).length > 0);

/** Mean completion time over the theoretical one, of all sizes. */
export function efficiencyOf(item: Item, group: string): number | undefined {
  const bins = (item.run.summary.completion ?? []).filter((bin) => bin.group === group);
  const flows = bins.reduce((sum, bin) => sum + bin.flows, 0);
  return flows === 0 ? undefined : bins.reduce((sum, bin) => sum + bin.flows * bin.efficiency.mean, 0) / flows;
}

/** `DCTCP 1.2×   Cubic 2.9×`: kinds of downloads and how far they are from ideal. */
export const efficiencyWords = (theme: Theme, item: Item): Word[] =>
  [...new Set((item.run.summary.completion ?? []).map(({ group }) => group))].map((group) => ({
    text: COMPLETION.mean(groupName(item.run, group), efficiencyOf(item, group) ?? 0),
    colour: trafficColour(theme, item.run.traffic[group]),
    strong: true,
  }));

/** A panel per run. */
export function completion(drawn: Drawn[], all: Item[]): Figure {
  const names = runNames(all);
  const titles = drawn.map(({ run }) => names.get(run) ?? "");
  const columns = (width: number) => panelsAcross(titles, width);
  const downloads = drawn.flatMap(({ curves }) => curves.downloads ?? []);
  const most = Math.max(...downloads.map(({ every }) => every));
  const thinned =
    most > 1
      ? COMPLETION.thinned(
          most,
          downloads.every(({ every }) => every === most),
        )
      : "";
  const sizes = decades(downloads.flatMap(({ bytes }) => bytes));
  const times = decades(downloads.flatMap(({ ms, ideal }) => [...ms, ...ideal.map(([, time]) => time)]));
  return {
    name: "completion",
    title: COMPLETION.title,
    note: COMPLETION.note + thinned,
    height: (width) => 330 * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const boxes = tile(drawn.length, columns(canvas.width), canvas, { left: 52, right: 16, top: 54, bottom: 42 });
      return {
        ...base(theme),
        title: drawn.map((item, i) => heading(theme, boxAt(boxes, i), titles[i] ?? "", efficiencyWords(theme, item))),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, gridIndex) =>
          xAxis(theme, {
            type: "log",
            gridIndex,
            min: sizes[0],
            max: sizes[1],
            name: AXES.size,
            axisLabel: {
              color: theme.soft,
              fontSize: 11,
              fontFamily: theme.font,
              formatter: (v: number) => digits(v / 1000),
            },
          }),
        ),
        yAxis: drawn.map((_, gridIndex) =>
          yAxis(theme, {
            type: "log",
            gridIndex,
            min: times[0],
            max: times[1],
            name: gridIndex % columns(canvas.width) === 0 ? AXES.ms : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
            axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => digits(v) },
          }),
        ),
        series: drawn.flatMap((item, panel) => {
          const lists = item.curves.downloads ?? [];
          // The first group in front.
          return [
            ...[...lists].reverse().map((list) => cloud(theme, item, list, panel)),
            ...ideals(theme, item, lists, panel),
          ];
        }),
        tooltip: {
          ...lineTip(theme, String, String),
          formatter: (params: unknown): string => {
            const [line] = params as { axisIndex?: number; value?: unknown }[];
            const [size = 0, best = 0] = (Array.isArray(line?.value) ? line.value : []).map(Number);
            const item = drawn[line?.axisIndex ?? 0];
            return (
              tipHead(COMPLETION.hovered(size / 1000)) +
              tipLine(theme.ink, COMPLETION.ideal, ms(best, 3)) +
              (item === undefined ? "" : around(theme, item, size))
            );
          },
        },
      };
    },
  };
}

/** Mean completion times of the sizes around one. */
const around = (theme: Theme, { run }: Item, size: number): string =>
  (run.summary.completion ?? [])
    .filter(({ bin_bytes: [from, to] }) => from <= size && size < to)
    .map(({ group, bin_bytes: [from, to], time_ms }) =>
      tipLine(
        trafficColour(theme, run.traffic[group]),
        COMPLETION.around(groupName(run, group), [from / 1000, to / 1000]),
        ms(time_ms.mean, 3),
      ),
    )
    .join("");

/** All downloads of a group as one path: thousands of elements would make the page slow. */
function cloud(theme: Theme, item: Drawn, list: Downloads, panel: number): Series {
  const colour = trafficColour(theme, item.run.traffic[list.group]);
  return {
    type: "custom",
    name: groupName(item.run, list.group),
    xAxisIndex: panel,
    yAxisIndex: panel,
    // One item without a place, for the one path: hovering finds the line of theoretical times.
    data: [["-", "-"]],
    silent: true,
    clip: true,
    itemStyle: { color: colour },
    renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => ({
      type: "path",
      shape: {
        pathData: dotsPath(list.bytes.map((size, i) => api.coord([size, list.ms[i] ?? 0]) as [number, number])),
      },
      style: { stroke: colour, lineWidth: 2.6, lineCap: "round", opacity: 0.55, fill: "none" },
    }),
  };
}

/** The theoretical times: one line where all groups have the same. */
function ideals(theme: Theme, item: Drawn, lists: Downloads[], panel: number): Series[] {
  const rtts = new Map(lists.map((list) => [item.run.base_rtt_ms[list.group] ?? 0, list]));
  return [...rtts].map(
    ([rtt, list]): Series => ({
      type: "line",
      name: rtts.size === 1 ? COMPLETION.ideal : COMPLETION.idealOf(rtt),
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: list.ideal,
      showSymbol: false,
      lineStyle: { color: theme.ink, width: 1.5 },
      itemStyle: { color: theme.ink },
      emphasis: { disabled: true },
      clip: true,
      z: 5,
    }),
  );
}
