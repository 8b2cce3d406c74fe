// The slides' matrices: a small picture for each pair of numbers of flows. Rates over time against an
// equal share, and distributions of queueing delay.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams, CustomSeriesRenderItemReturn } from "echarts";
import type { Run, Sketch } from "../data";
import type { Box, Figure } from "../figure";
import { base, gridOf, heading, tipLine, tooltip, xAxis, yAxis } from "../figure";
import { groupName, type Item, type Key, lineNames, mean, sweptValue, variedKeys } from "../runs";
import { type Theme, trafficColour } from "../theme";
import { MATRIX, SHARES } from "../words/charts";
import { setting } from "../words/names";
import { decades } from "./delay";
import { linesPath } from "./marks";
import { shareOf, shareWords, slug } from "./shares";

/** With more matrices than this, the sweep is over too much else. */
const MATRICES = 12;

/** One run in its place. */
interface Cell {
  run: Run;
  sketch: Sketch[];
  column: number;
  row: number;
}

/** The cells of one discipline, under one condition. */
export interface Matrix {
  name: string;
  across: Key;
  up: Key;
  cells: Cell[];
}

/** Every matrix that there is data for; of repeated runs the first. */
export function matricesOf(all: Item[]): Matrix[] {
  const sketched = all.filter(({ run }) => run.sketch !== undefined);
  const keys = variedKeys(sketched);
  const [across, up, third] = keys.filter(({ key }) => /^group\..+\.flows$/.test(key));
  if (across === undefined || up === undefined || third !== undefined) return [];
  const lines = lineNames(all);
  const others = keys.filter((key) => key !== across && key !== up);
  const matrices = new Map<string, Matrix>();
  for (const { run } of sketched) {
    const condition = others.map(({ key }) => setting(key, sweptValue(run, key)));
    const name = [lines.get(run) ?? "", ...condition].join(", ");
    const matrix = matrices.get(name) ?? { name, across, up, cells: [] };
    matrices.set(name, matrix);
    const [column, row] = [
      across.values.indexOf(sweptValue(run, across.key)),
      up.values.indexOf(sweptValue(run, up.key)),
    ];
    if (matrix.cells.some((cell) => cell.column === column && cell.row === row)) continue;
    matrix.cells.push({ run, sketch: run.sketch ?? [], column, row });
  }
  return matrices.size > MATRICES ? [] : [...matrices.values()];
}

/** The contents of every cell. */
interface Content {
  name: string;
  title: string;
  note: string;
  /** Lines of a group, in shares of the cell's width and height. */
  lines(sketch: Sketch): ([number, number] | null)[][];
  /** How wide they are. */
  width: number;
  /** Lines to read by. */
  guides: [number, number][][];
  /** Numbers for who hovers. */
  say(cell: Cell, group: string): string | undefined;
}

/** Every matrix: rates first. */
export function matrices(all: Item[]): Figure[] {
  const list = matricesOf(all);
  const range = decades(
    list.flatMap(({ cells }) => cells.flatMap(({ sketch }) => sketch.flatMap((s) => s.delay_ms))),
    0.1,
  );
  return [
    ...list.map((matrix) => draw(matrix, rates(matrix))),
    ...list.map((matrix) => draw(matrix, delays(matrix, range))),
  ];
}

/** The two groups, in the order of the axes. */
const groupsOf = (matrix: Matrix): string[] => [matrix.across, matrix.up].map(({ key }) => key.split(".")[1] ?? "");

const nameOf = (matrix: Matrix, group: string): string => {
  const run = matrix.cells[0]?.run;
  return run === undefined ? group : groupName(run, group);
};

function rates(matrix: Matrix): Content {
  const runs = matrix.cells.map(({ run }) => run);
  const seconds = Math.max(...runs.map((run) => run.summary.engine.virtual_s));
  return {
    name: `rate-matrix-${slug(matrix.name)}`,
    title: MATRIX.ratesTitle(matrix.name, shareWords(runs)),
    note: MATRIX.ratesNote(seconds),
    lines: ({ share }) =>
      share.map((line) => line.map((v, i) => (v === null ? null : [(i + 0.5) / line.length, Math.min(v / 200, 1)]))),
    width: 0.9,
    guides: [
      [
        [0, 0.5],
        [1, 0.5],
      ],
    ],
    say: ({ run }, group) => {
      const share = run.summary.groups.filter(({ name }) => name === group).map(shareOf)[0];
      return share && SHARES.one(share.value);
    },
  };
}

