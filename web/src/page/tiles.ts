// Headline numbers in plain words: a tile per condition, of all of its seeds.

import { lags, type Queue, type Summary } from "../data";
import { conditionNames, type Item, mean, subtitle } from "../runs";
import { ms, percent, rate, ratio } from "../words/numbers";
import { TILES } from "../words/report";
import { el } from "./dom";

/** The most tiles: of a big sweep, the first conditions of the charts below. */
const MOST = 6;

/** A number with its meaning; `about` adds detail beneath. */
interface Fact {
  label: string;
  value: string;
  about?: string;
  kind?: "l4s" | "classic";
}

/** The runs of each tile by its name: those of the conditions of `shown`, whichever seed. No mean is over several
 * conditions. */
export function tileRuns(all: Item[], shown: Item[]): [string, Item[]][] {
  const names = conditionNames(all);
  const wanted = [...new Set(shown.map(({ run }) => names.get(run) ?? ""))].slice(0, MOST);
  return wanted.map((name) => [name, all.filter(({ run }) => names.get(run) === name)]);
}

export function tiles(all: Item[], shown: Item[]): HTMLElement {
  return el(
    "section",
    { class: "tiles", "aria-label": TILES.name },
    tileRuns(all, shown).map(([name, items]) => {
      const list = facts(items);
      const first = items[0];
      const of = items.length > 1 ? TILES.meanOf(items.length) : "";
      return el("article", { class: "card tile" }, [
        el("h2", {}, [name]),
        el("p", {}, [[first === undefined ? "" : subtitle(first.run, name), of].filter(Boolean).join(" · ")]),
        el(
          "dl",
          {},
          list.map(({ label, value, about, kind }) =>
            el("div", kind === undefined ? {} : { class: `big ${kind}` }, [
              el("dt", {}, [label]),
              el("dd", {}, [value, ...(about === undefined ? [] : [" ", el("small", {}, [about])])]),
            ]),
          ),
        ),
      ]);
    }),
  );
}

/** The facts of a tile. */
export function facts(items: Item[]): Fact[] {
  const list: Fact[] = [];
  const runs = items.map(({ run }) => run.summary);
  const kinds: [string, "l4s" | "classic" | undefined][] = [
    ["L", "l4s"],
    ["C", "classic"],
    ["Q", undefined],
  ];
  const delay = (label: string, queues: (Queue | undefined)[]): Fact | undefined => {
    const value = mean(queues.map((queue) => queue?.delay_ms?.mean));
    const high = mean(queues.map((queue) => queue?.delay_ms?.p99));
    if (value === undefined) return undefined;
    return { label, value: ms(value), ...(high === undefined ? {} : { about: TILES.most(high) }) };
  };
  for (const [name, kind] of kinds) {
    const fact = delay(
      name === "Q" ? TILES.delayOfAll : TILES.delay(name),
      runs.map((run) => run.queues.find((queue) => queue.name === name)),
    );
    if (fact !== undefined) list.push({ ...fact, ...(kind === undefined ? {} : { kind }) });
  }
  const hops = new Set(runs.flatMap((run) => (run.hops ?? []).map(({ name }) => name)));
  for (const hop of hops) {
    for (const [name] of kinds) {
      const of = (run: Summary) =>
        run.hops?.find((other) => other.name === hop)?.queues.find((queue) => queue.name === name);
      const fact = delay(TILES.delayAt(TILES.delay(name), hop), runs.map(of));
      if (fact !== undefined) list.push(fact);
    }
  }
  const utilization = mean(runs.map((run) => run.link.utilization));
  if (utilization !== undefined) list.push({ label: TILES.used, value: percent(utilization) });
  const name = Object.keys(runs[0]?.ratios ?? {}).find((key) => key.startsWith("rate_"));
  const rates = name === undefined ? undefined : mean(runs.map((run) => run.ratios?.[name]));
  if (name !== undefined && rates !== undefined) {
    list.push({ label: TILES.ratio(name.slice(5)), value: ratio(rates) });
  }
  for (const name of new Set(runs.flatMap((run) => run.groups.map((group) => group.name)))) {
    const own = runs.map((run) => run.groups.find((group) => group.name === name));
    const [of, goodput] = [mean(own.map((group) => group?.rate_bps)), mean(own.map((group) => group?.goodput_bps))];
    if (of !== undefined && lags(of, goodput)) {
      list.push({ label: TILES.goodput(name), value: rate(goodput), about: TILES.ofRate(of) });
    }
  }
  const drops = mean(
    runs.map((run) => {
      const known = run.queues.filter((queue) => queue.drop !== undefined);
      const packets = known.reduce((sum, queue) => sum + queue.packets, 0);
      return packets === 0
        ? undefined
        : known.reduce((sum, queue) => sum + (queue.drop ?? 0) * queue.packets, 0) / packets;
    }),
  );
  if (drops !== undefined) list.push({ label: TILES.dropped, value: drops === 0 ? TILES.none : percent(drops) });
  return list;
}
