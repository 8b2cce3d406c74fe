// The made-up results that the tests of the Rust side draw as well.
import { readFileSync } from "node:fs";
import type { Data } from "../src/data";
import type { Lights } from "../src/lights/data";

const read = <T = Data>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../crates/report/tests/data/${name}.json`, import.meta.url), "utf8")) as T;

/** Three runs with curves. */
export const demo = (): Data => read("demo");
/** 75 runs over 25 conditions, without curves. */
export const sweep = (): Data => read("sweep");
/** The squares of two schedules, four mixes and two by two conditions. */
export const lights = (): Lights => read<Lights>("lights");

/** Nine mixes of 0 to 2 flows and 0 to 2, nobody against nobody aside, with sketches. */
export function mixes(): Data {
  const data = sweep();
  const folder = data.folders[0]!;
  const pairs = [0, 1, 2].flatMap((a) => [0, 1, 2].map((b) => [a, b] as const)).filter(([a, b]) => a + b > 0);
  folder.runs = folder.runs.slice(0, pairs.length);
  for (const [i, run] of folder.runs.entries()) {
    const flows = pairs[i]!;
    run.summary.set = { "group.A.flows": flows[0], "group.B.flows": flows[1] };
    run.sketch = ["A", "B"].map((group, g) => {
      const here = flows[g]! > 0;
      if (!here)
        Object.assign(run.summary.groups[g]!, {
          flows: 0,
          rate_bps: 0,
          rate_per_flow_bps: undefined,
          normalized_rate: undefined,
        });
      return { group, share: Array.from({ length: flows[g]! }, () => [100, null, 250]), delay_ms: here ? [1, 2] : [] };
    });
  }
  return data;
}

/** Three rates of UDP traffic that is ECN-capable or not. */
export function overload(): Data {
  const data = sweep();
  const folder = data.folders[0]!;
  folder.runs = folder.runs.slice(0, 6);
  for (const [i, run] of folder.runs.entries()) {
    run.summary.set = {
      "udp.U.rate": ["50mbit", "100mbit", "200mbit"][i % 3]!,
      "udp.U.ecn": i < 3 ? "ect0" : "not-ect",
    };
    run.summary.groups.push({ name: "U", cc: "udp", flows: 1, rate_bps: 1e6, packets: 9, retransmits: 0 });
    run.traffic.U = "udp";
  }
  const line = { group: "U", s: [1, 2], mbps: [3, 4] };
  folder.runs[0]!.curves = { ...demo().folders[0]!.runs[0]!.curves!, output: [line] };
  return data;
}

/** Downloads of both groups in the first of three runs. */
export function web(): Data {
  const data = demo();
  const run = data.folders[0]!.runs[0]!;
  const ideal: [number, number][] = [
    [1000, 20],
    [100_000, 41],
  ];
  run.curves!.downloads = ["A", "B"].map((group) => ({ group, every: 3, bytes: [1000, 5000], ms: [25, 80], ideal }));
  const spread = (mean: number) => ({ p1: mean / 2, mean, p99: 2 * mean });
  run.summary.completion = [
    { group: "A", bin_bytes: [1000, 3000], flows: 3, time_ms: spread(25), efficiency: spread(1) },
    { group: "A", bin_bytes: [3000, 9000], flows: 1, time_ms: spread(80), efficiency: spread(5) },
  ];
  return data;
}

/** A group `P` of a program in the first of three runs, beside A and B. */
export function programs(): Data {
  const data = demo();
  const run = data.folders[0]!.runs[0]!;
  const delay_ms = { mean: 3, p1: 1, p25: 2, p50: 3, p75: 4, p99: 7, p999: 8, max: 9 };
  run.summary.groups.push({ name: "P", cc: "cubic", flows: 0, rate_bps: 5e6, packets: 9, delay_ms, retransmits: 0 });
  run.traffic.P = "program";
  run.curves!.rate.push({ group: "P", s: [1, 2], mbps: [4, 6] });
  run.curves!.program_delay = [{ group: "P", s: [1, 2], mean_ms: [2, 4] }];
  const none = { client: null, server: null, rate_bps: null, delay_p99_ms: null, rtt_mean_ms: null };
  const counts = { bytes: 9, retransmits: 0, not_ect: 7, ect0: 0, ect1: 0, marks: 0, drops: 2, delay_mean_ms: 3.1421 };
  run.programs = {
    largest: [
      {
        ...none,
        ...counts,
        group: "P",
        protocol: "QUIC",
        client: "10.0.1.1:9",
        server: "10.0.0.1:443",
        rate_bps: 5e6,
        start_s: 0.5,
        end_s: 2,
      },
    ],
    others: { ...none, ...counts, group: "", protocol: null, start_s: 0, end_s: 2.5, retransmits: 1 },
    more: 12,
  };
  return data;
}

/** A sweep of one discipline over three targets, with this many seeds of each, in the order in which they run. */
export function seeds(count: number): Data {
  const data = demo();
  const folder = data.folders[0]!;
  const dual = folder.runs[0]!;
  folder.runs = ["5ms", "15ms", "25ms"].flatMap((target, i) =>
    Array.from({ length: count }, (_, s) => {
      const run = structuredClone(dual);
      run.number = count * i + s + 1;
      run.summary.set = { "aqm.target": target };
      run.summary.seed = s + 1;
      run.summary.queues.find(({ name }) => name === "C")!.delay_ms!.mean = 10 * i + 5 + s / 10;
      return run;
    }),
  );
  return data;
}
