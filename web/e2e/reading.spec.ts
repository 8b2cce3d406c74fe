// The live page as a screen reader and a printer get it, with made-up numbers.
import { writeFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { type Fake, start } from "./fake.mjs";
import { open } from "./page";
import { pdfText, squeeze } from "./pdf";

let server: Fake;

test.beforeAll(async () => {
  server = await start({ port: 0 });
});
test.afterAll(() => server.stop());

test("a screen reader reads the page", async ({ page }) => {
  await open(page, server.url);
  await expect(page.getByRole("banner")).toMatchAriaSnapshot({ name: "live-head.aria.yml" });
  await expect(page.locator(".controls")).toMatchAriaSnapshot({ name: "live-controls.aria.yml" });
  // Numbers change all the time: here it is that there are some.
  await expect(page.getByRole("img", { name: /link .* % used/ })).toBeVisible();
  await expect(page.locator('[data-plot="histogram"] [role="img"]')).toHaveAccessibleName(/mean .* ms/);
  await expect(page.locator('[role="status"].hidden')).toContainText(/ms/);
});

test("printed, it has every chart in light colours and no control", async ({ browser }) => {
  const page = await (await browser.newContext({ colorScheme: "dark" })).newPage();
  await open(page, server.url);
  const titles = await page.locator("figure:visible h3").allTextContents();
  const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
  if (process.env.SHOTS) writeFileSync(`${process.env.SHOTS}/live.pdf`, pdf);
  const text = await pdfText(pdf);
  expect(titles.length).toBeGreaterThan(4);
  for (const title of titles) expect(text).toContain(squeeze(title));
  for (const control of ["Presets", "Freeze", "Buffer"]) expect(text).not.toContain(squeeze(control));
  // Off the screen, too, and in the colours of the screen again.
  const drawn = page.locator("figure:not(.idle):visible");
  expect(await drawn.locator(".plot canvas").count()).toBe(await drawn.count());
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.context().close();
});
