// Counts beside the paper's, a row per schedule.

import { el } from "../page/dom";
import type { Counts, Lights } from "./data";
import { saidOf, say, scheduleName } from "./words";

const sum = ({ right, amber, red, unknown }: Counts): number => right + amber + red + unknown;

/** Amber squares by link rate, in the four classes of the paper; for other rates, by rate. */
function amber(lights: Lights, by: Counts[]): string {
  return by
    .map((counts, i) => (counts.amber === 0 ? "" : `${counts.amber} at ${say(lights.rates[i] ?? "")}`))
    .filter(Boolean)
    .join(", ");
}

export function totals(lights: Lights): HTMLElement {
  const head = ["schedule", "right", "at rest", "amber", "red", "red with Cubic", "amber by link rate"];
  const rows = lights.schedules.flatMap((schedule, i) => {
    const tally = lights.tallies[i];
    if (tally === undefined) return [];
    const said = saidOf(lights, schedule);
    const { all, with_cubic, by_rate } = tally;
    const ours = [
      `${all.right} of ${sum(all)}`,
      all.rest,
      all.amber,
      all.red,
      `${with_cubic.red} of ${sum(with_cubic)}`,
      amber(lights, by_rate),
    ];
    const [right, yellow, red] = said?.counts ?? [];
    const classes = ["4 Mb/s", "12 Mb/s", "40 Mb/s", "more"];
    const theirs =
      right === undefined
        ? ["", "", "", "", "", ""]
        : [
            `${right} of 500`,
            "",
            yellow ?? "",
            red ?? "",
            "0",
            (said?.amber_by_rate ?? []).map((n, k) => `${n} at ${classes[k] ?? ""}`).join(", "),
          ];
    const row = (name: string, cells: (string | number)[], kind: string): HTMLElement =>
      el("tr", { class: kind }, [
        el("th", { scope: "row" }, [name]),
        ...cells.map((cell) => el("td", {}, [String(cell)])),
      ]);
    const unknown = all.unknown > 0 ? ` (${all.unknown} without a detector)` : "";
    return [
      row(`${scheduleName(schedule)}${unknown}`, ours, "ours"),
      ...(right === undefined ? [] : [row("the paper", theirs, "theirs")]),
    ];
  });
  return el("section", { class: "card", "aria-label": "Totals" }, [
    el("h2", {}, ["Totals"]),
    el("div", { class: "scroll" }, [
      el("table", { class: "totals" }, [
        el("thead", {}, [
          el(
            "tr",
            {},
            head.map((name) => el("th", { scope: "col" }, [name])),
          ),
        ]),
        el("tbody", {}, rows),
      ]),
    ]),
  ]);
}
