// A scenario as a link: its text, deflated, in the part of the address that no server sees.

import { SHARE } from "../words/live";

/** Longer text than this is not a scenario: a limit for a small link that expands. */
const LONGEST = 1 << 20;

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = stream.writable.getWriter();
  // A fault shows on the reading side.
  writer.write(bytes).catch(() => undefined);
  writer.close().catch(() => undefined);
  const reader = stream.readable.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const chunk = value as Uint8Array;
    length += chunk.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new Error(SHARE.tooLong);
    }
    chunks.push(chunk);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Text as letters that an address may hold. */
export async function encode(text: string): Promise<string> {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export async function decode(letters: string): Promise<string> {
  const binary = atob(letters.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
}

/** The contents of a link: a scenario, and its comparison. */
export interface Shared {
  text: string;
  compare?: Record<string, string>;
}

/** The fragment of a link. */
export async function fragment({ text, compare }: Shared): Promise<string> {
  const beside = compare === undefined ? "" : `&c=${await encode(JSON.stringify(compare))}`;
  return `#s=${await encode(text)}${beside}`;
}

/** The fragment of a link to a session, for those who are to watch and turn it together. */
export const together = (id: string): string => `#w=${encodeURIComponent(id)}`;

/** The session that a fragment says. */
export const fromTogether = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("w") ?? undefined;

/** The contents of a fragment; nothing when it is another. */
export async function fromFragment(hash: string): Promise<Shared | undefined> {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const letters = said.get("s");
  if (letters === null) return undefined;
  const text = await decode(letters);
  const beside = said.get("c");
  if (beside === null) return { text };
  const compare: unknown = JSON.parse(await decode(beside));
  if (typeof compare !== "object" || compare === null || Array.isArray(compare)) return { text };
  const set = Object.fromEntries(
    Object.entries(compare).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  return { text, compare: set };
}
