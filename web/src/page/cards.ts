// A card per figure. Charts are drawn when they come near the screen, and again when their size,
// the theme or the choice changes.

import { echarts } from "../chart";
import type { Figure } from "../figure";
import { type Mode, themeOf } from "../theme";
import { el } from "./dom";

interface Card {
  root: HTMLElement;
  title: HTMLElement;
  note: HTMLElement;
  plot: HTMLElement;
  figure: Figure;
  chart?: echarts.ECharts;
  near: boolean;
}

const isTail = (name: string): boolean => name === "delay-tail";

export class Cards {
  /** Charts of single runs. */
  readonly curves = el("section", { class: "cards", "aria-label": "Runs" });
  /** Charts over the conditions of a sweep. */
  readonly conditions = el("section", { class: "cards", "aria-label": "Conditions" });
  private readonly cards = new Map<string, Card>();
  private mode: Mode = "light";
  private tail = false;
  private latest: Figure[] = [];
  private readonly watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const card = this.of(entry.target);
        if (card === undefined) continue;
        card.near = entry.isIntersecting;
        if (card.near && card.chart === undefined) this.draw(card);
      }
    },
    { rootMargin: "400px" },
  );
  private readonly resize = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const card = this.of(entry.target);
      if (card?.chart !== undefined && card.plot.clientWidth !== card.chart.getWidth()) this.draw(card);
    }
  });

  /** Shows these figures and no others. */
  show(figures: Figure[], mode: Mode): void {
    this.mode = mode;
    this.latest = figures;
    // The distribution has two faces: one card, with a switch.
    const shown = figures.filter(({ name }) =>
      name === "delay-cdf" || isTail(name) ? isTail(name) === this.tail : true,
    );
    const wanted = new Set(shown.map((figure) => slot(figure.name)));
    for (const [name, card] of this.cards) {
      if (wanted.has(name)) continue;
      card.chart?.dispose();
      card.root.remove();
      this.cards.delete(name);
    }
    const narrow = shown.every(({ sweep, minWidth }) => sweep !== true || (minWidth ?? 0) < 420);
    this.conditions.classList.toggle("pairs", narrow);
    for (const figure of shown) {
      const card = this.cards.get(slot(figure.name)) ?? this.add(figure);
      card.figure = figure;
      card.title.textContent = figure.title;
      card.note.textContent = figure.note;
      card.plot.setAttribute("aria-label", `${figure.title}. ${figure.note}`);
      (figure.sweep === true ? this.conditions : this.curves).append(card.root);
      if (card.chart !== undefined) this.draw(card);
    }
  }

  private of(element: Element): Card | undefined {
    return [...this.cards.values()].find((card) => card.plot === element);
  }

  private add(figure: Figure): Card {
    const title = el("h2");
    const note = el("p");
    const plot = el("div", { class: "plot", role: "img" });
    const head = el("div", { class: "head" }, [title]);
    if (slot(figure.name) === "delay-cdf") head.append(this.tailSwitch());
    const root = el("figure", { class: "card", id: slot(figure.name) }, [
      el("figcaption", {}, [head, note]),
      el("div", { class: "scroll" }, [plot]),
    ]);
    const card: Card = { root, title, note, plot, figure, near: false };
    plot.style.height = `${figure.height(800)}px`;
    this.cards.set(slot(figure.name), card);
    this.watch.observe(plot);
    this.resize.observe(plot);
    return card;
  }

  private tailSwitch(): HTMLElement {
    const button = el("button", { type: "button", class: "switch", "aria-pressed": "false" }, ["Show the tail"]);
    button.addEventListener("click", () => {
      this.tail = !this.tail;
      button.setAttribute("aria-pressed", String(this.tail));
      this.show(this.latest, this.mode);
    });
    return button;
  }

  private draw(card: Card): void {
    const { plot, figure } = card;
    plot.style.minWidth = figure.minWidth === undefined ? "" : `${figure.minWidth}px`;
    const width = plot.clientWidth;
    if (width === 0) return;
    const height = figure.height(width);
    plot.style.height = `${height}px`;
    card.chart ??= echarts.init(plot, null, { renderer: "svg", width, height });
    card.chart.resize({ width, height });
    card.chart.setOption(figure.option({ theme: themeOf(this.mode), width, height, top: 0 }), { notMerge: true });
  }
}

/** The card that a figure belongs on. */
const slot = (name: string): string => (isTail(name) ? "delay-cdf" : name);
