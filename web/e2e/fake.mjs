// A server that speaks docs/reference/live-protocol.md with made-up numbers: to develop the page without the
// real one, and for tests of what the real one hardly does. `node e2e/fake.mjs [PORT]` prints its
// address. Its delays follow the settings roughly; nothing in it is a simulation.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { WebSocketServer } from "ws";

const assets = fileURLToPath(new URL("../../crates/live/assets/", import.meta.url));
const KINDS = ["dualpi2", "pi2", "pie", "codel", "fq_codel", "cobalt", "red", "fifo"];
const TARGET = { dualpi2: 15, pi2: 15, pie: 15, codel: 6, fq_codel: 5, cobalt: 6, red: 20, fifo: 220 };

const GREETING = {
  protocol: 1,
  version: "0.0.0-fake",
  on: "sim",
  scenario: "live",
  points: [
    "DualPI2",
    "Without AQM",
    "PIE",
    "FQ-CoDel",
    "One greedy download",
    "Overload",
    "A Classic queue in the way",
  ].map((label, number) => ({ number, label })),
  delay_buckets: { first_ms: 0.001, per_decade: 40, count: 281 },
  limits: {
    sessions: 64,
    viewers: 64,
    flows: 100,
    downloads: 2000,
    rate_bps: 1e10,
    message_bytes: 65536,
    compare: true,
    speed: { min: 0.01, max: 10 },
  },
  disciplines: KINDS.map((kind) => ({
    kind,
    about:
      kind === "dualpi2" ? "two queues, coupled: low delay for L4S, capacity shared with Classic" : `about ${kind}`,
    profiles:
      kind === "fifo"
        ? []
        : [
            { name: "linux", about: "as Linux" },
            { name: "best", about: "what serves links best" },
          ],
    params:
      kind === "fifo"
        ? [
            {
              name: "limit",
              about: "packets that may wait",
              accepts: 'a number of packets such as "1000p", from 1p to 100000000p',
              type: "packets",
              min: 1,
              max: 1e8,
            },
          ]
        : [
            {
              name: "target",
              about: "Classic queueing delay to hold",
              accepts: 'a time such as "15ms", from 0s to 4s',
              type: "time",
              min: 0,
              max: 4,
            },
            {
              name: "alpha",
              about: "integral gain, per update",
              accepts: "a number of Hz from 0 to 1000",
              type: "number",
              unit: "Hz",
              min: 0,
              max: 1000,
            },
            {
              name: "k",
              about: "coupling factor",
              accepts: "a whole number from 0 to 255",
              type: "count",
              min: 0,
              max: 255,
            },
            {
              name: "l_aqm",
              about: "the L queue's own marker",
              accepts: 'one of "step", "ramp", "none"',
              type: "choice",
              words: ["step", "ramp", "none"],
            },
            {
              name: "step_thresh",
              about: "mark every L packet that was queued longer",
              accepts: 'a time up to 4s such as "1ms", or packets up to 1000000p such as "3p"',
              type: "time-or-packets",
              max: 4,
              max_packets: 1e6,
            },
            {
              name: "classic_ecn",
              about: "a Classic signal marks ECN-capable packets instead of dropping them",
              accepts: "true or false",
              type: "bool",
            },
            {
              name: "limit",
              about: "packets that may wait, in all queues together",
              accepts: "a number of packets",
              type: "packets",
              min: 1,
              max: 1e8,
            },
            {
              name: "memlimit",
              about: "memory that waiting packets may occupy",
              accepts: 'a size such as "30mb"',
              type: "bytes",
              min: 1514,
              max: 1e12,
            },
          ],
  })),
  controls: ["reno", "cubic", "dctcp", "prague"].map((kind) => ({
    kind,
    about: `about ${kind}`,
    profiles: [{ name: "linux", about: "" }],
    params: [],
  })),
};
const VALUES = {
  target: "15ms",
  alpha: 0.3125,
  k: 2,
  l_aqm: "step",
  step_thresh: "1ms",
  classic_ecn: true,
  limit: "40000p",
};

