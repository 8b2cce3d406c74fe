// Who gets how much: the rate of each flow over time.

import type { Series } from "../chart";
import type { RateSeries } from "../data";
import type { Figure, Word } from "../figure";
import { base, gridOf, heading, panelsAcross, tile, WORD_LINE, wordLines, yAxis } from "../figure";
import type { Item } from "../runs";
import { groupName, runNames } from "../runs";
import { groupColour, type Theme, themeOf } from "../theme";
import { AXES, RATES } from "../words/charts";
import { mbps, seconds } from "../words/numbers";
import { boxAt, type Drawn, endOf, lineTip, timeAxis, warmupMark } from "./delay";

/** `DCTCP 24 Mb/s   Cubic 15 Mb/s`: a panel's lines and their mean rates per flow. */
export function rateWords(theme: Theme, item: Drawn): Word[] {
  const there = new Set(rateSeries(item).map(({ group }) => group));
  return item.run.summary.groups
    .filter(({ name }) => there.has(name))
    .slice(0, 4)
    .map((group) => ({
      text: RATES.mean(groupName(item.run, group.name), group.flows, group.rate_per_flow_bps ?? group.rate_bps),
      colour: groupColour(theme, item.run, group.name),
      strong: true,
    }));
}

/** The most lines that the words of a run take in a panel of this width. */
export const labelLines = (drawn: Drawn[], width: number): number =>
  Math.max(1, ...drawn.map((item) => wordLines(rateWords(themeOf("light"), item), width).length));

/** The highest rate to show, in Mb/s: a round number. */
export function rateTop(drawn: Drawn[]): number {
  const link = Math.max(...drawn.map(({ run }) => run.summary.link.rate_bps / 1e6));
  const seen = Math.max(
    0,
    ...drawn.flatMap((item) =>
      rateSeries(item).flatMap(({ mbps, s }) =>
        mbps.map((v, i) => ((s[i] ?? 0) >= item.curves.warmup_s ? (v ?? 0) : 0)),
      ),
    ),
  );
  const wanted = Math.min(link, seen * 1.08) || link;
  const step = 10 ** Math.floor(Math.log10(wanted));
  const rounded = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((k) => k * step >= wanted) ?? 10;
  return rounded * step;
}

/** The series of flows, and of the UDP sources, which have theirs in the output of the link. */
function rateSeries({ run, curves: { rate, output } }: Drawn): RateSeries[] {
  const there = new Set(rate.map(({ group }) => group));
  return [...rate, ...(output ?? []).filter(({ group }) => run.traffic[group] === "udp" && !there.has(group))];
}

/** The lines of one run. */
export const rateLines = (theme: Theme, item: Drawn, panel: number, width = 1.5): Series[] =>
  rateSeries(item).flatMap((line, i): Series[] => {
    const colour = groupColour(theme, item.run, line.group);
    const flows = item.run.summary.groups.find((group) => group.name === line.group)?.flows ?? 1;
    const programs = (item.curves.program_delay ?? []).some(({ group }) => group === line.group);
    const together = line.flow === undefined && (flows > 1 || (programs && flows > 0));
    const group = groupName(item.run, line.group);
    const name = together
      ? RATES.together(group)
      : line.flow !== undefined && flows > 1
        ? RATES.flow(group, line.flow)
        : group;
    const thin = item.curves.rate.length > 6;
    const drawn = (of: string, mbps: (number | null)[], dash: object): Series => ({
      type: "line",
      name: of,
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: line.s.map((s, k) => [s, mbps[k] ?? "-"]),
      showSymbol: false,
      lineStyle: { color: colour, width: thin ? 1 : width, opacity: thin ? 0.7 : 1, ...dash },
      itemStyle: { color: colour },
      emphasis: { disabled: true },
      clip: true,
    });
    return [
      { ...drawn(name, line.mbps, {}), ...(i === 0 ? warmupMark(theme, item.curves.warmup_s) : {}) },
      ...(line.goodput_mbps === undefined ? [] : [drawn(RATES.goodput(name), line.goodput_mbps, { type: [4, 3] })]),
    ];
  });

/** A panel per run. */
export function rates(drawn: Drawn[], all: Item[]): Figure {
  const goodput = drawn.some(({ curves }) => curves.rate.some((line) => line.goodput_mbps !== undefined));
  const programs = drawn.some(({ curves }) => (curves.program_delay ?? []).length > 0);
  const words = {
    name: "rate-time",
    title: RATES.title,
    note: RATES.note(programs, goodput),
  };
  return ratePanels(words, drawn, all, { max: rateTop(drawn), splitNumber: 4 }, rateLines);
}

/** Rates over time: a panel per run, with these lines in it, up to the end of the axis. */
export function ratePanels(
  words: Pick<Figure, "name" | "title" | "note">,
  drawn: Drawn[],
  all: Item[],
  axis: { max: number; splitNumber?: number; interval?: number },
  lines: (theme: Theme, item: Drawn, panel: number) => Series[],
): Figure {
  const names = runNames(all);
  const titles = drawn.map(({ run }) => names.get(run) ?? "");
  const columns = (width: number) => panelsAcross(titles, width);
  const side = { left: 44, right: 16 };
  /** The height of the lines of words beside the first one. */
  const more = (width: number) => (labelLines(drawn, width / columns(width) - side.left - side.right) - 1) * WORD_LINE;
  return {
    ...words,
    height: (width) => (250 + more(width)) * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const margin = { ...side, top: 54 + more(canvas.width), bottom: 42 };
      const boxes = tile(drawn.length, columns(canvas.width), canvas, margin);
      return {
        ...base(theme),
        title: drawn.map((item, i) => heading(theme, boxAt(boxes, i), titles[i] ?? "", rateWords(theme, item))),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, i) => timeAxis(theme, i, endOf(drawn))),
        yAxis: drawn.map((_, i) =>
          yAxis(theme, {
            type: "value",
            gridIndex: i,
            min: 0,
            ...axis,
            name: i % columns(canvas.width) === 0 ? AXES.mbps : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          }),
        ),
        series: drawn.flatMap((item, panel) => lines(theme, item, panel)),
        tooltip: lineTip(theme, seconds, mbps),
      };
    },
  };
}
