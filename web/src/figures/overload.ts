// DCttH figure 10: the capacity that an unresponsive sender leaves to the others, over its rate. A column per
// discipline and kind of UDP traffic.

import { advance } from "../advances";
import type { Option, Series, Title } from "../chart";
import type { Group, Queue, Run } from "../data";
import type { Box, Canvas, Figure, Word } from "../figure";
import { base, gridOf, heading, tipHead, tipLine, tooltip, wordsWidth, xAxis, yAxis } from "../figure";
import {
  delayValue,
  groupName,
  type Item,
  lineNames,
  mean,
  meanValue,
  sweptValue,
  type Value,
  variedKeys,
} from "../runs";
import { queueColour, type Theme, themeOf, trafficColour } from "../theme";
import { OVERLOAD } from "../words/charts";
import { codepoint, queueName, setting, UDP } from "../words/names";
import { amount, digits, inRange, mbps, ms, percent, quantity, ratio } from "../words/numbers";
import { decades } from "./delay";
import { bar, level, whisker } from "./marks";

/** More columns than this are too narrow; the reader chooses fewer conditions. */
const COLUMNS = 9;

/** Runs that differ in nothing but the rate of the UDP traffic. */
export interface Column {
  name: string;
  sample: Run;
  /** Runs at each rate; several where seeds were repeated. */
  points: { x: number; runs: Run[] }[];
}

/** The columns of a sweep over UDP rates, and these rates; nothing of another. */
export function columnsOf(all: Item[]): { rates: string[]; columns: Column[] } | undefined {
  const keys = variedKeys(all);
  const swept = keys.find(({ key }) => /^udp\.[^.]+\.rate$/.test(key));
  if (swept === undefined) return undefined;
  const lines = lineNames(all);
  const others = keys.filter((key) => key !== swept);
  const columns = new Map<string, Column>();
  for (const { run } of all) {
    const name = [lines.get(run) ?? "", ...others.map(({ key }) => said(key, sweptValue(run, key)))].join(", ");
    const column = columns.get(name) ?? { name, sample: run, points: swept.values.map((_, x) => ({ x, runs: [] })) };
    columns.set(name, column);
    column.points[swept.values.indexOf(sweptValue(run, swept.key))]?.runs.push(run);
  }
  return { rates: swept.values, columns: [...columns.values()] };
}

/** `UDP ECT(0)`; another key by its name. */
const said = (key: string, value: string): string =>
  /^udp\.[^.]+\.ecn$/.test(key) ? OVERLOAD.ecn(codepoint(value)) : setting(key, value);

/** The figure, where the sweep is one over UDP rates. */
export function overload(all: Item[]): Figure[] {
  const found = columnsOf(all);
  if (found === undefined || found.columns.length > COLUMNS) return [];
  const { rates, columns } = found;
  return [
    {
      name: "overload",
      title: OVERLOAD.title,
      note: OVERLOAD.note,
      sweep: true,
      minWidth: LEFT + columns.length * (GAP + Math.max(136, ...columns.map(headingWidth))),
      height: () => 760,
      option: (canvas) => draw(canvas, rates, columns),
    },
  ];
}

const LEFT = 48;
const GAP = 14;
/** Height of a column's heading: its name on two lines, and its senders. */
const HEADING = 80;
/** Heights of the four rows, as shares of the space without headings. */
const ROWS = [0.34, 0.18, 0.22, 0.26];

function boxes(canvas: Canvas, count: number): Box[][] {
  const width = (canvas.width - LEFT - 6) / count;
  const free = canvas.height - canvas.top - HEADING - 48 - 3 * 30;
  let top = canvas.top + HEADING + 4;
  return ROWS.map((share) => {
    const height = Math.round(free * share);
    const row = Array.from({ length: count }, (_, i) => ({
      left: Math.round(LEFT + i * width),
      top,
      width: Math.round(width - GAP),
      height,
    }));
    top += height + 30;
    return row;
  });
}

/** One kind of point in a panel. */
interface Track {
  name: string;
  colour: string;
  hollow?: boolean;
  values: (Value & { x: number })[];
  print(value: number): string;
}

