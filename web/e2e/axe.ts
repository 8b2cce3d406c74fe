// axe-core on a page: every rule, WCAG 2.2 A and AA and best practices.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface Found {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

interface Axe {
  run(options: object): Promise<{ violations: Found[] }>;
}

/** The violations, a line each. */
export async function violations(page: Page): Promise<string[]> {
  const found = await page.evaluate(
    async ([script, tags]) => {
      if (!("axe" in window)) new Function(script as string)();
      return (
        await (window as unknown as { axe: Axe }).axe.run({
          runOnly: { type: "tag", values: tags },
          rules: { "target-size": { enabled: true } },
        })
      ).violations;
    },
    [source, TAGS] as const,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}
