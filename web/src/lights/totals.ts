// Counts beside the paper's, a row per schedule.

import { el } from "../page/dom";
import { scheduleName, TOTALS } from "../words/lights";
import { amount } from "../words/numbers";
import { type Counts, type Lights, saidOf } from "./data";

const sum = ({ right, amber, red, unknown }: Counts): number => right + amber + red + unknown;

/** Amber squares by link rate, in the four classes of the paper; for other rates, by rate. */
function amber(lights: Lights, by: Counts[]): string {
  return by
    .map((counts, i) => (counts.amber === 0 ? "" : TOTALS.at(counts.amber, amount(lights.rates[i] ?? ""))))
    .filter(Boolean)
    .join(", ");
}

export function totals(lights: Lights): HTMLElement {
  const rows = lights.schedules.flatMap((schedule, i) => {
    const tally = lights.tallies[i];
    if (tally === undefined) return [];
    const said = saidOf(lights, schedule);
    const { all, with_cubic, by_rate } = tally;
    const ours = [
      TOTALS.of(all.right, sum(all)),
      all.rest,
      all.amber,
      all.red,
      TOTALS.of(with_cubic.red, sum(with_cubic)),
      amber(lights, by_rate),
    ];
    const [right, yellow, red] = said?.counts ?? [];
    const theirs =
      right === undefined
        ? ["", "", "", "", "", ""]
        : [
            TOTALS.of(right, 500),
            "",
            yellow ?? "",
            red ?? "",
            "0",
            (said?.amber_by_rate ?? []).map((n, k) => TOTALS.at(n, TOTALS.classes[k] ?? "")).join(", "),
          ];
    const row = (name: string, cells: (string | number)[], kind: string): HTMLElement =>
      el("tr", { class: kind }, [
        el("th", { scope: "row" }, [name]),
        ...cells.map((cell) => el("td", {}, [String(cell)])),
      ]);
    const unknown = all.unknown > 0 ? ` ${TOTALS.unknown(all.unknown)}` : "";
    return [
      row(`${scheduleName(schedule)}${unknown}`, ours, "ours"),
      ...(right === undefined ? [] : [row(TOTALS.paper, theirs, "theirs")]),
    ];
  });
  return el("section", { class: "card", "aria-label": TOTALS.title }, [
    el("h2", {}, [TOTALS.title]),
    el("div", { class: "scroll" }, [
      el("table", { class: "totals" }, [
        el("thead", {}, [
          el(
            "tr",
            {},
            TOTALS.head.map((name) => el("th", { scope: "col" }, [name])),
          ),
        ]),
        el("tbody", {}, rows),
      ]),
    ]),
  ]);
}
