// The charts of a lane: a card each. Only those near the screen are drawn, one per frame, a few
// times a second.

import { CanvasRenderer } from "echarts/renderers";
import { echarts } from "../chart";
import { el } from "../page/dom";
import { themeOf } from "../theme";
import { CHART } from "../words/live-charts";
import { PLOTS, type Plot, type Scene, type Word } from "./plots";
import type { Store } from "./store";

echarts.use([CanvasRenderer]);

interface Card {
  plot: Plot;
  root: HTMLElement;
  words: HTMLElement;
  box: HTMLElement;
  empty: HTMLElement;
  chart?: echarts.ECharts;
  near: boolean;
  said: string;
  look: string;
}

export class Charts {
  readonly root = el("div", { class: "cards" });
  private readonly cards: Card[] = PLOTS.map((plot) => this.card(plot));
  private queue: Card[] = [];
  private readonly watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = this.cards.find(({ root }) => root === target);
        if (card !== undefined) card.near = isIntersecting;
      }
      this.ask();
    },
    { rootMargin: "80px" },
  );
  private readonly resize = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const card = this.cards.find(({ box }) => box === target);
      card?.chart?.resize();
    }
  });

  constructor(
    private readonly store: Store,
    private readonly lane: number,
  ) {
    for (const card of this.cards) {
      this.root.append(card.root);
      this.watch.observe(card.root);
      this.resize.observe(card.box);
    }
  }

  /** Requests that those near the screen are redrawn. */
  ask(): void {
    this.queue = this.fitting().filter(({ near }) => near);
  }

  /** Draws all of them at once, with this width in pixels or else that of their cards. */
  all(width?: number): void {
    for (const card of this.fitting()) {
      this.draw(card);
      card.chart?.resize(width === undefined ? {} : { width });
    }
  }

  /** Those that say something; the others are hidden. */
  private fitting(): Card[] {
    const settings = this.store.shownSettings();
    const { moments } = this.store.view();
    for (const card of this.cards) {
      const fits = settings !== undefined && card.plot.fits?.(settings, moments) !== false;
      if (card.root.hidden === fits) card.root.hidden = !fits;
    }
    return this.cards.filter(({ root }) => !root.hidden);
  }

  /** All that were asked for are drawn. */
  get done(): boolean {
    return this.queue.length === 0;
  }

  /** Draws the next; whether there was one. */
  next(): boolean {
    const card = this.queue.shift();
    if (card === undefined) return false;
    this.draw(card);
    return true;
  }

  dispose(): void {
    this.watch.disconnect();
    this.resize.disconnect();
    for (const { chart } of this.cards) chart?.dispose();
  }

  private card(plot: Plot): Card {
    const words = el("p", { class: "words" });
    const box = el("div", { class: "plot", role: "img", "aria-label": CHART.label(plot.title, plot.note) });
    const empty = el("p", { class: "empty" }, [CHART.empty]);
    const root = el("figure", { class: "card", "data-plot": plot.name }, [
      el("figcaption", {}, [el("h3", {}, [plot.title]), el("p", { class: "note" }, [plot.note]), words]),
      box,
      empty,
    ]);
    return { plot, root, words, box, empty, near: false, said: "", look: "" };
  }

  private draw(card: Card): void {
    const { greeting, mode, window_s, log, each } = this.store;
    const { moments, shown } = this.store.view();
    if (greeting === undefined || shown === undefined || shown.settings.lanes[this.lane] === undefined) return;
    const scene: Scene = {
      theme: themeOf(mode),
      buckets: greeting.delay_buckets,
      moments,
      settings: shown.settings,
      lane: this.lane,
      window_s,
      log,
      each,
    };
    const drawing = card.plot.draw(scene);
    card.root.classList.toggle("idle", drawing === undefined);
    this.say(card, drawing?.words ?? []);
    if (drawing === undefined) return;
    card.chart ??= echarts.init(card.box, null, { renderer: "canvas" });
    // Axes of another type are other axes: nothing of the last ones is to stay.
    const look = `${mode} ${log}`;
    card.chart.setOption(drawing.option, card.look === look ? { replaceMerge: ["series"] } : { notMerge: true });
    card.look = look;
  }

  private say(card: Card, words: Word[]): void {
    const said = JSON.stringify(words);
    if (said === card.said) return;
    card.said = said;
    card.words.replaceChildren(
      ...words.map(({ text, colour }) => {
        const swatch = el("i", { "aria-hidden": "true" });
        swatch.style.background = colour;
        return el("span", {}, [swatch, text]);
      }),
    );
    card.box.setAttribute("aria-label", CHART.label(card.plot.title, words.map(({ text }) => text).join("; ")));
  }
}