const bits = (text) => {
  const found = /^(\d+(?:\.\d+)?)(k|m|g)?bit$/.exec(text);
  return found === null ? undefined : Number(found[1]) * { "": 1, k: 1e3, m: 1e6, g: 1e9 }[found[2] ?? ""];
};
const millis = (text) => {
  const found = /^(\d+(?:\.\d+)?)(us|ms|s)$/.exec(text);
  return found === null ? undefined : Number(found[1]) * { us: 1e-3, ms: 1, s: 1e3 }[found[2]];
};
const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
const bucket = (ms) => Math.min(280, Math.max(0, Math.floor(Math.log10(ms / 0.001) * 40)));

/** A session; `odd` makes it late or lossy. */
class Session {
  constructor(what, odd) {
    this.odd = odd;
    this.viewers = new Set();
    this.number = 0;
    this.states = 0;
    this.run = 1;
    this.time = 0;
    this.paused = false;
    this.speed = 1;
    this.second = undefined;
    this.depth = new Map();
    this.load(what);
    this.timer = setInterval(() => this.tick(), 50);
  }

  load({ point, text, set }) {
    if (text !== undefined && !text.startsWith("# fake\n"))
      throw { message: "found text that is no scenario", field: "text", help: "a fake server accepts only its own" };
    this.point = point ?? (text === undefined ? 0 : null);
    const preset =
      text === undefined ? ({ 1: { aqm: "fifo" }, 2: { aqm: "pie" }, 3: { aqm: "fq_codel" } }[point] ?? {}) : {};
    this.base = text === undefined ? preset : JSON.parse(text.slice(7));
    this.keys = {};
    this.set(set ?? {});
    this.time = 0;
    this.run++;
  }

  get all() {
    return {
      "link.rate": "20mbit",
      aqm: "dualpi2",
      "group.A.flows": "1",
      "group.B.flows": "1",
      "group.A.cc": "prague",
      "group.B.cc": "cubic",
      "group.A.rtt": "10ms",
      "group.B.rtt": "10ms",
      "web.A.rate": "0/s",
      "web.B.rate": "0/s",
      "app.A.rate": "0bit",
      "app.B.rate": "0bit",
      "udp.U.rate": "0bit",
      "udp.U.ecn": "ect1",
      ...this.base,
      ...this.keys,
    };
  }

  set(keys, lane) {
    for (const [key, value] of Object.entries(keys)) {
      if (value === null) continue;
      const fail = (message, help) => {
        throw { field: key, message: `\`${key}\`: ${message}`, ...(help ? { help } : {}) };
      };
      if (key.endsWith(".cc") && !["reno", "cubic", "dctcp", "prague"].includes(value))
        fail(`found "${value}", expected one of \`reno\`, \`cubic\``);
      if (key.endsWith(".flows") && !(Number(value) <= 100)) fail(`found ${value}, expected at most 100`);
      if (key === "aqm" && !KINDS.includes(value)) fail(`found "${value}", expected a discipline`);
      if (key === "aqm.step_thresh" && millis(value) === undefined && !/^\d+p$/.test(value))
        fail(
          `found "${value}", expected a time up to 4s such as "1ms", or packets up to 1000000p such as "3p"`,
          "did you mean `1ms`?",
        );
      if (key === "link.rate" && bits(value) === undefined) fail(`found "${value}", expected a rate`);
    }
    if (lane === 1) {
      this.second = { ...this.second, ...keys };
      return;
    }
    for (const [key, value] of Object.entries(keys)) {
      if (key === "aqm") for (const old of Object.keys(this.keys)) if (old.startsWith("aqm.")) delete this.keys[old];
      if (value === null) delete this.keys[key];
      else this.keys[key] = value;
    }
  }

  lane(keys) {
    const kind = keys.aqm;
    const values = Object.fromEntries(
      Object.entries(kind === "fifo" ? { limit: "1000p" } : VALUES).map(([name, value]) => [
        name,
        keys[`aqm.${name}`] ?? value,
      ]),
    );
    return {
      set: {},
      link: { rate: keys["link.rate"], rate_bps: bits(keys["link.rate"]), buffer: "40000p" },
      aqm: {
        kind,
        profile: keys["aqm.profile"] ?? (kind === "fifo" ? "" : "linux"),
        values,
        queues: kind === "dualpi2" ? ["L", "C"] : ["Q"],
      },
    };
  }

