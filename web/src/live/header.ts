// The head of the page: presets, the discipline, the comparison, and time.

import { el } from "../page/dom";
import { modeSwitch } from "../page/mode";
import { aboutPreset, HEADER } from "../words/live";
import { aqmName } from "../words/names";
import * as keys from "./keys";
import type { Command, Fault, Keys } from "./protocol";
import { shareDialog } from "./share-dialog";
import type { Store } from "./store";

/** More presets than this are a list to choose from: a sweep may have dozens. */
const CHIPS = 12;
const SPEEDS = [0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export class Header {
  readonly root: HTMLElement;
  readonly bar: HTMLElement;
  private readonly title = el("h1", {}, [HEADER.title("live")]);
  private readonly presets = el("div", { class: "chips", role: "group", "aria-label": HEADER.presets });
  private readonly list = el("select", { "aria-label": HEADER.presets });
  private readonly about = el("p", { class: "lead", "aria-live": "polite" });
  private readonly kinds = el("div", { class: "chips", role: "group", "aria-label": HEADER.disciplines });
  private readonly beside = el("select", { id: "beside" });
  private readonly besideLabel = el("label", { for: "beside" }, [HEADER.beside, this.beside]);
  private readonly freeze = el(
    "button",
    { type: "button", class: "strong", "aria-pressed": "false", title: HEADER.freezeHint },
    [HEADER.freeze],
  );
  private readonly pause = el("button", { type: "button", "aria-pressed": "false", title: HEADER.pauseHint }, [
    HEADER.pause,
  ]);
  private readonly restart = el("button", { type: "button", title: HEADER.restartHint }, [HEADER.restart]);
  private readonly speed = el("select", { id: "speed" });
  private readonly speedLabel = el("label", { for: "speed" }, [HEADER.speed, this.speed]);
  /** The substrate, if it is not the simulator. */
  private readonly real = el("strong", {});
  private drawn = "";

  constructor(
    private readonly store: Store,
    session: () => string | undefined,
  ) {
    const share = el("button", { type: "button" }, [HEADER.share]);
    share.addEventListener("click", () => shareDialog(store, session()));
    this.root = el("header", {}, [
      el("div", { class: "title" }, [
        el("div", {}, [this.title, el("p", {}, [HEADER.lead, this.real])]),
        el("div", { class: "tools" }, [
          share,
          modeSwitch((mode) => {
            store.mode = mode;
            store.tell("view");
          }),
        ]),
      ]),
      el("div", { class: "named" }, [
        el("span", { class: "label", "aria-hidden": "true" }, [HEADER.try]),
        this.presets,
        this.list,
      ]),
      this.about,
    ]);
    this.bar = el("div", { class: "bar", role: "region", "aria-label": HEADER.bar }, [
      el("div", { class: "named" }, [
        el("span", { class: "label", "aria-hidden": "true" }, [HEADER.queue]),
        this.kinds,
      ]),
      el("div", { class: "time" }, [
        this.besideLabel,
        el("span", { class: "push" }),
        this.speedLabel,
        this.restart,
        this.pause,
        this.freeze,
      ]),
    ]);
    this.freeze.addEventListener("click", () => this.toggle());
    this.pause.addEventListener("click", () => this.ask({ do: "pause", paused: store.settings?.paused !== true }));
    this.restart.addEventListener("click", () => this.ask({ do: "restart" }));
    this.list.addEventListener("change", () => this.ask({ do: "load", point: Number(this.list.value) }));
    this.speed.addEventListener("change", () => this.ask({ do: "speed", speed: Number(this.speed.value) }));
    this.beside.addEventListener("change", () => this.compare(this.beside.value));
    addEventListener("keydown", (event) => this.key(event));
    store.on("greeting", () => this.update());
    store.on("settings", () => this.update());
    store.on("view", () => this.update());
  }

  private toggle(): void {
    if (this.store.isFrozen) this.store.live();
    else this.store.freeze();
  }

  /** Space freezes, wherever it means nothing else. */
  private key(event: KeyboardEvent): void {
    if (
      event.key !== " " ||
      event.ctrlKey ||
      event.altKey ||
      event.metaKey ||
      document.querySelector("dialog[open]") !== null
    )
      return;
    const { target } = event;
    const own =
      target instanceof HTMLInputElement
        ? target.type !== "range"
        : target instanceof Element && target.closest("button, select, textarea, summary, a") !== null;
    if (own) return;
    event.preventDefault();
    this.toggle();
  }

  private ask(command: Command): void {
    this.store.command(command).catch((fault: Fault) => {
      this.store.complain(fault);
      this.update();
    });
  }

  private compare(kind: string): void {
    const second = this.store.settings?.lanes[1];
    const set: Keys = keys.discipline(kind);
    if (kind === "") this.ask({ do: "compare", set: null });
    else if (second === undefined) this.ask({ do: "compare", set });
    else this.ask({ do: "set", set, lane: 1 });
  }

  private update(): void {
    const { greeting, settings, isFrozen } = this.store;
    if (greeting === undefined) return;
    const kinds = greeting.disciplines.map(({ kind }) => kind);
    const drawn = JSON.stringify([greeting.points, kinds, greeting.limits]);
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      const { points } = greeting;
      const many = points.length > CHIPS;
      this.presets.replaceChildren(
        ...(many ? [] : points).map(({ number, label }) =>
          this.chip(label, String(number), { do: "load", point: number }),
        ),
      );
      this.list.replaceChildren(
        ...(many ? points : []).map(({ number, label }) => el("option", { value: String(number) }, [label])),
      );
      this.presets.hidden = many;
      this.list.hidden = !many;
      if (this.presets.parentElement !== null) this.presets.parentElement.hidden = points.length < 2;
      this.about.hidden = points.every(({ label }) => aboutPreset(greeting.scenario, label) === "");
      this.kinds.replaceChildren(
        ...greeting.disciplines.map(({ kind, about }) =>
          this.chip(aqmName(kind), kind, { do: "set", set: keys.discipline(kind) }, about),
        ),
      );
      this.beside.replaceChildren(
        el("option", { value: "" }, [HEADER.nothing]),
        ...kinds.map((kind) => el("option", { value: kind }, [aqmName(kind)])),
      );
      const { min, max } = greeting.limits.speed;
      this.speed.replaceChildren(
        ...SPEEDS.filter((speed) => speed >= min && speed <= max).map((speed) =>
          el("option", { value: String(speed) }, [`${speed}×`]),
        ),
      );
      this.besideLabel.hidden = !greeting.limits.compare;
      // Real sockets have the time of the world.
      this.speedLabel.hidden = this.pause.hidden = min === max;
      this.real.textContent = greeting.on === "kernel" ? HEADER.kernel : "";
    }
    press(this.freeze, isFrozen);
    if (settings === undefined) return;
    const point = settings.point ?? undefined;
    press(this.pause, settings.paused);
    for (const chip of this.presets.querySelectorAll("button")) press(chip, chip.value === String(point));
    for (const chip of this.kinds.querySelectorAll("button")) press(chip, chip.value === settings.lanes[0]?.aqm.kind);
    if (document.activeElement !== this.list || this.list.value !== String(point))
      this.list.value = String(point ?? "");
    const title = HEADER.title(settings.name);
    if (this.title.textContent !== title) this.title.textContent = document.title = title;
    const about = aboutPreset(greeting.scenario, greeting.points.find(({ number }) => number === point)?.label ?? "");
    if (this.about.textContent !== about) this.about.textContent = about;
    const beside = settings.lanes[1]?.aqm.kind ?? "";
    if (document.activeElement !== this.beside || this.beside.value !== beside) this.beside.value = beside;
    const speed = String(settings.speed);
    if (![...this.speed.options].some(({ value }) => value === speed))
      this.speed.append(el("option", { value: speed }, [`${speed}×`]));
    this.speed.value = speed;
  }

  private chip(label: string, value: string, command: Command, about = ""): HTMLElement {
    const chip = el(
      "button",
      { type: "button", class: "chip", value, "aria-pressed": "false", ...(about === "" ? {} : { title: about }) },
      [label],
    );
    chip.addEventListener("click", () => this.ask(command));
    return chip;
  }
}

const press = (button: HTMLElement, on: boolean): void => button.setAttribute("aria-pressed", String(on));
