// Makes up the data that tests draw: `demo.json` is shaped like the scenario one-against-one (three
// disciplines, with curves), `sweep.json` like dctth-4 (75 runs, none with curves but a few). The
// numbers are plausible, not measured.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const out = fileURLToPath(new URL("../../crates/report/tests/data/", import.meta.url));

/** A small congruential generator: the same numbers everywhere. */
let state = 12345;
const random = () => {
  state = (1103515245 * state + 12345) % 2147483648;
  return state / 2147483648;
};
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const round = (x, digits = 4) => Number(x.toPrecision(digits));

/** Delays as sorted samples around a mean, with a log-normal spread. */
const samples = (mean, spread) =>
  Array.from({ length: 4000 }, () => mean * Math.exp(spread * normal() - (spread * spread) / 2)).sort((a, b) => a - b);
const at = (sorted, share) => round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
const delay = (sorted) => ({
  mean: round(sorted.reduce((a, b) => a + b) / sorted.length),
  p1: at(sorted, 0.01),
  p25: at(sorted, 0.25),
  p50: at(sorted, 0.5),
  p75: at(sorted, 0.75),
  p99: at(sorted, 0.99),
  p999: at(sorted, 0.999),
  max: at(sorted, 1),
});
const cdf = (queue, sorted) => {
  const shares = [...Array.from({ length: 60 }, (_, i) => (i + 0.5) / 61), 0.99, 0.995, 0.999, 0.9995, 1];
  return { queue, ms: shares.map((s) => at(sorted, s)), share: shares.map((s) => round(s, 5)) };
};

const AQMS = {
  dualpi2: {
    queues: [
      ["L", 0.57, 0.28],
      ["C", 15.2, 0.22],
    ],
    cc: ["dctcp", "cubic"],
    traffic: ["l4s", "classic"],
  },
  pie: { queues: [["Q", 15.4, 0.3]], cc: ["cubic", "cubic"], traffic: ["classic-ecn", "classic"] },
  fq_codel: { queues: [["Q", 5.7, 0.35]], cc: ["cubic", "cubic"], traffic: ["classic-ecn", "classic"] },
};

function run(number, aqm, rate, rtt, set, curves) {
  const { queues, cc, traffic } = AQMS[aqm];
  const scale = rate < 12 ? 2.6 : rate < 40 ? 1.4 : 1;
  const drawn = queues.map(([name, mean, spread]) => [name, samples(mean * scale * (1 + 0.1 * normal()), spread)]);
  const share = 0.5 + (0.12 * normal()) / 2;
  const bps = [rate * 1e6 * 0.985 * share, rate * 1e6 * 0.985 * (1 - share)];
  const p = Math.min(0.3, 8 / (rate * rtt));
  const summary = {
    scenario: curves ? "one against one" : "dctth-4",
    on: "sim",
    seed: 1,
    version: "0.1.0",
    set,
    link: { rate_bps: rate * 1e6, utilization: round(0.999 - (rtt / 100) * 0.02 * random(), 5) },
    queues: drawn.map(([name, sorted]) => ({
      name,
      packets: 90000,
      delay_ms: delay(sorted),
      mark: round(name === "L" ? 2 * p : name === "C" ? 0 : p * p),
      drop: round(name === "L" ? 0 : p * p),
      marks: { step: 0, coupled: 0, classic: 0 },
      drops: { overload: 0, aqm: 0, limit: 0, memory: 0 },
    })),
    groups: ["A", "B"].map((name, i) => ({
      name,
      cc: cc[i],
      flows: 1,
      rate_bps: round(bps[i], 6),
      rate_per_flow_bps: round(bps[i], 6),
      normalized_rate: round(bps[i] / (rate * 5e5)),
      window_pkts: round((bps[i] * rtt) / 1000 / 12000),
      rtt_ms: rtt,
      packets: 90000,
      mark: 0,
      drop: 0,
      retransmits: 0,
    })),
    ratios: { window_A_B: round((bps[0] / bps[1]) * 0.8), rate_A_B: round(bps[0] / bps[1]) },
    engine: { virtual_s: 60, packets: 180000 },
  };
  const result = {
    number,
    aqm,
    traffic: { A: traffic[0], B: traffic[1] },
    base_rtt_ms: { A: rtt, B: rtt },
    command: `l4s run ${curves ? "one-against-one" : "dctth-4"}${Object.entries(set)
      .map(([k, v]) => ` --set ${k}=${v}`)
      .join("")} --seed 1`,
    summary,
  };
  if (curves) {
    const s = Array.from({ length: 240 }, (_, i) => round((i + 1) * 0.25));
    result.curves = {
      warmup_s: 15,
      cdf: drawn.map(([name, sorted]) => cdf(name, sorted)),
      delay: drawn.map(([queue, sorted]) => ({
        queue,
        s,
        mean_ms: s.map((t) => round(sorted[2000] * (1 + 0.12 * normal()) * (t < 2 ? 3 : 1), 3)),
      })),
      rate: ["A", "B"].map((group, i) => ({
        group,
        flow: i,
        s,
        mbps: s.map((t) =>
          round(Math.max(0.1, (bps[i] / 1e6) * (1 + 0.1 * Math.sin(t / (1.5 + i)) + 0.05 * normal())), 3),
        ),
      })),
    };
  }
  return result;
}

const WHO = {
  dualpi2: { "aqm.kind": "dualpi2", "group.A.cc": "dctcp" },
  pie: { "aqm.kind": "pie", "group.A.cc": "cubic", "group.A.ecn": "classic" },
  fq_codel: { "aqm.kind": "fq_codel", "group.A.cc": "cubic", "group.A.ecn": "classic" },
};
const folder = (label, scenario, text, runs) => ({
  version: "0.1.0",
  folders: [{ label, scenario, on: "sim", version: "0.1.0", text, runs }],
});
const demo = Object.keys(AQMS).map((aqm, i) => run(i + 1, aqm, 40, 10, WHO[aqm], true));
const sweep = [];
for (const aqm of Object.keys(AQMS))
  for (const rate of [4, 12, 40, 120, 200])
    for (const rtt of [5, 10, 20, 50, 100])
      sweep.push(
        run(
          sweep.length + 1,
          aqm,
          rate,
          rtt,
          { ...WHO[aqm], "link.rate": `${rate}mbit`, "group.*.rtt": `${rtt}ms` },
          false,
        ),
      );
const text = 'name = "one against one"\nduration = "60s"\nwarmup = "15s"\n';
writeFileSync(`${out}demo.json`, `${JSON.stringify(folder("one-against-one", "one against one", text, demo))}\n`);
writeFileSync(`${out}sweep.json`, `${JSON.stringify(folder("dctth-4", "dctth-4", 'name = "dctth-4"\n', sweep))}\n`);
