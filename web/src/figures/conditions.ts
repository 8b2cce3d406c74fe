// One number per condition across a sweep, as the L4S papers draw them: link rate, then RTT, along
// the x axis; a colour per discipline and queue.

import type { Option, Series, XAxis } from "../chart";
import type { Run } from "../data";
import type { Figure } from "../figure";
import { base, gridOf, legend, tipHead, tipLine, tooltip, xAxis, yAxis } from "../figure";
import { type Axis, type Condition, groupName, type Line, mean, meanValue } from "../runs";
import { queueColour, type Theme, trafficColour } from "../theme";
import { AXES, CONDITIONS, TIP } from "../words/charts";
import { digits, ms, percent, ratio } from "../words/numbers";
import { decades } from "./delay";
import { level, whisker } from "./marks";
import { shareOverTime, shareWords, slug } from "./shares";

/** A run is fit for comparisons where no more than one packet in a hundred was later, in microseconds. */
const FIT_US = 100;

/** Folders by symbol. */
const SYMBOLS = ["circle", "diamond", "triangle", "rect"];

/** One series of a chart over conditions. */
interface Track {
  name: string;
  colour(theme: Theme): string;
  symbol: string;
  hollow?: boolean;
  /** Value at each place; `low` and `high` make a whisker. */
  points: { condition: Condition; value: number; low?: number; high?: number }[];
}

/** What a chart over conditions shows. */
interface Quantity {
  name: string;
  title: string;
  note: string;
  unit: string;
  tracks: Track[];
  log: boolean;
  range: [number, number];
  print(value: number): string;
  tick(value: number): string;
  /** A value to compare with. */
  mark?: number;
}

/** Every queue of every line. */
const queuesOf = (line: Line): string[] => [
  ...new Set(line.points.flatMap(({ runs }) => runs.flatMap((run) => run.summary.queues.map((q) => q.name)))),
];

/** Colours of lines: by queue; a second line of the same colour takes a spare one. */
function colours(lines: Line[]): (line: Line, queue: string) => (theme: Theme) => string {
  return (line, queue) => (theme) => {
    const own = queueColour(theme, line.sample, queue);
    const rivals = lines.filter(
      (other) =>
        other.folder === line.folder &&
        queuesOf(other).includes(queue) &&
        queueColour(theme, other.sample, queue) === own,
    );
    const nth = rivals.indexOf(line);
    return nth <= 0 ? own : (theme.rest[(nth - 1) % theme.rest.length] ?? own);
  };
}

const at = (run: Run, queue: string) => run.summary.queues.find((q) => q.name === queue);

function tracksOf(
  axis: Axis,
  of: (runs: Run[], queue: string) => Omit<Track["points"][number], "condition"> | undefined,
): Track[] {
  const colour = colours(axis.lines);
  return axis.lines.flatMap((line) =>
    queuesOf(line).map(
      (queue): Track => ({
        name: CONDITIONS.track(line.name, queue),
        colour: colour(line, queue),
        symbol: SYMBOLS[line.folder % SYMBOLS.length] ?? "circle",
        points: line.points.flatMap(({ condition, runs }) => {
          const point = of(runs, queue);
          return point === undefined ? [] : [{ condition, ...point }];
        }),
      }),
    ),
  );
}

/** A track per line, where `of` has positive numbers. */
function tracksOfLines(axis: Axis, of: (run: Run) => number | undefined): Track[] {
  const colour = colours(axis.lines);
  return axis.lines
    .map(
      (line): Track => ({
        name: line.name,
        colour: colour(line, queuesOf(line)[0] ?? "Q"),
        symbol: SYMBOLS[line.folder % SYMBOLS.length] ?? "circle",
        points: line.points.flatMap(({ condition, runs }) => {
          const value = mean(runs.map(of));
          return value === undefined || value <= 0 ? [] : [{ condition, value }];
        }),
      }),
    )
    .filter(({ points }) => points.length > 0);
}

/** A title that gives one number per track, as long as they are few. */
function message(
  what: string,
  tracks: Track[],
  of: (values: number[]) => number | undefined,
  print: (value: number) => string,
): string {
  const parts = tracks.flatMap(({ name, points }) => {
    const value = of(points.map((p) => p.value));
    return value === undefined ? [] : [`${name} ${print(value)}`];
  });
  return CONDITIONS.message(what, parts);
}

