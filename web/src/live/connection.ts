// Keeps a session watched: opens one, joins it again when the connection is lost, and reopens it
// from its last text when the server has lost it too.

import { FAULTS } from "../words/live";
import { type Api, Refused } from "./api";
import { wait } from "./backoff";
import type { Command, Fault, Greeting, Message, Settings, State } from "./protocol";
import type { Shared } from "./share";

export type Status =
  | { is: "connecting" }
  | { is: "open" }
  | { is: "lost"; again_ms: number; why: string }
  | { is: "locked"; wrong: boolean };

export interface Events {
  greeting(greeting: Greeting): void;
  settings(settings: Settings): void;
  state(state: State): void;
  /** Another session: numbers begin again. */
  opened(): void;
  status(status: Status): void;
  fault(fault: Fault): void;
}

const SESSION = "l4s-live-session";
/** Nothing for so long although time is not paused: the connection is dead. */
const SILENCE_MS = 15_000;
/** A connection that has held for so long is a good one. */
const STEADY_MS = 3_000;

export class Connection {
  private socket: WebSocket | undefined;
  private id: string | undefined = sessionStorage.getItem(SESSION) ?? undefined;
  private last: Settings | undefined;
  /** The session is somebody else's, of a link. */
  private invited = false;
  private failures = 0;
  private heard = 0;
  private opened = 0;
  private counter = 0;
  private hurry: (() => void) | undefined;
  private readonly waiting = new Map<number, { done: () => void; refused: (fault: Fault) => void }>();

  private wanted: Shared | undefined;

  constructor(
    private readonly api: Api,
    private readonly events: Events,
  ) {
    addEventListener("online", () => this.now());
  }

  /** Begins with this scenario, of a link. */
  want(scenario: Shared): void {
    this.wanted = scenario;
    this.id = undefined;
  }

  /** Does not end. */
  async run(): Promise<never> {
    for (;;) {
      let why = "";
      try {
        this.events.status({ is: "connecting" });
        this.events.greeting(await this.api.greeting());
        const compare = await this.enter();
        await this.watch(compare);
      } catch (error) {
        if (error instanceof Refused && error.status === 401) {
          await this.unlock();
          continue;
        }
        const asked = this.wanted ?? this.last;
        if (error instanceof Refused && error.status >= 400 && error.status < 500 && asked !== undefined) {
          // The scenario of the link, or that of the session that is over, is not accepted, as one with a file that
          // only its command may read: say so, and begin as without.
          this.wanted = undefined;
          this.last = undefined;
          this.events.fault(error.fault);
          continue;
        }
        why = error instanceof Refused ? error.message : "";
      }
      for (const { refused } of this.waiting.values()) refused({ type: "error", message: FAULTS.connectionLost });
      this.waiting.clear();
      const again_ms = wait(this.failures++, Math.random());
      this.events.status({ is: "lost", again_ms, why });
      await this.pause(again_ms);
    }
  }

  /** The session that is watched. */
  get session(): string | undefined {
    return this.id;
  }

  /** Watches this session from now on. */
  join(id: string): void {
    this.id = id;
    this.invited = true;
    sessionStorage.setItem(SESSION, id);
    this.last = undefined;
    this.failures = 0;
    this.socket?.close();
    this.now();
  }

  /** Tries again at once. */
  now(): void {
    this.hurry?.();
  }

  unlockWith(token: string): void {
    this.api.setToken(token);
    this.hurry?.();
  }

  /** Rejects with the fault when it is refused. */
  command(command: Command): Promise<void> {
    const { socket } = this;
    if (socket === undefined || socket.readyState !== WebSocket.OPEN) {
      return Promise.reject({ type: "error", message: FAULTS.noConnection } satisfies Fault);
    }
    const id = ++this.counter;
    return new Promise((done, refused) => {
      this.waiting.set(id, { done, refused });
      socket.send(JSON.stringify({ ...command, id }));
    });
  }

  /** A session to watch; returns the settings to compare a new one with. */
  private async enter(): Promise<Record<string, string> | undefined> {
    if (this.id !== undefined) {
      try {
        await this.api.settings(this.id);
        return undefined;
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 404) throw error;
        this.id = undefined;
        sessionStorage.removeItem(SESSION);
        if (this.invited) this.events.fault({ type: "error", message: FAULTS.sessionOver });
      }
    }
    const text = this.wanted?.text ?? this.last?.text;
    this.invited = false;
    const compare = this.wanted === undefined ? this.last?.lanes[1]?.set : this.wanted.compare;
    const { id } = await this.api.open(text === undefined ? {} : { text });
    this.wanted = undefined;
    this.id = id;
    sessionStorage.setItem(SESSION, id);
    this.events.opened();
    return compare;
  }

  /** Until the connection ends. */
  private watch(compare: Record<string, string> | undefined): Promise<void> {
    return new Promise((ended) => {
      const socket = this.api.watch(this.id ?? "");
      this.socket = socket;
      this.heard = performance.now();
      const watchdog = setInterval(() => {
        if (this.last?.paused !== true && performance.now() - this.heard > SILENCE_MS) end();
      }, 1000);
      const end = (): void => {
        clearInterval(watchdog);
        if (this.socket === socket) this.socket = undefined;
        socket.close();
        ended();
      };
      socket.onopen = () => {
        this.opened = performance.now();
        this.events.status({ is: "open" });
        if (compare !== undefined)
          this.command({ do: "compare", set: compare }).catch((fault: Fault) => this.events.fault(fault));
      };
      socket.onmessage = ({ data }) => {
        if (this.socket !== socket) return;
        this.heard = performance.now();
        this.hear(JSON.parse(String(data)) as Message);
      };
      socket.onclose = end;
      socket.onerror = end;
    });
  }

  private hear(message: Message): void {
    switch (message.type) {
      case "state":
        // A session that breaks down again at once is not to be opened again at once.
        if (this.heard - this.opened > STEADY_MS) this.failures = 0;
        this.events.state(message);
        break;
      case "settings":
        this.last = message;
        this.events.settings(message);
        break;
      case "done":
        this.waiting.get(message.id)?.done();
        this.waiting.delete(message.id);
        break;
      case "error": {
        const one = message.id === undefined ? undefined : this.waiting.get(message.id);
        if (one === undefined || message.id === undefined) this.events.fault(message);
        else {
          this.waiting.delete(message.id);
          one.refused(message);
        }
        break;
      }
      case "over":
        this.socket?.close();
        break;
    }
  }

  private async unlock(): Promise<void> {
    this.events.status({ is: "locked", wrong: this.failures > 0 });
    this.failures++;
    await new Promise<void>((resolve) => {
      this.hurry = resolve;
    });
    this.hurry = undefined;
  }

  private async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.hurry = undefined;
  }
}
