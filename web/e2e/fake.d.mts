// What tests use of the made-up server.

export interface Odd {
  port?: number;
  /** Virtual time runs at this part of its speed. */
  slow?: number;
  /** Every fifth state is not sent. */
  gaps?: boolean;
  token?: string;
  /** So many presets, each with a long name. */
  points?: number;
  /** As many downloads are under way as there may be. */
  full?: boolean;
  /** It takes no scenario from a page, as if that had the name of a file. */
  textless?: boolean;
  /** It has real sockets, and so the time of the world. */
  kernel?: boolean;
}

export interface Fake {
  url: string;
  sessions: Map<string, { end(): void; settings(): { set: Record<string, string> } }>;
  odd: Odd;
  stop(): Promise<void>;
}

export function start(odd?: Odd): Promise<Fake>;
