// The details of one square: shown for the one under the pointer or in focus, or the pinned one.

import { el } from "../page/dom";
import { digits, ratio } from "../words/numbers";
import { scoreChart } from "./chart";
import type { Lights, Square } from "./data";
import { lookOf, mixInWords, outcome, scheduleName, where } from "./words";

/** The facts of a square, named. */
export function facts(square: Square): [string, string][] {
  const list: [string, string][] = [];
  if (square.score !== undefined) {
    const [low, high] = [square.low?.at(-1), square.high?.at(-1)];
    const several = typeof low === "number" && typeof high === "number" && low < high;
    list.push([
      "last score",
      several ? `${digits(square.score)} (${digits(low)} to ${digits(high)})` : digits(square.score),
    ]);
  }
  if (square.ratio !== undefined) list.push(["rates, Prague over Cubic", ratio(square.ratio)]);
  if (square.short !== undefined) list.push(["short flows scored, wrong", `${square.short[0]}, ${square.short[1]}`]);
  return list;
}

/** The text of a square for a screen reader. */
export function label(lights: Lights, square: Square): string {
  const schedule = lights.schedules[square.at[0]];
  const said = facts(square).map(([name, value]) => `${name} ${value}`);
  return [where(lights, square), schedule === undefined ? "" : outcome(square, schedule), ...said]
    .filter(Boolean)
    .join(", ");
}

export class Detail {
  readonly root = el("aside", { class: "card detail", "aria-label": "The square" });
  private readonly body = el("div", { class: "facts", "aria-live": "polite" });
  private pinned: Square | undefined;

  constructor(private readonly lights: Lights) {
    this.root.append(this.body);
    this.idle();
  }

  /** Shows a square, unless one is pinned. */
  show(square: Square): void {
    if (this.pinned === undefined) this.draw(square, false);
  }

  /** Pins a square; the pinned one again lets it go. Returns the pinned one. */
  pin(square: Square | undefined): Square | undefined {
    this.pinned = square === this.pinned ? undefined : square;
    if (this.pinned !== undefined) this.draw(this.pinned, true);
    else if (square !== undefined) this.draw(square, false);
    return this.pinned;
  }

  private idle(): void {
    this.body.replaceChildren(
      el("p", { class: "soft" }, [
        "Point at a square, or go there with the arrow keys, to see its score over time. Click or press Enter to pin it and get its command; Escape lets it go.",
      ]),
    );
  }

  private draw(square: Square, pinned: boolean): void {
    const schedule = this.lights.schedules[square.at[0]];
    if (schedule === undefined) return;
    const mix = this.lights.traffic[square.at[1]] ?? "";
    this.root.classList.toggle("pinned", pinned);
    const words = el("div", { class: "words" }, [
      el("h2", {}, [where(this.lights, square), el("small", {}, [scheduleName(schedule)])]),
      el("p", { class: `outcome ${lookOf(square)}` }, [outcome(square, schedule)]),
      el("p", { class: "soft" }, [`${mixInWords(mix)}`]),
      el(
        "dl",
        {},
        facts(square).map(([name, value]) => el("div", {}, [el("dt", {}, [name]), el("dd", {}, [value])])),
      ),
    ]);
    const drawn = square.mean !== undefined || square.ends !== undefined;
    const chart = el("div", { class: "chart" }, drawn ? [] : [el("p", { class: "soft" }, ["No score was kept."])]);
    if (drawn) {
      chart.append(scoreChart(this.lights, schedule, square));
      const dots = square.ends === undefined ? "" : " Dots: short flows, when they ended.";
      chart.append(el("p", { class: "soft" }, [`Score: Classic from 1, L4S up to 0.${dots}`]));
    }
    this.body.replaceChildren(words, chart);
    if (pinned) this.body.append(el("p", { class: "command" }, ["This run alone: ", el("code", {}, [square.command])]));
  }
}
