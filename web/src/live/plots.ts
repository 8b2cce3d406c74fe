// The contents of each live chart: options from the moments, and the words above it. Nothing here depends
// on elements.

import type { Option, Series } from "../chart";
import { lags } from "../data";
import { base, tipHead, tipLine, tooltip, xAxis, yAxis } from "../figure";
import type { Theme } from "../theme";
import {
  BALANCE,
  CHART,
  COMPLETION,
  DELAYS,
  DISTRIBUTION,
  HISTOGRAM,
  SCORES,
  SIGNALS,
  THROUGHPUT,
  UPLINK_DELAYS,
  UPLINK_SIGNALS,
  UTILIZATION,
} from "../words/live-charts";
import { digits, mbps, ms, percent, ratio } from "../words/numbers";
import { groupColours, groupNames, queueHue } from "./colours";
import { type Counts, cdf, count, linearBars, logBars, mean, outline, quantile } from "./delays";
import type { Buckets, Settings, Station, StationSettings } from "./protocol";
import { laneOf, lastSeconds, type Moment } from "./ring";
import {
  average,
  balance,
  capacity,
  course,
  flowRate,
  flowsOf,
  groupGoodput,
  groupRate,
  markShare,
  ofUplink,
  queueDelay,
  queueDrops,
  score,
  utilization,
  type Weighted,
} from "./series";

/** The data of a chart. */
export interface Scene {
  theme: Theme;
  buckets: Buckets;
  moments: Moment[];
  settings: Settings;
  lane: number;
  window_s: number;
  log: boolean;
  each: boolean;
}

/** A word above a chart that names a line. */
export interface Word {
  text: string;
  colour: string;
  dashed?: boolean;
}

export interface Drawing {
  option: Option;
  words: Word[];
}

export interface Plot {
  name: string;
  title: string;
  note: string;
  /** Whether it says anything of these settings, or of these moments. */
  fits?(settings: Settings, moments: readonly Moment[]): boolean;
  draw(scene: Scene): Drawing | undefined;
}

/** Charts over time go back so far. */
const BACK_S = 30;
/** Downloads stay so long. */
const DOWNLOADS_S = 60;

const grid = { left: 44, right: 14, top: 14, bottom: 30 };

/** Down through the bottleneck, or up through the uplink. */
type Way = "down" | "up";

const stationOn = (way: Way, settings: Settings, lane: number): StationSettings | undefined =>
  way === "up" ? settings.lanes[lane]?.uplink : settings.lanes[lane];
const fitsOn =
  (way: Way) =>
  (settings: Settings): boolean =>
    stationOn(way, settings, 0) !== undefined;
const hueOn = (way: Way, scene: Scene, queue: string): string =>
  queueHue(scene.theme, stationOn(way, scene.settings, scene.lane)?.aqm.kind ?? "", queue);

const laneSettings = (scene: Scene) => scene.settings.lanes[scene.lane];
const queuesOf = (scene: Scene): string[] => laneSettings(scene)?.aqm.queues ?? [];
const hue = (scene: Scene, queue: string): string => hueOn("down", scene, queue);

function lineOf(name: string, colour: string, data: [number, number][], more: Record<string, unknown> = {}): Series {
  const { lineStyle, ...rest } = more as { lineStyle?: object };
  return {
    id: name,
    type: "line",
    name,
    data,
    showSymbol: false,
    symbol: "circle",
    lineStyle: { color: colour, width: 1.75, ...lineStyle },
    itemStyle: { color: colour },
    emphasis: { disabled: true },
    clip: true,
    ...rest,
  };
}

interface Hover {
  seriesName?: string;
  color?: unknown;
  value?: unknown;
}

