// What the page says besides its figures.
import { describe, expect, it } from "vitest";
import { figures } from "../src/figures";
import { columns as differenceColumns } from "../src/page/differences";
import { columns as programColumns } from "../src/page/programs";
import { columns } from "../src/page/table";
import { facts, tileRuns } from "../src/page/tiles";
import { firstSeeds, items, senders } from "../src/runs";
import { themeOf } from "../src/theme";
import { demo, overload, programs, seeds } from "./sample";

/** The demonstration, with a hop before the bottleneck. */
function hop() {
  const data = demo();
  const delay_ms = { mean: 3, p1: 1, p25: 2, p50: 3, p75: 4, p99: 7, p999: 8, max: 9 };
  for (const run of data.folders[0]!.runs) {
    run.summary.hops = [
      { name: "access", utilization: 0.5, queues: [{ name: "Q", packets: 9, delay_ms, mark: 0.25, drop: 0 }] },
    ];
  }
  return data;
}

/** The demonstration, where group A sends as much again as it delivers, and B small packets. */
function lossy() {
  const data = demo();
  for (const run of data.folders[0]!.runs) {
    const [a, b] = run.summary.groups;
    Object.assign(a!, { rate_bps: 10e6, goodput_bps: 5e6 });
    Object.assign(b!, {
      rate_bps: 1e6,
      goodput_bps: 0.95e6,
      packets: 100,
      small_packets: 60,
      small_delay_ms: { p1: 0.1, mean: 1.5, p99: 9 },
    });
  }
  return data;
}

describe("tiles", () => {
  it("have the mean of the seeds of one condition, and its name", () => {
    const all = items(seeds(5));
    const tiles = tileRuns(all, firstSeeds(all)).map(([name, own]) => [
      name,
      facts(own).find(({ kind }) => kind === "classic")?.value,
    ]);
    // The seeds of a condition have 0, 0.1, 0.2, 0.3 and 0.4 ms more than 5, 15 and 25: 0.2 ms on average.
    expect(tiles).toEqual([
      ["DualPI2, aqm target 5 ms", "5.2 ms"],
      ["DualPI2, aqm target 15 ms", "15 ms"],
      ["DualPI2, aqm target 25 ms", "25 ms"],
    ]);
  });
});

describe("differences", () => {
  it("are sorted by size, and shown as the command printed them", () => {
    const row = ["aqm=pie", "queue Q delay mean ms", "10.0000", "9.0000", "-10.0 %"];
    const head = ["run", "what", "before", "after", "change"];
    const own = differenceColumns({ head, rows: [row], notes: [] });
    expect(own.map((column) => column.head)).toEqual(head);
    expect(own.map((column) => column.show?.(row))).toEqual(row);
    expect(own.map((column) => column.value(row))).toEqual([row[0], row[1], 10, 9, -10]);
    expect(own[4]?.value(["", "", "0", "1", "new"])).toBeUndefined();
  });
});

describe("UDP sources", () => {
  it("have a delay of their own in the table of runs: they may have a queue of their own", () => {
    const data = overload();
    const [run] = data.folders[0]!.runs;
    run!.summary.groups.find(({ name }) => name === "U")!.delay_ms = run!.summary.queues[0]!.delay_ms!;
    const own = columns(items(data)).filter(({ head }) => /^[ABU] .*ms/.test(head));
    expect(own.map(({ head }) => head)).toEqual(["U mean (ms)", "U p99 (ms)"]);
  });
});

describe("goodput", () => {
  it("is a headline where much of the rate is sent again, and only there", () => {
    const found = facts(items(lossy()).slice(0, 1)).filter(({ label }) => label.startsWith("Goodput"));
    expect(found).toEqual([{ label: "Goodput of A", value: "5 Mb/s", about: "of 10 Mb/s forwarded" }]);
    expect(facts(items(demo())).some(({ label }) => label.startsWith("Goodput"))).toBe(false);
  });

  it("stands beside the rate in the table of runs, as the delay of small packets", () => {
    const all = items(lossy());
    const own = columns(all).filter(({ head }) => /^[AB] .*(Mb|ms)/.test(head));
    expect(own.map(({ head, show }) => [head, show?.(all[0]!)])).toEqual([
      ["A (Mb/s)", "10"],
      ["A goodput (Mb/s)", "5"],
      ["B (Mb/s)", "1"],
      ["B small mean (ms)", "1.5"],
      ["B small p99 (ms)", "9"],
    ]);
    const usual = columns(items(demo())).filter(({ head }) => /goodput|small/.test(head));
    expect(usual).toEqual([]);
  });
});

describe("hops", () => {
  it("have a number of their own among the headlines", () => {
    const found = facts(items(hop()).slice(0, 1)).filter(({ label }) => label.includes("access"));
    expect(found).toEqual([{ label: "Queueing delay, access", value: "3 ms", about: "99 % wait less than 7 ms" }]);
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

describe("imperfect stretches", () => {
  it("have a column for each effect that they had in some run", () => {
    const data = demo();
    const run = data.folders[0]!.runs[0]!;
    const far = { packets: 200, lost: 3, corrupted: 0, duplicated: 0, held_back: 1, mangled: 0 };
    run.summary.paths = [{ name: "far", ...far }];
    const all = items(data);
    const own = columns(all).filter(({ head }) => head.startsWith("far: "));
    expect(own.map(({ head, show }) => [head, show?.(all[0]!)])).toEqual([
      ["far: lost (%)", "1.5"],
      ["far: held back (%)", "0.5"],
    ]);
  });
});

describe("programs", () => {
  it("have the name of their group, a line among the rates and a delay of their own", () => {
    const data = programs();
    expect(senders(data.folders[0]!.runs[0]!)).toBe("DCTCP + Cubic + P");
    const lines = (name: string): unknown[] => {
      const figure = figures(data).find((of) => of.name === name);
      const option = figure?.option({ theme: themeOf("light"), width: 1200, height: 300, top: 0 });
      return [option?.series ?? []]
        .flat()
        .filter((line) => line.name === "P")
        .map((line) => line.data);
    };
    expect(lines("rate-time")).toEqual([
      [
        [1, 4],
        [2, 6],
      ],
    ]);
    expect(lines("program-delay-time")).toEqual([
      [
        [1, 2],
        [2, 4],
      ],
    ]);
    const silent = programs();
    silent.folders[0]!.runs[0]!.curves!.program_delay![0]!.mean_ms = [null, null];
    for (const data of [demo(), silent])
      expect(figures(data).some(({ name }) => name === "program-delay-time")).toBe(false);
  });

  it("have a table of their flows, the others in its last row", () => {
    const { largest, others, more } = programs().folders[0]!.runs[0]!.programs!;
    const shown = programColumns([...largest, others!], more).map((column) => {
      const show = (flow: typeof others): string => column.show?.(flow!) ?? String(column.value(flow!));
      return [column.head, show(largest[0]), show(others)];
    });
    expect(shown).toEqual([
      ["group", "P", ""],
      ["protocol", "QUIC", "12 others"],
      ["client", "10.0.1.1:9", ""],
      ["server", "10.0.0.1:443", ""],
      ["rate (Mb/s)", "5", ""],
      ["delay mean (ms)", "3.14", "3.14"],
      ["marks", "0", "0"],
      ["drops", "2", "2"],
      ["ECT(1)", "0", "0"],
      ["ECT(0)", "0", "0"],
      ["Not-ECT", "7", "7"],
      ["retransmissions", "", "1"],
      ["start (s)", "0.5", "0"],
      ["end (s)", "2", "2.5"],
    ]);
  });
});
