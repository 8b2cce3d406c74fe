// The way back: while frozen, a slider over the last minute and more.

import { el } from "../page/dom";
import { TIMELINE } from "../words/live";
import { digits } from "../words/numbers";
import { freshId } from "./field";
import type { Store } from "./store";

export class Timeline {
  readonly root: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly output: HTMLElement;

  constructor(private readonly store: Store) {
    const id = freshId();
    this.input = el("input", { id, type: "range", min: "0", step: "1" });
    this.output = el("output", { for: id });
    const live = el("button", { type: "button" }, [TIMELINE.back]);
    live.addEventListener("click", () => store.live());
    this.input.addEventListener("input", () => store.step(Number(this.input.value)));
    this.root = el("div", { class: "timeline", role: "group", "aria-label": TIMELINE.name }, [
      el("label", { for: id }, [TIMELINE.label]),
      this.output,
      this.input,
      el("span", { class: "hint" }, [TIMELINE.hint]),
      live,
    ]);
    this.root.hidden = true;
    store.on("view", () => this.update());
  }

  private update(): void {
    const { past } = this.store;
    const was = this.root.hidden;
    this.root.hidden = past === undefined;
    if (past === undefined) return;
    this.input.max = String(past.moments.length - 1);
    this.input.value = String(past.at);
    this.input.style.setProperty("--at", `${(100 * past.at) / Math.max(1, past.moments.length - 1)}%`);
    const shown = past.moments[past.at];
    const end = past.moments[past.moments.length - 1];
    if (shown === undefined || end === undefined) return;
    const ago = (end.at - shown.at) / 1000;
    const words = TIMELINE.at(digits(shown.state.time_s, 4), ago);
    this.output.textContent = words;
    this.input.setAttribute("aria-valuetext", words);
    // A viewer who froze it with the space bar steps with the arrows.
    if (was && document.activeElement === document.body) this.input.focus();
  }
}