function tip(theme: Theme, head: (x: number) => string, value: (y: number) => string) {
  return {
    ...tooltip(theme),
    trigger: "axis" as const,
    axisPointer: { type: "line" as const, lineStyle: { color: theme.line, width: 1 }, label: { show: false } },
    formatter: (params: unknown): string => {
      const hovers = (Array.isArray(params) ? params : [params]) as Hover[];
      const at = (hover: Hover): number[] => (Array.isArray(hover.value) ? hover.value.map(Number) : []);
      // An outline has several corners at one place: a line each is enough.
      const lines = new Map(hovers.map((hover) => [hover.seriesName ?? "", hover]));
      const first = hovers[0];
      return (
        tipHead(first === undefined ? "" : head(at(first)[0] ?? 0)) +
        [...lines].map(([name, hover]) => tipLine(String(hover.color), name, value(at(hover)[1] ?? 0))).join("")
      );
    },
  };
}

const label = (theme: Theme, formatter: (value: number) => string) => ({
  color: theme.soft,
  fontSize: 11,
  fontFamily: theme.font,
  formatter,
  hideOverlap: true,
});

/** Seconds ago. */
const agoAxis = (theme: Theme) =>
  xAxis(theme, {
    type: "value",
    min: -BACK_S,
    max: 0,
    interval: 10,
    splitLine: { show: false },
    axisLabel: label(theme, CHART.ago),
  });

const percentAxis = (theme: Theme, max: number) =>
  yAxis(theme, {
    type: "value",
    min: 0,
    max,
    interval: max === 100 ? 25 : division(max),
    axisLabel: label(theme, (v) => `${digits(v)} %`),
  });

/** A number that is round and not less than this. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((k) => k * step >= value * (1 - 1e-9)) ?? 10) * step;
}

/** Divides an axis from 0 to the result of `roundUp`: into three to five round parts. */
export function division(top: number): number {
  const first = Math.round(top / 10 ** (Math.floor(Math.log10(top) + 1e-9) - 1));
  return top / ({ 15: 3, 20: 4, 30: 3, 40: 4, 60: 3, 80: 4 }[first] ?? 5);
}

/**
 * Where delay axes end: beyond the 99.9th percentile, in steps so that they rarely move.
 * Lanes that stand side by side have the same.
 */
function delayTop(scene: Scene): number {
  const all = scene.settings.lanes.flatMap((_, lane) => counted({ ...scene, lane }));
  const high = Math.max(1, ...all.map(({ counts }) => quantile(scene.buckets, counts, 0.999) ?? 0));
  return scene.log ? 10 ** Math.ceil(Math.log10(high) - 1e-9) : roundUp(high * 1.05);
}

const delayX = (scene: Scene, top: number) =>
  xAxis(scene.theme, {
    type: scene.log ? "log" : "value",
    min: scene.log ? LOG_FLOOR : 0,
    max: top,
    ...(scene.log ? {} : { interval: division(top) }),
    axisLabel: label(scene.theme, (v) => CHART.delayTick(v, v === top)),
  });

/** Where a logarithmic delay axis begins, in ms: shorter waits are the time of a packet or two. */
const LOG_FLOOR = 0.01;

function counted(scene: Scene): { name: string; counts: Counts }[] {
  const lanes = laneOf(lastSeconds(scene.moments, scene.window_s), scene.lane);
  return queuesOf(scene).map((name) => ({ name, counts: count(scene.buckets, lanes, name) }));
}

export const histogram: Plot = {
  name: "histogram",
  title: HISTOGRAM.title,
  note: HISTOGRAM.note,
  draw(scene) {
    const all = counted(scene);
    const top = delayTop(scene);
    const bars = all.map(({ counts }) =>
      scene.log ? logBars(scene.buckets, counts, 2, LOG_FLOOR) : linearBars(scene.buckets, counts, top, 60),
    );
    const peak = Math.max(0, ...bars.flatMap((of) => of.map(([, , share]) => share)));
    return {
      words: all.map(({ name, counts }) => {
        return { text: HISTOGRAM.mean(name, mean(counts)), colour: hue(scene, name) };
      }),
      option: {
        ...base(scene.theme),
        grid,
        xAxis: delayX(scene, top),
        yAxis: percentAxis(scene.theme, roundUp(peak * 1.05)),
        series: all.map(({ name }, i) =>
          lineOf(CHART.queue(name), hue(scene, name), outline(bars[i] ?? []), {
            areaStyle: { color: hue(scene, name), opacity: 0.22 },
            lineStyle: { width: 1.25 },
          }),
        ),
        tooltip: tip(
          scene.theme,
          (x) => ms(x, 3),
          (y) => percent(y / 100),
        ),
      },
    };
  },
};

