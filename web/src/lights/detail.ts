// The details of one square: shown for the one under the pointer or in focus, or the pinned one.

import { el } from "../page/dom";
import { DETAIL, mixInWords, outcome, scheduleName, where } from "../words/lights";
import { digits, inRange, ratio } from "../words/numbers";
import { scoreChart } from "./chart";
import { type Lights, lookOf, type Square } from "./data";

/** The facts of a square, named. */
export function facts(square: Square): [string, string][] {
  const list: [string, string][] = [];
  if (square.score !== undefined) {
    const [low, high] = [square.low?.at(-1), square.high?.at(-1)];
    const several = typeof low === "number" && typeof high === "number" && low < high;
    list.push([DETAIL.lastScore, several ? inRange(square.score, low, high, digits) : digits(square.score)]);
  }
  if (square.ratio !== undefined) list.push([DETAIL.ratio, ratio(square.ratio)]);
  if (square.short !== undefined) list.push([DETAIL.shortFlows, `${square.short[0]}, ${square.short[1]}`]);
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
  readonly root = el("aside", { class: "card detail", "aria-label": DETAIL.name });
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
    this.body.replaceChildren(el("p", { class: "soft" }, [DETAIL.hint]));
  }

  private draw(square: Square, pinned: boolean): void {
    const schedule = this.lights.schedules[square.at[0]];
    if (schedule === undefined) return;
    const mix = this.lights.traffic[square.at[1]] ?? "";
    this.root.classList.toggle("pinned", pinned);
    const words = el("div", { class: "words" }, [
      el("h2", {}, [where(this.lights, square), el("small", {}, [scheduleName(schedule)])]),
      el("p", { class: `outcome ${lookOf(square)}` }, [outcome(square, schedule)]),
      el("p", { class: "soft" }, [mixInWords(mix)]),
      el(
        "dl",
        {},
        facts(square).map(([name, value]) => el("div", {}, [el("dt", {}, [name]), el("dd", {}, [value])])),
      ),
    ]);
    const drawn = square.mean !== undefined || square.ends !== undefined;
    const chart = el("div", { class: "chart" }, drawn ? [] : [el("p", { class: "soft" }, [DETAIL.noScore])]);
    if (drawn) {
      chart.append(scoreChart(this.lights, schedule, square));
      chart.append(el("p", { class: "soft" }, [DETAIL.howToRead(square.ends !== undefined)]));
    }
    this.body.replaceChildren(words, chart);
    if (pinned) this.body.append(el("p", { class: "command" }, [DETAIL.command, el("code", {}, [square.command])]));
  }
}
