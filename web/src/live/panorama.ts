// The effect of a late picture. The viewer looks around a landscape; each picture of it comes over
// the network, so it shows where they looked a frame's delay ago. The ring is where the balloon is
// for the viewer, the balloon where they see it. The delay is the measured one, at its true size.

import { el } from "../page/dom";
import { themeOf } from "../theme";
import { PANORAMA } from "../words/live";
import { Lagged } from "./lagged";
import { calm } from "./motion";
import { lastSeconds, type Moment } from "./ring";
import type { Store } from "./store";

/** One sweep of the view to and fro, in ms. */
const SWEEP_MS = 3200;

/** The mean delay of the frames of the last half second; without any, how long there has been none. */
export function frameDelay(moments: readonly Moment[], lane: number, group: number): number | undefined {
  const recent = lastSeconds(moments, 10);
  const end = recent[recent.length - 1]?.state.time_s ?? 0;
  let sum = 0;
  let count = 0;
  for (let i = recent.length - 1; i >= 0; i--) {
    const state = recent[i]?.state;
    const age = end - (state?.time_s ?? 0);
    if (age > 0.5 && count > 0) break;
    for (const frame of state?.lanes[lane]?.frames ?? []) {
      if (frame.group !== group) continue;
      // None for a while: the picture is frozen.
      if (age > 0.5) return age * 1000 + frame.delay_ms;
      sum += frame.delay_ms;
      count++;
    }
  }
  return count === 0 ? undefined : sum / count;
}

export class Panorama {
  readonly root: HTMLElement;
  private readonly canvas = el("canvas", {
    class: "panorama",
    role: "img",
    "aria-label": PANORAMA.name,
  });
  private readonly words = el("p", { class: "delay" });
  private readonly gaze = new Lagged();
  /** Where the pointer asks to look, from -1 to 1. */
  private pointed: number | undefined;
  private visible = false;
  private said = 0;

  constructor(
    private readonly store: Store,
    private readonly lane: number,
    private readonly group: number,
  ) {
    this.root = el("div", { class: "scene" }, [this.canvas, this.words]);
    new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1]?.isIntersecting === true;
    }).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => {
      this.pointed = (2 * event.offsetX) / Math.max(1, this.canvas.clientWidth) - 1;
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = undefined;
    });
  }

  draw(now: number): void {
    if (!this.visible) return;
    const { moments, frozen } = this.store.view();
    const delay = frameDelay(moments, this.lane, this.group);
    if (now - this.said > 250) {
      this.said = now;
      const kinds = this.store.shownSettings()?.lanes ?? [];
      const words = PANORAMA.late(kinds.length > 1 ? (kinds[this.lane]?.aqm.kind ?? "") : undefined, delay);
      if (this.words.textContent !== words) this.words.textContent = words;
      this.canvas.setAttribute("aria-label", PANORAMA.about(words));
    }
    const still = calm() || frozen;
    if (still && this.pointed === undefined) {
      // Looking to the side at a steady pace, caught at its fastest.
      this.paint(0, ((delay ?? 0) / SWEEP_MS) * 2 * Math.PI);
      return;
    }
    const wanted = this.pointed ?? Math.sin((2 * Math.PI * now) / SWEEP_MS);
    this.gaze.push(now, wanted);
    this.paint(wanted, this.gaze.at(now - (delay ?? 0)));
  }

  /** `looks` is the direction of the viewer, `sees` that of the picture. */
  private paint(looks: number, sees: number): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const pen = this.canvas.getContext("2d");
    if (pen === null || width === 0) return;
    const scale = Math.min(devicePixelRatio || 1, 2);
    if (this.canvas.width !== Math.round(width * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const theme = themeOf(this.store.mode);
    const reach = width * 0.36;
    const shift = sees * reach;
    const dark = theme.mode === "dark";
    const sky = pen.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, dark ? "#14273d" : "#cfe4f7");
    sky.addColorStop(1, dark ? "#22384a" : "#f3f8fc");
    pen.fillStyle = sky;
    pen.fillRect(0, 0, width, height);
    hills(pen, width, height, 0.62, shift * 0.5, dark ? "#2b4a55" : "#b7d3c4", 0.021, 9);
    hills(pen, width, height, 0.78, shift * 0.75, dark ? "#25403f" : "#8fbba0", 0.031, 7);
    hills(pen, width, height, 0.9, shift, dark ? "#1d3330" : "#6aa37f", 0.043, 4);
    balloon(pen, width / 2 - shift, height * 0.4, dark ? "#e06c75" : "#c8434f", dark ? "#f2e6d8" : "#ffffff");
    pen.strokeStyle = theme.ink;
    pen.lineWidth = 1.75;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.arc(width / 2 - looks * reach, height * 0.4, 17, 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  }
}

function hills(
  pen: CanvasRenderingContext2D,
  width: number,
  height: number,
  level: number,
  shift: number,
  colour: string,
  wave: number,
  high: number,
): void {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.moveTo(0, height);
  for (let x = 0; x <= width + 6; x += 6) {
    const at = (x + shift) * wave;
    pen.lineTo(x, height * level - high * (Math.sin(at) + 0.5 * Math.sin(2.3 * at + 1)));
  }
  pen.lineTo(width + 6, height);
  pen.fill();
}

function balloon(pen: CanvasRenderingContext2D, x: number, y: number, colour: string, stripe: string): void {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y - 1, 11, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = stripe;
  pen.beginPath();
  pen.ellipse(x, y - 1, 4, 11, 0, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = colour;
  pen.fillRect(x - 3, y + 14, 6, 4);
}
