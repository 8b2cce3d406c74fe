// A bottleneck on the page: its picture, its big numbers, its charts.

import { el } from "../page/dom";
import { LANE } from "../words/live";
import { aqmName } from "../words/names";
import { Charts } from "./charts";
import { Network } from "./network";
import { leastHeight } from "./network-model";
import type { Store } from "./store";
import { Tiles } from "./tiles";

export class Lane {
  readonly stage: HTMLElement;
  readonly figures: HTMLElement;
  readonly network: Network;
  readonly tiles: Tiles;
  readonly charts: Charts;
  private readonly titles = [el("h2"), el("h2")] as const;

  constructor(
    private readonly store: Store,
    readonly lane: number,
  ) {
    this.network = new Network(store, lane);
    this.tiles = new Tiles(store, lane);
    this.charts = new Charts(store, lane);
    this.stage = el("section", { class: "lane", "data-lane": String(lane) }, [
      this.titles[0],
      this.network.canvas,
      this.tiles.root,
    ]);
    this.figures = el("section", { class: "lane", "data-lane": String(lane) }, [this.titles[1], this.charts.root]);
  }

  /** Which discipline it has; alone on the page that is said elsewhere. */
  name(alone: boolean): void {
    const settings = this.store.shownSettings();
    const kind = settings?.lanes[this.lane]?.aqm.kind ?? "";
    // A row for each pair of server and client.
    const ends = (settings?.groups.length ?? 0) + (settings?.udp.length ?? 0);
    const ways = settings?.lanes[this.lane]?.uplink === undefined ? 1 : 2;
    this.network.canvas.style.minHeight = `${leastHeight(ends, ways)}px`;
    for (const title of this.titles) {
      title.textContent = aqmName(kind);
      title.classList.toggle("hidden", alone);
    }
    this.stage.setAttribute("aria-label", LANE.stage(kind));
    this.figures.setAttribute("aria-label", LANE.charts(kind));
  }

  dispose(): void {
    this.charts.dispose();
    this.stage.remove();
    this.figures.remove();
  }
}
