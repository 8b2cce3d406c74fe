// DCttH figures 5 and 6: rates, delays, utilization and signals, for each mix of
// flows. A picture per discipline, its parts above each other over the same mixes.

import type { Series, XAxis } from "../chart";
import type { Queue, Run } from "../data";
import type { Box, Canvas, Figure, Word } from "../figure";
import { base, gridOf, heading, tipHead, tipLine, tooltip, xAxis, yAxis } from "../figure";
import {
  type Axis,
  delayValue,
  groupName,
  type Item,
  type Line,
  mean,
  meanValue,
  type Value,
  variedKeys,
} from "../runs";
import { queueColour, type Theme, trafficColour } from "../theme";
import { MIX } from "../words/charts";
import { queueName } from "../words/names";
import { digits, inRange, ms, percent } from "../words/numbers";
import { conditionAxes } from "./conditions";
import { decades } from "./delay";
import { bar, level, whisker } from "./marks";
import { shareOf, shareWords, slug } from "./shares";

/** The values of one colour at every mix. */
interface Track {
  name: string;
  /** Its queue by name: what a heading calls all tracks of it. */
  queue?: string;
  colour(theme: Theme): string;
  hollow?: boolean;
  of(runs: Run[]): Value | undefined;
}

/** One of the four parts. */
interface Part {
  title: string;
  mark: "bars" | "whiskers" | "dots";
  log: boolean;
  tracks: Track[];
  range: [number, number];
  level?: number;
  print(value: number): string;
}

/** Whether the sweep is over mixes: the numbers of flows of two groups, or their RTTs. */
export const isMix = (all: Item[]): boolean => {
  const keys = variedKeys(all).map(({ key }) => /^group\.([^.*]+)\.(flows|rtt)$/.exec(key)?.[2]);
  return ["flows", "rtt"].some((what) => keys.filter((key) => key === what).length === 2);
};

/** A single value, or nothing. */
const plain = (value: number | undefined): Value | undefined =>
  value === undefined ? undefined : { value, low: value, high: value };

const groupTracks = (line: Line): Track[] =>
  line.sample.summary.groups
    .filter((group) => group.cc !== "udp")
    .map(({ name }) => ({
      name: groupName(line.sample, name),
      colour: (theme) => trafficColour(theme, line.sample.traffic[name]),
      of: (runs) => meanValue(runs.map((run) => run.summary.groups.filter((g) => g.name === name).map(shareOf)[0])),
    }));

function queueTracks(line: Line, call: (queue: string) => string, of: (queue: Queue) => Value | undefined): Track[] {
  const names = new Set(
    line.points.flatMap(({ runs }) => runs.flatMap((run) => run.summary.queues.map((q) => q.name))),
  );
  return [...names].map((name) => ({
    name: call(queueName(name)),
    queue: queueName(name),
    colour: (theme) => queueColour(theme, line.sample, name),
    of: (runs) => meanValue(runs.map((run) => run.summary.queues.filter((q) => q.name === name).map(of)[0])),
  }));
}

const signal = (share: number | undefined): Value | undefined =>
  share === undefined || share <= 0 ? undefined : plain(100 * share);

/** The parts of a line, without their ranges. */
const partsOf = (line: Line): Omit<Part, "range">[] => [
  {
    title: MIX.rates,
    mark: "bars",
    log: false,
    level: 1,
    tracks: groupTracks(line),
    print: (v) => `${digits(v)}×`,
  },
  {
    title: MIX.delay,
    mark: "whiskers",
    log: true,
    tracks: queueTracks(
      line,
      (queue) => queue,
      ({ delay_ms }) => delayValue(delay_ms),
    ),
    print: (v) => ms(v, 3),
  },
  {
    title: MIX.utilization,
    mark: "bars",
    log: false,
    tracks: [
      {
        name: MIX.link,
        colour: (theme) => theme.udp,
        of: (runs) => plain(100 * (mean(runs.map((run) => run.summary.link.utilization)) ?? 0)),
      },
    ],
    print: (v) => percent(v / 100, 4),
  },
  {
    title: MIX.signals,
    mark: "dots",
    log: true,
    tracks: [
      ...queueTracks(line, MIX.marked, ({ mark }) => signal(mark)),
      ...queueTracks(line, MIX.dropped, ({ drop }) => signal(drop)).map((track) => ({ ...track, hollow: true })),
    ],
    print: (v) => percent(v / 100, 3),
  },
];

/** A round number at or above. */
function roundUp(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value));
  return (([1, 1.5, 2, 3, 5, 10] as const).find((k) => k * step >= value) ?? 10) * step;
}

/** The parts of every line, those of one kind to one scale. */
function scaled(lines: Line[]): Part[][] {
  const all = lines.map((line) => ({ line, parts: partsOf(line) }));
  const ranges = partsOf(lines[0] as Line).map((part, i): [number, number] => {
    const values = all.flatMap(({ line, parts }) =>
      (parts[i]?.tracks ?? []).flatMap((track) => line.points.flatMap(({ runs }) => track.of(runs) ?? [])),
    );
    if (part.log)
      return decades(
        values.flatMap((v) => [v.value / 2, v.high]),
        0.01,
      );
    return [0, part.level === undefined ? 100 : roundUp(Math.max(part.level, ...values.map((v) => v.high)))];
  });
  return all.map(({ parts }) => parts.map((part, i) => ({ ...part, range: ranges[i] ?? [0, 1] })));
}