export const distribution: Plot = {
  name: "cdf",
  title: DISTRIBUTION.title,
  note: DISTRIBUTION.note,
  draw(scene) {
    const all = counted(scene);
    const top = delayTop(scene);
    return {
      words: all.map(({ name, counts }) => {
        return {
          text: DISTRIBUTION.most(name, quantile(scene.buckets, counts, 0.99)),
          colour: hue(scene, name),
        };
      }),
      option: {
        ...base(scene.theme),
        grid,
        xAxis: delayX(scene, top),
        yAxis: percentAxis(scene.theme, 100),
        series: all.map(({ name, counts }) => {
          const points = cdf(scene.buckets, counts).map(([x, y]): [number, number] => [
            Math.max(x, scene.log ? LOG_FLOOR : 0),
            y,
          ]);
          if (points.length > 0) points.push([top, 100]);
          return lineOf(CHART.queue(name), hue(scene, name), points, { lineStyle: { width: 2 } });
        }),
        tooltip: tip(scene.theme, DISTRIBUTION.hovered, (y) => percent(y / 100, 3)),
      },
    };
  },
};

/** Delays over time: of the bottleneck's queues, or of the uplink's. */
const delaysOn = (way: Way, name: string, words: { title: string; note: string }): Plot => ({
  name,
  ...words,
  fits: fitsOn(way),
  draw(scene) {
    const recent = lastSeconds(scene.moments, BACK_S);
    const of = (lane: number) =>
      (stationOn(way, scene.settings, lane)?.aqm.queues ?? []).map((name) => ({
        name,
        data: course(recent, lane, 0.2, way === "up" ? ofUplink(queueDelay(name)) : queueDelay(name)),
      }));
    const lines = of(scene.lane);
    const high = Math.max(
      1,
      ...scene.settings.lanes.flatMap((_, lane) => of(lane).flatMap(({ data }) => data.map(([, y]) => y))),
    );
    const top = scene.log ? 10 ** Math.ceil(Math.log10(high) - 1e-9) : roundUp(high * 1.05);
    // The decade of the lowest delay; an empty queue is at the bottom.
    const low = scene.log ? decadeBelow(lines.flatMap(({ data }) => data.map(([, y]) => y))) : 0;
    const colour = (name: string): string => hueOn(way, scene, name);
    return {
      words: lines.map(({ name }) => ({ text: CHART.queue(name), colour: colour(name) })),
      option: {
        ...base(scene.theme),
        grid,
        xAxis: agoAxis(scene.theme),
        yAxis: yAxis(scene.theme, {
          type: scene.log ? "log" : "value",
          min: low,
          max: top,
          ...(scene.log ? {} : { interval: division(top) }),
          axisLabel: label(scene.theme, (v) => CHART.delayTick(v, v === top)),
        }),
        series: lines.map(({ name, data }) =>
          lineOf(
            CHART.queue(name),
            colour(name),
            data.map(([x, y]) => [x, Math.max(y, low)]),
          ),
        ),
        tooltip: tip(scene.theme, CHART.agoHovered, (y) => ms(y, 3)),
      },
    };
  },
});

/** The power of ten below all positive delays in ms: 0.1, or less down to a microsecond. */
export const decadeBelow = (delays: number[]): number => {
  const lowest = Math.min(0.1, ...delays.filter((y) => y > 0));
  return 10 ** Math.max(-3, Math.floor(Math.log10(lowest) + 1e-9));
};

export const delays = delaysOn("down", "delays", DELAYS);
export const uplinkDelays = delaysOn("up", "uplink-delays", UPLINK_DELAYS);

