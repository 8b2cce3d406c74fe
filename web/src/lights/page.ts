// The page of the traffic lights: totals, a matrix per schedule, and the details of a square.

import "../page/style.css";
import "./lights.css";
import { el } from "../page/dom";
import { modeSwitch } from "../page/mode";
import type { Mode } from "../theme";
import { LEGEND, PAGE, TITLE } from "../words/lights";
import { FOOTER } from "../words/report";
import { type Lights, lookOf } from "./data";
import { Detail } from "./detail";
import { PAINTS } from "./glyphs";
import { glyph, matrix } from "./matrix";
import { totals } from "./totals";

/** Builds the page from the data in `#data` inside `#app`. */
export function mountLights(): void {
  const source = document.getElementById("data")?.textContent;
  const app = document.getElementById("app");
  if (app === null || source === null || source === undefined) throw new Error("this page has lost its data");
  const lights = JSON.parse(source) as Lights;
  const detail = new Detail(lights);
  const listener = {
    shown: detail.show.bind(detail),
    pinned: detail.pin.bind(detail),
  };
  const facts = PAGE.facts(lights.squares.length, lights.duration_s, lights.seed);
  app.append(
    el("header", { class: "traffic" }, [
      el("div", {}, [el("h1", {}, [TITLE]), el("p", {}, [facts])]),
      modeSwitch(colours),
    ]),
    el("main", { class: "traffic" }, [
      totals(lights),
      legend(lights),
      el(
        "div",
        { class: "matrices" },
        lights.schedules.map((_, i) => matrix(lights, i, listener)),
      ),
      detail.root,
    ]),
    el("footer", { class: "traffic" }, [
      el("p", {}, [PAGE.drawnBy(lights.version)]),
      el("details", {}, [
        el("summary", {}, [FOOTER.software]),
        el("pre", {}, [document.getElementById("notices")?.textContent ?? ""]),
      ]),
    ]),
  );
}

/** The colours of squares are those of the picture. */
function colours(mode: Mode): void {
  const style = document.documentElement.style;
  for (const [look, { fill, edge, sign }] of Object.entries(PAINTS[mode])) {
    style.setProperty(`--${look}-fill`, fill);
    style.setProperty(`--${look}-edge`, edge);
    style.setProperty(`--${look}-sign`, sign);
  }
}

function legend(lights: Lights): HTMLElement {
  const seen = new Set(lights.squares.map(lookOf));
  const shown = LEGEND.filter(([look]) => look !== "unknown" || seen.has(look));
  return el("section", { class: "card legend", "aria-label": PAGE.legend }, [
    el(
      "ul",
      {},
      shown.map(([look, meaning]) => el("li", {}, [el("span", { class: `square ${look}` }, [glyph(look)]), meaning])),
    ),
    el("p", { class: "soft" }, [PAGE.howToRead]),
  ]);
}
