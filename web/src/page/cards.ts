// A card per figure. Charts are drawn when they come near the screen, and again when their size,
// the theme or the choice changes.

import { echarts } from "../chart";
import type { Figure } from "../figure";
import { type Mode, themeOf } from "../theme";
import { CARDS, NUMBERS, TABLE } from "../words/report";
import { el } from "./dom";
import { numbers, numberTable } from "./numbers";

interface Card {
  root: HTMLElement;
  title: HTMLElement;
  note: HTMLElement;
  plot: HTMLElement;
  /** The part that scrolls sideways where the chart is wider. */
  scroll: HTMLElement;
  tables: HTMLDetailsElement;
  /** For screen readers: where the numbers are. */
  hint: HTMLElement;
  figure: Figure;
  chart?: echarts.ECharts;
  near: boolean;
}

/** Width of a sheet of A4 between its margins, in pixels of CSS. */
const PAPER = 690;
/** Printed charts are drawn as on a screen of this width, where their labels fit, and scaled down. */
const DRAWN = 1000;

const isTail = (name: string): boolean => name === "delay-tail";

export class Cards {
  /** Charts of single runs. */
  readonly curves = el("section", { class: "cards", "aria-label": CARDS.runs });
  /** Charts over the conditions of a sweep. */
  readonly conditions = el("section", { class: "cards", "aria-label": CARDS.conditions });
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
      card.plot.setAttribute("aria-label", figure.title);
      this.tell(card);
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
    const id = slot(figure.name);
    note.id = `${id}-note`;
    const hint = el("p", { class: "spoken", id: `${id}-hint` });
    const plot = el("div", { class: "plot", role: "img", "aria-describedby": `${note.id} ${hint.id}` });
    const scroll = el("div", { class: "scroll" }, [plot]);
    const tables = el("details", { class: "numbers" });
    const head = el("div", { class: "head" }, [title]);
    if (slot(figure.name) === "delay-cdf") head.append(this.tailSwitch());
    const root = el("figure", { class: "card", id: slot(figure.name) }, [
      el("figcaption", {}, [head, note]),
      scroll,
      hint,
      tables,
    ]);
    const card: Card = { root, title, note, plot, scroll, tables, hint, figure, near: false };
    plot.style.height = `${figure.height(800)}px`;
    this.cards.set(slot(figure.name), card);
    this.watch.observe(plot);
    this.resize.observe(plot);
    return card;
  }

  private tailSwitch(): HTMLElement {
    const button = el("button", { type: "button", class: "switch", "aria-pressed": "false" }, [CARDS.tail]);
    button.addEventListener("click", () => {
      this.tail = !this.tail;
      button.setAttribute("aria-pressed", String(this.tail));
      this.show(this.latest, this.mode);
    });
    return button;
  }

  private draw(card: Card): void {
    const { plot, scroll, figure } = card;
    plot.style.minWidth = figure.minWidth === undefined ? "" : `${figure.minWidth}px`;
    plot.style.zoom = "";
    const width = plot.clientWidth;
    if (width === 0) return;
    this.paint(card, width, this.mode);
    // What scrolls is reached with the keyboard.
    const scrolls = scroll.scrollWidth > scroll.clientWidth;
    for (const [name, value] of Object.entries({
      tabindex: "0",
      role: "group",
      "aria-label": TABLE.chart(figure.title),
    })) {
      if (scrolls) scroll.setAttribute(name, value);
      else scroll.removeAttribute(name);
    }
  }

  private paint(card: Card, width: number, mode: Mode): void {
    const { plot, figure } = card;
    const height = figure.height(width);
    plot.style.height = `${height}px`;
    card.chart ??= echarts.init(plot, null, { renderer: "svg", width, height });
    // The name and the description of the plot say it; the bare labels of axes would follow.
    plot.firstElementChild?.setAttribute("aria-hidden", "true");
    card.chart.resize({ width, height });
    card.chart.setOption(figure.option({ theme: themeOf(mode), width, height, top: 0 }), { notMerge: true });
  }

  /** The numbers of a chart as text: tables below it, or the place where they are. */
  private tell({ figure, tables, hint }: Card): void {
    const canvas = { theme: themeOf(this.mode), width: PAPER, height: figure.height(PAPER), top: 0 };
    const found = figure.sweep === true ? [] : numbers(figure.option(canvas));
    tables.hidden = found.length === 0;
    tables.replaceChildren(
      el("summary", {}, [NUMBERS.summary]),
      el(
        "div",
        { class: "scroll table", tabindex: "0", role: "group", "aria-label": NUMBERS.summary },
        found.map(numberTable),
      ),
    );
    hint.textContent = found.length === 0 ? NUMBERS.inRuns : NUMBERS.inTables;
  }

  /** All charts, near the screen or not, in light colours and as wide as a sheet of paper. */
  print(): void {
    for (const card of this.cards.values()) {
      const width = Math.max(DRAWN, card.figure.minWidth ?? 0);
      card.plot.style.minWidth = `${width}px`;
      card.plot.style.zoom = String(PAPER / width);
      this.paint(card, width, "light");
    }
  }

  /** Back to the screen. */
  restore(): void {
    for (const card of this.cards.values()) this.draw(card);
  }
}

/** The card that a figure belongs on. */
const slot = (name: string): string => (isTail(name) ? "delay-cdf" : name);
