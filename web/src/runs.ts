// Runs by name and by condition: which line a run belongs to (its discipline and senders), and
// where on the x axis it stands (what the sweep varied).

import type { Data, Delay, Folder, Group, Run } from "./data";
import { RUNS } from "./words/charts";
import { aqmName, ccName, isOwnLabel, keyName, setting } from "./words/names";
import { amount, quantity } from "./words/numbers";

/** A run and the folder that it is from. */
export interface Item {
  run: Run;
  folder: Folder;
}

/** Every run of every folder. */
export const items = (data: Data): Item[] =>
  data.folders.flatMap((folder) => folder.runs.map((run) => ({ run, folder })));

/** Keys that say who meets, not under which condition: these make lines, not places on the axis. */
const isWho = (key: string): boolean =>
  key === "case" || /^aqm(\.kind|\.profile)?$/.test(key) || /^group\.[^.]+\.(cc|ecn)(\..+)?$/.test(key);

/** What the sweep set a key to; nothing where it did not. */
export const sweptValue = (run: Run, key: string): string => {
  const value = run.summary.set[key];
  return value === undefined ? "" : String(value);
};

/** A key that the runs differ in, with its values in order. */
export interface Key {
  key: string;
  values: string[];
}

/** By size where all are numbers of one unit, else as they came. */
function ordered(values: string[]): string[] {
  const parts = values.map(quantity);
  const units = new Set(parts.map(([, unit]) => unit));
  const numbers = new Map(values.map((value, i) => [value, Number(parts[i]?.[0])]));
  if (units.size > 1 || [...numbers.values()].some(Number.isNaN)) return values;
  return [...values].sort((a, b) => (numbers.get(a) ?? 0) - (numbers.get(b) ?? 0));
}

/** The conditions that vary among the runs. */
export function variedKeys(all: Item[]): Key[] {
  const keys = new Map<string, Set<string>>();
  for (const { run } of all) {
    for (const key of Object.keys(run.summary.set)) {
      if (!isWho(key)) keys.set(key, new Set());
    }
  }
  for (const [key, values] of keys) for (const { run } of all) values.add(sweptValue(run, key));
  return [...keys]
    .filter(([, values]) => values.size > 1)
    .map(([key, values]) => ({ key, values: ordered([...values]) }));
}

/** The senders of a run: `DCTCP + Cubic`, and those that send up apart: `Prague + Cubic, up Prague`. */
export const senders = (run: Run): string => {
  const groups = run.summary.groups.filter((group) => group.cc !== "udp");
  const names = (up: boolean): string =>
    groups
      .filter((group) => (group.direction === "up") === up)
      .map((group) => controlName(run, group))
      .join(" + ");
  return RUNS.bothWays(names(false), names(true));
};

/** The congestion control of a group, by name, and its direction if that is up; a group of programs has its own name. */
export function groupName(run: Run, name: string): string {
  const group = run.summary.groups.find((g) => g.name === name);
  if (group === undefined) return name;
  const control = controlName(run, group);
  return group.direction === "up" && control !== name ? RUNS.up(control) : control;
}

const controlName = (run: Run, { name, cc }: Group): string =>
  run.traffic[name] === "program" || cc === "udp" ? name : ccName(cc, run.traffic[name] === "classic-ecn");

/** What a name leaves out of who meets: the senders, and before them the discipline where the label of the case does not
 * name it. */
export function subtitle(run: Run, name: string): string {
  const discipline = aqmName(run.aqm);
  return RUNS.meets(name.toLowerCase().includes(discipline.toLowerCase()) ? "" : discipline, senders(run));
}

/** Names of all lines: the label of the case in the user's words, or the discipline; what else it takes to tell lines
 * apart; and the folder. */
export function lineNames(all: Item[]): Map<Run, string> {
  const names = whoNames(all);
  const several = new Set(all.map(({ folder }) => folder)).size > 1;
  const name = ({ run, folder }: Item): string => {
    const who = names.get(run) ?? "";
    return several ? RUNS.ofFolder(who, folder.label) : who;
  };
  return new Map(all.map((item) => [item.run, name(item)]));
}

/** The same without the folder. */
function whoNames(all: Item[]): Map<Run, string> {
  const who = (run: Run): string => JSON.stringify([run.aqm, senders(run), ...whoValues(run)]);
  // The shortest of these that no other line has.
  const candidates = (run: Run): string[] => {
    const own = sweptValue(run, "case");
    const name = isOwnLabel(own) ? own : aqmName(run.aqm);
    const values = whoValues(run).join(" ");
    const label = own === name ? values : own || values;
    return [name, RUNS.withSenders(name, senders(run)), label === "" ? name : label];
  };
  const owners = [0, 1, 2].map((i) => {
    const lines = new Map<string, Set<string>>();
    for (const { run } of all) {
      const name = candidates(run)[i] ?? "";
      lines.set(name, (lines.get(name) ?? new Set<string>()).add(who(run)));
    }
    return lines;
  });
  return new Map(
    all.map(({ run }) => {
      const names = candidates(run);
      const name = names.find((name, i) => owners[i]?.get(name)?.size === 1) ?? names[2] ?? "";
      return [run, name];
    }),
  );
}

