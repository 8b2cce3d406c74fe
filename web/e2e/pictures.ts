// The pictures of the documentation: `make pictures`. They check nothing, so they are none of the tests
// that `npm run e2e` runs.
import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";
import { open } from "./page";
import { real, serve } from "./server";

if (!real) throw new Error("there is no `l4s live` (L4S names the binary), and made-up numbers are not for pictures");

const shots = [
  { name: "live", width: 1400, height: 1024, colorScheme: "light" },
  { name: "live-dark", width: 1400, height: 1024, colorScheme: "dark" },
  { name: "live-phone", width: 390, height: 1000, colorScheme: "light" },
  { name: "live-phone-dark", width: 390, height: 1000, colorScheme: "dark" },
] as const;
for (const { name, width, height, colorScheme } of shots) {
  test(`picture ${name}`, async ({ browser }) => {
    const own = await serve();
    const page = await (await browser.newContext({ viewport: { width, height }, colorScheme })).newPage();
    await open(page, own.url);
    // Lines over time want some of it.
    await expect.poll(async () => page.evaluate(() => performance.now()), { timeout: 90_000 }).toBeGreaterThan(40_000);
    await page.screenshot({ path: fileURLToPath(new URL(`../../docs/figures/${name}.png`, import.meta.url)) });
    await page.context().close();
    await own.stop();
  });
}
