// The state of the page, and the viewer's choice. Parts of the page listen to it.

import type { Mode } from "../theme";
import type { Command, Fault, Greeting, Settings, State } from "./protocol";
import { type Moment, Ring } from "./ring";

/** A past that stays as it was while the session goes on. */
interface Frozen {
  moments: Moment[];
  /** The place of the moment that is shown. */
  at: number;
}

/** The moments to draw: all up to the one that is shown. */
export interface View {
  moments: Moment[];
  shown: Moment | undefined;
  frozen: boolean;
}

type Topic = "greeting" | "settings" | "state" | "view";

export class Store {
  greeting: Greeting | undefined;
  settings: Settings | undefined;
  mode: Mode = "light";
  /** Seconds that histograms and tiles look back. */
  window_s = 5;
  /** Delay axes. */
  log = true;
  /** Rates of each flow, or of groups. */
  each = false;
  readonly ring = new Ring();
  private frozen: Frozen | undefined;
  private readonly listeners = new Map<Topic, Set<() => void>>();

  constructor(
    readonly command: (command: Command) => Promise<void>,
    readonly complain: (fault: Fault) => void,
  ) {}

  on(topic: Topic, listener: () => void): void {
    const of = this.listeners.get(topic) ?? new Set();
    of.add(listener);
    this.listeners.set(topic, of);
  }

  tell(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  greet(greeting: Greeting): void {
    this.greeting = greeting;
    this.tell("greeting");
  }

  settle(settings: Settings): void {
    this.settings = settings;
    this.tell("settings");
  }

  receive(state: State): void {
    if (this.settings === undefined) return;
    this.ring.push(state, this.settings, performance.now());
    this.tell("state");
  }

  /** Another session: nothing of the last one is comparable. */
  forget(): void {
    this.ring.clear();
    this.frozen = undefined;
    this.tell("view");
  }

  get isFrozen(): boolean {
    return this.frozen !== undefined;
  }

  freeze(): void {
    const moments = this.ring.moments();
    if (moments.length === 0) return;
    this.frozen = { moments, at: moments.length - 1 };
    this.tell("view");
  }

  live(): void {
    this.frozen = undefined;
    this.tell("view");
  }

  /** The moments that one can step to while frozen, and the one that is shown. */
  get past(): Readonly<Frozen> | undefined {
    return this.frozen;
  }

  step(at: number): void {
    if (this.frozen === undefined) return;
    this.frozen.at = Math.min(Math.max(0, at), this.frozen.moments.length - 1);
    this.tell("view");
  }

  view(): View {
    const moments = this.frozen === undefined ? this.ring.moments() : this.frozen.moments.slice(0, this.frozen.at + 1);
    return { moments, shown: moments[moments.length - 1], frozen: this.frozen !== undefined };
  }

  /** The settings of the shown moment. */
  shownSettings(): Settings | undefined {
    return this.frozen === undefined ? this.settings : this.frozen.moments[this.frozen.at]?.settings;
  }
}
