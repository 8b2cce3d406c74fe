// Queueing delay: its distribution, and its course.

import type { LineSeriesOption, Option, Series } from "../chart";
import type { Cdf, Curves } from "../data";
import type { Figure, Word } from "../figure";
import { base, gridOf, heading, legend, panelsAcross, tile, tipHead, tipLine, tooltip, xAxis, yAxis } from "../figure";
import type { Item } from "../runs";
import { groupName, runNames } from "../runs";
import { groupColour, queueColour, type Theme } from "../theme";
import { AXES, DELAY } from "../words/charts";
import { queueName } from "../words/names";
import { digits, ms, percent, seconds } from "../words/numbers";

/** A run that has curves. */
export type Drawn = Item & { curves: Curves };

/** Dashes distinguish lines of the same colour. */
const DASHES: ("solid" | [number, number])[] = ["solid", [6, 3], [2, 3], [9, 3]];
/** The same for the legend. */
const SAMPLES = [
  "path://M0 0h24v3h-24z",
  "path://M0 0h6v3h-6zM9 0h6v3h-6zM18 0h6v3h-6z",
  "path://M0 0h3v3h-3zM7 0h3v3h-3zM14 0h3v3h-3zM21 0h3v3h-3z",
  "path://M0 0h10v3h-10zM14 0h10v3h-10z",
];

/** Whole decades that hold all of the values. */
export function decades(values: number[], least = 0.001): [number, number] {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [0.1, 10];
  const low = Math.max(Math.min(...positive), least);
  const high = Math.max(...positive, low * 1.001);
  // 1e-9: an exact power of ten is its own decade.
  return [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(high) - 1e-9)];
}

/** The delays of a distribution that matter on a log axis: not its first and last thousandth. */
const bulk = (cdf: Cdf, from: number, to: number): number[] =>
  cdf.ms.filter((_, i) => (cdf.share[i] ?? 0) >= from && (cdf.share[i] ?? 1) <= to);

/** A cumulative distribution as points, or the share beyond each delay. */
export function points(cdf: Cdf, tail: boolean): [number, number][] {
  const all = cdf.ms.map((x, i): [number, number] => [Math.max(x, 1e-3), cdf.share[i] ?? 0]);
  const first = all[0];
  if (first !== undefined && first[1] > 0) all.unshift([first[0], 0]);
  return tail
    ? all.map(([x, share]): [number, number] => [x, 100 * (1 - share)]).filter(([, share]) => share > 1e-5)
    : all.map(([x, share]): [number, number] => [x, 100 * share]);
}

/** `L4S 0.57 ms   Classic 15.2 ms`: a panel's lines and their means. */
export function delayWords(theme: Theme, item: Item): Word[] {
  return item.run.summary.queues.flatMap((queue) =>
    queue.delay_ms === undefined
      ? []
      : [
          {
            text: `${queueName(queue.name)} ${ms(queue.delay_ms.mean)}`,
            colour: queueColour(theme, item.run, queue.name),
            strong: true,
          },
        ],
  );
}

interface Hover {
  seriesName?: string;
  color?: unknown;
  value?: unknown;
}

/** The y and x of the hovered point. */
function hovered(hover: Hover): [number, number] {
  const value = Array.isArray(hover.value) ? hover.value : [];
  return [Number(value[0]), Number(value[1])];
}

const asHovers = (params: unknown): Hover[] => (Array.isArray(params) ? params : [params]) as Hover[];

/** The tooltip of lines that share an x axis. */
export function lineTip(theme: Theme, head: (x: number) => string, value: (y: number, x: number) => string) {
  return {
    ...tooltip(theme),
    trigger: "axis" as const,
    axisPointer: { type: "line" as const, lineStyle: { color: theme.line, width: 1 }, label: { show: false } },
    formatter: (params: unknown): string => {
      const hovers = asHovers(params);
      const [x] = hovers[0] === undefined ? [0] : hovered(hovers[0]);
      const lines = hovers.map((hover) => {
        const [at, y] = hovered(hover);
        return tipLine(String(hover.color), hover.seriesName ?? "", value(y, at));
      });
      return tipHead(head(x)) + lines.join("");
    },
  };
}

/** The x axis of delays: log, in ms. */
export const delayAxis = (theme: Theme, range: [number, number], gridIndex = 0, named = true) =>
  xAxis(theme, {
    type: "log",
    gridIndex,
    min: range[0],
    max: range[1],
    name: named ? AXES.delay : "",
    axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => digits(v) },
  });

/** The range of all distributions on a delay axis. */
export const delayRange = (drawn: Drawn[], from = 0.01, to = 0.999): [number, number] =>
  decades(
    drawn.flatMap(({ curves }) => curves.cdf.flatMap((cdf) => bulk(cdf, from, to))),
    0.01,
  );

