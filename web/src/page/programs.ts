// The flows of programs: a table per run that has any.

import type { ProgramFlow } from "../data";
import { type Item, runNames } from "../runs";
import { digits } from "../words/numbers";
import { PROGRAMS } from "../words/report";
import { type Column, tableCard } from "./table";

type Value = number | null | undefined;

/** The columns; of the row of other flows `more` is their number. */
export function columns(flows: ProgramFlow[], more: number): Column<ProgramFlow>[] {
  const word = (head: string, value: (flow: ProgramFlow) => string | null): Column<ProgramFlow> => ({
    head,
    value: (flow) => value(flow) ?? "",
  });
  const number = (head: string, value: (flow: ProgramFlow) => Value): Column<ProgramFlow> => ({
    head,
    value: (flow) => value(flow) ?? undefined,
    show: (flow) => {
      const v = value(flow);
      return v === null || v === undefined ? "" : digits(v, Number.isInteger(v) ? 16 : 3);
    },
  });
  const list = [
    word(PROGRAMS.group, ({ group }) => group || null),
    word(PROGRAMS.protocol, (flow) => flow.protocol ?? PROGRAMS.others(more)),
    word(PROGRAMS.client, ({ client }) => client),
    word(PROGRAMS.server, ({ server }) => server),
    number(PROGRAMS.rate, ({ rate_bps }) => (rate_bps === null ? null : rate_bps / 1e6)),
    number(PROGRAMS.delayMean, ({ delay_mean_ms }) => delay_mean_ms),
    number(PROGRAMS.delayP99, ({ delay_p99_ms }) => delay_p99_ms),
    number(PROGRAMS.marks, ({ marks }) => marks),
    number(PROGRAMS.drops, ({ drops }) => drops),
    number(PROGRAMS.ect1, ({ ect1 }) => ect1),
    number(PROGRAMS.ect0, ({ ect0 }) => ect0),
    number(PROGRAMS.notEct, ({ not_ect }) => not_ect),
    number(PROGRAMS.rtt, ({ rtt_mean_ms }) => rtt_mean_ms),
    number(PROGRAMS.retransmissions, (flow) =>
      flow.protocol === "TCP" || flow.protocol === null ? flow.retransmits : null,
    ),
    number(PROGRAMS.start, ({ start_s }) => start_s),
    number(PROGRAMS.end, ({ end_s }) => end_s),
  ];
  return list.filter((column) => flows.some((flow) => (column.value(flow) ?? "") !== ""));
}

/** A table per run with programs. */
export function programTables(all: Item[]): HTMLElement[] {
  const names = runNames(all);
  const several = all.length > 1;
  return all.flatMap(({ run }) => {
    const { largest, others, more } = run.programs ?? { largest: [], more: 0 };
    if (largest.length === 0) return [];
    const title = PROGRAMS.title(several ? (names.get(run) ?? String(run.number)) : undefined);
    const last = others === undefined ? [] : [others];
    return [tableCard(title, columns([...largest, ...last], more), largest, last)];
  });
}
