// The figures that are shaped after the papers': what they choose from the data.
import { describe, expect, it } from "vitest";
import type { Data } from "../src/data";
import { figures } from "../src/figures";
import { efficiencyOf } from "../src/figures/completion";
import { dotsPath, linesPath } from "../src/figures/marks";
import { matricesOf } from "../src/figures/matrix";
import { columnsOf, stacked } from "../src/figures/overload";
import { shareOf, shareOverTime } from "../src/figures/shares";
import { items } from "../src/runs";
import { open } from "../src/ssr";
import { themeOf } from "../src/theme";
import { demo, mixes, overload, sweep, web } from "./sample";

const names = (data: Data): string[] => figures(data).map(({ name }) => name);

describe("figures after the papers", () => {
  it("are there where the data is, and nowhere else", () => {
    const own = /^(mix-|rate-matrix-|delay-matrix-|overload$|output-time$|completion$|efficiency$)/;
    const of = (data: Data): string[] => names(data).filter((name) => own.test(name));
    expect(of(demo())).toEqual([]);
    expect(of(sweep())).toEqual([]);
    expect(of(mixes())).toEqual(["mix-dualpi2", "rate-matrix-dualpi2", "delay-matrix-dualpi2"]);
    expect(of(overload())).toEqual(["output-time", "overload"]);
    expect(of(web())).toEqual(["completion", "efficiency"]);
  });

  it("are drawn without a browser, in both themes", () => {
    for (const data of [mixes(), overload(), web()]) {
      const studio = open(JSON.stringify(data));
      for (const name of studio.names()) {
        for (const mode of ["light", "dark"] as const) expect(studio.svg(name, mode, 1200, 0)).not.toContain("NaN");
      }
    }
  });
});

describe("a matrix", () => {
  it("has a cell per mix, of repeated runs the first", () => {
    const data = mixes();
    data.folders[0]!.runs.push(structuredClone(data.folders[0]!.runs[0]!));
    const [matrix, ...more] = matricesOf(items(data));
    expect(more).toEqual([]);
    expect(matrix!.cells.map(({ column, row }) => [column, row])).toEqual([
      [0, 1],
      [0, 2],
      [1, 0],
      [1, 1],
      [1, 2],
      [2, 0],
      [2, 1],
      [2, 2],
    ]);
  });

  it("is one of several where the sweep varies something else too", () => {
    const data = mixes();
    const again = structuredClone(data.folders[0]!.runs);
    for (const run of again) run.summary.set["link.rate"] = "120mbit";
    for (const run of data.folders[0]!.runs) run.summary.set["link.rate"] = "40mbit";
    data.folders[0]!.runs.push(...again);
    expect(matricesOf(items(data)).map(({ name }) => name)).toEqual([
      "DualPI2, link rate 40 Mb/s",
      "DualPI2, link rate 120 Mb/s",
    ]);
  });
});

describe("an overload", () => {
  it("has a column per kind of UDP traffic, with its rates in order", () => {
    const found = columnsOf(items(overload()))!;
    expect(found.rates).toEqual(["50mbit", "100mbit", "200mbit"]);
    expect(found.columns.map(({ name }) => name)).toEqual(["DualPI2, UDP ECT(0)", "DualPI2, UDP Not-ECT"]);
    expect(found.columns[1]!.points.map(({ runs }) => runs.length)).toEqual([1, 1, 1]);
  });

  it("stacks values in the order of their groups, the whole stack first", () => {
    const track = (name: string, value: number) => ({
      name,
      colour: "",
      values: [{ x: 0, value, low: value, high: value }],
      print: String,
    });
    const tops = stacked([track("A", 30), track("U", 50)]).map(({ track, tops }) => [
      track.name,
      tops[0]!.top,
      tops[0]!.value,
    ]);
    expect(tops).toEqual([
      ["U", 80, 50],
      ["A", 30, 30],
    ]);
  });
});

describe("downloads", () => {
  it("are as far from ideal as all of their bins together", () => {
    // Three at 1 and one at 5: 8 / 4.
    expect(efficiencyOf(items(web())[0]!, "A")).toBe(2);
    expect(efficiencyOf(items(web())[0]!, "B")).toBeUndefined();
  });

  it("say how many of them are drawn", () => {
    const note = figures(web()).find(({ name }) => name === "completion")!.note;
    expect(note).toMatch(/One download in 3 is drawn/);
  });
});

describe("shares", () => {
  it("spread as rates of flows do", () => {
    const group = {
      ...demo().folders[0]!.runs[0]!.summary.groups[0]!,
      rate_per_flow_bps: 10,
      normalized_rate: 0.5,
      flow_rates_bps: { p1: 4, mean: 10, p99: 30 },
    };
    expect(shareOf(group)).toEqual({ value: 0.5, low: 0.2, high: 1.5 });
    expect(shareOverTime({ ...group, rate_over_time_bps: { p1: 6, mean: 9, p99: 12 } })).toEqual({
      value: 0.5,
      low: 0.3,
      high: 0.6,
    });
  });

  it("are a chart per discipline where two groups meet under many conditions", () => {
    const of = (data: Data): string[] => names(data).filter((name) => name.startsWith("share-conditions-"));
    expect(of(sweep())).toEqual(["share-conditions-dualpi2", "share-conditions-pie", "share-conditions-fq-codel"]);
    expect(of(demo())).toEqual([]);
    const alone = sweep();
    for (const run of alone.folders[0]!.runs) run.summary.groups.splice(1);
    expect(of(alone)).toEqual([]);
  });

  it("reach from the slowest second to the fastest, around an equal share", () => {
    const data = sweep();
    const [group] = data.folders[0]!.runs[0]!.summary.groups;
    group!.rate_over_time_bps = { p1: group!.rate_per_flow_bps! / 8, mean: 0, p99: group!.rate_per_flow_bps! * 8 };
    const figure = figures(data).find(({ name }) => name === "share-conditions-dualpi2")!;
    const option = figure.option({ theme: themeOf("light"), width: 1200, height: 330, top: 60 }) as {
      yAxis: { min: number; max: number };
      series: { data: number[][] }[];
    };
    const share = group!.normalized_rate!;
    expect(option.yAxis.max).toBeGreaterThanOrEqual(share * 8);
    const [, value, low, high] = option.series[0]!.data[0]!;
    expect([value, high]).toEqual([share, share * 8]);
    // What is off the scale ends at its edge.
    expect(low).toBe(Math.max(share / 8, option.yAxis.min));
  });
});

describe("paths", () => {
  it("begin anew after a gap", () => {
    expect(linesPath([[[0, 0], null, [1.26, 2], [3, 4]]])).toBe("M0 0M1.3 2L3 4");
  });
  it("hold a dot per point", () => {
    expect(
      dotsPath([
        [1, 2],
        [3, 4],
      ]),
    ).toBe("M1 2ZM3 4Z");
  });
});