/** The connection of an application that is switched off is open, and says nothing. */
const awake =
  (settings: Settings) =>
  ({ group, app }: { group: number; app: boolean }): boolean =>
    !app || (settings.groups[group]?.app?.rate_bps ?? 0) > 0;

const flowName = (settings: Settings, group: number, flow: number, app: boolean): string => {
  const name = CHART.flow(settings.groups[group]?.name, flow);
  return app ? THROUGHPUT.application(name) : name;
};

/** More lines than this are thin. */
const MANY = 6;

const inMbps = (data: [number, number][]): [number, number][] => data.map(([x, y]) => [x, y / 1e6]);

/** A capacity over time, behind the rates that share it. */
const area = (theme: Theme, name: string, data: [number, number][]): Series =>
  lineOf(name, theme.line, inMbps(data), {
    step: "middle",
    z: 1,
    areaStyle: { color: theme.line, opacity: 0.16 },
    lineStyle: { width: 1 },
  });

export const throughput: Plot = {
  name: "throughput",
  title: THROUGHPUT.title,
  note: THROUGHPUT.note,
  draw(scene) {
    const { theme, settings, lane } = scene;
    const recent = lastSeconds(scene.moments, BACK_S);
    const colours = groupColours(theme, settings);
    const names = groupNames(settings);
    const { link: down, uplink } = laneSettings(scene) ?? {};
    const link = Math.max(down?.rate_bps ?? 0, uplink?.link.rate_bps ?? 0);
    // A constant rate is the top of the axis, or far above it.
    const areas = [
      { name: THROUGHPUT.capacity, trace: down?.trace, of: capacity },
      { name: THROUGHPUT.uplinkCapacity, trace: uplink?.link.trace, of: ofUplink(capacity) },
    ]
      .filter(({ trace }) => trace !== undefined)
      .map(({ name, of }) => ({ name, of, data: course(recent, lane, 0.25, of) }));
    const varies = areas.flatMap(({ data }) => data.map(([, y]) => y));
    const groups = names.flatMap((name, i) => {
      const data = course(recent, lane, 0.25, groupRate(i));
      return data.some(([, y]) => y > 0) ? [{ name, i, data, colour: colours[i] ?? theme.udp }] : [];
    });
    // Downloads and UDP sources are no flows of their own: theirs is the rate of all together.
    const long = flowsOf(recent, lane).filter(awake(settings));
    const others = groups.filter(({ i }) => long.every(({ group }) => group !== i));
    const flows = scene.each
      ? [
          ...long.map(({ flow, group, app }) => ({
            name: flowName(settings, group, flow, app),
            data: course(recent, lane, 0.25, flowRate(flow)),
            colour: colours[group] ?? theme.udp,
            dashed: app,
          })),
          ...others.map(({ name, data, colour }) => ({ name, data, colour, dashed: false })),
        ]
      : groups.flatMap(({ name, i, data, colour }) => [
          { name, data, colour, dashed: false },
          ...(lags(average(recent, lane, groupRate(i)) ?? 0, average(recent, lane, groupGoodput(i)))
            ? [
                {
                  name: THROUGHPUT.goodput(name),
                  data: course(recent, lane, 0.25, groupGoodput(i)),
                  colour,
                  dashed: true,
                },
              ]
            : []),
        ]);
    const peak = Math.max(link * 0.1, ...flows.flatMap(({ data }) => data.map(([, y]) => y)));
    const top = roundUp(
      (varies.length > 0 ? Math.max(peak, ...varies) * 1.02 : Math.min(link * 1.02, peak * 1.08)) / 1e6,
    );
    const second = lastSeconds(recent, 1);
    return {
      words: [
        ...areas.map(({ name, of }) => ({
          text: THROUGHPUT.rate(name, average(second, lane, of) ?? 0),
          colour: theme.line,
        })),
        ...groups.map(({ name, i, colour }) => ({
          text: THROUGHPUT.rate(name, average(second, lane, groupRate(i)) ?? 0),
          colour,
        })),
      ],
      option: {
        ...base(theme),
        grid,
        xAxis: agoAxis(theme),
        yAxis: yAxis(theme, {
          type: "value",
          min: 0,
          max: top,
          interval: division(top),
          axisLabel: label(theme, (v) => (v === top ? mbps(v) : digits(v))),
        }),
        series: [
          ...areas.map(({ name, data }) => area(theme, name, data)),
          ...flows.map(({ name, data, colour, dashed }) =>
            lineOf(name, colour, inMbps(data), {
              lineStyle: {
                width: flows.length > MANY ? 1 : 1.75,
                opacity: flows.length > MANY ? 0.7 : 1,
                ...(dashed ? { type: [4, 3] } : {}),
              },
            }),
          ),
        ],
        tooltip: tip(theme, CHART.agoHovered, mbps),
      },
    };
  },
};