const over = (column: Column, of: (run: Run) => number | undefined): Track["values"] =>
  column.points.flatMap(({ x, runs }) => {
    const value = mean(runs.map(of));
    return value === undefined ? [] : [{ x, value, low: value, high: value }];
  });

const group = (run: Run, name: string): Group | undefined => run.summary.groups.find((g) => g.name === name);
const queue = (run: Run, name: string): Queue | undefined => run.summary.queues.find((q) => q.name === name);
const queues = (column: Column): string[] => [
  ...new Set(column.points.flatMap(({ runs }) => runs.flatMap((run) => run.summary.queues.map(({ name }) => name)))),
];

/** The values of each row of a column. */
function tracksOf(theme: Theme, column: Column): Track[][] {
  const { sample } = column;
  const output = sample.summary.groups.map(
    ({ name }): Track => ({
      name: groupName(sample, name),
      colour: trafficColour(theme, sample.traffic[name]),
      values: over(column, (run) => group(run, name)?.rate_bps).map((v) => ({ ...v, value: v.value / 1e6 })),
      print: mbps,
    }),
  );
  const window: Track = {
    name: OVERLOAD.ratio,
    colour: theme.ink,
    values: over(
      column,
      (run) => Object.entries(run.summary.ratios ?? {}).find(([key]) => key.startsWith("window_"))?.[1],
    ).filter(({ value }) => value > 0),
    print: ratio,
  };
  const signals = (["mark", "drop"] as const).flatMap((what) =>
    queues(column).map(
      (name): Track => ({
        name: what === "mark" ? OVERLOAD.marked(name) : OVERLOAD.dropped(name),
        colour: queueColour(theme, sample, name),
        hollow: what === "drop",
        values: over(column, (run) => 100 * (queue(run, name)?.[what] ?? 0)).filter(({ value }) => value > 0),
        print: (v) => percent(v / 100, 3),
      }),
    ),
  );
  const delays = queues(column).map(
    (name): Track => ({
      name: queueName(name),
      colour: queueColour(theme, sample, name),
      values: column.points.flatMap(({ x, runs }) => {
        const value = meanValue(runs.map((run) => delayValue(queue(run, name)?.delay_ms)));
        return value === undefined ? [] : [{ x, ...value }];
      }),
      print: (v) => ms(v, 3),
    }),
  );
  return [output, [window], signals, delays];
}

/** Values on each other, the whole stack first: later shapes are drawn in front. */
export function stacked(tracks: Track[]): { track: Track; tops: { x: number; top: number; value: number }[] }[] {
  const sums = new Map<number, number>();
  const stack = tracks.map((track) => ({
    track,
    tops: track.values.map(({ x, value }) => {
      const top = (sums.get(x) ?? 0) + value;
      sums.set(x, top);
      return { x, top, value };
    }),
  }));
  return stack.reverse();
}

