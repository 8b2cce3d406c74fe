// The big numbers of a lane.

import { lags } from "../data";
import { el } from "../page/dom";
import { TILES } from "../words/live";
import { percent, rate, steadyDelay } from "../words/numbers";
import { groupNames } from "./colours";
import { count, mean, quantile } from "./delays";
import type { Station } from "./protocol";
import { laneOf, lastSeconds } from "./ring";
import {
  allMarked,
  average,
  backlog,
  dropShare,
  groupGoodput,
  groupRate,
  ofUplink,
  utilization,
  type Weighted,
} from "./series";
import type { Store } from "./store";

interface Tile {
  root: HTMLElement;
  label: HTMLElement;
  value: HTMLElement;
  about: HTMLElement;
}

interface Fact {
  label: string;
  value: string;
  about: string;
  kind: string;
}

export class Tiles {
  readonly root = el("dl", { class: "tiles" });
  private readonly tiles: Tile[] = [];

  constructor(
    private readonly store: Store,
    private readonly lane: number,
  ) {}

  update(): void {
    const facts = this.facts();
    facts.forEach((fact, i) => {
      const tile = this.tiles[i] ?? this.add();
      tile.root.className = `tile ${fact.kind}`;
      set(tile.label, fact.label);
      set(tile.value, fact.value);
      set(tile.about, fact.about);
    });
    for (const tile of this.tiles.splice(facts.length)) tile.root.remove();
  }

  private add(): Tile {
    const tile = {
      root: el("div", { class: "tile" }),
      label: el("dt"),
      value: el("dd"),
      about: el("dd", { class: "about" }),
    };
    tile.root.append(tile.label, tile.value, tile.about);
    this.root.append(tile.root);
    this.tiles.push(tile);
    return tile;
  }

  private facts(): Fact[] {
    const { greeting } = this.store;
    const view = this.store.view();
    const settings = view.shown?.settings;
    const lane = settings?.lanes[this.lane];
    if (greeting === undefined || settings === undefined || lane === undefined) return [];
    const recent = lastSeconds(view.moments, this.store.window_s);
    const states = laneOf(recent, this.lane);
    const facts: Fact[] = [];
    const delaysOf = (queues: string[], at: Pick<Station, "queues">[], label: (name: string) => string): void => {
      for (const name of queues) {
        const counts = count(greeting.delay_buckets, at, name);
        const value = mean(counts);
        const high = quantile(greeting.delay_buckets, counts, 0.99);
        facts.push({
          label: label(name),
          value: value === undefined ? "–" : steadyDelay(value),
          about: high === undefined ? TILES.empty : TILES.mostBelow(steadyDelay(high)),
          kind: name === "L" ? "l4s" : name === "C" ? "classic" : "single",
        });
      }
    };
    delaysOf(lane.aqm.queues, states, TILES.delay);
    const used = average(recent, this.lane, utilization);
    const drops = average(recent, this.lane, dropShare);
    facts.push({
      label: TILES.used,
      value: used === undefined ? "–" : percent(used),
      about: TILES.dropped(drops ?? 0),
      kind: "",
    });
    if (lane.uplink !== undefined) {
      const up = states.flatMap(({ uplink }) => uplink ?? []);
      delaysOf(lane.uplink.aqm.queues, up, TILES.uplinkDelay);
      const of = (value: (at: Station, span_s: number) => Weighted): number | undefined =>
        average(recent, this.lane, ofUplink(value));
      const usedUp = of(utilization);
      facts.push({
        label: TILES.uplinkUsed,
        value: usedUp === undefined ? "–" : percent(usedUp),
        about: TILES.uplinkAbout(of(allMarked) ?? 0, of(dropShare) ?? 0, Math.round(of(backlog) ?? 0)),
        kind: "",
      });
    }
    const names = groupNames(settings);
    const ups = [...settings.groups, ...settings.udp].map(({ up }) => up === true);
    const rates = names.map((name, i) => ({
      name,
      bps: average(recent, this.lane, groupRate(i)) ?? 0,
      goodput: average(recent, this.lane, groupGoodput(i)),
      shown: i < settings.groups.length,
      up: ups[i] === true,
    }));
    const most = lane.uplink === undefined ? 3 : 4;
    for (const { name, bps, goodput, up } of rates.filter(({ shown, bps: of }) => shown || of > 0).slice(0, most)) {
      // A share of what goes the same way.
      const total = rates.reduce((sum, other) => sum + (other.up === up ? other.bps : 0), 0);
      facts.push({ label: TILES.rate(name), value: rate(bps), about: aboutRate(bps, total, goodput), kind: "" });
    }
    return facts;
  }
}

/** The text below a rate: the goodput where that is far below it, else its share of all rates. */
export function aboutRate(bps: number, total: number, goodput: number | undefined): string {
  if (lags(bps, goodput)) return TILES.goodput(rate(goodput));
  return total > 0 ? TILES.traffic(bps / total) : "";
}

function set(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
