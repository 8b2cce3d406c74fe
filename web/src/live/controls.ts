// The viewer's controls: the link, the discipline, each client, and the unresponsive sources.

import { el } from "../page/dom";
import { themeOf } from "../theme";
import { CONTROLS } from "../words/live";
import { aqmName, ccName } from "../words/names";
import { ms, percent, rate } from "../words/numbers";
import { groupColours } from "./colours";
import { type Control, choice, Field, freshId, label, ROW, type Send, select, slider, tick } from "./field";
import * as keys from "./keys";
import { Panorama } from "./panorama";
import type {
  AqmSettings,
  GroupSettings,
  Keys,
  LaneSettings,
  LinkSettings,
  Param,
  PathSettings,
  Settings,
  StationSettings,
  UdpSettings,
} from "./protocol";
import { nearest, steps } from "./steps";
import type { Store } from "./store";

/** The rate of an application when it is on. */
const APP_BPS = 4e6;
const LEAST_BPS = 1e6;
const MOST_BPS = 1e9;
const FLOWS = Array.from({ length: 11 }, (_, i) => i);
const RTTS_MS = steps(1, 200);
const WEB_PER_S = [10, 100];
/** Chances of loss, and jitter in ms. */
const LOSSES = steps(1e-4, 0.2, true);
const JITTERS_MS = steps(0.1, 50, true);
const ECN = ["not-ect", "ect0", "ect1", "ce"];

const empty: LaneSettings = {
  set: {},
  link: { rate: "", rate_bps: 0, buffer: "" },
  aqm: { kind: "", profile: "", values: {}, queues: [] },
};

export class Controls {
  readonly root = el("aside", { class: "controls", "aria-label": CONTROLS.name });
  private built = "";
  private parts: Control[] = [];
  private scenes: { root: HTMLElement; scene: Panorama; on: () => boolean }[] = [];
  private readonly send: Send;

  constructor(private readonly store: Store) {
    this.send = (set) => store.command({ do: "set", set });
    store.on("settings", () => this.update());
    store.on("greeting", () => this.update());
  }

  update(): void {
    const { settings, greeting } = this.store;
    if (settings === undefined || greeting === undefined) return;
    const shape = JSON.stringify([
      settings.lanes[0]?.link.trace !== undefined,
      settings.lanes[0]?.uplink?.link.trace !== undefined,
      settings.lanes[0]?.uplink?.aqm.kind,
      settings.groups.map(({ name, up, web, app }) => [name, up, web !== undefined, app !== undefined]),
      settings.udp.map(({ name }) => name),
      settings.paths?.map(({ name, loss_chance, jitter_ms }) => [
        name,
        loss_chance !== undefined,
        jitter_ms !== undefined,
      ]),
      settings.lanes.map(({ aqm }) => aqm.kind),
      greeting.limits.rate_bps,
    ]);
    if (shape !== this.built) {
      this.built = shape;
      this.build(settings);
    }
    for (const part of this.parts) part.update();
    const colours = groupColours(themeOf(this.store.mode), settings);
    for (const [i, dot] of this.root.querySelectorAll<HTMLElement>("[data-end]").entries()) {
      dot.style.setProperty("--dot", colours[i] ?? "");
    }
  }

  /** Moves the pictures of applications. */
  draw(now: number): void {
    for (const { root, scene, on } of this.scenes) {
      if (root.hidden === on()) root.hidden = !on();
      if (!root.hidden) scene.draw(now);
    }
  }

  private get now(): Settings {
    const { settings } = this.store;
    if (settings === undefined) throw new Error("there are no settings yet");
    return settings;
  }

