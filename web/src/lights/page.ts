// The page of the traffic lights: totals, a matrix per schedule, and the details of a square.

import "../page/style.css";
import "./lights.css";
import { el } from "../page/dom";
import { modeSwitch } from "../page/mode";
import type { Mode } from "../theme";
import type { Lights } from "./data";
import { Detail } from "./detail";
import { PAINTS } from "./glyphs";
import { glyph, matrix } from "./matrix";
import { TITLE } from "./picture";
import { totals } from "./totals";
import { LEGEND, lookOf } from "./words";

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
  const facts = `${lights.squares.length} runs of ${lights.duration_s} s · Fallback §7.5 · seed ${lights.seed}`;
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
      el("p", {}, [`Run and drawn by l4s ${lights.version}.`]),
      el("details", {}, [
        el("summary", {}, ["Software inside this page"]),
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
  return el("section", { class: "card legend", "aria-label": "Legend" }, [
    el(
      "ul",
      {},
      shown.map(([look, meaning]) => el("li", {}, [el("span", { class: `square ${look}` }, [glyph(look)]), meaning])),
    ),
    el("p", { class: "soft" }, [
      "A row is a mix of traffic, Prague:ECN-Cubic: a number of long flows, L short ones as of the web, 1L both, a one that is limited by its application. " +
        "A column is a base RTT at a link rate. A square is wrong if in the end the score of a long flow is, or the scores " +
        "of more than a tenth of the short ones.",
    ]),
  ]);
}