  settings() {
    const all = this.all;
    const lanes = [this.lane(all)];
    if (this.second !== undefined) lanes.push({ ...this.lane({ ...all, ...this.second }), set: this.second });
    return {
      type: "settings",
      number: this.number,
      name: "live",
      point: this.point,
      text: `# fake\n${JSON.stringify(all)}`,
      command: `l4s run live${Object.entries(this.keys)
        .map(([k, v]) => ` --set ${k}=${v}`)
        .join("")}`,
      set: this.keys,
      paused: this.paused,
      speed: this.speed,
      lanes,
      groups: ["A", "B"].map((name) => ({
        name,
        cc: all[`group.${name}.cc`],
        cc_profile: "linux",
        ecn: "auto",
        flows: Number(all[`group.${name}.flows`]),
        rtt: all[`group.${name}.rtt`],
        rtt_ms: millis(all[`group.${name}.rtt`]),
        web: { rate: all[`web.${name}.rate`], per_s: parseFloat(all[`web.${name}.rate`]) },
        app: {
          rate: all[`app.${name}.rate`],
          rate_bps: bits(all[`app.${name}.rate`]),
          fps: 30,
          adapt: false,
          flows: 1,
        },
      })),
      udp: [
        {
          name: "U",
          rate: all["udp.U.rate"],
          rate_bps: bits(all["udp.U.rate"]),
          ecn: all["udp.U.ecn"],
          packet: "1500b",
        },
      ],
    };
  }

  tick() {
    if (this.paused) return;
    const span = 0.05 * this.speed * (this.odd.slow ?? 1);
    this.time += span;
    this.states++;
    if (this.odd.gaps && this.states % 5 === 0) return;
    const settings = this.settings();
    this.tell({
      type: "state",
      number: this.states,
      run: this.run,
      time_s: this.time,
      span_s: span,
      speed: this.speed,
      late_s: this.odd.slow ? this.time * (1 / this.odd.slow - 1) : 0,
      lanes: settings.lanes.map((lane, i) => this.state(settings, lane, span, i)),
    });
  }

