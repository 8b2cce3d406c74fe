// Marks that ECharts does not have: whiskers, bars that have them, and many lines or dots in one path.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams, CustomSeriesRenderItemReturn } from "echarts";
import type { Theme } from "../theme";

/** Draws whiskers: a line from low to high, a dot at the value. */
export function whisker(theme: Theme, colour: string, symbol: string, radius: number) {
  return (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
    void params;
    const x = Number(api.value(0));
    const [px = 0, mid = 0] = api.coord([x, Number(api.value(1))]);
    const low = api.coord([x, Number(api.value(2))])[1] ?? 0;
    const high = api.coord([x, Number(api.value(3))])[1] ?? 0;
    const stroke = { stroke: colour, lineWidth: 1.75, fill: "none" };
    const cap = radius * 0.8;
    const line = (x1: number, y1: number, x2: number, y2: number) => ({
      type: "line" as const,
      shape: { x1, y1, x2, y2 },
      style: stroke,
    });
    const dot = { fill: colour, stroke: theme.paper, lineWidth: 1 };
    const shape =
      symbol === "circle"
        ? { type: "circle" as const, shape: { cx: px, cy: mid, r: radius }, style: dot }
        : {
            type: "polygon" as const,
            shape: {
              points: [
                [px, mid - radius - 1],
                [px + radius + 1, mid],
                [px, mid + radius + 1],
                [px - radius - 1, mid],
              ],
            },
            style: dot,
          };
    return {
      type: "group",
      children: [
        line(px, low, px, high),
        line(px - cap, low, px + cap, low),
        line(px - cap, high, px + cap, high),
        shape,
      ],
    };
  };
}

/** A line at a value to compare with. */
export const level = (theme: Theme, value: number) => ({
  silent: true,
  symbol: "none",
  label: { show: false },
  lineStyle: { color: theme.soft, type: "solid" as const, width: 1 },
  data: [{ yAxis: value }],
});

/** Draws bars `wide` in units of the x axis, with a whisker from low to high. */
export function bar(theme: Theme, colour: string, wide: number) {
  return (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI): CustomSeriesRenderItemReturn => {
    const [x, value, low, high] = [0, 1, 2, 3].map((i) => Number(api.value(i))) as [number, number, number, number];
    const [left = 0, top = 0] = api.coord([x - wide / 2, value]);
    const [right = 0, bottom = 0] = api.coord([x + wide / 2, 0]);
    const middle = (left + right) / 2;
    const whole = {
      type: "rect" as const,
      shape: { x: left, y: top, width: right - left, height: bottom - top },
      style: { fill: colour },
    };
    if (low === high) return whole;
    const y1 = api.coord([x, low])[1] ?? 0;
    const y2 = api.coord([x, high])[1] ?? 0;
    const range = {
      type: "line" as const,
      shape: { x1: middle, y1, x2: middle, y2 },
      style: { stroke: theme.ink, lineWidth: 1.25, fill: "none" },
    };
    return { type: "group", children: [whole, range] };
  };
}

/** A tenth of a pixel is finer than anyone sees, and keeps files small. */
const pixel = (v: number): string => String(Math.round(v * 10) / 10);

/** Lines as one path; a gap begins a new one. */
export function linesPath(lines: ([number, number] | null)[][]): string {
  let path = "";
  for (const line of lines) {
    let pen = "M";
    for (const point of line) {
      if (point !== null) path += `${pen}${pixel(point[0])} ${pixel(point[1])}`;
      pen = point === null ? "M" : "L";
    }
  }
  return path;
}

/** Dots as one path, for a stroke with round ends: a line back to where it is. */
export const dotsPath = (dots: [number, number][]): string =>
  dots.map(([x, y]) => `M${pixel(x)} ${pixel(y)}Z`).join("");
