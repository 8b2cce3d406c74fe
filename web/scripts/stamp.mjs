// Ties the committed bundles, the report's and the live page's, to their sources: `write` notes a hash
// of all beside the report's after a build, `check` fails when the sources have changed since. Needs Node alone, no packages.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));
const built = join(web, "../crates/report/assets/web");
const live = join(web, "../crates/live/assets");

const files = [
  ...readdirSync(join(web, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name)),
  ...["package-lock.json", "vite.config.ts", "vite.live.config.ts", "tsconfig.json"].map((name) => join(web, name)),
].sort();

const hash = createHash("sha256");
for (const file of files) {
  hash.update(file.slice(web.length)).update("\0").update(readFileSync(file)).update("\0");
}
for (const name of ["report.js", "report.css"]) hash.update(readFileSync(join(built, name)));
for (const name of ["index.html", "live.js", "live.css"]) hash.update(readFileSync(join(live, name)));
const digest = `${hash.digest("hex")}\n`;
const stamp = join(built, "stamp.sha256");

if (process.argv[2] === "write") {
  writeFileSync(stamp, digest);
} else if (readFileSync(stamp, "utf8") !== digest) {
  console.error(
    "crates/report/assets/web or crates/live/assets does not match web/src: run `npm ci && npm run build` in web/",
  );
  process.exit(1);
}
