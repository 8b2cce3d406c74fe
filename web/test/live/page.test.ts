import { expect, it } from "vitest";
import { FIRST_MS, LONGEST_MS, wait } from "../../src/live/backoff";
import { groupColours, trafficOf } from "../../src/live/colours";
import { Lagged } from "../../src/live/lagged";
import { filled, jitterOf, LIFE_MS, layout, leastHeight, place, stride } from "../../src/live/network-model";
import { frameDelay } from "../../src/live/panorama";
import { decadeBelow, division, PLOTS, roundUp } from "../../src/live/plots";
import type { PacketEvent } from "../../src/live/protocol";
import { full, lateness, pace, sentence, sentences } from "../../src/live/say";
import { decode, encode, fragment, fromFragment, fromTogether, together } from "../../src/live/share";
import { nearest, steps } from "../../src/live/steps";
import { themeOf } from "../../src/theme";
import { aboutPreset, HEADER } from "../../src/words/live";
import { BUCKETS, bucket, lane, moment, settings, state } from "./sample";

it("steps are round, grow in proportion, and hold both ends", () => {
  const rates = steps(1e6, 1e9);
  expect([rates[0], rates[rates.length - 1], rates.length]).toEqual([1e6, 1e9, 31]);
  expect(steps(1e5, 1e6, true).slice(0, 3)).toEqual([0, 1e5, 1.2e5]);
  for (let i = 1; i < rates.length; i++) expect((rates[i] ?? 0) / (rates[i - 1] ?? 1)).toBeLessThan(1.51);
  expect(rates[nearest(rates, 20e6)]).toBe(20e6);
  expect(rates[nearest(rates, 21e6)]).toBe(20e6);
  expect(nearest(steps(1e5, 1e9, true), 0)).toBe(0);
});

it("each failure waits twice as long, up to a limit, and not in step", () => {
  expect([0, 1, 2].map((n) => wait(n, 0.5))).toEqual([FIRST_MS, 2 * FIRST_MS, 4 * FIRST_MS]);
  expect(wait(50, 0.5)).toBe(LONGEST_MS);
  expect(wait(0, 0)).toBeLessThan(wait(0, 1));
});