/** Delay: p1, mean and p99. */
function delay(axis: Axis): Quantity {
  const tracks = tracksOf(axis, (runs, queue) => {
    const delays = runs.map((run) => at(run, queue)?.delay_ms);
    const value = mean(delays.map((d) => d?.mean));
    if (value === undefined) return undefined;
    return { value, low: mean(delays.map((d) => d?.p1)), high: mean(delays.map((d) => d?.p99)) };
  });
  const values = tracks.flatMap(({ points }) => points.flatMap((p) => [p.value / 2, p.high ?? p.value]));
  return {
    name: "delay-conditions",
    title: message(
      CONDITIONS.delay.title,
      tracks,
      (values) => mean(values),
      (v) => ms(v),
    ),
    note: CONDITIONS.delay.note,
    unit: AXES.ms,
    tracks,
    log: true,
    range: decades(values, 0.01),
    print: (v) => ms(v, 3),
    tick: (v) => digits(v),
  };
}

/** Marks and drops. */
function signals(axis: Axis): Quantity {
  const pick = (what: "mark" | "drop") =>
    tracksOf(axis, (runs, queue) => {
      const value = mean(runs.map((run) => at(run, queue)?.[what]));
      return value === undefined || value <= 0 ? undefined : { value: 100 * value };
    })
      .filter(({ points }) => points.length > 0)
      .map(
        (track): Track => ({
          ...track,
          name: CONDITIONS.signals[what](track.name),
          hollow: what === "drop",
        }),
      );
  const tracks = [...pick("mark"), ...pick("drop")];
  return {
    name: "signal-conditions",
    title: CONDITIONS.signals.title(axis.alone),
    note: CONDITIONS.signals.note,
    unit: AXES.percent,
    tracks,
    log: true,
    range: decades(
      tracks.flatMap(({ points }) => points.map((p) => p.value)),
      0.001,
    ),
    print: (v) => percent(v / 100, 3),
    tick: (v) => digits(v),
  };
}

/** A round number at or above, 2 at least. */
const bound = (most: number): number =>
  [2, 5, 10, 20, 50, 100, 1000].find((b) => b >= most) ?? 10 ** Math.ceil(Math.log10(most));

/** Ratios of two groups: 1 is balance. */
function ratios(axis: Axis, what: "window" | "rate"): Quantity {
  const names = new Set<string>();
  const pick = (run: Run): number | undefined => {
    const found = Object.entries(run.summary.ratios ?? {}).find(([name]) => name.startsWith(`${what}_`));
    if (found !== undefined) names.add(CONDITIONS.ratio.groups(found[0].slice(what.length + 1)));
    return found?.[1];
  };
  const tracks = tracksOfLines(axis, pick);
  const values = tracks.flatMap(({ points }) => points.map((p) => p.value));
  const most = bound(Math.max(...values.map((v) => Math.max(v, 1 / v))));
  const groups = names.size === 1 ? [...names][0] : undefined;
  return {
    name: `${what}-ratio-conditions`,
    title: message(
      CONDITIONS.ratio.title(CONDITIONS[what].title, groups, axis.alone),
      tracks,
      (list) => list.reduce((far, v) => (Math.abs(Math.log(v)) > Math.abs(Math.log(far)) ? v : far), 1),
      ratio,
    ),
    note: CONDITIONS[what].note,
    unit: CONDITIONS.ratio.unit,
    tracks,
    log: true,
    range: [1 / most, most],
    print: ratio,
    tick: fraction,
    mark: 1,
  };
}

/** `0.01` as `1/100`. */
const fraction = (v: number): string => (v >= 1 ? digits(v) : `1/${digits(1 / v)}`);

