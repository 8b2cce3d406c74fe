// The network, drawn: servers, the bottleneck with its queues, the link, clients. The moving dots are the
// sample of real packets that each state brings; their places follow from the time alone, so that
// a past moment always looks the same.

import { el } from "../page/dom";
import { type Theme, themeOf } from "../theme";
import { NETWORK } from "../words/live";
import { ccName, UDP } from "../words/names";
import { ms, rate } from "../words/numbers";
import { groupColours, queueHue } from "./colours";
import { calm } from "./motion";
import { filled, jitterOf, type Layout, LIFE_MS, layout, place, stride } from "./network-model";
import type { LaneState, Settings, Station, StationSettings } from "./protocol";
import { laneOf, lastSeconds, PERIOD_MS } from "./ring";
import { average, capacity, ofUplink, queueDelay, utilization, type Weighted } from "./series";
import type { Store, View } from "./store";

/** One of the ways: down through the bottleneck, or up through the uplink. */
interface Way {
  up: boolean;
  /** Of the way up as in a mirror. */
  at: Layout;
  settings: StationSettings;
  state: (lane: LaneState) => Station | undefined;
  /** A quantity of this way's link as one of the lane. */
  of: (value: (at: Station, span_s: number) => Weighted) => (lane: LaneState, span_s: number) => Weighted;
  /** Whether each end has packets here. */
  passes: boolean[];
}

/** Drawn of each state: enough to see the shares, few enough to stay calm. */
const MOST = { wide: 15, narrow: 9 };

export class Network {
  readonly canvas = el("canvas", { class: "network", role: "img", "aria-label": NETWORK.name });
  private readonly pen: CanvasRenderingContext2D;
  private visible = true;
  private size = { width: 0, height: 0 };
  /** Delays of the queues as drawn: they follow smoothly. */
  private readonly level = new Map<string, number>();