  state(settings, { link, aqm }, span, lane) {
    const scalable = (cc) => cc === "prague" || cc === "dctcp";
    const weights = settings.groups.map(({ flows }) => flows);
    const sum = weights.reduce((a, b) => a + b, 0);
    const udp = Math.min(settings.udp[0].rate_bps, link.rate_bps);
    const left = Math.max(link.rate_bps - udp, 0);
    const rate = [...weights.map((w) => (sum === 0 ? 0 : (left * 0.98 * w * (1 + 0.05 * normal())) / sum)), udp];
    const dual = aqm.kind === "dualpi2";
    const target = millis(String(aqm.values.target ?? "")) ?? TARGET[aqm.kind] ?? 15;
    const mean = { L: 0.45, C: Math.max(0.3, target), Q: aqm.kind === "fifo" ? 220 : target };
    const queueOf = (i) =>
      !dual ? 2 : i === 2 ? (settings.udp[0].ecn === "ect1" ? 0 : 1) : scalable(settings.groups[i].cc) ? 0 : 1;
    const NAMES = ["L", "C", "Q"];
    const queues = aqm.queues.map((name) => {
      const key = `${lane}${name}`;
      const wander = (this.depth.get(key) ?? 0) * 0.9 + 0.12 * normal();
      this.depth.set(key, wander);
      const from = rate.flatMap((bps, i) => (bps > 0 && NAMES[queueOf(i)] === name ? [bps] : []));
      const packets = Math.round((from.reduce((a, b) => a + b, 0) * span) / 12000);
      const delays = new Map();
      let total = 0;
      let max = 0;
      for (let i = 0; i < packets; i++) {
        const ms = mean[name] * Math.exp(wander + 0.25 * normal());
        total += ms;
        max = Math.max(max, ms);
        delays.set(bucket(ms), (delays.get(bucket(ms)) ?? 0) + 1);
      }
      const marked = name === "L" ? Math.round(packets * 0.1) : 0;
      const dropped = name === "L" ? 0 : Math.random() < packets * 0.004 ? 1 : 0;
      return {
        name,
        packets,
        marked,
        dropped,
        ...(packets > 0 ? { delay_mean_ms: total / packets, delay_max_ms: max } : {}),
        delays: [...delays].sort((a, b) => a[0] - b[0]),
      };
    });
    const groups = [...settings.groups, ...settings.udp].map((group, i) => ({
      name: group.name,
      rate_bps: rate[i],
      packets: Math.round((rate[i] * span) / 12000),
      marked: 0,
      dropped: 0,
      ...(i < 2 && group.flows > 0
        ? {
            window_pkts: ((rate[i] / group.flows) * (group.rtt_ms + 5)) / 12e6,
            rtt_ms: group.rtt_ms + mean[NAMES[queueOf(i)]],
          }
        : {}),
    }));
    const flows = settings.groups.flatMap((group, g) =>
      Array.from({ length: group.flows }, (_, i) => ({
        flow: g * 100 + i,
        group: g,
        rate_bps: (rate[g] / group.flows) * (1 + 0.1 * normal()),
        cwnd_pkts: 15,
        srtt_ms: group.rtt_ms + 1,
        ...(group.cc === "prague" ? { alpha: 0.1, classic_ecn: (dual ? -3 : 0.6) + 0.1 * normal() } : {}),
      })),
    );
    const downloads = settings.groups.flatMap((group, g) =>
      Array.from({ length: Math.floor(group.web.per_s * span + Math.random()) }, () => {
        const bytes = Math.round(1000 / (1 - Math.random() * 0.998) ** 1.11);
        const ideal = 2 * group.rtt_ms + (bytes * 8e3) / link.rate_bps;
        return { group: g, bytes, ideal_ms: ideal, time_ms: ideal + mean[NAMES[queueOf(g)]] * (1 + Math.random() * 2) };
      }),
    );
    const frames = settings.groups.flatMap((group, g) =>
      group.app.rate_bps > 0 && Math.random() < 0.9
        ? [{ group: g, delay_ms: 7 + mean[NAMES[queueOf(g)]] * (1 + 0.1 * normal()) }]
        : [],
    );
    const total = rate.reduce((a, b) => a + b, 0);
    const length = Math.min(64, Math.round((total * span) / 12000));
    const packets = Array.from({ length }, (_, i) => {
      let at = Math.random() * total;
      const group = rate.findIndex((bps) => {
        at -= bps;
        return at < 0;
      });
      const queue = queueOf(Math.max(0, group));
      const state = queues.find(({ name }) => name === NAMES[queue]);
      const fate = queue === 0 && Math.random() < 0.1 ? 1 : queue !== 0 && Math.random() < 0.01 ? 2 : 0;
      return [(span * 1000 * (i + Math.random())) / length, Math.max(0, group), queue, fate, state?.delay_mean_ms ?? 0];
    }).sort((a, b) => a[0] - b[0]);
    const waiting = queues.reduce(
      (all, { packets: n, delay_mean_ms = 0 }) => all + (n / (span * 1000)) * delay_mean_ms,
      0,
    );
    return {
      ...(this.odd.full ? { turned_away: 3 } : {}),
      link: {
        rate_bps: link.rate_bps,
        utilization: sum === 0 ? udp / link.rate_bps : 0.985,
        backlog_packets: Math.round(waiting),
        backlog_bytes: Math.round(waiting * 1514),
        ...(aqm.kind === "fifo" ? {} : { p_base: 0.05 }),
      },
      queues,
      groups,
      flows,
      downloads,
      frames,
      packets,
    };
  }

  tell(message) {
    const text = JSON.stringify(message);
    for (const viewer of this.viewers) viewer.send(text);
  }

