// The reader's choice: which runs to draw, and the layout of a sweep.

import type { Run } from "../data";
import { type Choice, type Item, variedKeys } from "../runs";
import { keyName } from "../words/names";
import { amount } from "../words/numbers";
import { CONTROLS } from "../words/report";
import { el } from "./dom";

/** Chips, one per run with curves, in this order; those of `start` are chosen. */
export function runControls(
  drawn: Item[],
  names: Map<Run, string>,
  start: Item[],
  changed: (runs: Item[]) => void,
): HTMLElement {
  const chosen = new Set(start.map(({ run }) => run));
  const chips = drawn.map((item) => {
    const chip = el("button", { type: "button", class: "chip", "aria-pressed": String(chosen.has(item.run)) }, [
      names.get(item.run) ?? String(item.run.number),
    ]);
    chip.addEventListener("click", () => {
      if (!chosen.delete(item.run)) chosen.add(item.run);
      chip.setAttribute("aria-pressed", String(chosen.has(item.run)));
      changed(drawn.filter(({ run }) => chosen.has(run)));
    });
    return chip;
  });
  return el("fieldset", {}, [el("legend", {}, [CONTROLS.runs]), ...chips]);
}

/** A selector per swept key, and one for the key that groups the x axis. */
export function conditionControls(all: Item[], changed: (choice: Choice) => void): HTMLElement {
  const root = el("div", { class: "controls" });
  const keys = variedKeys(all);
  if (keys.length === 0) return root;
  const choice: Choice = { only: {} };
  const fields: HTMLElement[] = [];
  if (keys.length > 1) {
    const first = keys.find(({ key }) => key === "link.rate")?.key ?? keys[0]?.key ?? "";
    fields.push(
      select(
        CONTROLS.groupBy,
        keys.map(({ key }) => [key, keyName(key)]),
        first,
        (value) => {
          choice.outer = value;
          changed({ ...choice });
        },
      ),
    );
  }
  for (const { key, values } of keys) {
    fields.push(
      select(
        keyName(key),
        [["", CONTROLS.all], ...values.map((value): [string, string] => [value, amount(value)])],
        "",
        (value) => {
          const { [key]: _, ...rest } = choice.only;
          choice.only = value === "" ? rest : { ...rest, [key]: value };
          changed({ ...choice });
        },
      ),
    );
  }
  root.append(el("fieldset", {}, [el("legend", {}, [CONTROLS.conditions]), ...fields]));
  return root;
}

function select(
  label: string,
  options: [string, string][],
  value: string,
  changed: (value: string) => void,
): HTMLElement {
  const box = el(
    "select",
    {},
    options.map(([v, text]) => el("option", { value: v }, [text])),
  );
  box.value = value;
  box.addEventListener("change", () => changed(box.value));
  return el("label", {}, [`${label} `, box]);
}