export const used: Plot = {
  name: "utilization",
  title: UTILIZATION.title,
  note: UTILIZATION.note,
  draw(scene) {
    const { theme } = scene;
    const recent = lastSeconds(scene.moments, BACK_S);
    const lines = [
      { name: UTILIZATION.line, dashed: false, of: utilization, now: UTILIZATION.now },
      { name: UTILIZATION.uplink, dashed: true, of: ofUplink(utilization), now: UTILIZATION.uplinkNow },
    ]
      .slice(0, laneSettings(scene)?.uplink === undefined ? 1 : 2)
      .map((line) => ({ ...line, data: course(recent, scene.lane, 0.25, line.of) }));
    const colour = theme.ink;
    return {
      words: lines.map(({ data, now }) => ({ text: now(data[data.length - 1]?.[1] ?? 0), colour })),
      option: {
        ...base(theme),
        grid,
        xAxis: agoAxis(theme),
        yAxis: percentAxis(theme, 100),
        series: lines.map(({ name, dashed, data }) =>
          lineOf(
            name,
            colour,
            data.map(([x, y]) => [x, Math.min(100, 100 * y)]),
            {
              ...(dashed ? {} : { areaStyle: { color: colour, opacity: 0.07 } }),
              lineStyle: { width: 1.5, ...(dashed ? { type: [4, 3] } : {}) },
            },
          ),
        ),
        tooltip: tip(theme, CHART.agoHovered, (y) => percent(y / 100, 3)),
      },
    };
  },
};

/** Marks and drops over time: of the bottleneck's queues, or of the uplink's. */
const signalsOn = (way: Way, name: string, words: { title: string; note: string }): Plot => ({
  name,
  ...words,
  fits: fitsOn(way),
  draw(scene) {
    const { theme, lane } = scene;
    const recent = lastSeconds(scene.moments, BACK_S);
    const on = (value: (at: Station) => Weighted) => (way === "up" ? ofUplink(value) : value);
    const queues = stationOn(way, scene.settings, lane)?.aqm.queues ?? [];
    const lines = queues.flatMap((name) => [
      { id: SIGNALS.marked(name), name, dashed: false, data: course(recent, lane, 0.5, on(markShare(name))) },
      { id: SIGNALS.dropped(name), name, dashed: true, data: course(recent, lane, 0.5, on(queueDrops(name))) },
    ]);
    const peak = Math.max(0.02, ...lines.flatMap(({ data }) => data.map(([, y]) => y)));
    const now = (value: (at: Station) => Weighted): string =>
      percent(average(lastSeconds(recent, scene.window_s), lane, on(value)) ?? 0);
    const colour = (name: string): string => hueOn(way, scene, name);
    return {
      words: queues.map((name) => ({
        text: SIGNALS.now(name, now(markShare(name)), now(queueDrops(name))),
        colour: colour(name),
      })),
      option: {
        ...base(theme),
        grid,
        xAxis: agoAxis(theme),
        yAxis: percentAxis(theme, Math.min(100, roundUp(peak * 105))),
        series: lines.map(({ id, name, dashed, data }) =>
          lineOf(
            id,
            colour(name),
            data.map(([x, y]) => [x, 100 * y]),
            { lineStyle: { width: 1.5, ...(dashed ? { type: [4, 3] } : {}) } },
          ),
        ),
        tooltip: tip(theme, CHART.agoHovered, (y) => percent(y / 100)),
      },
    };
  },
});

