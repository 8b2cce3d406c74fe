// The server that tests talk to: the real one (L4S names its binary), or where there is none yet the
// made-up one.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Fake, start } from "./fake.mjs";

export interface Server {
  url: string;
  stop(): Promise<void>;
}

const binary = process.env.L4S ?? fileURLToPath(new URL("../../target/release/l4s", import.meta.url));

/** Whether there is a real server. */
export const real = existsSync(binary) && spawnSync(binary, ["live", "--help"]).status === 0;

/** Starts one, on a port of its own or on this one. */
export async function serve(port = 0): Promise<Server> {
  if (real) return spawned(port);
  const fake: Fake = await start({ port });
  return { url: fake.url, stop: () => fake.stop() };
}

function spawned(port: number): Promise<Server> {
  const child = spawn(binary, ["live", "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let said = "";
    let wanted = false;
    const hear = (text: Buffer): void => {
      said += String(text);
      const url = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(said)?.[0];
      if (url === undefined) return;
      const stop = (): Promise<void> => {
        wanted = true;
        return ended(child);
      };
      resolve({ url, stop });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (!wanted) console.error(`the server ended by itself (${code ?? signal}): ${said}`);
      reject(new Error(`the server ended: ${said}`));
    });
  });
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.on("exit", () => resolve());
    child.kill("SIGKILL");
  });