  constructor(
    private readonly store: Store,
    private readonly lane: number,
  ) {
    const pen = this.canvas.getContext("2d");
    if (pen === null) throw new Error("this browser cannot draw");
    this.pen = pen;
    new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1]?.isIntersecting === true;
    }).observe(this.canvas);
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const scale = Math.min(devicePixelRatio || 1, 2);
    this.size = { width, height };
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.draw();
  }

  /** Draws the moment that it is now, or the one that is frozen. */
  draw(): void {
    const { width, height } = this.size;
    const settings = this.store.shownSettings();
    const lane = settings?.lanes[this.lane];
    if (!this.visible || width === 0 || settings === undefined || lane === undefined) return;
    const theme = themeOf(this.store.mode);
    const view = this.store.view();
    const ways = waysOf(settings, this.lane, width, height);
    const [down] = ways;
    if (down === undefined) return;
    this.pen.clearRect(0, 0, width, height);
    const colours = groupColours(theme, settings);
    const active = [
      ...settings.groups.map(({ flows, web, app }) => flows > 0 || (web?.per_s ?? 0) > 0 || (app?.rate_bps ?? 0) > 0),
      ...settings.udp.map(({ rate_bps }) => rate_bps > 0),
    ];
    for (const way of ways) {
      this.turned(way, () => this.wires(theme, way, active, paths(view, this.lane, way)));
      this.queues(theme, way, view);
      if (!calm()) this.turned(way, () => this.packets(theme, way, view, colours));
    }
    this.ends(theme, down.at, colours, active);
  }

  /** Draws a way in its direction. */
  private turned({ up, at }: Way, draw: () => void): void {
    this.pen.save();
    if (up) {
      this.pen.translate(at.width, 0);
      this.pen.scale(-1, 1);
    }
    draw();
    this.pen.restore();
  }

  /** Its contents, in words. */
  describe(sentence: string): void {
    const settings = this.store.shownSettings();
    const lane = settings?.lanes[this.lane];
    const words = NETWORK.about(lane?.aqm.kind ?? "", lane?.uplink?.aqm.kind, sentence);
    this.canvas.setAttribute("aria-label", words);
  }

  private wires(theme: Theme, { at, passes }: Way, active: boolean[], used: Set<string>): void {
    const { pen } = this;
    pen.lineWidth = 1.25;
    at.servers.forEach((server, i) => {
      const client = at.clients[i];
      if (client === undefined || passes[i] !== true) return;
      pen.strokeStyle = theme.line;
      pen.globalAlpha = active[i] === true ? 0.55 : 0.2;
      const middle = at.link.from.y;
      const left = at.queues[0]?.left ?? 0;
      pen.beginPath();
      at.queues.forEach((channel, queue) => {
        if (used.has(`${i} ${queue}`)) curve(pen, server.x + 16, server.y, left - 2, channel.y);
      });
      curve(pen, at.link.to.x, middle, client.x - 16, client.y);
      pen.stroke();
    });
    pen.globalAlpha = 0.6;
    pen.beginPath();
    for (const channel of at.queues) curve(pen, channel.right, channel.y, at.link.from.x, at.link.from.y);
    pen.stroke();
    pen.globalAlpha = 1;
    const { from, to, height } = at.link;
    pen.fillStyle = theme.grid;
    pen.strokeStyle = theme.line;
    pen.beginPath();
    pen.roundRect(from.x, from.y - height / 2, to.x - from.x, height, height / 2);
    pen.fill();
    pen.stroke();
  }

  private queues(theme: Theme, way: Way, view: View): void {
    const { pen } = this;
    const { at, up } = way;
    const { aqm, link } = way.settings;
    const lane = view.shown?.state.lanes[this.lane];
    const state = lane === undefined ? undefined : way.state(lane);
    if (state === undefined) return;
    const narrow = at.width < 520;
    const recent = lastSeconds(view.moments, 1);
    aqm.queues.forEach((name, i) => {
      const channel = at.queues[i];
      if (channel === undefined) return;
      const now = state.queues.find((queue) => queue.name === name)?.delay_mean_ms ?? 0;
      const key = up ? `up.${name}` : name;
      const before = this.level.get(key) ?? now;
      const level = view.frozen || calm() ? now : before + 0.12 * (now - before);
      this.level.set(key, level);
      const hue = queueHue(theme, aqm.kind, name);
      const { left, right, y, height } = channel;
      this.turned(way, () => {
        pen.fillStyle = theme.paper;
        pen.strokeStyle = theme.line;
        pen.lineWidth = 1.5;
        // Open where packets come in.
        pen.beginPath();
        pen.rect(left, y - height / 2, right - left, height);
        pen.fill();
        pen.beginPath();
        pen.moveTo(left, y - height / 2);
        pen.lineTo(right, y - height / 2);
        pen.lineTo(right, y + height / 2);
        pen.lineTo(left, y + height / 2);
        pen.stroke();
        const long = filled(level) * (right - left - 4);
        pen.fillStyle = hue;
        pen.globalAlpha = 0.24;
        pen.fillRect(right - 2 - long, y - height / 2 + 2, long, height - 4);
        pen.globalAlpha = 0.9;
        pen.fillRect(right - 2 - long, y - height / 2 + 2, Math.min(2, long), height - 4);
        pen.globalAlpha = 1;
      });
      const mean = average(recent, this.lane, way.of(queueDelay(name)));
      pen.font = `600 ${narrow ? 12 : 13}px ${theme.font}`;
      pen.fillStyle = hue;
      pen.textAlign = "left";
      pen.fillText(NETWORK.queue(name, up, narrow), up ? at.width - right : left, y - height / 2 - 7);
      pen.textAlign = "right";
      pen.fillText(mean === undefined ? NETWORK.empty : ms(mean), up ? at.width - left : right, y - height / 2 - 7);
    });
    const used = average(recent, this.lane, way.of(utilization));
    pen.textAlign = "center";
    const middle = (at.link.from.x + at.link.to.x) / 2;
    const centre = up ? at.width - middle : middle;
    pen.fillStyle = theme.ink;
    pen.font = `600 ${narrow ? 11.5 : 13}px ${theme.font}`;
    const bps = link.trace === undefined ? undefined : average(recent, this.lane, way.of(capacity));
    pen.fillText(rate(bps ?? link.rate_bps), centre, at.link.from.y - at.link.height / 2 - 8);
    pen.fillStyle = theme.soft;
    pen.font = `${narrow ? 11 : 12.5}px ${theme.font}`;
    if (used !== undefined) pen.fillText(NETWORK.used(used, narrow), centre, at.link.from.y + at.link.height / 2 + 16);
  }

  private packets(theme: Theme, way: Way, view: View, colours: string[]): void {
    const { pen } = this;
    const { at } = way;
    const still = view.frozen || this.store.settings?.paused === true;
    const now = still ? (view.shown?.at ?? 0) : performance.now();
    const most = at.width < 520 ? MOST.narrow : MOST.wide;
    const size = at.width < 520 ? 3.5 : 4.5;
    const plain: number[][] = colours.map(() => []);
    const special: { x: number; y: number; fallen: number; group: number }[] = [];
    for (let i = view.moments.length - 1; i >= 0; i--) {
      const moment = view.moments[i];
      if (moment === undefined || now - moment.at > LIFE_MS + PERIOD_MS) break;
      const lane = moment.state.lanes[this.lane];
      const events = (lane === undefined ? undefined : way.state(lane))?.packets ?? [];
      // Of a span of virtual time to the period in which it came.
      const stretch = moment.state.span_s > 0 ? PERIOD_MS / (1000 * moment.state.span_s) : 1;
      const every = stride(events.length, most);
      for (let j = moment.state.number % every; j < events.length; j += every) {
        const event = events[j];
        if (event === undefined) continue;
        const spot = place(at, event, now - moment.at - event[0] * stretch, jitterOf(moment.state.number, j));
        if (spot === undefined) continue;
        if (spot.marked || spot.fallen > 0)
          special.push({ x: spot.x, y: spot.y, fallen: spot.fallen, group: event[1] });
        else plain[event[1]]?.push(spot.x, spot.y);
      }
    }
    plain.forEach((spots, group) => {
      pen.fillStyle = colours[group] ?? theme.udp;
      pen.beginPath();
      for (let i = 0; i < spots.length; i += 2)
        pen.rect((spots[i] ?? 0) - size / 2, (spots[i + 1] ?? 0) - size / 2, size, size);
      pen.fill();
    });
    for (const { x, y, fallen, group } of special) {
      if (fallen > 0) {
        pen.globalAlpha = 1 - fallen;
        pen.strokeStyle = DROP[theme.mode];
        pen.lineWidth = 2;
        pen.beginPath();
        pen.moveTo(x - size, y - size);
        pen.lineTo(x + size, y + size);
        pen.moveTo(x + size, y - size);
        pen.lineTo(x - size, y + size);
        pen.stroke();
        pen.globalAlpha = 1;
      } else {
        pen.fillStyle = MARK[theme.mode];
        pen.strokeStyle = colours[group] ?? theme.udp;
        pen.lineWidth = 1.25;
        pen.beginPath();
        pen.arc(x, y, size * 0.72, 0, 2 * Math.PI);
        pen.fill();
        pen.stroke();
      }
    }
  }

  private ends(theme: Theme, at: Layout, colours: string[], active: boolean[]): void {
    const { pen } = this;
    const settings = this.store.shownSettings();
    if (settings === undefined) return;
    const narrow = at.width < 520;
    const names = [
      ...settings.groups.map(({ name, up, flows, cc }) => ({
        name,
        up: up === true,
        below: narrow ? "" : flows > 1 ? `${flows} × ${ccName(cc, false)}` : ccName(cc, false),
      })),
      ...settings.udp.map(({ name, up }) => ({ name, up: up === true, below: narrow ? "" : UDP })),
    ];
    names.forEach(({ name, up, below }, i) => {
      const server = at.servers[i];
      const client = at.clients[i];
      if (server === undefined || client === undefined) return;
      pen.globalAlpha = active[i] === true ? 1 : 0.35;
      // Whoever sends up is on the right.
      const [left, right] = up ? [screen, tower] : [tower, screen];
      left(pen, theme, server.x, server.y, colours[i] ?? theme.ink);
      right(pen, theme, client.x, client.y, colours[i] ?? theme.ink);
      pen.textAlign = "center";
      pen.fillStyle = theme.soft;
      pen.font = `12px ${theme.font}`;
      const ends = up ? [NETWORK.client(name), NETWORK.server(name)] : [NETWORK.server(name), NETWORK.client(name)];
      pen.fillText(narrow ? name : (ends[0] ?? ""), server.x, server.y + 29);
      pen.fillText(narrow ? name : (ends[1] ?? ""), client.x, client.y + 29);
      if (below !== "") {
        pen.font = `11px ${theme.font}`;
        pen.textAlign = up ? "right" : "left";
        pen.fillStyle = colours[i] ?? theme.ink;
        pen.fillText(below, up ? client.x - 22 : server.x + 22, server.y - 12);
      }
      pen.globalAlpha = 1;
    });
  }
}

