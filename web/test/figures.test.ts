import { describe, expect, it } from "vitest";
import { advance } from "../src/advances";
import type { Option } from "../src/chart";
import type { Data, Run } from "../src/data";
import type { Figure } from "../src/figure";
import { figures } from "../src/figures";
import { decades, points } from "../src/figures/delay";
import { PAINTS } from "../src/lights/glyphs";
import { open } from "../src/ssr";
import { themeOf } from "../src/theme";
import { demo, mixes, overload, programs, seeds, sweep, web } from "./sample";

const named = (data: Data, name: string): Figure => {
  const figure = figures(data).find((f) => f.name === name);
  if (figure === undefined) throw new Error(`no ${name}`);
  return figure;
};
const optionOf = (figure: Figure, width = 1200): Option =>
  figure.option({ theme: themeOf("light"), width, height: figure.height(width), top: 0 });
const list = <T>(value: T | T[] | undefined): T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];

/** Every number in a series' data. */
const numbers = (option: Option): number[] =>
  list(option.series).flatMap((series) =>
    (series.data as unknown[]).flatMap((point) =>
      (point as unknown[]).filter((v): v is number => typeof v === "number"),
    ),
  );

describe("every figure", () => {
  for (const [what, data] of [
    ["demo", demo()],
    ["sweep", sweep()],
    ["mixes", mixes()],
    ["overload", overload()],
    ["web", web()],
    ["programs", programs()],
  ] as const) {
    for (const figure of figures(data)) {
      it(`of ${what}, ${figure.name}, holds finite numbers and series that exist`, () => {
        for (const width of [360, 1200]) {
          const option = optionOf(figure, width);
          expect(list(option.series).length).toBeGreaterThan(0);
          expect(numbers(option).every(Number.isFinite)).toBe(true);
          const grids = list(option.grid).length;
          for (const axis of [...list(option.xAxis), ...list(option.yAxis)])
            expect(axis.gridIndex ?? 0).toBeLessThan(grids);
        }
      });
      it(`of ${what}, ${figure.name}, stays inside its canvas`, () => {
        for (const width of [360, 1200]) {
          const height = figure.height(width);
          for (const grid of list(optionOf(figure, width).grid)) {
            expect(Number(grid.left) + Number(grid.width)).toBeLessThanOrEqual(width);
            expect(Number(grid.top) + Number(grid.height)).toBeLessThanOrEqual(height);
            expect(Number(grid.height)).toBeGreaterThan(60);
          }
        }
      });
    }
  }

  it("has a name of its own", () => {
    const names = figures(demo()).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

it("a goodput far below its rate is dashed below it", () => {
  const data = demo();
  const line = data.folders[0]!.runs[0]!.curves!.rate[0]!;
  const lines = () =>
    list(optionOf(named(data, "rate-time")).series).map((series) => [
      series.name,
      (series as { lineStyle: { type?: unknown } }).lineStyle.type,
    ]);
  const before = lines();
  expect([before.filter(([, type]) => type !== undefined), named(data, "rate-time").note.includes("Dashed")]).toEqual([
    [],
    false,
  ]);
  line.goodput_mbps = line.mbps.map(() => 1);
  const name = before[0]![0];
  expect(lines()).toEqual([[name, undefined], [`${name}, goodput`, [4, 3]], ...before.slice(1)]);
  expect(named(data, "rate-time").note).toContain("Dashed: goodput");
});

describe("the words above the panels of four senders in both directions", () => {
  /** Four runs with twice the groups of the demo, the second half upwards. */
  const both = (): Data => {
    const data = demo();
    const folder = data.folders[0]!;
    for (const run of folder.runs) {
      const more = structuredClone(run.summary.groups).map((group) => ({
        ...group,
        name: `${group.name}-up`,
        direction: "up" as const,
        flows: 2,
      }));
      for (const { name } of more) run.traffic[name] = run.traffic[name.replace("-up", "")]!;
      run.summary.groups.push(...more);
    }
    folder.runs.push({ ...structuredClone(folder.runs[0]!), aqm: "a discipline with a long name" });
    return data;
  };
  /** The lines of a title without markup, and the size of each. */
  const sizes: [RegExp, number, boolean][] = [
    [/^big/, 24, true],
    [/^name/, 15, true],
    [/^w\d/, 12.5, true],
  ];
  const lines = (text: string): number[] =>
    text.split("\n").map((line) =>
      [...line.matchAll(/\{(\w+)\|([^}]*)\}/g)].reduce((sum, [, style, word]) => {
        const [, size, bold] = sizes.find(([of]) => of.test(style!)) ?? [/./, 13, false];
        return sum + advance(word!, size, bold);
      }, 0),
    );
  for (const name of ["headline", "rate-time"])
    for (const width of [360, 800, 1200])
      it(`stay beside one another in ${name}, ${width} wide`, () => {
        const option = optionOf(named(both(), name), width);
        const grids = list(option.grid);
        for (const title of list(option.title)) {
          const [left, top] = [Number(title.left), Number(title.top)];
          expect(top).toBeGreaterThanOrEqual(0);
          const widest = Math.max(...lines(`${title.text ?? ""}\n${title.subtext ?? ""}`));
          const next = Math.min(width, ...grids.map((grid) => Number(grid.left)).filter((x) => x > left + 100));
          expect(left + widest).toBeLessThanOrEqual(next);
        }
      });
});

describe("runs in real time", () => {
  it("have a chart of lateness and one of the processor", () => {
    const data = sweep();
    const names = () => figures(data).map(({ name }) => name);
    expect(names()).not.toContain("lateness-conditions");
    for (const { summary } of data.folders[0]!.runs) {
      // A core and a quarter for each Gb/s.
      summary.link = { rate_bps: 4e8, utilization: 0.5 };
      summary.engine = { virtual_s: 10, packets: 500_000, packet_ns: 5000, lateness_us: { p50: 2, p99: 95, max: 400 } };
    }
    expect(names()).toEqual(expect.arrayContaining(["lateness-conditions", "processor-conditions"]));
    const points = (name: string) =>
      list(optionOf(named(data, name)).series).map((s) => new Set((s.data as number[][]).map((p) => p[1])));
    const lateness = points("lateness-conditions").filter(({ size }) => size > 0);
    expect(new Set(lateness.flatMap((values) => [...values]))).toEqual(new Set([95, 2]));
    for (const values of points("processor-conditions")) expect([...values]).toEqual([expect.closeTo(1.25)]);
  });
});

describe("logarithmic charts", () => {
  it("hold nothing at or below zero", () => {
    const data = sweep();
    data.folders[0]!.runs[0]!.summary.queues[0]!.delay_ms!.p1 = 0;
    for (const name of ["delay-conditions", "signal-conditions", "rate-ratio-conditions"]) {
      const values = list(optionOf(named(data, name)).series).flatMap((s) =>
        (s.data as number[][]).flatMap((p) => p.slice(1, 4)),
      );
      expect(Math.min(...values)).toBeGreaterThan(0);
    }
  });

  it("span whole decades", () => {
    expect(decades([0.3, 20])).toEqual([0.1, 100]);
    expect(decades([1, 10])).toEqual([1, 10]);
    expect(decades([])).toEqual([0.1, 10]);
  });
});

describe("a distribution", () => {
  const cdf = { queue: "L", ms: [1, 2, 4], share: [0.5, 0.9, 1] };
  it("rises from 0 to 100 %", () => {
    expect(points(cdf, false)).toEqual([
      [1, 0],
      [1, 50],
      [2, 90],
      [4, 100],
    ]);
  });
  it("has a tail that falls and never reaches the log axis's zero", () => {
    expect(points(cdf, true).map(([x]) => x)).toEqual([1, 1, 2]);
  });
});

it("panels have room for their headings", () => {
  const data = demo();
  data.folders[0]!.label = "results-of-the-simulator-in-november";
  data.folders.push({ ...demo().folders[0]!, label: "results-of-the-kernel-in-november" });
  const option = optionOf(named(data, "rate-time"));
  const grids = list(option.grid) as { left: number; width: number }[];
  list(option.title).forEach((title, i) => {
    expect(advance(String(title?.text), 14, true)).toBeLessThan(grids[i]!.width);
  });
});

it("every line of a rate has a label: the flow of an application too", () => {
  const data = demo();
  for (const { summary } of data.folders[0]!.runs) summary.groups[0]!.flows = 0;
  const words = list(optionOf(named(data, "rate-time")).title).map((title) => title?.subtext);
  expect(words[0]).toMatch(/DCTCP .*Cubic /);
});

it("UDP sources have a line among the rates, as flows have", () => {
  const data = overload();
  data.folders[0]!.runs = data.folders[0]!.runs.slice(0, 1);
  const option = optionOf(named(data, "rate-time"));
  expect(list(option.series).map(({ name }) => name)).toContain("U");
  expect(list(option.title).map((title) => title?.subtext)[0]).toContain("U ");
});

describe("messages", () => {
  it("say what is to be seen", () => {
    expect(named(demo(), "headline").title).toMatch(
      /^DCTCP packets wait 0\.\d+ ms under DualPI2; ECN-Cubic \+ Cubic \d+ ms under PIE, [\d.]+ ms under FQ-CoDel$/,
    );
    const data = demo();
    for (const { summary } of data.folders[0]!.runs) summary.groups[1]!.direction = "up";
    expect(named(data, "headline").title, "the queue is that of downloads").toMatch(
      /^DCTCP packets wait 0\.\d+ ms under DualPI2; ECN-Cubic \d+ ms under PIE/,
    );
    const twice = demo();
    for (const { summary } of twice.folders[0]!.runs) summary.groups.push(summary.groups[0]!);
    expect(named(twice, "headline").title, "each control once").toBe(named(demo(), "headline").title);
    expect(named(demo(), "headline").note).toMatch(/^Two flows share 40 Mb\/s, base RTT 10 ms\./);
  });

  it("name downloads and applications where there is no long flow", () => {
    const data = web();
    const [{ summary }] = data.folders[0]!.runs as [Run];
    const note = (): string => named(data, "headline").note;
    summary.groups[0]!.flows = 0;
    expect(note()).toMatch(/^One flow and downloads share 40 Mb/);
    summary.groups[1]!.flows = 0;
    expect(note()).toMatch(/^Downloads share 40 Mb/);
    summary.groups[1]!.app = {};
    expect(note()).toMatch(/^Downloads and applications share 40 Mb/);
    delete summary.completion;
    expect(note()).toMatch(/^Applications share 40 Mb/);
  });
});

describe("several seeds", () => {
  const course = named(seeds(5), "delay-time").option({ theme: themeOf("light"), width: 1000, height: 400, top: 0 });
  it("have a panel for each condition, not for each seed", () => {
    const titles = [course.title].flat().map((title) => title?.text);
    expect(titles).toEqual([5, 15, 25].map((target) => `DualPI2, aqm target ${target} ms, seed 1`));
  });
  it("have their conditions in the heading", () => {
    expect(named(seeds(5), "delay-cdf").title).toMatch(
      /^DualPI2, aqm target 5 ms, seed 1: .*; DualPI2, aqm target 15 ms, seed 1: .*; DualPI2, aqm target 25 ms, seed 1: /,
    );
    expect(named(seeds(1), "headline").title).toMatch(/ under DualPI2, aqm target 5 ms/);
  });
});

describe("pictures", () => {
  const studio = open(JSON.stringify(demo()));
  it("are the same every time", () => {
    expect(studio.svg("headline", "light", 1200, 600)).toBe(studio.svg("headline", "light", 1200, 600));
  });
  it("load nothing and run nothing", () => {
    for (const name of studio.names()) {
      const svg = studio.svg(name, "dark", 1200, 0);
      expect(svg).not.toMatch(/(href|src)="(?!#)/);
      expect(svg).not.toMatch(/<script|url\((?!#)/);
      expect(svg).toContain("<title>");
    }
  });
  it("refuse a figure that there is not", () => {
    expect(() => studio.svg("headlin", "light", 1200, 0)).toThrow('no figure "headlin"');
  });
});

describe("detectors", () => {
  it("have figures where they were sampled, with the lines that they are held against", () => {
    const data = demo();
    data.folders[0]!.runs[0]!.curves!.detector = [
      {
        group: "A",
        flow: 0,
        s: [0.1, 0.2, 0.3],
        score: [null, -8, 9],
        depth_ms: [null, 1, 5],
        mdev_ms: [null, 0.1, 2],
      },
    ];
    const added = figures(data).filter(({ name }) => !figures(demo()).some((known) => known.name === name));
    expect(added.map(({ name }) => name)).toEqual(["score-time", "depth-time", "deviation-time"]);
    const option = optionOf(added[0]!);
    expect(list(option.series)).toHaveLength(1);
    expect(list(option.yAxis)[0]).toMatchObject({ min: -8, max: 9 });
  });

  it("have green where the score should be, and amber or red where it should not, as the queue changes", () => {
    const data = demo();
    const curves = data.folders[0]!.runs[0]!.curves!;
    curves.detector = [{ group: "A", flow: 0, s: [0.1, 59], score: [-8, 9], depth_ms: [1, 5], mdev_ms: [1, 2] }];
    curves.truth = [
      { s: 0, truth: "classic" },
      { s: 10, truth: "l4s" },
    ];
    const score = figures(data).find(({ name }) => name === "score-time")!;
    const [line] = list(optionOf(score).series) as {
      markArea: { data: { xAxis: number; yAxis: number; itemStyle?: { color: string } }[][] };
    }[];
    const areas = line!.markArea.data.map(([from, to]) => [
      from!.xAxis,
      to!.xAxis,
      from!.yAxis,
      to!.yAxis,
      from!.itemStyle!.color,
    ]);
    const { right, amber, red } = PAINTS.light;
    expect(areas).toEqual([
      [0, 10, -8, 0, red.fill],
      [0, 10, 1, 9, right.fill],
      [10, 60, -8, 0, right.fill],
      [10, 60, 1, 9, amber.fill],
    ]);
    const depth = figures(data).find(({ name }) => name === "depth-time")!;
    expect(list(optionOf(depth).series)[0]).toMatchObject({ markArea: { data: [] } });
  });
});
