import { describe, expect, it } from "vitest";
import { groupName, items, layOut, lineNames, runNames, senders, variedKeys } from "../src/runs";
import { demo, sweep } from "./sample";

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