/** Fallback figure 7: what each of two groups gets, and how steadily. A chart per line. */
function shares(axis: Axis): Quantity[] {
  const tcp = (run: Run) => run.summary.groups.filter(({ cc }) => cc !== "udp");
  const pairs = axis.lines.every(({ points }) =>
    points.every(({ runs }) => runs.every((run) => tcp(run).length === 2)),
  );
  if (axis.alone || !pairs || axis.lines.length > 4) return [];
  const tracks = (line: Line): Track[] =>
    tcp(line.sample).map(({ name }) => ({
      name: groupName(line.sample, name),
      colour: (theme) => trafficColour(theme, line.sample.traffic[name]),
      symbol: "circle",
      points: line.points.flatMap(({ condition, runs }) => {
        const point = meanValue(
          runs.map(
            (run) =>
              tcp(run)
                .filter((group) => group.name === name)
                .map(shareOverTime)[0],
          ),
        );
        return point === undefined || point.value <= 0 ? [] : [{ condition, ...point }];
      }),
    }));
  const all = axis.lines.map((line) => ({ line, tracks: tracks(line) }));
  // A flow that stood still for a second does not stretch the scale.
  const ends = all.flatMap(({ tracks }) =>
    tracks.flatMap(({ points }) => points.flatMap((p) => [p.value / 2, p.high ?? p.value])),
  );
  const range: [number, number] = [1 / bound(1 / Math.min(...ends)), bound(1.1 * Math.max(...ends))];
  return all
    .filter(({ tracks }) => tracks.some(({ points }) => points.length > 0))
    .map(({ line, tracks }) => ({
      name: `share-conditions-${slug(line.name)}`,
      title: CONDITIONS.shares.title(line.name, shareWords(line.points.flatMap(({ runs }) => runs))),
      note: CONDITIONS.shares.note,
      unit: CONDITIONS.shares.unit,
      tracks,
      log: true,
      range,
      print: (v) => `${digits(v)}×`,
      tick: fraction,
      mark: 1,
    }));
}

/** Use of the link. */
function utilization(axis: Axis): Quantity {
  const colour = colours(axis.lines);
  const tracks = axis.lines.map(
    (line): Track => ({
      name: line.name,
      colour: colour(line, queuesOf(line)[0] ?? "Q"),
      symbol: SYMBOLS[line.folder % SYMBOLS.length] ?? "circle",
      points: line.points.flatMap(({ condition, runs }) => {
        const value = mean(runs.map((run) => run.summary.link.utilization));
        return value === undefined ? [] : [{ condition, value: 100 * value }];
      }),
    }),
  );
  const least = Math.min(100, ...tracks.flatMap(({ points }) => points.map((p) => p.value)));
  const floor = [99, 98, 95, 90, 80, 50, 0].find((f) => f <= least - 0.1) ?? 0;
  return {
    name: "utilization-conditions",
    title: message(
      CONDITIONS.utilization.title(axis.alone),
      tracks,
      (values) => Math.min(...values),
      (v) => percent(v / 100),
    ),
    note: CONDITIONS.utilization.note,
    unit: AXES.percent,
    tracks,
    log: false,
    range: [floor, 100],
    print: (v) => percent(v / 100, 4),
    tick: (v) => digits(v, 4),
  };
}

/** How late packets left the bottleneck, of runs in real time. */
function lateness(axis: Axis): Quantity {
  const pick = (which: "p50" | "p99") =>
    tracksOfLines(axis, (run) => run.summary.engine.lateness_us?.[which]).map(
      (track): Track => ({ ...track, name: CONDITIONS.lateness[which](track.name), hollow: which === "p50" }),
    );
  const tracks = [...pick("p99"), ...pick("p50")];
  const values = tracks.flatMap(({ points }) => points.map((p) => p.value));
  return {
    name: "lateness-conditions",
    title: CONDITIONS.lateness.title(axis.alone),
    note: CONDITIONS.lateness.note,
    unit: AXES.us,
    tracks,
    log: true,
    range: decades([...values, FIT_US], 0.1),
    print: (v) => `${digits(v, 3)} ${AXES.us}`,
    tick: (v) => digits(v),
    mark: FIT_US,
  };
}