function delays(matrix: Matrix, [low, high]: [number, number]): Content {
  const place = (v: number): number => Math.log(Math.min(Math.max(v, low), high) / low) / Math.log(high / low);
  const steps = Math.round(Math.log10(high / low));
  const inner = Array.from({ length: steps - 1 }, (_, i) => i + 1);
  const delayOf = (run: Run, group: string) => run.summary.groups.find(({ name }) => name === group)?.delay_ms;
  const parts = groupsOf(matrix).flatMap((group) => {
    const value = mean(matrix.cells.map(({ run }) => delayOf(run, group)?.mean));
    return value === undefined ? [] : [MATRIX.delay(nameOf(matrix, group), value)];
  });
  return {
    name: `delay-matrix-${slug(matrix.name)}`,
    title: MATRIX.delaysTitle(matrix.name, parts),
    note: MATRIX.delaysNote(
      low,
      high,
      inner.map((i) => low * 10 ** i),
    ),
    lines: ({ delay_ms }) => {
      const curve = delay_ms.map((v, i): [number, number] => [place(v), (i + 0.5) / delay_ms.length]);
      const [first, last] = [curve[0], curve[curve.length - 1]];
      return first === undefined || last === undefined ? [] : [[[first[0], 0], ...curve, [last[0], 1]]];
    },
    width: 1.75,
    guides: inner.map((i): [number, number][] => [
      [i / steps, 0],
      [i / steps, 1],
    ]),
    say: ({ run }, group) => {
      const delay = delayOf(run, group);
      return delay && MATRIX.hovered(delay.mean, delay.p99);
    },
  };
}

/** Free pixels between cells. */
const GAP = 3;
const CELL = 62;

function draw(matrix: Matrix, content: Content): Figure {
  const groups = groupsOf(matrix);
  const { across, up } = matrix;
  const last = [across.values.length - 0.5, up.values.length - 0.5] as const;
  return {
    name: content.name,
    title: content.title,
    note: content.note,
    sweep: true,
    minWidth: across.values.length * 54 + 76,
    height: () => up.values.length * CELL + 82,
    option: (canvas) => {
      const { theme } = canvas;
      const box: Box = {
        left: 52,
        top: canvas.top + 34,
        width: canvas.width - 72,
        height: canvas.height - canvas.top - 82,
      };
      const colour = (group: string): string => trafficColour(theme, matrix.cells[0]?.run.traffic[group]);
      const axis = (key: Key, end: number) => ({
        type: "value" as const,
        min: -0.5,
        max: end,
        splitLine: { show: false },
        axisLine: { show: false, onZero: false },
        axisLabel: {
          color: theme.soft,
          fontSize: 12,
          fontFamily: theme.font,
          customValues: key.values.map((_, i) => i),
          formatter: (v: number) => key.values[v] ?? "",
        },
      });
      return {
        ...base(theme),
        title: heading(
          theme,
          box,
          "",
          groups.map((group) => ({ text: nameOf(matrix, group), colour: colour(group), strong: true })),
          28,
        ),
        grid: gridOf(box),
        xAxis: xAxis(theme, { ...axis(across, last[0]), name: MATRIX.flows(nameOf(matrix, groups[0] ?? "")) }),
        yAxis: yAxis(theme, {
          ...axis(up, last[1]),
          name: MATRIX.flows(nameOf(matrix, groups[1] ?? "")),
          nameLocation: "middle",
          nameGap: 30,
          nameRotate: 90,
        }),
        series: {
          type: "custom",
          renderItem: cell(theme, matrix, content, colour),
          data: matrix.cells.map(({ column, row }) => [column, row]),
          clip: false,
        },
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (params: unknown): string => {
            const hovered = matrix.cells[(params as { dataIndex: number }).dataIndex];
            if (hovered === undefined) return "";
            return groups
              .flatMap((group, i) => {
                const said = content.say(hovered, group);
                const flows = sweptValue(hovered.run, [across, up][i]?.key ?? "");
                return said === undefined ? [] : [tipLine(colour(group), `${flows} × ${nameOf(matrix, group)}`, said)];
              })
              .join("");
          },
        },
      };
    },
  };
}

/** Draws one cell: its ground, the lines to read by, and the lines of each group as one path. */
function cell(theme: Theme, matrix: Matrix, content: Content, colour: (group: string) => string) {
  return (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
    const own = matrix.cells[params.dataIndex];
    if (own === undefined) return;
    const [x1 = 0, y2 = 0] = api.coord([own.column - 0.5, own.row - 0.5]).map(Math.round);
    const [x2 = 0, y1 = 0] = api.coord([own.column + 0.5, own.row + 0.5]).map(Math.round);
    const [width, height] = [x2 - x1 - GAP, y2 - y1 - GAP];
    const at = ([x, y]: [number, number]): [number, number] => [x1 + x * width, y1 + (1 - y) * height];
    const path = (lines: ([number, number] | null)[][], stroke: string, lineWidth: number) => ({
      type: "path" as const,
      shape: { pathData: linesPath(lines.map((line) => line.map((point) => point && at(point)))) },
      style: { stroke, lineWidth, fill: "none", lineJoin: "round" as const },
    });
    const lines = own.sketch.map((sketch) => ({ lines: content.lines(sketch), colour: colour(sketch.group) }));
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: x1, y: y1, width, height }, style: { fill: theme.grid, opacity: 0.55 } },
        path(content.guides, theme.line, 1),
        ...lines
          .filter((group) => group.lines.length > 0)
          .map((group) => path(group.lines, group.colour, content.width)),
      ],
    };
  };
}
