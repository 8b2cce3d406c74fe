import { describe, expect, it } from "vitest";
import {
  firstSeeds,
  groupName,
  items,
  layOut,
  lineNames,
  runNames,
  senders,
  subtitle,
  toCompare,
  variedKeys,
} from "../src/runs";
import { isOwnLabel } from "../src/words/names";
import { demo, seeds, sweep } from "./sample";

describe("runs", () => {
  it("are named after their discipline where that is enough", () => {
    const all = items(demo());
    expect([...lineNames(all).values()]).toEqual(["DualPI2", "PIE", "FQ-CoDel"]);
    expect([...runNames(all).values()]).toEqual(["DualPI2", "PIE", "FQ-CoDel"]);
  });

  it("name their senders where one discipline has several", () => {
    const data = demo();
    const [dual, pie] = data.folders[0]!.runs;
    pie!.aqm = dual!.aqm;
    const names = [...lineNames(items(data)).values()];
    expect(names.slice(0, 2)).toEqual(["DualPI2 (DCTCP + Cubic)", "DualPI2 (ECN-Cubic + Cubic)"]);
  });

  it("have the label of their case where it is in the user's words, with the discipline as a subtitle", () => {
    const data = demo();
    const labels = ["today", "FQ-CoDel", "DualPI2, L4S"];
    data.folders[0]!.runs.forEach((run, i) => {
      run.aqm = ["fifo", "fq_codel", "dualpi2"][i]!;
      run.summary.set = { case: labels[i]! };
    });
    const all = items(data);
    expect([...lineNames(all).values()]).toEqual(labels);
    expect(all.map(({ run }, i) => subtitle(run, labels[i]!))).toEqual([
      "FIFO · DCTCP + Cubic",
      "ECN-Cubic + Cubic",
      "ECN-Cubic + Cubic",
    ]);
    expect(["pie", "fq_codel ecn-cubic:cubic", "prague:cubic, dualpi2"].some(isOwnLabel)).toBe(false);
    expect(["dualpi2 with profile best", "pie today", "1:1"].every(isOwnLabel)).toBe(true);
  });

  it("name those that send up apart", () => {
    const data = demo();
    const run = data.folders[0]!.runs[0]!;
    run.summary.groups[1]!.direction = "up";
    const names = run.summary.groups.map((group) => groupName(run, group.name));
    expect([senders(run), ...names]).toEqual(["DCTCP, up Cubic", "DCTCP", "Cubic up"]);
  });

  it("name a parameter of the senders that the sweep sets, with its value", () => {
    const data = demo();
    const [one, two] = data.folders[0]!.runs;
    data.folders[0]!.runs = [
      one!,
      { ...structuredClone(two!), aqm: one!.aqm, traffic: one!.traffic, summary: structuredClone(one!.summary) },
    ];
    const named = (key: string, values: [string, string]): string[] => {
      data.folders[0]!.runs.forEach((run, i) => {
        run.summary.set = { [key]: values[i]! };
      });
      return [...lineNames(items(data)).values()];
    };
    expect(named("group.A.cc.fallback", ["off", "passive"])).toEqual(["fallback off", "fallback passive"]);
    expect(named("group.A.cc.profile", ["paper", "best"])).toEqual(["paper", "best"]);
  });

  it("name their folder where there are several", () => {
    const data = demo();
    data.folders.push({ ...structuredClone(data.folders[0]!), label: "kernel" });
    expect([...lineNames(items(data)).values()]).toContain("PIE · kernel");
  });

  it("vary in what the sweep varies, not in who meets", () => {
    expect(variedKeys(items(sweep())).map(({ key }) => key)).toEqual(["link.rate", "group.*.rtt"]);
    expect(variedKeys(items(demo()))).toEqual([]);
  });
});