/** Cores of the data plane per Gb/s that it forwards, of runs in real time. */
function processor(axis: Axis): Quantity {
  const tracks = tracksOfLines(axis, ({ summary: { engine, link } }) => {
    if (engine.packet_ns === undefined) return undefined;
    const cores = (engine.packet_ns * 1e-9 * engine.packets) / engine.virtual_s;
    return cores / ((link.rate_bps * link.utilization) / 1e9);
  });
  return {
    name: "processor-conditions",
    title: message(CONDITIONS.processor.title, tracks, (values) => Math.min(...values), digits),
    note: CONDITIONS.processor.note,
    unit: CONDITIONS.processor.unit,
    tracks,
    log: true,
    range: decades(
      tracks.flatMap(({ points }) => points.map((p) => p.value)),
      0.01,
    ),
    print: (v) => digits(v, 3),
    tick: (v) => digits(v),
  };
}

/** Every chart over conditions for which there is data. */
export function conditionFigures(axis: Axis): Figure[] {
  return [
    delay(axis),
    signals(axis),
    ratios(axis, "window"),
    ratios(axis, "rate"),
    ...shares(axis),
    utilization(axis),
    lateness(axis),
    processor(axis),
  ]
    .filter(({ tracks }) => tracks.length > 0)
    .map((quantity) => draw(quantity, axis));
}

/** The x axes: a label per condition, and beneath them one per span, with ticks between spans. */
export function conditionAxes(theme: Theme, axis: Axis, width: number, gridIndex = 0): XAxis[] {
  const byX = new Map(axis.conditions.map((c) => [c.x, c.label]));
  const middles = new Map(axis.spans.map((span) => [(span.from + span.to) / 2, span.label]));
  const edges = axis.spans.slice(1).map((span, i) => (span.from + (axis.spans[i]?.to ?? 0)) / 2);
  const longest = Math.max(1, ...axis.conditions.map((c) => c.label.length));
  const room = width / (axis.end + 1.2);
  const turned = longest * 6 > room;
  const inner: XAxis = xAxis(theme, {
    type: "value",
    gridIndex,
    min: -0.6,
    max: axis.end + 0.6,
    splitLine: { show: false },
    axisLabel: {
      color: theme.soft,
      fontSize: 11,
      fontFamily: theme.font,
      customValues: [...byX.keys()],
      rotate: turned ? 90 : 0,
      hideOverlap: false,
      formatter: (v: number) => byX.get(v) ?? "",
    },
    name: axis.name,
    nameGap: (turned ? longest * 6 + 8 : 24) + (axis.spans.length > 0 ? 18 : 0),
  });
  if (axis.spans.length === 0) return [inner];
  const outer: XAxis = xAxis(theme, {
    type: "value",
    gridIndex,
    position: "bottom",
    offset: turned ? longest * 6 + 6 : 18,
    min: -0.6,
    max: axis.end + 0.6,
    axisLine: { show: false },
    splitLine: { show: false },
    axisLabel: {
      color: theme.ink,
      fontSize: 12,
      fontWeight: 600,
      fontFamily: theme.font,
      customValues: [...middles.keys()],
      formatter: (v: number) => middles.get(v) ?? "",
    },
  });
  const rules: XAxis = xAxis(theme, {
    type: "value",
    gridIndex,
    position: "bottom",
    min: -0.6,
    max: axis.end + 0.6,
    axisLine: { show: false },
    axisLabel: { show: false },
    splitLine: { show: false },
    axisTick: { show: true, length: 34, lineStyle: { color: theme.line }, customValues: edges },
  });
  return [inner, outer, rules];
}

