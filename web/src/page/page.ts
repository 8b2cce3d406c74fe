// The page: headline numbers, charts, a table of runs, the scenario. Everything it shows is in the
// page itself; it loads nothing.

import { FOOTER, HEADER, scenarioTitle } from "../words/report";
import "./style.css";
import type { Data } from "../data";
import { choosable, figures, HEADLINE_LIMIT, type View } from "../figures";
import { firstSeeds, type Item, items, runNames, toCompare } from "../runs";
import type { Mode } from "../theme";
import { Cards } from "./cards";
import { conditionControls, runControls } from "./controls";
import { differenceCard } from "./differences";
import { el } from "./dom";
import { modeSwitch } from "./mode";
import { programTables } from "./programs";
import { runTable } from "./table";
import { tiles } from "./tiles";

/** Builds the page from the data in `#data` inside `#app`. */
export function mount(): void {
  const source = document.getElementById("data")?.textContent;
  const app = document.getElementById("app");
  if (app === null || source === null || source === undefined) throw new Error("this page has lost its data");
  const data = JSON.parse(source) as Data;
  const all = items(data);
  const state: { view: View; mode: Mode } = { view: { choice: { only: {} } }, mode: "light" };

  const cards = new Cards();
  const redraw = (): void => {
    cards.show(figures(data, state.view), state.mode);
  };

  const curveControls = el("div", { class: "controls" });
  const { first, others } = choosable(all);
  let numbers = tiles(all, first.length > 0 ? first : toCompare(firstSeeds(all)));
  const many = first.length + others.length > HEADLINE_LIMIT;
  if (many || others.length > 0) {
    const start = first.slice(0, HEADLINE_LIMIT);
    if (many) state.view.runs = start;
    curveControls.append(
      runControls([...first, ...others], runNames(all), start, (runs) => {
        state.view.runs = runs;
        const next = tiles(all, runs.length > 0 ? runs : first);
        numbers.replaceWith(next);
        numbers = next;
        redraw();
      }),
    );
  }
  const sweepControls = conditionControls(all, (choice) => {
    state.view = { ...state.view, choice };
    redraw();
  });

  addEventListener("beforeprint", () => {
    cards.print();
  });
  addEventListener("afterprint", () => {
    cards.restore();
  });
  app.append(
    header(
      data,
      all,
      modeSwitch((mode) => {
        state.mode = mode;
        redraw();
      }),
    ),
    el("main", {}, [
      ...(data.differences === undefined ? [] : [differenceCard(data.differences)]),
      numbers,
      curveControls,
      cards.curves,
      sweepControls,
      cards.conditions,
      runTable(all),
      ...programTables(all),
      ...data.folders.map((folder) =>
        el("details", { class: "card" }, [
          el("summary", {}, [scenarioTitle(data.folders.length > 1 ? folder.label : undefined)]),
          el("pre", {}, [folder.text]),
        ]),
      ),
    ]),
    footer(data, all),
  );
}

function header(data: Data, all: Item[], flip: HTMLElement): HTMLElement {
  const names = [...new Set(data.folders.map((folder) => folder.scenario))];
  const rates = [...new Set(all.map(({ run }) => run.summary.link.rate_bps))].sort((a, b) => a - b);
  const first = rates[0];
  const last = rates[rates.length - 1];
  const link = first === undefined || last === undefined ? "" : HEADER.links(first, last);
  const lengths = [...new Set(all.map(({ run }) => run.summary.engine.virtual_s))];
  const facts = [
    HEADER.runs(all.length),
    link,
    lengths[0] !== undefined && lengths.length === 1 ? HEADER.length(lengths[0], all.length) : "",
    HEADER.on([...new Set(data.folders.map((folder) => folder.on))]),
  ];
  return el("header", {}, [
    el("div", {}, [el("h1", {}, [HEADER.scenarios(names)]), el("p", {}, [facts.filter(Boolean).join(" · ")])]),
    flip,
  ]);
}

function footer(data: Data, all: Item[]): HTMLElement {
  const seeds = [...new Set(all.map(({ run }) => run.summary.seed))];
  const made = data.folders.map((folder) => FOOTER.folder(folder.label, folder.version, folder.on));
  const notices = document.getElementById("notices")?.textContent ?? "";
  return el("footer", {}, [
    el("p", {}, [FOOTER.made(made, seeds, data.version)]),
    el("details", {}, [el("summary", {}, [FOOTER.software]), el("pre", {}, [notices])]),
  ]);
}
