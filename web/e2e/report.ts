// Reports as files: the page around the data of the tests, as crates/report/src/page.rs writes it.
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Page } from "@playwright/test";
import { demo, programs, sweep } from "../test/sample";

const built = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../crates/report/assets/web/${name}`, import.meta.url)), "utf8");
const stored = (name: string): unknown =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../../crates/report/tests/data/${name}`, import.meta.url)), "utf8"));

/** Two folders side by side. */
function comparison(): unknown {
  const data = demo();
  const [folder] = data.folders;
  if (folder === undefined) throw new Error("the data of the tests has no folder");
  return { ...data, folders: [folder, { ...structuredClone(folder), label: "the same on kernel", on: "kernel" }] };
}

/** A report of each kind, and the function that shows it. */
export const KINDS = {
  "one against one": ["mount", demo],
  sweep: ["mount", sweep],
  programs: ["mount", programs],
  comparison: ["mount", comparison],
  "traffic lights": ["mountLights", () => stored("lights.json")],
} as const;

export type Kind = keyof typeof KINDS;

/** Opens a report of this kind. */
export async function openReport(page: Page, kind: Kind): Promise<void> {
  const [mount, data] = KINDS[kind];
  const json = JSON.stringify(data()).replace(/</g, "\\u003c");
  const file = join(mkdtempSync(join(tmpdir(), "l4s-report-")), "report.html");
  writeFileSync(
    file,
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${kind}: l4s report</title>
<style>
${built("report.css")}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="data">${json}</script>
<script type="text/plain" id="notices">Apache ECharts</script>
<script>
${built("report.js")}
L4s.${mount}();
</script>
</body>
</html>
`,
  );
  await page.goto(pathToFileURL(file).href);
  await page.locator("main").waitFor();
}