function draw(quantity: Quantity, axis: Axis): Figure {
  const { tracks } = quantity;
  const full = new Map(axis.conditions.map((c) => [c.x, c.full]));
  const shift = shifts(tracks);
  const least = (axis.end + 1.2) * Math.max(14, Math.min(tracks.length, 5) * 5) + 70;
  return {
    name: quantity.name,
    title: quantity.title,
    note: quantity.note,
    sweep: true,
    minWidth: Math.round(Math.min(least, 4000)),
    height: (width) => (quantity.name === "delay-conditions" && width > 640 ? 420 : 330),
    option: (canvas) => {
      const { theme } = canvas;
      const longest = Math.max(1, ...axis.conditions.map((c) => c.label.length));
      const turned = longest * 6 > (canvas.width - 72) / (axis.end + 1.2);
      const longestName = tracks.reduce((w, t) => Math.max(w, t.name.length), 0);
      const perRow = Math.max(1, Math.floor(canvas.width / (longestName * 6.4 + 36)));
      const rows = Math.ceil(tracks.length / perRow);
      const top = canvas.top + rows * 21 + 26;
      const bottom =
        30 + (axis.spans.length > 0 ? 20 : 0) + (axis.name === "" ? 0 : 16) + (turned ? longest * 6 - 10 : 0);
      const radius = axis.conditions.length * tracks.length > 60 ? 3 : 4;
      const series = tracks.map((track, i): Series => {
        const colour = track.colour(theme);
        const shared = { name: track.name, itemStyle: { color: colour }, clip: true };
        if (track.points.some((p) => p.high !== undefined)) {
          return {
            ...shared,
            type: "custom",
            renderItem: whisker(theme, colour, track.symbol, radius),
            dimensions: ["x", "mean", "p1", "p99"],
            encode: { x: 0, y: [1, 2, 3] },
            data: track.points.map((p) => [
              p.condition.x + shift(i, p.condition),
              p.value,
              Math.max(p.low ?? p.value, quantity.range[0]),
              p.high ?? p.value,
              p.condition.x,
            ]),
          };
        }
        return {
          ...shared,
          type: "scatter",
          symbol: track.symbol,
          symbolSize: radius * 2 + 1,
          itemStyle:
            track.hollow === true
              ? { color: theme.paper, borderColor: colour, borderWidth: 1.75, opacity: 1 }
              : { color: colour, opacity: 1 },
          data: track.points.map((p) => [
            p.condition.x + shift(i, p.condition),
            p.value,
            p.value,
            p.value,
            p.condition.x,
          ]),
        };
      });
      // The level comes with an invisible line: a custom series has no mark lines.
      if (quantity.mark !== undefined)
        series.push({ type: "line", data: [], silent: true, markLine: level(theme, quantity.mark) });
      const option: Option = {
        ...base(theme),
        grid: gridOf({ left: 52, top, width: canvas.width - 72, height: canvas.height - top - bottom }),
        legend: {
          ...legend(theme, canvas.top),
          data: tracks.map((track) => ({
            name: track.name,
            icon:
              track.points.some((p) => p.high !== undefined) && track.symbol !== "circle" ? "diamond" : track.symbol,
            itemStyle:
              track.hollow === true
                ? { color: theme.paper, borderColor: track.colour(theme), borderWidth: 1.75 }
                : { color: track.colour(theme), borderWidth: 0 },
          })),
          itemWidth: 10,
          itemHeight: 9,
        },
        xAxis: conditionAxes(theme, axis, canvas.width - 72),
        yAxis: yAxis(theme, {
          type: quantity.log ? "log" : "value",
          min: quantity.range[0],
          max: quantity.range[1],
          name: quantity.unit,
          nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, formatter: quantity.tick },
        }),
        series,
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (params: unknown): string => {
            const hover = params as { seriesName?: string; seriesIndex?: number; value?: unknown };
            const value = (Array.isArray(hover.value) ? hover.value : []).map(Number);
            const track = tracks[hover.seriesIndex ?? 0];
            const colour = track?.colour(theme) ?? theme.ink;
            const [, v = 0, low = v, high = v, x = 0] = value;
            const lines =
              low === high
                ? tipLine(colour, track?.name ?? "", quantity.print(v))
                : tipHead(track?.name ?? "") +
                  tipLine(colour, TIP.high, quantity.print(high)) +
                  tipLine(colour, TIP.mean, quantity.print(v)) +
                  tipLine(colour, TIP.low, quantity.print(low));
            return tipHead(full.get(x) ?? "", 0.75) + lines;
          },
        },
      };
      return option;
    },
  };
}

/** Sets tracks apart that share a condition, so that all of them stand in its middle. */
function shifts(tracks: Track[]): (track: number, condition: Condition) => number {
  const here = new Map<Condition, number[]>();
  tracks.forEach(({ points }, i) => {
    for (const { condition } of points) here.set(condition, [...(here.get(condition) ?? []), i]);
  });
  const slot = Math.min(0.17, 0.78 / Math.max(1, ...[...here.values()].map((list) => list.length)));
  return (track, condition) => {
    const list = here.get(condition) ?? [];
    return (list.indexOf(track) - (list.length - 1) / 2) * slot;
  };
}
