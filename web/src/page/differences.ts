// What differs between two folders: the table that `l4s compare` prints.

import type { Differences } from "../data";
import { DIFFERENCES } from "../words/report";
import { el } from "./dom";
import { type Column, tableCard } from "./table";

/** Its columns; numbers are sorted by their size. */
export const columns = ({ head }: Differences): Column<string[]>[] =>
  head.map((head, i) => ({
    head,
    value: (row) => {
      const number = Number.parseFloat(row[i] ?? "");
      return i < 2 ? row[i] : Number.isNaN(number) ? undefined : number;
    },
    show: (row) => row[i] ?? "",
  }));

/** The table, if it has rows, and the lines below it. */
export function differenceCard(differences: Differences): HTMLElement {
  const { rows, notes } = differences;
  const card =
    rows.length > 0
      ? tableCard(DIFFERENCES.title, columns(differences), rows)
      : el("section", { class: "card", "aria-label": DIFFERENCES.title }, [el("h2", {}, [DIFFERENCES.title])]);
  card.append(...notes.map((note) => el("p", {}, [note])));
  return card;
}
