// Printing: the light palette, every chart, also those that are off the screen, and no control (live.css).
// A frozen page prints the moment that it shows.

import type { Mode } from "../theme";
import type { Lane } from "./lane";
import type { Store } from "./store";

/** A card's inner width on A4 with margins of 12 mm, two in a row (live.css). */
const HALF_A_PAGE = 310;

export function drawForPrint(store: Store, lanes: Lane[]): void {
  let before: Mode | undefined;
  const draw = (mode: Mode, width?: number): void => {
    store.mode = mode;
    document.documentElement.dataset.theme = mode;
    store.tell("view");
    for (const lane of lanes) {
      lane.network.draw();
      lane.tiles.update();
      lane.charts.all(width);
    }
  };
  addEventListener("beforeprint", () => {
    before = store.mode;
    draw("light", HALF_A_PAGE);
  });
  addEventListener("afterprint", () => {
    if (before !== undefined) draw(before);
  });
}