/** One line of a distribution. */
export function cdfLine(theme: Theme, item: Drawn, cdf: Cdf, tail: boolean, panel: number): LineSeriesOption {
  const colour = queueColour(theme, item.run, cdf.queue);
  return {
    type: "line",
    name: queueName(cdf.queue),
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: points(cdf, tail),
    showSymbol: false,
    symbol: "circle",
    silent: false,
    lineStyle: { color: colour, width: 2.25 },
    itemStyle: { color: colour },
    emphasis: { disabled: true },
    clip: true,
  };
}

/** Every queue of every chosen run in one chart: how many packets waited how long. */
export function distribution(drawn: Drawn[], all: Item[], tail: boolean): Figure {
  const names = runNames(all);
  return {
    name: tail ? "delay-tail" : "delay-cdf",
    title: delayMessage(drawn, all),
    note: tail ? DELAY.tail : DELAY.distribution,
    height: (width) => (width < 560 ? 380 : 420),
    option: (canvas) => {
      const { theme } = canvas;
      const entries: { name: string; icon: string }[] = [];
      const used = new Map<string, number>();
      const series = drawn.flatMap((item) =>
        item.curves.cdf.map((cdf): Series => {
          const name = `${names.get(item.run) ?? ""}${cdf.queue === "Q" ? "" : ` ${queueName(cdf.queue)}`}`;
          const line = cdfLine(theme, item, cdf, tail, 0);
          const colour = String(line.itemStyle?.color);
          const nth = used.get(colour) ?? 0;
          used.set(colour, nth + 1);
          entries.push({ name, icon: SAMPLES[nth % SAMPLES.length] ?? "" });
          return { ...line, name, lineStyle: { ...line.lineStyle, type: DASHES[nth % DASHES.length] } };
        }),
      );
      const perRow = Math.max(
        1,
        Math.floor(canvas.width / (entries.reduce((w, { name }) => Math.max(w, name.length), 0) * 6.6 + 46)),
      );
      const rows = Math.ceil(entries.length / perRow);
      const top = canvas.top + rows * 21 + 22;
      const option: Option = {
        ...base(theme),
        grid: gridOf({ left: 52, top, width: canvas.width - 72, height: canvas.height - top - 46 }),
        legend: { ...legend(theme, canvas.top), data: entries, itemWidth: 24, itemHeight: 3 },
        xAxis: delayAxis(theme, tail ? delayRange(drawn, 0.01, 0.99999) : delayRange(drawn)),
        yAxis: yAxis(theme, tail ? tailAxis(theme, drawn) : shareAxis(theme)),
        series,
        tooltip: lineTip(
          theme,
          (x) => ms(x, 3),
          (y) => (tail ? DELAY.longer(y / 100) : percent(y / 100, 3)),
        ),
      };
      return option;
    },
  };
}

/** 0 to 100 % of the packets. */
export const shareAxis = (theme: Theme) => ({
  type: "value" as const,
  min: 0,
  max: 100,
  interval: 25,
  axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => `${v} %` },
});

const tailAxis = (theme: Theme, drawn: Drawn[]) => ({
  type: "log" as const,
  min: decades(
    drawn.flatMap(({ curves }) => curves.cdf.flatMap((cdf) => points(cdf, true).map(([, y]) => y))),
    1e-4,
  )[0],
  max: 100,
  axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => `${digits(v)} %` },
});

/** `L4S queue 0.57 ms, Classic 15 ms; PIE 15 ms; FQ-CoDel 5.6 ms`, on average. */
export function delayMessage(drawn: Item[], all: Item[]): string {
  if (drawn.length > 4) return DELAY.each;
  const names = runNames(all);
  // A run that is one of several is named, unless its queues say which of the disciplines it has.
  const several = new Set(drawn.map(({ run }) => run.aqm)).size < drawn.length || drawn.length < all.length;
  const parts = drawn.map((item) => {
    const queues = item.run.summary.queues.filter((queue) => queue.delay_ms !== undefined);
    const words = queues.map((queue) => {
      return DELAY.mean(queue.name, ms(queue.delay_ms?.mean ?? 0));
    });
    const single = queues.every((queue) => queue.name === "Q");
    return single || several ? DELAY.of(names.get(item.run) ?? "", words.join(", ")) : words.join(", ");
  });
  return DELAY.means(parts);
}

/** A line of delays over time. */
interface DelayLine {
  name: string;
  colour: string;
  s: number[];
  mean_ms: (number | null)[];
}

/** The course of the delay: a panel per run. */
export function course(drawn: Drawn[], all: Item[]): Figure {
  const words = {
    name: "delay-time",
    title: drawn.length === 1 ? delayMessage(drawn, all) : DELAY.course,
    note: DELAY.courseNote,
  };
  const lines = (theme: Theme, { run, curves }: Drawn): DelayLine[] =>
    curves.delay.map(({ queue, s, mean_ms }) => ({
      name: queueName(queue),
      colour: queueColour(theme, run, queue),
      s,
      mean_ms,
    }));
  return delayPanels(words, drawn, all, delayWords, lines);
}

