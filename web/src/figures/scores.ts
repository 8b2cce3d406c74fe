// The inputs and verdicts of detectors of Classic ECN over time: the score, the queue depth that a sender
// estimates, and the variation of its RTT, each with its thresholds.

import type { LineSeriesOption, Series } from "../chart";
import type { DetectorSeries, Truth } from "../data";
import type { Figure } from "../figure";
import { base, gridOf, heading, panelsAcross, tile, yAxis } from "../figure";
import type { Look } from "../lights/data";
import { PAINTS } from "../lights/glyphs";
import { groupName, type Item, runNames } from "../runs";
import { type Theme, trafficColour } from "../theme";
import { SCORES } from "../words/charts";
import { digits, ms, seconds } from "../words/numbers";
import { boxAt, type Drawn, endOf, lineTip, timeAxis } from "./delay";

/** One of the three. */
interface Quantity {
  name: string;
  title: string;
  note: string;
  unit: string;
  of(line: DetectorSeries): (number | null)[];
  /** Lines to compare with. */
  levels: number[];
  /** Whether the background says where the values should be. */
  judged?: true;
  /** The range that is always in view. */
  range: [number, number];
  print(value: number): string;
}

const QUANTITIES: Quantity[] = [
  {
    name: "score-time",
    ...SCORES.score,
    of: ({ score }) => score,
    levels: [0, 1],
    judged: true,
    range: [-1, 2],
    print: (v) => digits(v),
  },
  {
    name: "depth-time",
    ...SCORES.depth,
    of: ({ depth_ms }) => depth_ms,
    levels: [2],
    range: [0, 4],
    print: (v) => ms(v, 3),
  },
  {
    name: "deviation-time",
    ...SCORES.deviation,
    of: ({ mdev_ms }) => mdev_ms,
    levels: [0.75],
    range: [0, 1.5],
    print: (v) => ms(v, 3),
  },
];

/** A panel per run for each quantity that was sampled. */
export function scores(drawn: Drawn[], all: Item[]): Figure[] {
  const heard = drawn.filter(({ curves }) => (curves.detector ?? []).length > 0);
  return heard.length === 0 ? [] : QUANTITIES.map((quantity) => draw(quantity, heard, all));
}

/** From the lowest to the highest, rounded outwards. */
function bounds(quantity: Quantity, drawn: Drawn[]): [number, number] {
  const values = drawn.flatMap(({ curves }) =>
    (curves.detector ?? []).flatMap((line) => quantity.of(line).filter((v) => v !== null)),
  );
  const low = Math.min(quantity.range[0], ...values);
  const high = Math.max(quantity.range[1], ...values);
  const coarse = high - low > 4 ? 1 : 10;
  return [Math.floor(low * coarse) / coarse, Math.ceil(high * coarse) / coarse];
}

/** Where the score should be with this kind of queue, and where it should not (Fallback figures 10 and 11). */
function areas(theme: Theme, truth: { s: number; truth: Truth }[], end: number, [min, max]: [number, number]) {
  return truth.flatMap(({ s, truth: queue }, i) => {
    const until = truth[i + 1]?.s ?? end;
    const area = (look: Look, low: number, high: number) => [
      { xAxis: s, yAxis: low, itemStyle: { color: PAINTS[theme.mode][look].fill, opacity: 0.16 } },
      { xAxis: until, yAxis: high },
    ];
    const wrong = queue === "classic" ? "red" : "amber";
    return [area(queue === "classic" ? wrong : "right", min, 0), area(queue === "classic" ? "right" : wrong, 1, max)];
  });
}

function draw(quantity: Quantity, drawn: Drawn[], all: Item[]): Figure {
  const names = runNames(all);
  const titles = drawn.map(({ run }) => names.get(run) ?? "");
  const columns = (width: number) => panelsAcross(titles, width);
  return {
    name: quantity.name,
    title: quantity.title,
    note: quantity.note,
    height: (width) => 250 * Math.ceil(drawn.length / columns(width)) + 10,
    option: (canvas) => {
      const { theme } = canvas;
      const boxes = tile(drawn.length, columns(canvas.width), canvas, { left: 44, right: 16, top: 54, bottom: 42 });
      const [min, max] = bounds(quantity, drawn);
      return {
        ...base(theme),
        title: titles.map((title, i) => heading(theme, boxAt(boxes, i), title, [])),
        grid: boxes.map(gridOf),
        xAxis: drawn.map((_, i) => timeAxis(theme, i, endOf(drawn))),
        yAxis: drawn.map((_, i) =>
          yAxis(theme, {
            type: "value",
            gridIndex: i,
            min,
            max,
            splitNumber: 4,
            name: i % columns(canvas.width) === 0 ? quantity.unit : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          }),
        ),
        series: drawn.flatMap((item, panel) =>
          (item.curves.detector ?? []).map((line, i): Series => {
            const colour = trafficColour(theme, item.run.traffic[line.group]);
            const values = quantity.of(line);
            return {
              type: "line",
              name: `${groupName(item.run, line.group)} #${line.flow}`,
              xAxisIndex: panel,
              yAxisIndex: panel,
              data: line.s.map((s, k) => [s, values[k] ?? "-"]),
              showSymbol: false,
              lineStyle: { color: colour, width: 1.5 },
              itemStyle: { color: colour },
              emphasis: { disabled: true },
              clip: true,
              markLine: {
                silent: true,
                symbol: "none",
                label: { show: false },
                lineStyle: { color: theme.soft, type: [4, 4] as [number, number], width: 1 },
                data: i === 0 ? quantity.levels.map((level) => ({ yAxis: level })) : [],
              },
              markArea: {
                silent: true,
                data: i === 0 && quantity.judged ? areas(theme, item.curves.truth ?? [], endOf(drawn), [min, max]) : [],
              } as NonNullable<LineSeriesOption["markArea"]>,
            };
          }),
        ),
        tooltip: lineTip(theme, seconds, quantity.print),
      };
    },
  };
}