export const signals = signalsOn("down", "signals", SIGNALS);
export const uplinkSignals = signalsOn("up", "uplink-signals", UPLINK_SIGNALS);

/** A thin line across a chart, with its meaning at its end. */
const across = (theme: Theme, lines: { y: number; text: string }[]) => ({
  markLine: {
    silent: true,
    symbol: "none",
    animation: false,
    lineStyle: { color: theme.soft, type: [3, 3] as [number, number], width: 1 },
    data: lines.map(({ y, text }) => ({
      yAxis: y,
      label: {
        show: true,
        formatter: text,
        position: "insideStartTop" as const,
        color: theme.soft,
        fontSize: 10.5,
        fontFamily: theme.font,
      },
    })),
  },
});

/** The groups with long flows: downloads and applications have no window. */
const rivals = (settings: Settings): { name: string; i: number }[] =>
  settings.groups.flatMap(({ name, flows }, i) => (flows > 0 ? [{ name, i }] : []));

export const fairness: Plot = {
  name: "balance",
  title: BALANCE.title,
  note: BALANCE.note,
  fits: (settings) => rivals(settings).length > 1,
  draw(scene) {
    const { theme, settings } = scene;
    const [a, b] = rivals(settings);
    if (a === undefined || b === undefined) return undefined;
    const recent = lastSeconds(scene.moments, BACK_S);
    const data = course(recent, scene.lane, 0.5, balance(a.i, b.i));
    if (data.length === 0) return undefined;
    const spread = Math.max(10, ...data.map(([, y]) => Math.max(y, 1 / Math.max(y, 1e-3))));
    const top = 10 ** Math.ceil(Math.log10(spread) - 1e-9);
    const now = average(lastSeconds(recent, scene.window_s), scene.lane, balance(a.i, b.i));
    return {
      words: [{ text: BALANCE.now(a.name, b.name, now), colour: theme.ink }],
      option: {
        ...base(theme),
        grid,
        xAxis: agoAxis(theme),
        yAxis: yAxis(theme, { type: "log", min: 1 / top, max: top, axisLabel: label(theme, (v) => digits(v)) }),
        series: [lineOf(BALANCE.line, theme.ink, data, across(theme, [{ y: 1, text: "" }]))],
        tooltip: tip(theme, CHART.agoHovered, (y) => ratio(y)),
      },
    };
  },
};