  private build(settings: Settings): void {
    const { activeElement } = document;
    const focused = this.root.contains(activeElement) ? activeElement?.getAttribute("data-key") : undefined;
    this.parts = [];
    this.scenes = [];
    const opened = new Set([...this.root.querySelectorAll("details[open]")].map((details) => details.id));
    this.root.replaceChildren(
      this.link(),
      ...settings.lanes.map((_, lane) => this.discipline(lane)),
      ...(settings.lanes[0]?.uplink === undefined ? [] : [this.uplink()]),
      ...settings.groups.map((group, i) => this.client(group, i)),
      ...settings.udp.map((udp, i) => this.udp(udp, i)),
      ...(settings.paths ?? []).map((path, i) => this.path(path, i)),
    );
    for (const details of this.root.querySelectorAll("details")) details.open = opened.has(details.id);
    if (focused !== undefined && focused !== null)
      this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  private add(...parts: Control[]): HTMLElement[] {
    this.parts.push(...parts);
    return parts.map(({ root }) => root);
  }

  private link(): HTMLElement {
    return panel(CONTROLS.link, this.add(this.rate(() => this.now.lanes[0]?.link ?? empty.link, keys.linkRate)));
  }

  /** The rate of a link; of one that follows a trace its name, as another trace or mean would begin a new run. */
  private rate(now: () => LinkSettings, set: (bps: number) => Keys): Control {
    if (now().trace !== undefined)
      return label(CONTROLS.trace, () => CONTROLS.traceOf(now().trace ?? "", now().rate_bps));
    const most = Math.min(MOST_BPS, this.store.greeting?.limits.rate_bps ?? MOST_BPS);
    return slider(CONTROLS.rate, steps(LEAST_BPS, most), nearest, () => now().rate_bps, rate, set, this.send);
  }

  private client(built: GroupSettings, i: number): HTMLElement {
    const { name } = built;
    const now = (): GroupSettings => this.now.groups[i] ?? built;
    const most = this.store.greeting?.limits.flows ?? 10;
    const flows = slider(
      built.up === true ? CONTROLS.uploads : CONTROLS.downloads,
      FLOWS.filter((count) => count <= most),
      (values, value) => Math.min(Math.round(value), values.length - 1),
      () => now().flows,
      (count) => (count === 0 ? CONTROLS.noDownloads : String(count)),
      (count) => keys.flows(name, count),
      this.send,
    );
    const cc = select(
      CONTROLS.congestionControl,
      () => (this.store.greeting?.controls ?? []).map(({ kind }) => [kind, ccName(kind, false)]),
      () => now().cc,
      (kind) => keys.control(name, kind),
      this.send,
    );
    const rtt = slider(
      CONTROLS.rtt,
      RTTS_MS,
      nearest,
      () => now().rtt_ms,
      (value) => ms(value),
      (value) => keys.rtt(name, value),
      this.send,
    );
    const parts = [flows, cc, rtt];
    if (built.web !== undefined) {
      parts.push(
        choice(
          CONTROLS.web,
          [[0, CONTROLS.off], ...WEB_PER_S.map((rate): [number, string] => [rate, CONTROLS.webRate(rate)])],
          () => now().web?.per_s ?? 0,
          (per) => keys.web(name, per),
          this.send,
        ),
      );
    }
    if (built.app !== undefined) {
      parts.push(
        tick(
          CONTROLS.app(APP_BPS / 1e6),
          () => (now().app?.rate_bps ?? 0) > 0,
          (on) => keys.app(name, on ? APP_BPS : 0),
          this.send,
          CONTROLS.appHint,
        ),
      );
    }
    const elements = this.add(...parts);
    if (built.app !== undefined) {
      this.now.lanes.forEach((_, lane) => {
        const scene = new Panorama(this.store, lane, i);
        scene.root.hidden = true;
        this.scenes.push({ root: scene.root, scene, on: () => (now().app?.rate_bps ?? 0) > 0 });
        elements.push(scene.root);
      });
    }
    return panel(CONTROLS.client(name), elements, true);
  }

  private udp(built: UdpSettings, i: number): HTMLElement {
    const now = (): UdpSettings => this.now.udp[i] ?? built;
    const { name } = built;
    return panel(
      CONTROLS.udp(name),
      [
        el("p", { class: "about" }, [CONTROLS.aboutUdp]),
        ...this.add(
          slider(
            CONTROLS.rate,
            steps(1e5, MOST_BPS, true),
            nearest,
            () => now().rate_bps,
            (bps) => (bps === 0 ? CONTROLS.off : rate(bps)),
            (bps) => keys.udpRate(name, bps),
            this.send,
          ),
          select(
            CONTROLS.ecn,
            () => ECN.map((word) => [word, CONTROLS.codepoint(word)]),
            () => now().ecn,
            (word) => keys.udpEcn(name, word),
            this.send,
          ),
        ),
      ],
      true,
    );
  }

  /** Loss and jitter; what is more than a chance or a time is shown as it is. */
  private path(built: PathSettings, i: number): HTMLElement {
    const now = (): PathSettings => this.now.paths?.[i] ?? built;
    const { name } = built;
    return panel(CONTROLS.path(name), [
      el("p", { class: "about" }, [CONTROLS.aboutPath(built.up === true)]),
      ...this.add(
        built.loss_chance === undefined
          ? label(CONTROLS.loss, () => now().loss)
          : slider(
              CONTROLS.loss,
              LOSSES,
              nearest,
              () => now().loss_chance ?? 0,
              (chance) => (chance === 0 ? CONTROLS.none : percent(chance)),
              (chance) => keys.loss(name, chance),
              this.send,
            ),
        built.jitter_ms === undefined
          ? label(CONTROLS.jitter, () => now().jitter)
          : slider(
              CONTROLS.jitter,
              JITTERS_MS,
              nearest,
              () => now().jitter_ms ?? 0,
              (most) => (most === 0 ? CONTROLS.none : CONTROLS.upTo(most)),
              (most) => keys.jitter(name, most),
              this.send,
            ),
      ),
    ]);
  }

  private discipline(lane: number): HTMLElement {
    const now = (): AqmSettings => this.now.lanes[lane]?.aqm ?? empty.aqm;
    const send = (set: Keys): Promise<void> => this.store.command({ do: "set", set, ...(lane === 0 ? {} : { lane }) });
    return panel(aqmName(now().kind), this.parameters(now, send, "aqm", String(lane)));
  }

  /** Rate and discipline of the way up: the same in both lanes. */
  private uplink(): HTMLElement {
    const now = (): StationSettings => this.now.lanes[0]?.uplink ?? empty;
    const kinds = (): [string, string][] =>
      (this.store.greeting?.disciplines ?? []).map(({ kind }) => [kind, aqmName(kind)]);
    const kind = select(
      CONTROLS.discipline,
      kinds,
      () => now().aqm.kind,
      (chosen) => keys.discipline(chosen, "uplink.aqm"),
      this.send,
    );
    kind.root.querySelector("select")?.setAttribute("data-key", "uplink");
    return panel(CONTROLS.uplink, [
      ...this.add(
        this.rate(() => now().link, keys.uplinkRate),
        kind,
      ),
      ...this.parameters(() => now().aqm, this.send, "uplink.aqm", "uplink"),
    ]);
  }

  /** What a discipline is, its profile and its parameters. */
  private parameters(now: () => AqmSettings, send: Send, at: keys.Place, id: string): HTMLElement[] {
    const kind = keys.kindOf(this.store.greeting?.disciplines ?? [], now().kind);
    const parts: Control[] = [];
    if (kind !== undefined && kind.profiles.length > 0) {
      parts.push(
        select(
          CONTROLS.profile,
          () => kind.profiles.map(({ name, about }) => [name, CONTROLS.profileChoice(name, about)]),
          () => now().profile,
          (name) => keys.profile(name, at),
          send,
        ),
      );
    }
    const params = (kind?.params ?? []).map((param) => this.param(param, () => now().values[param.name], send, at, id));
    const elements = this.add(...parts);
    const inputs = this.add(...params);
    return [
      ...(kind === undefined ? [] : [el("p", { class: "about" }, [capital(kind.about)])]),
      ...elements,
      ...(inputs.length === 0
        ? []
        : [
            el("details", { id: `params-${id}` }, [
              el("summary", { "data-key": `params-${id}` }, [CONTROLS.parameters(inputs.length)]),
              ...inputs,
            ]),
          ]),
    ];
  }

  private param(param: Param, read: () => unknown, send: Send, at: keys.Place, id: string): Control {
    const about = CONTROLS.parameterHint(capital(param.about), param.accepts);
    const set = (value: string): Keys => keys.param(param.name, value, at);
    const control =
      param.type === "bool"
        ? tick(
            param.name,
            () => String(read()) === "true",
            (on) => set(String(on)),
            send,
            about,
          )
        : param.type === "choice"
          ? select(
              param.name,
              () => (param.words ?? []).map((word) => [word, word]),
              () => String(read() ?? ""),
              set,
              send,
              about,
            )
          : number(param, read, set, send);
    control.root.append(el("p", { class: "about" }, [about]));
    control.root.querySelector("input, select")?.setAttribute("data-key", `${id}.${param.name}`);
    control.root.classList.add("param");
    return control;
  }
}

/** A field for a quantity: sent when it is left or Enter is pressed. */
function number(param: Param, read: () => unknown, set: (value: string) => Keys, send: Send): Control {
  const id = freshId();
  const plain = param.type === "time" || param.type === "number" || param.type === "count" || param.type === "packets";
  const input = el("input", { id, type: plain ? "number" : "text", placeholder: CONTROLS.notSet, autocomplete: "off" });
  if (plain) {
    const { min, max } = keys.limits(param);
    if (min !== undefined) input.min = String(min);
    if (max !== undefined) input.max = String(max);
    input.step = param.type === "count" || param.type === "packets" ? "1" : "any";
  }
  const update = (): void => {
    if (field.held || (document.activeElement === input && input.dataset.touched === "true")) return;
    input.value = keys.shown(param, read());
  };
  const field = new Field(
    input,
    [
      el("label", { for: id }, [param.name]),
      el("span", { class: "quantity" }, [input, el("span", { class: "unit" }, [keys.unitOf(param)])]),
    ],
    send,
    () => {
      delete input.dataset.touched;
      update();
    },
    ROW,
  );
  input.addEventListener("input", () => {
    input.dataset.touched = "true";
  });
  input.addEventListener("change", () => {
    delete input.dataset.touched;
    field.submit(set(keys.entered(param, input.value)));
  });
  return { root: field.root, update };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function panel(title: string, parts: (Node | string)[], dot = false): HTMLElement {
  const id = freshId();
  return el("section", { class: "panel", "aria-labelledby": id }, [
    el("h2", { id }, [...(dot ? [el("i", { class: "dot", "data-end": "", "aria-hidden": "true" })] : []), title]),
    ...parts,
  ]);
}
