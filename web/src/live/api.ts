// The REST interface, and the token that it may ask for.

import { FAULTS } from "../words/live";
import type { Fault, Greeting, Keys, Settings } from "./protocol";

const KEY = "l4s-live-token";

/** The token from the address, which then loses it: an address is copied, shown and kept. */
export function tokenOfPage(): string {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given !== null) {
    sessionStorage.setItem(KEY, given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  return given ?? sessionStorage.getItem(KEY) ?? "";
}

/** A refusal of the server, and its reason. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly fault: Fault,
  ) {
    super(fault.message);
  }
}

export interface Opened {
  id: string;
  settings: Settings;
}

export class Api {
  private token = tokenOfPage();

  setToken(token: string): void {
    this.token = token;
    sessionStorage.setItem(KEY, token);
  }

  greeting(): Promise<Greeting> {
    return this.ask("GET", "api/greeting");
  }

  open(what: { point?: number; text?: string; set?: Keys }): Promise<Opened> {
    return this.ask("POST", "api/sessions", what);
  }

  settings(id: string): Promise<Settings> {
    return this.ask("GET", `api/sessions/${encodeURIComponent(id)}`);
  }

  watch(id: string): WebSocket {
    const address = new URL(`api/sessions/${encodeURIComponent(id)}/watch`, base());
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    if (this.token !== "") address.searchParams.set("token", this.token);
    return new WebSocket(address);
  }

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = {};
    if (this.token !== "") headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(new URL(path, base()), {
      method,
      headers,
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.ok) return (await answer.json()) as T;
    const said: unknown = await answer.json().catch(() => undefined);
    const fault = said as Fault | undefined;
    throw new Refused(
      answer.status,
      fault?.message === undefined ? { type: "error", message: FAULTS.answer(answer.status) } : fault,
    );
  }
}

/** The address of the page, without query and fragment. */
const base = (): string => `${location.origin}${location.pathname}`;
