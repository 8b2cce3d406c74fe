// Light or dark: as the system has it, until the reader chooses.

import type { Mode } from "../theme";
import { MODE } from "../words/report";
import { el } from "./dom";

const dark = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");

/** A button that switches, and the mode it is in now; `changed` is called from the start. */
export function modeSwitch(changed: (mode: Mode) => void): HTMLElement {
  const preferred = (): Mode => (dark().matches ? "dark" : "light");
  let mode = preferred();
  const set = (next: Mode): void => {
    mode = next;
    document.documentElement.dataset.theme = mode;
    changed(mode);
  };
  const button = el("button", { class: "flip", type: "button", "aria-label": MODE.flip }, ["◐"]);
  button.addEventListener("click", () => set(mode === "dark" ? "light" : "dark"));
  dark().addEventListener("change", () => set(preferred()));
  set(mode);
  return button;
}
