// Ties the committed bundle to its sources: `write` notes a hash of them beside it after a build,
// `check` fails when the sources have changed since. Needs Node alone, no packages.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const web = fileURLToPath(new URL("..", import.meta.url));
const built = join(web, "../crates/report/assets/web");

const files = [
  ...readdirSync(join(web, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name)),
  ...["package-lock.json", "vite.config.ts", "tsconfig.json"].map((name) => join(web, name)),
].sort();

const hash = createHash("sha256");
for (const file of files) {
  hash.update(file.slice(web.length)).update("\0").update(readFileSync(file)).update("\0");
}
for (const name of ["report.js", "report.css"]) hash.update(readFileSync(join(built, name)));
const digest = `${hash.digest("hex")}\n`;
const stamp = join(built, "stamp.sha256");

if (process.argv[2] === "write") {
  writeFileSync(stamp, digest);
} else if (readFileSync(stamp, "utf8") !== digest) {
  console.error("crates/report/assets/web does not match web/src: run `npm ci && npm run build` in web/");
  process.exit(1);
}
