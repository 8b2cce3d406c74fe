// A matrix of squares as a grid of a table: arrow keys go from square to square.

import { el } from "../page/dom";
import { countsInWords, MATRIX, mixInWords, scheduleName } from "../words/lights";
import { amount } from "../words/numbers";
import { type Lights, type Look, lookOf, type Square, saidOf } from "./data";
import { label } from "./detail";
import { GLYPHS } from "./glyphs";

const SVG = "http://www.w3.org/2000/svg";

/** Receives the events of a matrix. */
export interface Listener {
  /** The pointer or the focus came to a square. */
  shown(square: Square): void;
  /** A square is to be pinned; the one that then is. */
  pinned(square: Square | undefined): Square | undefined;
}

/** The sign of a look. */
export function glyph(look: Look): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 10 10");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", GLYPHS[look].path);
  path.setAttribute("class", GLYPHS[look].filled ? "filled" : "line");
  svg.append(path);
  return svg;
}

/** The target of an arrow key in a grid with these numbers of rows and columns; `null` for other keys. */
export function step(key: string, row: number, column: number, rows: number, columns: number): [number, number] | null {
  const within = (value: number, count: number): number => Math.min(Math.max(value, 0), count - 1);
  switch (key) {
    case "ArrowLeft":
      return [row, within(column - 1, columns)];
    case "ArrowRight":
      return [row, within(column + 1, columns)];
    case "ArrowUp":
      return [within(row - 1, rows), column];
    case "ArrowDown":
      return [within(row + 1, rows), column];
    case "Home":
      return [row, 0];
    case "End":
      return [row, columns - 1];
    default:
      return null;
  }
}

/** The matrix of schedule number `number`, as a card. */
export function matrix(lights: Lights, number: number, listener: Listener): HTMLElement {
  const schedule = lights.schedules[number];
  const tally = lights.tallies[number];
  if (schedule === undefined || tally === undefined) return el("section");
  const columns = lights.rates.length * lights.rtts.length;
  const cells: (HTMLTableCellElement | undefined)[][] = lights.traffic.map(() => []);
  const squares = new Map<EventTarget, Square>();
  for (const square of lights.squares) {
    if (square.at[0] !== number) continue;
    const [, mix, rate, rtt] = square.at;
    const look = lookOf(square);
    const cell = el("td", {
      role: "gridcell",
      class: `square ${look}${rtt === 0 ? " first" : ""}`,
      tabindex: "-1",
      "aria-label": label(lights, square),
    });
    cell.append(glyph(look));
    squares.set(cell, square);
    const row = cells[mix];
    if (row !== undefined) row[rate * lights.rtts.length + rtt] = cell;
  }
  const first = cells[0]?.[0];
  first?.setAttribute("tabindex", "0");
  const kind = (mix: string | undefined): string => mix?.split(":")[0] ?? "";
  const body = lights.traffic.map((mix, i) =>
    el("tr", kind(mix) !== kind(lights.traffic[i - 1]) && i > 0 ? { class: "apart" } : {}, [
      el("th", { scope: "row", title: mixInWords(mix) }, [mix]),
      ...Array.from({ length: columns }, (_, j) => cells[i]?.[j] ?? el("td")),
    ]),
  );
  const table = el(
    "table",
    { role: "grid", class: "lights", "aria-label": MATRIX.name(scheduleName(schedule), countsInWords(tally.all)) },
    [
      el("thead", {}, [
        el("tr", {}, [
          el("td"),
          ...lights.rates.map((rate) =>
            el("th", { scope: "colgroup", colspan: String(lights.rtts.length) }, [amount(rate)]),
          ),
        ]),
        el("tr", { class: "rtts" }, [
          el("th", { scope: "col" }, [MATRIX.rtt]),
          ...lights.rates.flatMap((_, i) =>
            lights.rtts.map((rtt, j) =>
              el("th", { scope: "col", class: i >= 0 && j === 0 ? "first" : "" }, [rtt.replace(/[a-z]+$/, "")]),
            ),
          ),
        ]),
      ]),
      el("tbody", {}, body),
    ],
  );
  // A square is never narrower than its sign.
  table.style.minWidth = `${38 + columns * 17}px`;
  listen(table, cells, squares, listener);
  const words = saidOf(lights, schedule)?.words ?? "";
  return el("section", { class: "card", "aria-label": scheduleName(schedule) }, [
    el("h2", {}, [scheduleName(schedule)]),
    el("p", { class: "soft" }, [MATRIX.counts(countsInWords(tally.all), words)]),
    el("div", { class: "scroll" }, [table]),
  ]);
}

/** Pointer, focus and keys. */
function listen(
  table: HTMLElement,
  cells: (HTMLTableCellElement | undefined)[][],
  squares: Map<EventTarget, Square>,
  listener: Listener,
): void {
  const under = (event: Event): [HTMLElement, Square] | undefined => {
    const cell = (event.target as Element).closest<HTMLElement>("td.square");
    const square = cell === null ? undefined : squares.get(cell);
    return cell === null || square === undefined ? undefined : [cell, square];
  };
  const pin = (square: Square | undefined): void => {
    const now = listener.pinned(square);
    for (const old of document.querySelectorAll(".lights [aria-selected]")) old.removeAttribute("aria-selected");
    for (const [cell, known] of squares) if (known === now) (cell as HTMLElement).setAttribute("aria-selected", "true");
  };
  const show = (event: Event): void => {
    const found = under(event);
    if (found !== undefined) listener.shown(found[1]);
  };
  table.addEventListener("pointerover", show);
  table.addEventListener("focusin", show);
  table.addEventListener("click", (event) => {
    const found = under(event);
    if (found === undefined) return;
    move(table, found[0]);
    pin(found[1]);
  });
  table.addEventListener("keydown", (event) => {
    const found = under(event);
    if (found === undefined) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pin(found[1]);
      return;
    }
    if (event.key === "Escape") {
      pin(undefined);
      return;
    }
    const row = cells.findIndex((line) => line.includes(found[0] as HTMLTableCellElement));
    const column = cells[row]?.indexOf(found[0] as HTMLTableCellElement) ?? 0;
    const next = step(event.key, row, column, cells.length, cells[0]?.length ?? 0);
    const target = next === null ? undefined : cells[next[0]]?.[next[1]];
    if (target === undefined) return;
    event.preventDefault();
    move(table, target);
  });
}

/** Takes the focus to a square: the one place of its table that the tab key comes to. */
function move(table: HTMLElement, target: HTMLElement): void {
  for (const old of table.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
  target.setAttribute("tabindex", "0");
  target.focus({ preventScroll: false });
}