/** What a run's sweep set of who meets: of a parameter of a congestion control its name too. */
const whoValues = (run: Run): string[] =>
  Object.keys(run.summary.set)
    .filter(isWho)
    .map((key) => {
      const parameter = /\.cc\.(?!kind$|profile$)(.+)$/.exec(key)?.[1];
      return parameter === undefined ? sweptValue(run, key) : `${keyName(parameter)} ${sweptValue(run, key)}`;
    });

/** A run's full name: its line, its condition, and its seed where there are several. */
export function runNames(all: Item[]): Map<Run, string> {
  const names = conditionNames(all);
  const seeds = new Set(all.map(({ run }) => run.summary.seed)).size > 1;
  const name = ({ run }: Item): string =>
    [names.get(run) ?? "", ...(seeds ? [RUNS.seed(run.summary.seed)] : [])].join(", ");
  return new Map(all.map((item) => [item.run, name(item)]));
}

/** The same without the seed. */
export function conditionNames(all: Item[]): Map<Run, string> {
  const lines = lineNames(all);
  const keys = variedKeys(all);
  return new Map(
    all.map((item) => {
      const parts = [lines.get(item.run) ?? ""];
      for (const { key } of keys) {
        const [number, unit] = quantity(sweptValue(item.run, key));
        const value = unit === "" ? number : `${number} ${unit}`;
        parts.push(key === "link.rate" ? value : `${keyName(key)} ${value}`);
      }
      return [item.run, parts.join(", ")];
    }),
  );
}