/** The ways of a lane in a picture of this size. */
function waysOf(settings: Settings, lane: number, width: number, height: number): Way[] {
  const of = settings.lanes[lane];
  if (of === undefined) return [];
  const { groups, udp } = settings;
  const ends = groups.length + udp.length;
  const { uplink } = of;
  // A connection has its acknowledgements on the other way.
  const passes = (up: boolean): boolean[] => [...groups.map(() => true), ...udp.map((one) => (one.up === true) === up)];
  const down: Way = {
    up: false,
    at: layout(width, height, ends, of.aqm.queues.length, uplink === undefined ? "all" : "upper"),
    settings: of,
    state: (state) => state,
    of: (value) => value,
    passes: passes(false),
  };
  if (uplink === undefined) return [down];
  const up: Way = {
    up: true,
    at: layout(width, height, ends, uplink.aqm.queues.length, "lower"),
    settings: uplink,
    state: (state) => state.uplink,
    of: ofUplink,
    passes: passes(true),
  };
  return [down, up];
}

/** Which group sent into which queue of a way in the last second, as the samples have it. */
function paths(view: View, lane: number, way: Way): Set<string> {
  const found = new Set<string>();
  for (const state of laneOf(view.moments.slice(-20), lane)) {
    for (const [, group, queue] of way.state(state)?.packets ?? []) found.add(`${group} ${queue === 2 ? 0 : queue}`);
  }
  return found;
}