describe("the axis of conditions", () => {
  it("has link rates as groups and RTTs within, each in the order of the sweep", () => {
    const axis = layOut(items(sweep()), { only: {} });
    expect(axis.spans.map(({ label }) => label)).toEqual(["4 Mb/s", "12 Mb/s", "40 Mb/s", "120 Mb/s", "200 Mb/s"]);
    expect(axis.conditions.slice(0, 5).map(({ label }) => label)).toEqual(["5", "10", "20", "50", "100"]);
    expect(axis.name).toBe("RTT (ms), grouped by link rate");
    expect(axis.lines.map(({ points }) => points.length)).toEqual([25, 25, 25]);
  });

  it("never stands two conditions on one place", () => {
    const { conditions } = layOut(items(sweep()), { only: {} });
    expect(new Set(conditions.map(({ x }) => x)).size).toBe(25);
  });

  it("can be grouped by the other key, and filtered", () => {
    const other = layOut(items(sweep()), { outer: "group.*.rtt", only: {} });
    expect(other.spans.map(({ label }) => label)).toEqual(["5 ms", "10 ms", "20 ms", "50 ms", "100 ms"]);
    const one = layOut(items(sweep()), { only: { "link.rate": "40mbit" } });
    expect(one.conditions.map(({ label }) => label)).toEqual(["5", "10", "20", "50", "100"]);
    expect(one.spans).toEqual([]);
  });

  it("has the disciplines as places where nothing else varies", () => {
    expect(layOut(items(demo()), { only: {} }).conditions.map(({ label }) => label)).toEqual([
      "DualPI2",
      "PIE",
      "FQ-CoDel",
    ]);
  });

  it("keeps runs that differ in their seed together", () => {
    const data = demo();
    const again = structuredClone(data.folders[0]!.runs);
    for (const run of again) run.summary.seed = 2;
    data.folders[0]!.runs.push(...again);
    const axis = layOut(items(data), { only: {} });
    expect(axis.lines.map(({ points }) => points.map(({ runs }) => runs.length))).toEqual([[2], [2], [2]]);
  });
});

describe("two folders", () => {
  it("stand beside each other at each place, under names of their own", () => {
    const data = demo();
    data.folders.push({ ...structuredClone(data.folders[0]!), label: "kernel" });
    const axis = layOut(items(data), { only: {} });
    expect(axis.conditions.map(({ label }) => label)).toEqual(["DualPI2", "PIE", "FQ-CoDel"]);
    expect(axis.lines.map(({ folder }) => folder)).toEqual([0, 1, 0, 1, 0, 1]);
  });
});

describe("the runs that are shown first", () => {
  const named = (all: ReturnType<typeof items>): string[] => {
    const names = runNames(all);
    return toCompare(firstSeeds(all)).map(({ run }) => names.get(run)!);
  };

  it("are one seed of each condition", () => {
    const targets = ["target 5 ms", "target 15 ms", "target 25 ms"];
    expect(named(items(seeds(5)))).toEqual(targets.map((target) => `DualPI2, aqm ${target}, seed 1`));
  });

  it("are all seeds of a single condition", () => {
    const data = seeds(3);
    data.folders[0]!.runs = data.folders[0]!.runs.slice(0, 3);
    expect(named(items(data))).toEqual(["DualPI2, seed 1", "DualPI2, seed 2", "DualPI2, seed 3"]);
  });

  it("are all disciplines of a condition before the next condition", () => {
    const four = toCompare(firstSeeds(items(sweep()))).slice(0, 4);
    expect(four.map(({ run }) => run.aqm)).toEqual(["dualpi2", "pie", "fq_codel", "dualpi2"]);
  });

  it("are the same run of both folders, and of folders without a common one some of each", () => {
    const data = demo();
    const other = structuredClone(data.folders[0]!);
    data.folders.push({ ...other, label: "kernel" });
    expect(named(items(data)).slice(0, 4)).toEqual([
      "DualPI2 · one-against-one",
      "DualPI2 · kernel",
      "PIE · one-against-one",
      "PIE · kernel",
    ]);
    for (const run of data.folders[1]!.runs) run.summary.set = { ...run.summary.set, "link.rate": "9mbit" };
    const sides = toCompare(firstSeeds(items(data))).map(({ folder }) => folder.label);
    expect(sides.slice(0, 4)).toEqual(["one-against-one", "kernel", "one-against-one", "kernel"]);
  });
});