it("a scenario goes through a link and comes back", async () => {
  const text = 'name = "mine"  # µ, ü\n[link]\nrate = "20mbit"\n'.repeat(20);
  const hash = await fragment({ text, compare: { aqm: "pie" } });
  expect(hash).toMatch(/^#s=[\w-]+&c=[\w-]+$/);
  expect(hash.length).toBeLessThan(text.length);
  expect(await fromFragment(hash)).toEqual({ text, compare: { aqm: "pie" } });
  expect(await fromFragment(await fragment({ text: "" }))).toEqual({ text: "" });
  expect(await fromFragment("#elsewhere")).toBeUndefined();
});

it("a link to a session names it", () => {
  expect(fromTogether(together("a b/c"))).toBe("a b/c");
  expect(fromTogether("#s=x")).toBeUndefined();
});

it("a damaged link is refused, and one that swells too", async () => {
  await expect(decode("not*deflate")).rejects.toThrow();
  const letters = await encode("name = 1\n".repeat(100));
  await expect(decode(letters.slice(0, -8))).rejects.toThrow();
  await expect(decode(await encode("a".repeat(2 << 20)))).rejects.toThrow("too long");
});

it("two ways share the picture: no queue of one is on a queue of the other, or on a label", () => {
  for (const [width, height] of [
    [1000, leastHeight(6, 2)],
    [300, leastHeight(2, 2)],
  ] as const) {
    const queues = (["upper", "lower"] as const).flatMap((part) => layout(width, height, 6, 2, part).queues);
    queues.forEach((queue, i) => {
      // 7 px above a queue is the foot of its label, which is 13 px high.
      const top = queue.y - queue.height / 2 - 20;
      const last = queues[i - 1];
      expect(top).toBeGreaterThan(last === undefined ? 0 : last.y + last.height / 2);
      expect(queue.y + queue.height / 2).toBeLessThan(height);
    });
  }
  expect(leastHeight(2, 1)).toBe(156);
});

it("a packet leaves its server, waits its time in slow motion, and arrives", () => {
  const at = layout(1000, 300, 3, 2);
  const event: PacketEvent = [0, 1, 1, 0, 15];
  const x = (age: number) => place(at, event, age, 0)?.x ?? Number.NaN;
  expect(place(at, event, -1, 0)).toBeUndefined();
  expect(place(at, event, LIFE_MS + 1, 0)).toBeUndefined();
  expect(x(0)).toBeLessThan(x(300));
  // In the channel from 620 ms on, for 20 times 15 ms.
  for (const age of [630, 900])
    expect([place(at, event, age, 0)?.y, x(age) <= (at.queues[1]?.right ?? 0)]).toEqual([at.queues[1]?.y, true]);
  expect(x(1300)).toBeGreaterThan(at.queues[1]?.right ?? 0);
  let last = 0;
  for (let age = 0; age < 1795; age += 5) {
    expect(x(age)).toBeGreaterThanOrEqual(last - 1e-9);
    last = x(age);
  }
});

it("a dropped packet falls, a marked one shows it from the queue's exit on", () => {
  const at = layout(1000, 300, 2, 1);
  const after = 620 + 20 * 1 + 100;
  expect(place(at, [0, 0, 2, 2, 1], after, 0)?.fallen).toBeGreaterThan(0);
  expect(place(at, [0, 0, 2, 2, 1], after + 700, 0)).toBeUndefined();
  expect(place(at, [0, 0, 2, 1, 1], 600, 0)?.marked).toBe(false);
  expect(place(at, [0, 0, 2, 1, 1], after, 0)?.marked).toBe(true);
});

it("what is drawn of a sample is an even part of it, the same each time", () => {
  expect([stride(64, 20), stride(5, 20), stride(0, 20)]).toEqual([4, 1, 1]);
  expect(jitterOf(7, 3)).toBe(jitterOf(7, 3));
  for (let i = 0; i < 64; i++) expect(Math.abs(jitterOf(1, i))).toBeLessThanOrEqual(0.5);
  expect([filled(0), filled(200), filled(5000)]).toEqual([0, 1, 1]);
});

it("colours tell how groups answer congestion, and tell groups apart", () => {
  expect(trafficOf({ cc: "prague", ecn: "auto" })).toBe("l4s");
  expect(trafficOf({ cc: "cubic", ecn: "auto" })).toBe("classic");
  expect(trafficOf({ cc: "cubic", ecn: "classic" })).toBe("classic-ecn");
  const two = settings();
  const [group] = two.groups;
  if (group === undefined) throw new Error("no group");
  const same = groupColours(themeOf("light"), settings({ groups: [group, { ...group, name: "C" }] }));
  expect(new Set(same).size).toBe(3);
});

it("what was is read between the points around it", () => {
  const lagged = new Lagged(1000);
  for (let at = 0; at <= 2000; at += 100) lagged.push(at, at / 100);
  expect(lagged.at(1950)).toBeCloseTo(19.5, 9);
  expect(lagged.at(5000)).toBe(20);
  // Older than what is kept: the oldest.
  expect(lagged.at(0)).toBe(10);
});

it("a frame's delay is the mean of the last half second; without frames the picture stands still", () => {
  const frames = (number: number, delay_ms?: number) =>
    moment(state(number, { lanes: [lane({ frames: delay_ms === undefined ? [] : [{ group: 0, delay_ms }] })] }));
  const moments = [frames(1, 100), ...Array.from({ length: 19 }, (_, i) => frames(i + 2, i < 15 ? undefined : 10))];
  expect(frameDelay(moments, 0, 0)).toBeCloseTo(10, 9);
  expect(frameDelay(moments, 0, 1)).toBeUndefined();
  const stalled = [frames(1, 10), ...Array.from({ length: 40 }, (_, i) => frames(i + 2))];
  // 40 states of 50 ms since the last frame, and its own 10 ms.
  expect(frameDelay(stalled, 0, 0)).toBeCloseTo(2010, 6);
});

const busy = (number: number) =>
  moment(
    state(number, {
      lanes: [
        lane({
          queues: [
            { name: "L", packets: 1, marked: 0, dropped: 0, delay_mean_ms: 0.5, delays: [[bucket(0.5), 1]] },
            { name: "C", packets: 1, marked: 0, dropped: 0, delay_mean_ms: 15, delays: [[bucket(15), 1]] },
          ],
          groups: ["A", "B", "U"].map((name) => ({
            name,
            rate_bps: 1e7,
            packets: 1,
            marked: 0,
            dropped: 0,
            window_pkts: 10,
          })),
          flows: [{ flow: 0, group: 0, rate_bps: 1e7, cwnd_pkts: 10, classic_ecn: -3 }],
          downloads: [{ group: 0, bytes: 1000, time_ms: 21, ideal_ms: 20 }],
        }),
      ],
    }),
  );

it("a sentence says what the picture shows", () => {
  const moments = Array.from({ length: 20 }, (_, i) => busy(i + 1));
  expect(sentence(BUCKETS, moments, 0)).toBe("L queue 0.5 ms, C queue 15 ms, link 98 % used.");
  expect(sentences(BUCKETS, moments)).toBe(sentence(BUCKETS, moments, 0));
  expect(sentence(BUCKETS, [], 0)).toBe("");
  expect(aboutPreset("live", "DualPI2")).not.toBe("");
  expect(aboutPreset("live", "something else")).toBe("");
  expect(aboutPreset("rrul", "DualPI2"), "a preset of another scenario").toBe("");
  expect(["live", "rrul"].map(HEADER.title)).toEqual(["l4s live", "rrul · l4s live"]);
});

/** Settings with an uplink whose discipline is this. */
const withUplink = (kind: string, queues: string[]) => {
  const [first] = settings().lanes;
  if (first === undefined) throw new Error("no lane");
  const uplink = {
    link: { rate: "5mbit", rate_bps: 5e6, buffer: "100p" },
    aqm: { kind, profile: "linux", values: {}, queues },
  };
  return settings({ lanes: [{ ...first, uplink }] });
};

/** A state whose uplink has these queues. */
const climbing = (number: number) => {
  const of = busy(number).state;
  const link = { rate_bps: 5e6, utilization: 0.5, backlog_packets: 7, backlog_bytes: 10_000 };
  const queue = { name: "Q", packets: 9, marked: 3, dropped: 1, delay_mean_ms: 40, delays: [] };
  const delays: [number, number][] = [[bucket(40), 9]];
  const lanes = of.lanes.map((one) => ({ ...one, uplink: { link, queues: [{ ...queue, delays }], packets: [] } }));
  return moment({ ...of, lanes }, withUplink("fifo", ["Q"]));
};

it("an uplink has its own charts and its part of the sentence, and no chart without one", () => {
  const moments = Array.from({ length: 20 }, (_, i) => climbing(i + 1));
  expect(sentence(BUCKETS, moments, 0)).toBe(
    "L queue 0.5 ms, C queue 15 ms, link 98 % used, uplink Queue 40 ms, uplink 50 % used.",
  );
  const under = withUplink("fifo", ["Q"]);
  const fitting = (of: typeof under) => PLOTS.filter(({ fits }) => fits?.(of, []) !== false).map(({ name }) => name);
  const more = fitting(under).filter((name) => !fitting(settings()).includes(name));
  expect(more).toEqual(["uplink-delays", "uplink-signals"]);
  const scene = {
    theme: themeOf("light"),
    buckets: BUCKETS,
    moments,
    settings: under,
    lane: 0,
    window_s: 5,
    log: false,
    each: false,
  };
  const draw = (wanted: string) => PLOTS.find(({ name }) => name === wanted)?.draw(scene);
  const series = (wanted: string) => (draw(wanted)?.option.series ?? []) as { name: string; data: number[][] }[];
  expect(series("uplink-delays").map(({ name, data }) => [name, data[0]?.[1]])).toEqual([["queue", 40]]);
  // 3 of 9 marked; 1 of 10 dropped.
  expect(draw("uplink-signals")?.words[0]?.text).toBe("queue: 33.3 % marked, 10 % dropped");
  expect(series("utilization").map(({ name, data }) => [name, data[0]?.[1]])).toEqual([
    ["used", 98],
    ["uplink used", 50],
  ]);
});

it("a chart that has nothing to show is hidden: windows without two groups of long flows, scores and downloads without any", () => {
  const fitting = (of: ReturnType<typeof settings>, moments = [busy(1)]) =>
    PLOTS.filter(({ fits }) => fits?.(of, moments) !== false).map(({ name }) => name);
  expect(fitting(settings())).toEqual(expect.arrayContaining(["balance", "scores"]));
  const [a, b] = settings().groups;
  if (a === undefined || b === undefined) throw new Error("two groups");
  // Applications and downloads alone, and Prague without a detector.
  const alone = settings({ groups: [{ ...a, flows: 0 }, b] });
  const plain = busy(1);
  for (const { flows } of plain.state.lanes) for (const flow of flows) delete flow.classic_ecn;
  expect(fitting(alone)).not.toContain("balance");
  expect(fitting(settings(), [plain])).not.toContain("scores");
  for (const { downloads } of plain.state.lanes) downloads.length = 0;
  expect(fitting(settings({ groups: [{ ...a, web: { rate: "0/s", per_s: 0 } }] }), [plain])).not.toContain(
    "completion",
  );
  expect(fitting(settings({ groups: [{ ...a, web: { rate: "1/s", per_s: 1 } }] }), [plain])).toContain("completion");
  // The windows are of the groups that have any.
  const three = settings({ groups: [{ ...a, flows: 0 }, b, { ...b, name: "bbr" }] });
  const scene = { theme: themeOf("light"), buckets: BUCKETS, moments: [busy(1), busy(2)], settings: three, lane: 0 };
  const drawn = PLOTS.find(({ name }) => name === "balance")?.draw({ ...scene, window_s: 5, log: false, each: false });
  expect(drawn?.words[0]?.text).toMatch(/^B over bbr/);
});

it("the axis of delays begins with the decade of the lowest", () => {
  expect([[], [0, 0.0075, 3], [0.5, 20], [0.02], [1e-9]].map(decadeBelow)).toEqual([0.1, 0.001, 0.1, 0.01, 0.001]);
});

it("a machine that is too slow is told from one that keeps up, whatever the speed asked for", () => {
  const at = (ratio: number, speed: number, late_s: number) =>
    Array.from({ length: 60 }, (_, i) =>
      moment(state(i + 1, { time_s: (i + 1) * 0.05 * speed * ratio, span_s: 0.05 * speed * ratio, speed, late_s })),
    );
  expect(pace(at(1, 1, 0))).toBeCloseTo(1, 9);
  expect(pace(at(0.6, 5, 3))).toBeCloseTo(0.6, 9);
  expect(lateness(at(1, 0.1, 0))).toBe("");
  expect(lateness(at(0.6, 1, 3))).toContain("60 %");
  expect(lateness([])).toBe("");
});

it("a session that turns downloads away says so, and stops to when it does not any more", () => {
  const at = (turned_away?: number) => (number: number) =>
    moment(state(number, { lanes: [lane({ ...(turned_away === undefined ? {} : { turned_away }) })] }));
  const moments = (...states: ((number: number) => ReturnType<typeof moment>)[]) => states.map((one, i) => one(i + 1));
  expect(full(moments(at(), at(3)), 2000)).toContain("2,000 downloads are under way");
  expect(full(moments(at(), at()), 2000)).toBe("");
  expect(full(moments(at(3), ...Array.from({ length: 60 }, () => at())), 2000)).toBe("");
});

it("a session that skips frames says so beside what it turns away, and only in the seconds after", () => {
  const at = (counts: { turned_away?: number; skipped?: number }) => (number: number) =>
    moment(state(number, { lanes: [lane(counts)] }));
  const moments = (...states: ((number: number) => ReturnType<typeof moment>)[]) => states.map((one, i) => one(i + 1));
  expect(full(moments(at({}), at({ skipped: 2 })), 2000)).toBe(
    "A send buffer of 4 MiB is full: frames that come now are skipped.",
  );
  expect(full(moments(at({ turned_away: 1 }), at({ skipped: 2 })), 2000)).toMatch(/turned away\. A send buffer/);
  expect(full(moments(at({ skipped: 2 }), ...Array.from({ length: 60 }, () => at({}))), 2000)).toBe("");
});

it("every chart draws, on either axis and in either theme, and says so when it cannot", () => {
  const moments = Array.from({ length: 100 }, (_, i) => climbing(i + 1));
  for (const mode of ["light", "dark"] as const) {
    for (const log of [true, false]) {
      const scene = {
        theme: themeOf(mode),
        buckets: BUCKETS,
        moments,
        settings: withUplink("fifo", ["Q"]),
        lane: 0,
        window_s: 5,
        log,
        each: log,
      };
      for (const plot of PLOTS) expect(plot.draw(scene)?.words.length, plot.name).toBeGreaterThan(0);
      for (const plot of PLOTS) expect(() => plot.draw({ ...scene, moments: [] }), plot.name).not.toThrow();
    }
  }
});

it("a goodput far below its rate is dashed below it", () => {
  const group = (name: string, goodput_bps: number) => ({
    name,
    rate_bps: 10e6,
    goodput_bps,
    packets: 1,
    marked: 0,
    dropped: 0,
  });
  const moments = Array.from({ length: 40 }, (_, i) =>
    moment(state(i + 1, { lanes: [lane({ groups: [group("A", 5e6), group("B", 9.6e6)] })] })),
  );
  const scene = {
    theme: themeOf("light"),
    buckets: BUCKETS,
    moments,
    settings: settings(),
    lane: 0,
    window_s: 5,
    log: true,
    each: false,
  };
  const series = PLOTS.find(({ name }) => name === "throughput")?.draw(scene)?.option.series as {
    name: string;
    data: number[][];
    lineStyle: { type?: unknown };
  }[];
  expect(series.map(({ name, data, lineStyle }) => [name, data[0]?.[1], lineStyle.type])).toEqual([
    ["A · Prague", 10, undefined],
    ["A · Prague, goodput", 5, [4, 3]],
    ["B · Cubic", 10, undefined],
  ]);
});

it("a UDP source and downloads are beside the single flows", () => {
  const group = (name: string, rate_bps: number) => ({ name, rate_bps, packets: 1, marked: 0, dropped: 0 });
  const groups = [group("A", 9e6), group("B", 2e6), group("U", 5e6)];
  const flows = [{ flow: 0, group: 0, rate_bps: 9e6, cwnd_pkts: 9, srtt_ms: 10 }];
  const moments = Array.from({ length: 40 }, (_, i) => moment(state(i + 1, { lanes: [lane({ groups, flows })] })));
  const scene = { theme: themeOf("light"), buckets: BUCKETS, moments, settings: settings(), lane: 0, window_s: 5 };
  const drawn = PLOTS.find(({ name }) => name === "throughput")?.draw({ ...scene, log: true, each: true });
  const series = (drawn?.option.series ?? []) as { name: string; data: number[][] }[];
  expect(series.map(({ name, data }) => [name, data[0]?.[1]])).toEqual([
    ["A #0", 9],
    ["B · Cubic", 2],
    ["U · UDP", 5],
  ]);
});

it("the capacity of a link that follows a trace is an area behind the rates", () => {
  const [first] = settings().lanes;
  if (first === undefined) throw new Error("no lane");
  const traced = settings({ lanes: [{ ...first, link: { ...first.link, rate: "", trace: "lte-1" } }] });
  const group = { name: "A", rate_bps: 5e6, packets: 1, marked: 0, dropped: 0 };
  // Five states of 50 ms a bin: 30 Mb/s, then 10 Mb/s.
  const moments = Array.from({ length: 10 }, (_, i) => {
    const link = { rate_bps: i < 5 ? 30e6 : 10e6, utilization: 0.5, backlog_packets: 0, backlog_bytes: 0 };
    return moment(state(i + 1, { lanes: [lane({ link, groups: [group] })] }), traced);
  });
  const draw = (of: typeof traced) =>
    PLOTS.find(({ name }) => name === "throughput")?.draw({
      theme: themeOf("light"),
      buckets: BUCKETS,
      moments,
      settings: of,
      lane: 0,
      window_s: 5,
      log: true,
      each: false,
    });
  type Drawn = { name: string; data: number[][]; areaStyle?: unknown };
  const drawn = (of: typeof traced) => (draw(of)?.option.series ?? []) as Drawn[];
  const series = drawn(traced);
  expect(series.map(({ name }) => name)).toEqual(["link", "A · Prague"]);
  expect(series[0]?.data.map(([, y]) => y)).toEqual([30, 10]);
  expect(series[0]?.areaStyle).toBeDefined();
  // All of it is in sight.
  const axis = (draw(traced)?.option.yAxis ?? {}) as { max?: number };
  expect(axis.max).toBeGreaterThanOrEqual(30);
  expect(draw(traced)?.words[0]?.text).toBe("link 20 Mb/s");
  expect(drawn(settings()).map(({ name }) => name)).toEqual(["A · Prague"]);
});

it("axes end at round numbers", () => {
  expect([0.7, 1, 9.5, 17, 100].map(roundUp)).toEqual([0.8, 1, 10, 20, 100]);
  // And are divided at round numbers.
  expect([0.8, 1, 1.5, 2.5, 30, 60].map((top) => Number(division(top).toPrecision(9)))).toEqual([
    0.2, 0.2, 0.5, 0.5, 10, 20,
  ]);
});
