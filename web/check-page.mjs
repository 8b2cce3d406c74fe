// Opens a report from disk in headless Chromium with the network cut off, and fails when the page
// reports an error or stays empty: `node check-page.mjs report.html [shot.png [WIDTHxHEIGHT]]`.
// Says so and succeeds where there is no Chromium.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, shot, size = "1280,4000"] = process.argv.slice(2);
if (page === undefined) {
  console.error("usage: node check-page.mjs report.html [shot.png [WIDTHxHEIGHT]]");
  process.exit(2);
}
const browser = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].find(
  (name) => name !== undefined && spawnSync(name, ["--version"]).status === 0,
);
if (browser === undefined) {
  console.log("skipped: there is no Chromium on this machine (set CHROMIUM to its path)");
  process.exit(0);
}
const profile = mkdtempSync(join(tmpdir(), "check-page-"));
const run = (...task) =>
  spawnSync(
    browser,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-sync",
      "--no-first-run",
      "--hide-scrollbars",
      `--user-data-dir=${profile}`,
      // No name resolves and no proxy answers: what the page does not hold it does not get.
      "--host-resolver-rules=MAP * ~NOTFOUND",
      "--proxy-server=127.0.0.1:9",
      "--enable-logging=stderr",
      "--virtual-time-budget=5000",
      `--window-size=${size.replace("x", ",")}`,
      ...(process.env.DARK ? ["--force-dark-mode"] : []),
      ...task,
      pathToFileURL(resolve(page)).href,
    ],
    { encoding: "utf8", maxBuffer: 1 << 28, timeout: 120_000 },
  );
const { stdout, stderr, status } = run("--dump-dom");
if (shot !== undefined) run(`--screenshot=${resolve(shot)}`);
rmSync(profile, { recursive: true, force: true });

const said = (stderr ?? "").split("\n").filter((line) => line.includes("CONSOLE"));
const charts = (stdout.match(/<div class="plot"[^>]*>\s*<div[^>]*>\s*<svg/g) ?? []).length;
for (const line of said) console.error(line);
console.log(`${charts} charts drawn, ${said.length} messages on the console`);
process.exit(status === 0 && said.length === 0 && charts > 0 ? 0 : 1);
