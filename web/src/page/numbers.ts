// The numbers behind a chart of curves, as tables: percentiles of a distribution, the range of a
// course over time. Charts over conditions have theirs in the table of all runs.

import type { Option } from "../chart";
import { digits } from "../words/numbers";
import { NUMBERS } from "../words/report";
import { el } from "./dom";

interface Axis {
  name?: string;
}

interface Line {
  type?: string;
  name?: string;
  data?: unknown;
  xAxisIndex?: number;
  silent?: boolean;
}

type Point = [number, number];

const PERCENTILES = [25, 50, 75, 99];

/** One curve in numbers. */
export interface Row {
  name: string;
  values: string[];
}

export interface Numbers {
  caption: string;
  head: string[];
  rows: Row[];
}

const all = <T>(of: unknown): T[] => (of === undefined ? [] : [of].flat()) as T[];

/** Text of a title without its markup, up to the first line break. */
const plain = (text: string): string => (text.split("\n")[0] ?? "").replace(/\{\w+\|([^}]*)\}/g, "$1").trim();

/** The tables of what a chart shows; none for charts that are not curves. */
export function numbers(option: Option): Numbers[] {
  const [x, y] = [all<Axis>(option.xAxis), all<Axis>(option.yAxis)];
  const panels = all<{ text?: string }>(option.title)
    .map(({ text }) => plain(text ?? ""))
    .filter(Boolean);
  const distribution: Numbers = { caption: NUMBERS.distribution, head: NUMBERS.percentiles(PERCENTILES), rows: [] };
  const courses = new Map<string, Numbers>();
  for (const line of all<Line>(option.series)) {
    const points = Array.isArray(line.data) ? line.data.filter(isPoint) : [];
    if (line.type !== "line" || line.name === undefined || line.silent === true || points.length < 2) continue;
    const axis = line.xAxisIndex ?? 0;
    const panel = panels[Math.floor((axis * panels.length) / Math.max(1, x.length))];
    const name = panel === undefined ? line.name : `${panel}: ${line.name}`;
    if (x[axis]?.name === NUMBERS.delayAxis || x[axis]?.name?.startsWith(NUMBERS.delayAxis) === true) {
      distribution.rows.push({ name, values: percentiles(points) });
    } else if (x.some((one) => one.name?.startsWith(NUMBERS.timeAxis))) {
      // Only the first panel of a row names its unit.
      const unit =
        y
          .slice(0, axis + 1)
          .map((one) => one.name ?? "")
          .filter(Boolean)
          .at(-1) ?? "";
      const caption = NUMBERS.course(unit);
      const table = courses.get(caption) ?? { caption, head: NUMBERS.range, rows: [] };
      courses.set(caption, table);
      table.rows.push({ name, values: range(points.map(([, value]) => value)) });
    }
  }
  return [distribution, ...courses.values()].filter(({ rows }) => rows.length > 0);
}

const isPoint = (of: unknown): of is Point =>
  Array.isArray(of) && typeof of[0] === "number" && typeof of[1] === "number";

/** Delays at percentiles, from a curve of shares in percent that rises, or one that falls. */
function percentiles(points: Point[]): string[] {
  const rises = (points.at(-1)?.[1] ?? 0) > (points[0]?.[1] ?? 0);
  return PERCENTILES.map((share) => {
    const point = points.find(([, y]) => (rises ? y >= share : 100 - y >= share - 1e-9));
    return point === undefined ? "" : digits(point[0]);
  });
}

function range(values: number[]): string[] {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return [Math.min(...values), mean, Math.max(...values)].map((value) => digits(value));
}

/** As HTML. */
export const numberTable = ({ caption, head, rows }: Numbers): HTMLElement =>
  el("table", {}, [
    el("caption", {}, [caption]),
    el("thead", {}, [
      el(
        "tr",
        {},
        head.map((text) => el("th", { scope: "col" }, [text])),
      ),
    ]),
    el(
      "tbody",
      {},
      rows.map(({ name, values }) =>
        el("tr", {}, [
          el("th", { scope: "row" }, [name]),
          ...values.map((value) => el("td", { class: "number" }, [value])),
        ]),
      ),
    ),
  ]);