/** Delays of programs that had any: a program that sends nothing has none. */
const programDelays = ({ curves }: Drawn) =>
  (curves.program_delay ?? []).filter(({ mean_ms }) => mean_ms.some((mean) => mean !== null));

/** Runs with programs whose packets were measured. */
export const programmed = (drawn: Drawn[]): Drawn[] => drawn.filter((item) => programDelays(item).length > 0);

/** The course of the delay of programs: a panel per run. */
export function programCourse(drawn: Drawn[], all: Item[]): Figure {
  const words = {
    name: "program-delay-time",
    title: DELAY.programs,
    note: DELAY.programsNote,
  };
  const lines = (theme: Theme, item: Drawn): DelayLine[] =>
    programDelays(item).map(({ group, s, mean_ms }) => ({
      name: groupName(item.run, group),
      colour: groupColour(theme, item.run, group),
      s,
      mean_ms,
    }));
  const means = (theme: Theme, item: Drawn): Word[] =>
    programDelays(item)
      .slice(0, 3)
      .map(({ group }) => {
        const delay = item.run.summary.groups.find(({ name }) => name === group)?.delay_ms;
        const text = `${groupName(item.run, group)} ${delay === undefined ? "" : ms(delay.mean)}`;
        return { text: text.trim(), colour: groupColour(theme, item.run, group), strong: true };
      });
  return delayPanels(words, drawn, all, means, lines);
}

/** Delays over time: a panel per run. */
function delayPanels(
  words: Pick<Figure, "name" | "title" | "note">,
  drawn: Drawn[],
  all: Item[],
  wordsOf: (theme: Theme, item: Drawn) => Word[],
  linesOf: (theme: Theme, item: Drawn) => DelayLine[],
): Figure {
  const names = runNames(all);
  const titles = drawn.map(({ run }) => names.get(run) ?? "");
  const columns = (width: number) => panelsAcross(titles, width);
  return {
    ...words,
    height: (width) => 250 * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const boxes = tile(drawn.length, columns(canvas.width), canvas, { left: 44, right: 16, top: 54, bottom: 42 });
      const range = decades(
        drawn.flatMap((item) =>
          linesOf(theme, item).flatMap(({ mean_ms, s }) =>
            mean_ms.flatMap((value, i) => (value !== null && (s[i] ?? 0) >= item.curves.warmup_s ? [value] : [])),
          ),
        ),
        0.01,
      );
      const series = drawn.flatMap((item, panel) =>
        linesOf(theme, item).map((line, i): Series => {
          const { colour } = line;
          return {
            type: "line",
            name: line.name,
            xAxisIndex: panel,
            yAxisIndex: panel,
            data: line.s.map((s, k) => {
              const value = line.mean_ms[k];
              return [s, value === null || value === undefined ? "-" : Math.max(value, range[0])];
            }),
            showSymbol: false,
            connectNulls: true,
            lineStyle: { color: colour, width: 1.5 },
            itemStyle: { color: colour },
            emphasis: { disabled: true },
            clip: true,
            ...(i === 0 ? warmupMark(theme, item.curves.warmup_s) : {}),
          };
        }),
      );
      return {
        ...base(theme),
        title: drawn.map((item, i) => heading(theme, boxAt(boxes, i), titles[i] ?? "", wordsOf(theme, item))),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, i) => timeAxis(theme, i, endOf(drawn))),
        yAxis: drawn.map((_, i) =>
          yAxis(theme, {
            type: "log",
            gridIndex: i,
            min: range[0],
            max: range[1],
            axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: (v: number) => digits(v) },
            name: i % columns(canvas.width) === 0 ? AXES.ms : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          }),
        ),
        series,
        tooltip: lineTip(theme, seconds, (y) => ms(y, 3)),
      };
    },
  };
}

export const boxAt = <T>(boxes: T[], i: number): T => {
  const box = boxes[i];
  if (box === undefined) throw new Error(`no panel ${i}`);
  return box;
};

/** The last second of all curves. */
export const endOf = (drawn: Drawn[]): number => Math.max(1, ...drawn.map(({ run }) => run.summary.engine.virtual_s));

/** Seconds. */
export const timeAxis = (theme: Theme, gridIndex: number, end: number) =>
  xAxis(theme, {
    type: "value",
    gridIndex,
    min: 0,
    max: end,
    name: AXES.time,
    splitLine: { show: false },
    splitNumber: 5,
    axisLabel: {
      color: theme.soft,
      fontSize: 11,
      fontFamily: theme.font,
      margin: 7,
      formatter: (s: number) => digits(s),
    },
  });

/** A thin dashed line where the warm-up ends. */
export const warmupMark = (theme: Theme, seconds: number) => ({
  markLine: {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: theme.line, type: [3, 3] as [number, number], width: 1 },
    data: seconds > 0 ? [{ xAxis: seconds }] : [],
  },
});
