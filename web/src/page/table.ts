// Every run in a row: its settings, its results, and the command that repeats it. A click on a
// heading sorts.

import { lags, type Path, type Queue } from "../data";
import { type Item, lineNames, variedKeys } from "../runs";
import { keyName } from "../words/names";
import { amount, digits } from "../words/numbers";
import { RUN_TABLE, TABLE } from "../words/report";
import { el } from "./dom";

export interface Column<T = Item> {
  head: string;
  /** The value to sort by. */
  value(item: T): number | string | undefined;
  /** The text to show; the value, unless given. */
  show?(item: T): string;
}

const QUEUES = ["L", "C", "Q"];

/** What an imperfect stretch does to packets. */
const EFFECTS = ["lost", "corrupted", "duplicated", "held_back", "mangled"] as const;

/** Of more groups than this the table has the first. */
const GROUPS = 32;

/** Sorts as a person expects: numbers by size, `12mbit` before `40mbit`, absent values last. */
export function compare(a: number | string | undefined, b: number | string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

export function columns(all: Item[]): Column[] {
  const names = lineNames(all);
  const list: Column[] = [
    { head: RUN_TABLE.run, value: ({ run }) => run.number },
    { head: RUN_TABLE.discipline, value: (item) => names.get(item.run) },
    ...variedKeys(all).map(
      ({ key }): Column => ({
        head: keyName(key),
        value: ({ run }) => (run.summary.set[key] === undefined ? undefined : String(run.summary.set[key])),
        show: ({ run }) => amount(String(run.summary.set[key] ?? "")),
      }),
    ),
    { head: RUN_TABLE.seed, value: ({ run }) => run.summary.seed },
  ];
  const number = (head: string, value: (item: Item) => number | undefined): void => {
    if (!all.some((item) => value(item) !== undefined)) return;
    list.push({
      head,
      value,
      show: (item) => {
        const v = value(item);
        return v === undefined ? "" : digits(v);
      },
    });
  };
  const link = (prefix: string, of: (item: Item) => { queues: Queue[]; utilization?: number } | undefined): void => {
    for (const name of QUEUES) {
      const queue = (item: Item) => of(item)?.queues.find((q) => q.name === name);
      number(RUN_TABLE.mean(prefix, name), (item) => queue(item)?.delay_ms?.mean);
      number(RUN_TABLE.p99(prefix, name), (item) => queue(item)?.delay_ms?.p99);
      number(RUN_TABLE.marked(prefix, name), (item) => times100(queue(item)?.mark));
      number(RUN_TABLE.dropped(prefix, name), (item) => times100(queue(item)?.drop));
    }
    number(RUN_TABLE.used(prefix), (item) => times100(of(item)?.utilization));
  };
  link("", ({ run: { summary } }) => ({ queues: summary.queues, utilization: summary.link.utilization }));
  const hops = new Set(all.flatMap(({ run }) => (run.summary.hops ?? []).map(({ name }) => name)));
  for (const name of hops) link(RUN_TABLE.hop(name), ({ run }) => run.summary.hops?.find((hop) => hop.name === name));
  const paths = new Set(all.flatMap(({ run }) => (run.summary.paths ?? []).map(({ name }) => name)));
  for (const name of paths) {
    for (const effect of EFFECTS) {
      const path = ({ run }: Item) => run.summary.paths?.find((path) => path.name === name && path.packets > 0);
      if (!all.some((item) => path(item)?.[effect])) continue;
      const share = (path: Path | undefined) => path && (100 * path[effect]) / path.packets;
      number(RUN_TABLE.effect(name, RUN_TABLE.effects[effect]), (item) => share(path(item)));
    }
  }
  const groups = new Set(all.flatMap(({ run }) => run.summary.groups.map(({ name }) => name)));
  for (const name of [...groups].slice(0, GROUPS)) {
    const of = ({ run }: Item) => run.summary.groups.find((group) => group.name === name);
    const own = all.flatMap((item) => of(item) ?? []);
    number(RUN_TABLE.rate(name), (item) => millionth(of(item)?.rate_bps));
    if (own.some((group) => lags(group.rate_bps, group.goodput_bps)))
      number(RUN_TABLE.goodput(name), (item) => millionth(of(item)?.goodput_bps));
    if (own.some((group) => group.cc === "udp")) {
      number(RUN_TABLE.delayMean(name), (item) => of(item)?.delay_ms?.mean);
      number(RUN_TABLE.delayP99(name), (item) => of(item)?.delay_ms?.p99);
    }
    if (own.some((group) => 2 * (group.small_packets ?? 0) > group.packets)) {
      number(RUN_TABLE.smallMean(name), (item) => of(item)?.small_delay_ms?.mean);
      number(RUN_TABLE.smallP99(name), (item) => of(item)?.small_delay_ms?.p99);
    }
  }
  const ratios = new Set(all.flatMap(({ run }) => Object.keys(run.summary.ratios ?? {})));
  for (const name of ratios) number(RUN_TABLE.ratio(name), ({ run }) => run.summary.ratios?.[name]);
  list.push({ head: RUN_TABLE.command, value: ({ run }) => run.command });
  return list;
}

const millionth = (value: number | undefined): number | undefined => (value === undefined ? undefined : value / 1e6);
const times100 = (share: number | undefined): number | undefined => (share === undefined ? undefined : 100 * share);

export const runTable = (all: Item[]): HTMLElement => tableCard(RUN_TABLE.title, columns(all), all);

/** A card with a table of `items` in the given order, and rows below it that are not sorted. */
export function tableCard<T>(title: string, cols: Column<T>[], items: T[], last: T[] = []): HTMLElement {
  const rowOf = (item: T): HTMLElement =>
    el(
      "tr",
      {},
      cols.map((column, i) => {
        const value = column.value(item);
        const text = column.show?.(item) ?? (value === undefined ? "" : String(value));
        if (column.head === RUN_TABLE.command) return el("td", {}, [el("code", {}, [text])]);
        if (i === 0 && text !== "") return el("th", { scope: "row" }, [text]);
        return el("td", typeof value === "number" ? { class: "number" } : {}, [text]);
      }),
    );
  const rows = items.map((item) => ({ item, row: rowOf(item) }));
  const rest = last.map(rowOf);
  const body = el("tbody", {}, [...rows.map(({ row }) => row), ...rest]);
  const heads = cols.map((column) => {
    const button = el("button", { type: "button" }, [column.head]);
    const head = el("th", { scope: "col" }, [button]);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      rows.sort((a, b) => sign * compare(column.value(a.item), column.value(b.item)));
      body.replaceChildren(...rows.map(({ row }) => row), ...rest);
    });
    return head;
  });
  return el("section", { class: "card", "aria-label": title }, [
    el("h2", {}, [title]),
    el("div", { class: "scroll table", tabindex: "0", role: "group", "aria-label": TABLE.scroll(title) }, [
      el("table", {}, [el("caption", { class: "spoken" }, [title]), el("thead", {}, [el("tr", {}, heads)]), body]),
    ]),
  ]);
}
