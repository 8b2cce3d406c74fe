// The score of a run over time, small: the mean of its long flows, the band of all of them, and a
// dot for each short flow when it ended.

import { DETAIL } from "../words/lights";
import { seconds } from "../words/numbers";
import type { Lights, Schedule, Square } from "./data";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 110;
const LEFT = 26;
const BOTTOM = 16;

function shape(name: string, attributes: Record<string, string | number>, words?: string): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (words !== undefined) element.textContent = words;
  return element;
}

/** The lowest and the highest drawn value, 0 and 1 among them. */
export function scoreRange({ mean = [], low = [], high = [], ends = [] }: Square): [number, number] {
  const there = [...mean, ...low, ...high, ...ends.map(([, score]) => score)].filter((v): v is number => v !== null);
  return [Math.min(-1, ...there), Math.max(2, ...there)];
}

/** A path through the points that there are; a gap begins a new line. */
export function pathOf(points: ([number, number] | null)[]): string {
  let pen = "M";
  const steps: string[] = [];
  for (const point of points) {
    if (point === null) {
      pen = "M";
      continue;
    }
    steps.push(`${pen}${point[0].toFixed(1)} ${point[1].toFixed(1)}`);
    pen = "L";
  }
  return steps.join("");
}

export function scoreChart(lights: Lights, schedule: Schedule, square: Square): SVGElement {
  const [least, most] = scoreRange(square);
  const x = (s: number): number => LEFT + (s / lights.duration_s) * (WIDTH - LEFT - 4);
  const y = (score: number): number => 5 + ((most - score) / (most - least)) * (HEIGHT - BOTTOM - 10);
  const line = (scores: (number | null)[]): ([number, number] | null)[] =>
    scores.map((score, i) => (score === null ? null : [x(lights.times[i] ?? 0), y(score)]));
  const chart = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "score",
    role: "img",
    "aria-label": DETAIL.chart,
  });
  for (const level of [0, 1]) {
    chart.append(shape("line", { x1: LEFT, x2: WIDTH - 4, y1: y(level), y2: y(level), class: "level" }));
  }
  chart.append(
    shape("text", { x: LEFT - 5, y: y(0) + 7, "text-anchor": "end" }, "0"),
    shape("text", { x: LEFT - 5, y: y(1) + 1, "text-anchor": "end" }, "1"),
    shape("text", { x: LEFT, y: HEIGHT - 3 }, seconds(0)),
    shape("text", { x: WIDTH - 4, y: HEIGHT - 3, "text-anchor": "end" }, seconds(lights.duration_s)),
  );
  if (schedule.since_s > 0) {
    const at = x(schedule.since_s);
    chart.append(shape("line", { x1: at, x2: at, y1: 2, y2: HEIGHT - BOTTOM, class: "change" }));
    chart.append(shape("text", { x: at, y: HEIGHT - 3, "text-anchor": "middle" }, seconds(schedule.since_s)));
  }
  const { mean = [], low = [], high = [], ends = [] } = square;
  if (low.length > 0) {
    const up = line(high).filter((p) => p !== null);
    const down = line(low).filter((p) => p !== null);
    chart.append(shape("path", { d: `${pathOf([...up, ...down.reverse()])}z`, class: "band" }));
  }
  chart.append(shape("path", { d: pathOf(line(mean)), class: "mean" }));
  for (const [s, score] of ends)
    chart.append(shape("circle", { cx: x(s).toFixed(1), cy: y(score).toFixed(1), r: 1.8, class: "end" }));
  return chart;
}
