import { describe, expect, it } from "vitest";
import { pathOf, scoreRange } from "../src/lights/chart";
import type { Lights, Square, Verdict } from "../src/lights/data";
import { facts, label } from "../src/lights/detail";
import { step } from "../src/lights/matrix";
import { openLights } from "../src/lights/picture";
import { countsInWords, outcome, saidInWords, scheduleName, where } from "../src/words/lights";
import { lights } from "./sample";

const first = (data: Lights): Square => data.squares[0]!;

describe("the picture", () => {
  const svg = openLights(JSON.stringify(lights())).svg("fallback-500", "light", 1400, 0);

  it("has a square and a sign for each run", () => {
    const runs = lights().squares.length;
    // The background, and the legend's.
    expect(svg.match(/<rect /g)!.length).toBe(runs + 1 + svg.match(/<path /g)!.length - runs);
  });

  it("says every total in words, for those who cannot see it", () => {
    expect(svg).toContain("<title>Is the queue");
    expect(svg).toMatch(/<desc>[^<]*CoDel: \d+ right[^<]*DualPI2 from 10 s: \d+ right/);
  });

  it("stays inside its canvas", () => {
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg)!.map(Number);
    for (const [, x, y] of svg.matchAll(/<g transform="translate\(([\d.]+) ([\d.]+)\)"/g)) {
      expect(Number(x)).toBeLessThan(width!);
      expect(Number(y)).toBeLessThan(height!);
    }
    expect(svg).not.toContain("NaN");
  });
});

describe("a square", () => {
  it("is named by where it is", () => {
    expect(where(lights(), first(lights()))).toBe("1:0 · 4 Mb/s · 5 ms");
  });

  it("says what became of it, whatever its colour", () => {
    const data = lights();
    const schedule = data.schedules[0]!;
    const said = (["right", "rest", "amber", "red"] as Verdict[]).map((verdict) =>
      outcome({ ...first(data), verdict }, schedule),
    );
    expect(new Set(said).size).toBe(4);
    expect(outcome({ ...first(data), verdict: null }, schedule)).toBe("No flow had a detector");
    expect(label(data, { ...first(data), verdict: "red" })).toContain(
      "Red: the queue is Classic and was taken for L4S",
    );
  });

  it("shows nothing that was not measured", () => {
    expect(facts({ at: [0, 0, 0, 0], verdict: null, command: "" })).toEqual([]);
    expect(facts({ at: [0, 0, 0, 0], verdict: null, command: "", score: -8, ratio: 1.52, short: [12, 1] })).toEqual([
      ["last score", "-8"],
      ["rates, Prague over Cubic", "1.5×"],
      ["short flows scored, wrong", "12, 1"],
    ]);
    const several = {
      at: [0, 0, 0, 0] as Square["at"],
      verdict: null,
      command: "",
      score: -4.14,
      low: [0, -8],
      high: [0, 7.9],
    };
    expect(facts(several)).toEqual([["last score", "-4.14 (-8 to 7.9)"]]);
  });
});

describe("the chart of a score", () => {
  it("always has the lines of 0 and 1 in it", () => {
    expect(scoreRange({ at: [0, 0, 0, 0], verdict: null, command: "", mean: [null, -8, -7] })).toEqual([-8, 2]);
    expect(scoreRange({ at: [0, 0, 0, 0], verdict: null, command: "" })).toEqual([-1, 2]);
  });

  it("leaves gaps as gaps", () => {
    expect(pathOf([[0, 1], [1, 1], null, [3, 2]])).toBe("M0.0 1.0L1.0 1.0M3.0 2.0");
  });
});

it("arrow keys stay inside the matrix", () => {
  expect(step("ArrowLeft", 3, 0, 20, 25)).toEqual([3, 0]);
  expect(step("ArrowDown", 19, 4, 20, 25)).toEqual([19, 4]);
  expect(step("ArrowRight", 3, 0, 20, 25)).toEqual([3, 1]);
  expect(step("End", 3, 0, 20, 25)).toEqual([3, 24]);
  expect(step("a", 3, 0, 20, 25)).toBeNull();
});

it("schedules and counts are said in words", () => {
  expect(lights().schedules.map(scheduleName)).toEqual(["CoDel", "CoDel, DualPI2 from 10 s"]);
  const cobalt = { name: "cobalt not tuned to the rate", aqms: ["cobalt"], truth: "classic" as const, since_s: 0 };
  expect(scheduleName(cobalt)).toBe("COBALT not tuned to the rate");
  expect(scheduleName({ ...cobalt, aggregation_ms: 2 })).toBe("COBALT, in bursts of 2 ms");
  const counts = { right: 3, rest: 1, amber: 2, red: 0, unknown: 0 };
  expect(countsInWords(counts)).toBe("3 right (1 at rest), 2 amber, 0 red of 5");
  expect(saidInWords({ schedule: "x", counts: [361, 139, 0], words: "" })).toBe("361 right, 139 amber, 0 red of 500");
  expect(saidInWords(undefined)).toBe("");
});