function draw(canvas: Canvas, rates: string[], columns: Column[]): Option {
  const { theme } = canvas;
  const count = columns.length;
  const rows = boxes(canvas, count);
  const tracks = columns.map((column) => tracksOf(theme, column));
  const values = (row: number): Track["values"] =>
    tracks.flatMap((column) => (column[row] ?? []).flatMap((track) => track.values));
  const ratios = values(1).flatMap(({ value }) => [value, 1 / value]);
  const ranges: [number, number][] = [
    [0, Math.max(...columns.map(({ sample }) => sample.summary.link.rate_bps / 1e6))],
    decades([...ratios, 0.5, 2]),
    decades(
      values(2).map(({ value }) => value),
      0.01,
    ),
    decades(
      values(3).flatMap(({ value, high }) => [value / 2, high]),
      0.01,
    ),
  ];
  const panels = rows.flatMap((row, r) => row.map((box, c) => ({ box, row: r, column: c })));
  const owners: Track[] = [];
  const series = panels.flatMap(({ row, column }, panel): Series[] => {
    const own = tracks[column]?.[row] ?? [];
    const shared = { xAxisIndex: panel, yAxisIndex: panel, clip: true };
    const of = (track: Track) => ({ ...shared, name: track.name, itemStyle: { color: track.colour } });
    if (row === 0) {
      return stacked(own).map(({ track, tops }) => {
        owners.push(track);
        const data = tops.map(({ x, top, value }) => [x, top, top, top, value]);
        return { ...of(track), type: "custom", renderItem: bar(theme, track.colour, 0.78), data };
      });
    }
    owners.push(...own);
    const shift = (i: number): number => (i - (own.length - 1) / 2) * 0.14;
    return own.map((track, i): Series => {
      const data = track.values.map((v) => [
        v.x + shift(i),
        v.value,
        Math.max(v.low, ranges[row]?.[0] ?? 0),
        v.high,
        v.value,
      ]);
      if (row === 3)
        return { ...of(track), type: "custom", renderItem: whisker(theme, track.colour, "circle", 3.5), data };
      const hollow = { color: theme.paper, borderColor: track.colour, borderWidth: 1.5, opacity: 1 };
      return {
        ...of(track),
        type: "scatter",
        symbolSize: 7,
        itemStyle: track.hollow === true ? hollow : { color: track.colour, opacity: 1 },
        data,
        ...(row === 1 ? { markLine: level(theme, 1) } : {}),
      };
    });
  });
  return {
    ...base(theme),
    title: [
      ...columns.map((column, c): Title => {
        const title = heading(theme, rows[0]?.[c] as Box, nameLines(column).join("\n"), words(theme, column), HEADING);
        return { ...title, textStyle: { ...title.textStyle, lineHeight: 17 } };
      }),
      ...OVERLOAD.rows.map(
        (text, r): Title => ({
          text,
          left: 0,
          top: (rows[r]?.[0]?.top ?? 0) - 19,
          padding: 0,
          textStyle: { color: theme.soft, fontSize: 12, fontWeight: 400, fontFamily: theme.font },
        }),
      ),
    ],
    grid: panels.map(({ box }) => gridOf(box)),
    xAxis: panels.map(({ row }, gridIndex) =>
      xAxis(theme, {
        type: "value",
        gridIndex,
        min: -0.6,
        max: rates.length - 0.4,
        splitLine: { show: false },
        name: row === 3 ? OVERLOAD.axis : "",
        axisLabel: {
          show: row === 3,
          color: theme.soft,
          fontSize: 11,
          fontFamily: theme.font,
          customValues: rates.map((_, i) => i),
          formatter: (v: number) => quantity(rates[v] ?? "")[0],
        },
      }),
    ),
    yAxis: panels.map(({ row, column }, gridIndex) =>
      yAxis(theme, {
        type: row === 0 ? "value" : "log",
        gridIndex,
        min: ranges[row]?.[0] ?? 0,
        max: ranges[row]?.[1] ?? 1,
        ...(row === 0 ? { interval: (ranges[0]?.[1] ?? 0) / 4 } : {}),
        axisLabel: {
          show: column === 0,
          color: theme.soft,
          fontSize: 11,
          fontFamily: theme.font,
          formatter: (v: number) => (row === 1 && v < 1 ? `1/${digits(1 / v)}` : digits(v)),
        },
      }),
    ),
    series,
    tooltip: {
      ...tooltip(theme),
      trigger: "item",
      formatter: (params: unknown): string => {
        const hover = params as { seriesIndex?: number; value?: unknown };
        const [x = 0, , low = 0, high = 0, value = 0] = (Array.isArray(hover.value) ? hover.value : []).map(Number);
        const track = owners[hover.seriesIndex ?? 0];
        if (track === undefined) return "";
        const said = low === high ? track.print(value) : inRange(value, low, high, track.print);
        const rate = amount(rates[Math.round(x)] ?? "");
        return tipHead(OVERLOAD.hovered(rate), 0.75) + tipLine(track.colour, track.name, said);
      },
    },
  };
}

/** The senders of a column in their colours. */
const words = (theme: Theme, { sample }: Column): Word[] =>
  sample.summary.groups.map(({ name, cc }) => ({
    text: cc === "udp" ? UDP : groupName(sample, name),
    colour: trafficColour(theme, sample.traffic[name]),
  }));

/** `DualPI2,` and `UDP ECT(0)`: columns are narrow. */
const nameLines = ({ name }: Column): string[] => name.replace(", ", ",\n").split("\n");

const headingWidth = (column: Column): number =>
  Math.ceil(
    Math.max(...nameLines(column).map((line) => advance(line, 14, true)), wordsWidth(words(themeOf("light"), column))),
  );