/** Everything that the sweep set for a run; runs of one folder that differ in their seed alone have the same. */
const settings = ({ run }: Item): string =>
  JSON.stringify(
    Object.entries(run.summary.set)
      .filter(([key]) => key !== "seed")
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Items with the same key together, in the order in which the keys appear. */
function grouped<T>(all: T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of all) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

/** One run of each condition of each folder, that of the first seed. Seeds of a single condition all stay: they are all
 * that there is to compare. */
export function firstSeeds<T extends Item>(all: T[]): T[] {
  const folders = [...new Set(all.map(({ folder }) => folder))];
  const conditions = grouped(all, (item) => `${folders.indexOf(item.folder)} ${settings(item)}`);
  if (conditions.length < 2) return all;
  const first = new Set(conditions.map(([item]) => item));
  return all.filter((item) => first.has(item));
}

/** Runs in the order in which a reader compares them: all that meet under a condition before the next condition, the
 * same run of several folders beside each other, and what only one folder has in turns. */
export function toCompare<T extends Item>(all: T[]): T[] {
  const folders = [...new Set(all.map(({ folder }) => folder))];
  const keys = variedKeys(all).map(({ key }) => key);
  const places = grouped(all, ({ run }) => JSON.stringify(keys.map((key) => sweptValue(run, key))));
  const same = places.flatMap((items) => grouped(items, settings));
  const everywhere = (items: T[]): boolean => new Set(items.map(({ folder }) => folder)).size === folders.length;
  const alone = same.filter((items) => !everywhere(items)).flat();
  const sides = folders.map((folder) => alone.filter((item) => item.folder === folder));
  const turns = Math.max(0, ...sides.map((side) => side.length));
  const inTurns = Array.from({ length: turns }, (_, i) => sides.flatMap((side) => side.slice(i, i + 1))).flat();
  return [...same.filter(everywhere).flat(), ...inTurns];
}

/** What the reader chose: which key groups the x axis, and which values are left out. */
export interface Choice {
  outer?: string;
  only: Record<string, string>;
}

/** One place on the x axis. */
export interface Condition {
  x: number;
  label: string;
  full: string;
}

/** Neighbours that share the outer key's value. */
export interface Span {
  from: number;
  to: number;
  label: string;
}

/** One line: a discipline with its senders, over the conditions. */
export interface Line {
  name: string;
  /** Any of its runs, for its colours. */
  sample: Run;
  /** Its folder's place, for its symbols. */
  folder: number;
  /** Runs at each place; several where seeds were repeated. */
  points: { condition: Condition; runs: Run[] }[];
}

/** All runs in order of condition, for one chart per quantity. */
export interface Axis {
  name: string;
  conditions: Condition[];
  spans: Span[];
  lines: Line[];
  /** Whether nothing but who meets varies: the places are the lines. */
  alone: boolean;
  /** The rightmost x. */
  end: number;
}

/** Gap between two spans, in places. */
const GAP = 0.7;

/** Runs that the reader did not leave out. */
export const keep = (all: Item[], choice: Choice): Item[] =>
  all.filter(({ run }) => Object.entries(choice.only).every(([key, value]) => sweptValue(run, key) === value));

/** Lays the runs out: outer key first, then the other keys, each in its order. */
export function layOut(all: Item[], choice: Choice): Axis {
  const kept = keep(all, choice);
  const names = lineNames(all);
  const keys = variedKeys(kept);
  const outerKey =
    choice.outer ?? (keys.length > 1 ? (keys.find(({ key }) => key === "link.rate") ?? keys[0])?.key : undefined);
  const outer = keys.length > 1 ? keys.find(({ key }) => key === outerKey) : undefined;
  const inner = keys.filter((key) => key !== outer);
  const alone = keys.length === 0;
  const who = whoNames(all);

  const place = (item: Item): string[] =>
    alone
      ? [who.get(item.run) ?? ""]
      : [...(outer === undefined ? [] : [outer]), ...inner].map(({ key }) => sweptValue(item.run, key));
  const places = [...new Set(kept.map(({ run }) => who.get(run)))];
  const order = (item: Item): number[] =>
    alone
      ? [places.indexOf(who.get(item.run))]
      : [...(outer === undefined ? [] : [outer]), ...inner].map(({ key, values }) =>
          values.indexOf(sweptValue(item.run, key)),
        );

  const sorted = kept
    .map((item) => ({ item, place: place(item), order: order(item) }))
    .sort((a, b) => a.order.map((v, i) => v - (b.order[i] ?? 0)).find((d) => d !== 0) ?? 0);

  const units = inner.map(({ values }) => {
    const all = new Set(values.map((value) => quantity(value)[1]));
    return all.size === 1 ? ([...all][0] ?? "") : "";
  });
  const short = (value: string, i: number): string =>
    units[i] === undefined || units[i] === "" ? amount(value) : quantity(value)[0];

  const conditions = new Map<string, Condition>();
  const spans: Span[] = [];
  const lines = new Map<string, Line>();
  let x = -1;
  for (const { item, place } of sorted) {
    const id = JSON.stringify(place);
    let condition = conditions.get(id);
    if (condition === undefined) {
      const span = outer === undefined ? "" : amount(place[0] ?? "");
      const values = outer === undefined ? place : place.slice(1);
      const last = spans[spans.length - 1];
      x += 1 + (last !== undefined && last.label !== span ? GAP : 0);
      const label = alone ? (place[0] ?? "") : values.map(short).join(":");
      const words = inner.map(({ key }, i) => setting(key, values[i] ?? ""));
      condition = { x, label, full: alone ? label : [span, ...words].filter(Boolean).join(", ") };
      conditions.set(id, condition);
      if (last !== undefined && last.label === span) last.to = x;
      else spans.push({ from: x, to: x, label: span });
    }
    const name = names.get(item.run) ?? "";
    const line = lines.get(name) ?? {
      name,
      sample: item.run,
      folder: [...new Set(all.map((i) => i.folder))].indexOf(item.folder),
      points: [],
    };
    lines.set(name, line);
    const point = line.points.find((p) => p.condition === condition);
    if (point === undefined) line.points.push({ condition, runs: [item.run] });
    else point.runs.push(item.run);
  }
  const name = RUNS.axis(
    inner.map(({ key }, i) => RUNS.key(keyName(key), units[i] ?? "")),
    outer === undefined ? undefined : keyName(outer.key),
  );
  return {
    name,
    conditions: [...conditions.values()],
    spans: outer === undefined ? [] : spans,
    lines: [...lines.values()],
    alone,
    end: Math.max(x, 0),
  };
}

/** Mean of what is there; `undefined` when nothing is. */
export function mean(values: (number | undefined)[]): number | undefined {
  const there = values.filter((value): value is number => value !== undefined);
  return there.length === 0 ? undefined : there.reduce((sum, value) => sum + value, 0) / there.length;
}

/** A mean with its first and 99th percentile. */
export interface Value {
  value: number;
  low: number;
  high: number;
}

/** Means of means and of percentiles, over seeds. */
export function meanValue(values: (Value | undefined)[]): Value | undefined {
  const of = (part: keyof Value) => mean(values.map((v) => v?.[part]));
  const [value, low, high] = [of("value"), of("low"), of("high")];
  return value === undefined || low === undefined || high === undefined ? undefined : { value, low, high };
}

/** A delay as one. */
export const delayValue = (delay: Delay | undefined): Value | undefined =>
  delay && { value: delay.mean, low: delay.p1, high: delay.p99 };