export const completion: Plot = {
  name: "completion",
  title: COMPLETION.title,
  note: COMPLETION.note,
  fits: (settings, moments) =>
    settings.groups.some(({ web }) => (web?.per_s ?? 0) > 0) ||
    moments.some(({ state }) => state.lanes.some(({ downloads }) => downloads.length > 0)),
  draw(scene) {
    const { theme, settings } = scene;
    const colours = groupColours(theme, settings);
    const all = laneOf(lastSeconds(scene.moments, DOWNLOADS_S), scene.lane).flatMap(({ downloads }) => downloads);
    if (all.length === 0) return undefined;
    const groups = settings.groups
      .map((group, i) => ({ group, i, of: all.filter((one) => one.group === i) }))
      .filter(({ of }) => of.length > 0);
    const times = all.flatMap(({ time_ms, ideal_ms }) => [time_ms, ideal_ms]);
    const decade = (value: number, up: boolean): number =>
      10 ** (up ? Math.ceil(Math.log10(value) - 1e-9) : Math.floor(Math.log10(value) + 1e-9));
    return {
      words: groups.map(({ group, i, of }) => ({
        text: COMPLETION.now(
          group.name,
          of.length,
          of.reduce((sum, { time_ms, ideal_ms }) => sum + time_ms / ideal_ms, 0) / of.length,
        ),
        colour: colours[i] ?? theme.ink,
      })),
      option: {
        ...base(theme),
        grid,
        xAxis: xAxis(theme, {
          type: "log",
          min: decade(Math.min(...all.map(({ bytes }) => bytes)) / 1000, false),
          max: decade(Math.max(...all.map(({ bytes }) => bytes)) / 1000, true),
          axisLabel: label(theme, COMPLETION.size),
        }),
        yAxis: yAxis(theme, {
          type: "log",
          min: decade(Math.max(0.1, Math.min(...times)), false),
          max: decade(Math.max(...times), true),
          axisLabel: label(theme, COMPLETION.time),
        }),
        series: groups.flatMap(({ group, i, of }): Series[] => [
          {
            id: `downloads ${group.name}`,
            type: "scatter",
            name: group.name,
            data: of.slice(-600).map(({ bytes, time_ms }) => [bytes / 1000, time_ms]),
            symbolSize: 4,
            itemStyle: { color: colours[i] ?? theme.ink, opacity: 0.55 },
            emphasis: { disabled: true },
            silent: true,
          },
          lineOf(
            COMPLETION.ideal(group.name),
            colours[i] ?? theme.ink,
            of.map(({ bytes, ideal_ms }): [number, number] => [bytes / 1000, ideal_ms]).sort((p, q) => p[0] - q[0]),
            { lineStyle: { width: 1.25 }, silent: true },
          ),
        ]),
        tooltip: { show: false },
      },
    };
  },
};

export const scores: Plot = {
  name: "scores",
  title: SCORES.title,
  note: SCORES.note,
  fits: (_, moments) =>
    (moments.at(-1)?.state.lanes ?? []).some(({ flows }) => flows.some(({ classic_ecn }) => classic_ecn !== undefined)),
  draw(scene) {
    const { theme, settings, lane } = scene;
    const recent = lastSeconds(scene.moments, BACK_S);
    const colours = groupColours(theme, settings);
    const lines = flowsOf(recent, lane)
      .filter(awake(settings))
      .flatMap(({ flow, group }) => {
        const data = course(recent, lane, 0.5, score(flow));
        return data.length > 0 ? [{ name: CHART.flow(settings.groups[group]?.name, flow), group, data }] : [];
      });
    if (lines.length === 0) return undefined;
    // The score has limits on either side: 8 unless set.
    const far = Math.max(4, ...lines.flatMap(({ data }) => data.map(([, y]) => 4 * Math.ceil(Math.abs(y) / 4))));
    const marks = across(theme, [
      { y: 0, text: "" },
      { y: 1, text: SCORES.classic },
    ]);
    return {
      words: [...new Set(lines.map(({ group }) => group))].map((group) => {
        const of = lines.filter((line) => line.group === group).map(({ data }) => data[data.length - 1]?.[1] ?? 0);
        const now = of.reduce((x, y) => x + y, 0) / of.length;
        return {
          text: SCORES.now(settings.groups[group]?.name, now),
          colour: colours[group] ?? theme.ink,
        };
      }),
      option: {
        ...base(theme),
        grid,
        xAxis: agoAxis(theme),
        yAxis: yAxis(theme, {
          type: "value",
          min: -far,
          max: far,
          interval: far / 2,
          axisLabel: label(theme, (v) => digits(v)),
        }),
        series: lines.map(({ name, group, data }, i) =>
          lineOf(name, colours[group] ?? theme.ink, data, {
            lineStyle: { width: lines.length > MANY ? 1 : 1.75 },
            ...(i === 0 ? marks : {}),
          }),
        ),
        tooltip: tip(theme, CHART.agoHovered, (y) => y.toFixed(2)),
      },
    };
  },
};

export const PLOTS: Plot[] = [
  histogram,
  distribution,
  delays,
  throughput,
  used,
  signals,
  uplinkDelays,
  uplinkSignals,
  fairness,
  completion,
  scores,
];