const MARK = { light: "#ffd23e", dark: "#ffe27a" };
const DROP = { light: "#c8102e", dark: "#ff6b7d" };

function curve(pen: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  const middle = (x0 + x1) / 2;
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(middle, y0, middle, y1, x1, y1);
}

/** A server: a tower of three. */
function tower(pen: CanvasRenderingContext2D, theme: Theme, x: number, y: number, colour: string): void {
  pen.lineWidth = 1.5;
  pen.strokeStyle = colour;
  pen.fillStyle = theme.paper;
  for (let i = -1; i <= 1; i++) {
    pen.beginPath();
    pen.roundRect(x - 12, y + i * 10 - 4.5, 24, 9, 2);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colour;
    pen.fillRect(x + 6, y + i * 10 - 1, 2.5, 2);
    pen.fillStyle = theme.paper;
  }
}

/** A client: a screen on a foot. */
function screen(pen: CanvasRenderingContext2D, theme: Theme, x: number, y: number, colour: string): void {
  pen.lineWidth = 1.5;
  pen.strokeStyle = colour;
  pen.fillStyle = theme.paper;
  pen.beginPath();
  pen.roundRect(x - 14, y - 14, 28, 20, 3);
  pen.fill();
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x - 7, y + 13);
  pen.lineTo(x + 7, y + 13);
  pen.moveTo(x, y + 6);
  pen.lineTo(x, y + 13);
  pen.stroke();
}