/** A picture per line. */
export function mixes(axis: Axis): Figure[] {
  if (axis.lines.length === 0) return [];
  const parts = scaled(axis.lines);
  return axis.lines.map((line, i) => draw(line, parts[i] ?? [], axis));
}

const HEIGHT = 780;
/** The height of a heading, and the free space above it. */
const HEAD = 62;
const LEFT = 52;
const SHARES = [0.34, 0.26, 0.14, 0.26];

/** The panels, from top to bottom. */
function boxes(canvas: Canvas, bottom: number): Box[] {
  const free = canvas.height - canvas.top - bottom - SHARES.length * HEAD + 16;
  let top = canvas.top - 16;
  return SHARES.map((share) => {
    const box = { left: LEFT, top: top + HEAD, width: canvas.width - LEFT - 20, height: Math.round(free * share) };
    top = box.top + box.height;
    return box;
  });
}

function draw(line: Line, parts: Part[], axis: Axis): Figure {
  // Wide enough for a bar of 8 pixels each, and for labels side by side.
  const longest = Math.max(...axis.conditions.map(({ label }) => label.length));
  const slot = Math.max(12, 8 * groupTracks(line).length, longest * 6 + 2);
  return {
    name: `mix-${slug(line.name)}`,
    title: MIX.title(line.name, shareWords(line.points.flatMap(({ runs }) => runs))),
    note: MIX.note,
    sweep: true,
    minWidth: Math.min(4000, Math.round((axis.end + 1.2) * slot + LEFT + 20)),
    height: () => HEIGHT,
    option: (canvas) => {
      const { theme } = canvas;
      const panels = boxes(canvas, 68);
      const last = parts.length - 1;
      const bare = (gridIndex: number): XAxis =>
        xAxis(theme, {
          type: "value",
          gridIndex,
          min: -0.6,
          max: axis.end + 0.6,
          axisLabel: { show: false },
          splitLine: { show: false },
        });
      const owners: { part: Part; track: Track }[] = [];
      const series = parts.flatMap((part, panel) =>
        part.tracks.map((track, i): Series => {
          owners.push({ part, track });
          const colour = track.colour(theme);
          const wide = part.mark === "bars" ? 0.8 / part.tracks.length : 0.16;
          const shift = (i - (part.tracks.length - 1) / 2) * wide;
          const data = line.points.flatMap(({ condition, runs }) => {
            const v = track.of(runs);
            return v === undefined
              ? []
              : [[condition.x + shift, v.value, Math.max(v.low, part.range[0]), v.high, condition.x]];
          });
          const shared = { name: track.name, xAxisIndex: panel, yAxisIndex: panel, data, clip: true };
          if (part.mark === "whiskers") {
            return {
              ...shared,
              type: "custom",
              renderItem: whisker(theme, colour, "circle", 3),
              itemStyle: { color: colour },
            };
          }
          if (part.mark === "bars")
            return { ...shared, type: "custom", renderItem: bar(theme, colour, wide), itemStyle: { color: colour } };
          const hollow = { color: theme.paper, borderColor: colour, borderWidth: 1.5, opacity: 1 };
          return {
            ...shared,
            type: "scatter",
            symbolSize: 6,
            itemStyle: track.hollow ? hollow : { color: colour, opacity: 1 },
          };
        }),
      );
      // The level comes with an invisible line: a custom series has no mark lines.
      for (const [panel, part] of parts.entries()) {
        if (part.level === undefined) continue;
        series.push({
          type: "line",
          data: [],
          xAxisIndex: panel,
          yAxisIndex: panel,
          silent: true,
          markLine: level(theme, part.level),
        });
      }
      return {
        ...base(theme),
        title: parts.map((part, i) => heading(theme, panels[i] as Box, part.title, words(theme, part))),
        grid: panels.map(gridOf),
        xAxis: [
          ...parts.slice(0, last).map((_, i) => bare(i)),
          ...conditionAxes(theme, axis, canvas.width - LEFT - 20, last),
        ],
        yAxis: parts.map((part, gridIndex) =>
          yAxis(theme, {
            type: part.log ? "log" : "value",
            gridIndex,
            min: part.range[0],
            max: part.range[1],
            splitNumber: part.level === undefined ? 2 : 4,
            axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => digits(v) },
          }),
        ),
        series,
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (params: unknown): string => {
            const hover = params as { seriesIndex?: number; value?: unknown };
            const [, v = 0, low = v, high = v, x = 0] = (Array.isArray(hover.value) ? hover.value : []).map(Number);
            const owner = owners[hover.seriesIndex ?? 0];
            if (owner === undefined) return "";
            const { part, track } = owner;
            const where = axis.conditions.find((c) => c.x === x)?.full ?? "";
            const value = low === high ? part.print(v) : inRange(v, low, high, part.print);
            return tipHead(where, 0.75) + tipLine(track.colour(theme), track.name, value);
          },
        },
      };
    },
  };
}

/** The names of a part's tracks in their colours, where there are several; one for both dots of a queue. */
function words(theme: Theme, part: Part): Word[] {
  const named = part.tracks.length === 1 ? [] : part.tracks.filter(({ hollow }) => hollow !== true);
  return named.map(({ name, queue, colour }) => ({ text: queue ?? name, colour: colour(theme), strong: true }));
}