  do(command) {
    switch (command.do) {
      case "set":
        this.set(command.set, command.lane);
        break;
      case "load":
        this.second = undefined;
        this.load(command);
        break;
      case "compare":
        this.second = command.set ?? undefined;
        this.time = 0;
        this.run++;
        break;
      case "restart":
        this.time = 0;
        this.run++;
        break;
      case "pause":
        this.paused = command.paused;
        break;
      case "speed":
        this.speed = command.speed;
        break;
      default:
        throw { field: "do", message: `\`do\`: found "${command.do}"` };
    }
    this.number++;
    this.tell(this.settings());
  }

  end() {
    clearInterval(this.timer);
    this.tell({ type: "over" });
    for (const viewer of this.viewers) viewer.close();
  }
}

/** Starts a server. `odd`: `slow` (0.5: half as fast), `gaps`, `token`, `points`, `textless`. */
export async function start({ port = 0, ...odd } = {}) {
  const sessions = new Map();
  let counter = 0;
  const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };
  const CSP =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://fake");
    const answer = (status, body) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const file = { "/": "index.html", "/live.js": "live.js", "/live.css": "live.css" }[url.pathname];
    if (file !== undefined) {
      response
        .writeHead(200, { "content-type": TYPES[file.split(".").pop()], "content-security-policy": CSP })
        .end(readFileSync(assets + file));
      return;
    }
    if (odd.token !== undefined && request.headers.authorization !== `Bearer ${odd.token}`)
      return answer(401, { type: "error", message: "a token is needed" });
    if (url.pathname === "/api/greeting") {
      const points =
        odd.points === undefined
          ? GREETING.points
          : Array.from({ length: odd.points }, (_, number) => ({
              number,
              label: `link.rate=${number + 1}mbit, group.*.rtt=10ms`,
            }));
      const kernel = { on: "kernel", limits: { ...GREETING.limits, compare: false, speed: { min: 1, max: 1 } } };
      return answer(200, { ...GREETING, points, ...(odd.kernel ? kernel : {}) });
    }
    const id = /^\/api\/sessions\/([^/]+)$/.exec(url.pathname)?.[1];
    if (id !== undefined) {
      const session = sessions.get(id);
      if (session === undefined) return answer(404, { type: "error", message: "no such session" });
      if (request.method === "DELETE") {
        session.end();
        sessions.delete(id);
        response.writeHead(204).end();
        return;
      }
      return answer(200, session.settings());
    }
    if (url.pathname === "/api/sessions" && request.method === "POST") {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", () => {
        try {
          const asked = JSON.parse(text);
          if (odd.textless && asked.text !== undefined) throw { message: "`link.trace`: found a file" };
          const session = new Session(asked, odd);
          const name = `s${++counter}`;
          sessions.set(name, session);
          answer(201, { id: name, settings: session.settings() });
        } catch (fault) {
          answer(422, { type: "error", ...fault });
        }
      });
      return;
    }
    answer(404, { type: "error", message: "no such page" });
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url, "http://fake");
    const session = sessions.get(/^\/api\/sessions\/([^/]+)\/watch$/.exec(url.pathname)?.[1]);
    if (session === undefined || (odd.token !== undefined && url.searchParams.get("token") !== odd.token)) {
      socket.destroy();
      return;
    }
    sockets.handleUpgrade(request, socket, head, (viewer) => {
      session.viewers.add(viewer);
      viewer.on("close", () => session.viewers.delete(viewer));
      viewer.send(JSON.stringify(session.settings()));
      viewer.on("message", (data) => {
        const command = JSON.parse(String(data));
        try {
          session.do(command);
          viewer.send(JSON.stringify({ type: "done", id: command.id }));
        } catch (fault) {
          viewer.send(JSON.stringify({ type: "error", id: command.id, ...fault }));
        }
      });
    });
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    sessions,
    odd,
    async stop() {
      for (const session of sessions.values()) {
        clearInterval(session.timer);
        for (const viewer of session.viewers) viewer.terminate();
      }
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log((await start({ port: Number(process.argv[2] ?? 0) })).url);
