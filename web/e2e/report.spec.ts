// The report as a screen reader, a phone and a printer get it.
import { writeFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { violations } from "./axe";
import { overhang, small } from "./page";
import { pdfText, squeeze } from "./pdf";
import { KINDS, type Kind, openReport } from "./report";

const kinds = Object.keys(KINDS) as Kind[];

for (const kind of kinds) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`axe finds nothing in a report (${kind}, ${colorScheme})`, async ({ browser }) => {
      const page = await (await browser.newContext({ colorScheme })).newPage();
      await openReport(page, kind);
      await page.locator("details").evaluateAll((all) => {
        for (const one of all) (one as HTMLDetailsElement).open = true;
      });
      expect(await violations(page)).toEqual([]);
      await page.context().close();
    });
  }
}

for (const kind of kinds) {
  test(`at 320 pixels nothing hangs over the edge (${kind})`, async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await openReport(page, kind);
    await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
    // The squares of the traffic lights are a grid with arrow keys, and denser by their nature.
    expect(await small(page)).toEqual([]);
    if (kind !== "traffic lights") expect(await violations(page)).toEqual([]);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/320-${kind}.png`, fullPage: true });
  });
}

for (const kind of ["one against one", "sweep"] as const) {
  test(`a screen reader reads the report (${kind})`, async ({ page }) => {
    await openReport(page, kind);
    for (const plot of await page.locator(".plot").all()) await expect(plot).toHaveAccessibleDescription(/numbers/);
    await expect(page.locator("#app")).toMatchAriaSnapshot({ name: `${kind.replace(/ /g, "-")}.aria.yml` });
  });

  test(`printed, the report has every figure and no control (${kind})`, async ({ browser }) => {
    const page = await (await browser.newContext({ colorScheme: "dark" })).newPage();
    await openReport(page, kind);
    const titles = await page.locator("figure h2").allTextContents();
    const controls = await page.locator("fieldset legend, button.switch").allTextContents();
    const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
    if (process.env.SHOTS) writeFileSync(`${process.env.SHOTS}/${kind}.pdf`, pdf);
    const text = await pdfText(pdf);
    expect(titles.length).toBeGreaterThan(0);
    for (const title of titles) expect(text).toContain(squeeze(title));
    for (const control of [...controls, "◐"]) expect(text).not.toContain(squeeze(control));
    // Axis names are inside the charts: those beyond the screen are drawn too.
    const axes = await page.locator("figure").count();
    expect(await page.locator(".plot svg").count()).toBe(axes);
    await page.context().close();
  });
}
