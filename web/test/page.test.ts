// What the page says besides its figures.
import { describe, expect, it } from "vitest";
import { columns } from "../src/page/table";
import { facts } from "../src/page/tiles";
import { items } from "../src/runs";
import { demo } from "./sample";

/** The demonstration, with a hop before the bottleneck. */
function hop() {
  const data = demo();
  const delay_ms = { mean: 3, p1: 1, p25: 2, p50: 3, p75: 4, p99: 7, p999: 8, max: 9 };
  for (const run of data.folders[0]!.runs) {
    run.summary.hops = [{ name: "access", utilization: 0.5, queues: [{ name: "Q", packets: 9, delay_ms, mark: 0.25, drop: 0 }] }];
  }
  return data;
}

describe("hops", () => {
  it("have a number of their own among the headlines", () => {
    const found = facts(items(hop()).slice(0, 1)).filter(({ label }) => label.includes("access"));
    expect(found).toEqual([{ label: "Queue delay, access", value: "3 ms", about: "99 % wait less than 7 ms" }]);
    expect(facts(items(demo())).some(({ label }) => label.includes("access"))).toBe(false);
  });

  it("have columns in the table of runs", () => {
    const all = items(hop());
    const own = columns(all).filter(({ head }) => head.startsWith("access: "));
    expect(own.map(({ head, show }) => [head.slice(8), show?.(all[0]!)])).toEqual([
      ["queue mean (ms)", "3"],
      ["queue p99 (ms)", "7"],
      ["queue marked (%)", "25"],
      ["queue dropped (%)", "0"],
      ["used (%)", "50"],
    ]);
    expect(columns(items(demo())).some(({ head }) => head.includes("access"))).toBe(false);
  });
});
