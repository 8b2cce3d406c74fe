// A control: its label, its input, and the server's refusal. While a change is under way
// the next one waits, and of several that wait only the last is sent; a refused one is put back.

import { el } from "../page/dom";
import { faultText } from "../words/live";
import type { Fault, Keys } from "./protocol";

/** A viewer may send fifty commands a second; a slider that is dragged asks for more. */
const APART_MS = 80;

let ids = 0;

/** A number for each element that another refers to. */
export const freshId = (): string => `f${++ids}`;

/** The attributes of a field whose label is beside its input. */
export const ROW = { class: "field row" };

export class Field {
  readonly root: HTMLElement;
  private readonly fault = el("p", { class: "fault", role: "alert", id: freshId() });
  private busy = false;
  private sent = Number.NEGATIVE_INFINITY;
  private next: Keys | undefined;

  constructor(
    private readonly input: HTMLElement,
    parts: (Node | string)[],
    private readonly send: (keys: Keys) => Promise<void>,
    /** Shows the settings again. */
    private readonly putBack: () => void,
    attributes = { class: "field" },
  ) {
    this.root = el("div", attributes, [...parts, this.fault]);
  }

  /** The viewer is about to change it: an update from the server would overwrite their input. */
  get held(): boolean {
    return this.busy || this.next !== undefined;
  }

  submit(keys: Keys): void {
    this.next = keys;
    if (!this.busy) void this.flush();
  }

  private async flush(): Promise<void> {
    this.busy = true;
    for (;;) {
      const early = this.sent + APART_MS - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      const keys = this.next;
      if (keys === undefined) break;
      this.next = undefined;
      this.sent = performance.now();
      try {
        await this.send(keys);
        this.say("");
      } catch (fault) {
        const { message, help } = fault as Fault;
        this.say(faultText(message, help));
      }
    }
    this.busy = false;
    this.putBack();
  }

  private say(words: string): void {
    this.fault.textContent = words;
    if (words === "") {
      this.input.removeAttribute("aria-invalid");
      this.input.removeAttribute("aria-describedby");
    } else {
      this.input.setAttribute("aria-invalid", "true");
      this.input.setAttribute("aria-describedby", this.fault.id);
    }
  }
}

export type Send = (keys: Keys) => Promise<void>;

/** Something that shows a part of the settings. */
export interface Control {
  root: HTMLElement;
  update(): void;
}

/** Something that is said and cannot be set. */
export function label(name: string, read: () => string): Control {
  const value = el("span", { class: "said" });
  const update = (): void => {
    const words = read();
    if (value.textContent !== words) value.textContent = words;
  };
  return { root: el("div", ROW, [el("span", { class: "label" }, [name]), value]), update };
}

/** A slider over steps. `read` gets the setting, `say` formats a value. */
export function slider(
  label: string,
  values: number[],
  near: (values: number[], value: number) => number,
  read: () => number,
  say: (value: number) => string,
  keys: (value: number) => Keys,
  send: Send,
): Control {
  const id = freshId();
  const input = el("input", { type: "range", id, min: "0", max: String(values.length - 1), step: "1" });
  const output = el("output", { for: id });
  const show = (value: number, place: number): void => {
    input.value = String(place);
    const words = say(value);
    if (output.textContent !== words) output.textContent = words;
    input.setAttribute("aria-valuetext", words);
    input.style.setProperty("--at", `${(100 * place) / Math.max(1, values.length - 1)}%`);
  };
  const update = (): void => {
    if (!field.held) show(read(), near(values, read()));
  };
  const field = new Field(
    input,
    [el("div", { class: "line" }, [el("label", { for: id }, [label]), output]), input],
    send,
    update,
  );
  input.addEventListener("input", () => {
    const value = values[Number(input.value)];
    if (value === undefined) return;
    show(value, Number(input.value));
    field.submit(keys(value));
  });
  return { root: field.root, update };
}

/** A choice of few words. */
export function select(
  label: string,
  options: () => [string, string][],
  read: () => string,
  keys: (value: string) => Keys,
  send: Send,
  about = "",
): Control {
  const id = freshId();
  const input = el("select", { id, ...(about === "" ? {} : { title: about }) });
  let drawn = "";
  const update = (): void => {
    if (field.held) return;
    const list = options();
    const value = read();
    // A value that is not among the words is one all the same.
    if (!list.some(([word]) => word === value)) list.unshift([value, value === "" ? "–" : value]);
    const now = JSON.stringify(list);
    if (now !== drawn) {
      input.replaceChildren(...list.map(([word, text]) => el("option", { value: word }, [text])));
      drawn = now;
    }
    if (input.value !== value) input.value = value;
  };
  const field = new Field(input, [el("label", { for: id }, [label]), input], send, update, ROW);
  input.addEventListener("change", () => field.submit(keys(input.value)));
  return { root: field.root, update };
}

/** Buttons of which one is pressed. */
export function choice(
  label: string,
  options: [number, string][],
  read: () => number,
  keys: (value: number) => Keys,
  send: Send,
): Control {
  const id = freshId();
  const buttons = options.map(([value, text]) => {
    const button = el("button", { type: "button", "aria-pressed": "false" }, [text]);
    button.addEventListener("click", () => field.submit(keys(value)));
    return { value, button };
  });
  const group = el(
    "div",
    { class: "segments", role: "group", "aria-labelledby": id },
    buttons.map(({ button }) => button),
  );
  const update = (): void => {
    for (const { value, button } of buttons)
      button.setAttribute("aria-pressed", String(Math.abs(read() - value) < 1e-6));
  };
  const field = new Field(group, [el("span", { id, class: "label" }, [label]), group], send, update, ROW);
  return { root: field.root, update };
}

/** On or off. */
export function tick(label: string, read: () => boolean, keys: (on: boolean) => Keys, send: Send, about = ""): Control {
  const id = freshId();
  const input = el("input", { type: "checkbox", id });
  const update = (): void => {
    if (!field.held) input.checked = read();
  };
  const field = new Field(
    input,
    [el("label", { for: id, ...(about === "" ? {} : { title: about }) }, [label]), input],
    send,
    update,
    ROW,
  );
  input.addEventListener("change", () => field.submit(keys(input.checked)));
  return { root: field.root, update };
}
