// The page as tests speak of it.
import { expect, type Locator, type Page } from "@playwright/test";

/** Opens it and waits until numbers are there. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await expect(tile(page, "Link used")).toContainText("%");
}

/** A big number, by its label. */
export const tile = (page: Page, label: string | RegExp, lane = 0): Locator =>
  page
    .locator(`.stage [data-lane="${lane}"] .tile`, { has: page.locator("dt", { hasText: label }) })
    .locator("dd")
    .first();

/** A tile's number: Mb/s, %, or ms. */
export async function value(of: Locator): Promise<number> {
  const text = (await of.textContent()) ?? "";
  const number = Number.parseFloat(text);
  return text.includes("µs") || text.includes("kb/s") ? number / 1000 : number;
}

export const panel = (page: Page, title: string): Locator => page.getByRole("region", { name: title, exact: true });

/** A chip of the discipline. */
export const discipline = (page: Page, name: string): Locator =>
  page.getByRole("group", { name: "Queue discipline" }).getByRole("button", { name, exact: true });

export const presets = (page: Page): Locator => page.getByRole("group", { name: "Presets" }).getByRole("button");

/** Puts a slider at the place where it says this. */
export async function slide(slider: Locator, words: string): Promise<void> {
  await slider.focus();
  await slider.press("Home");
  for (let i = 0; i < 60 && (await slider.getAttribute("aria-valuetext")) !== words; i++)
    await slider.press("ArrowRight");
  await expect(slider).toHaveAttribute("aria-valuetext", words);
}

/** Errors of the page itself, collected from now on. */
export function errors(page: Page): string[] {
  const said: string[] = [];
  page.on("pageerror", (error) => said.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") said.push(message.text());
  });
  return said;
}

/** How far the page reaches beyond the screen, sideways. */
export const overhang = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Controls in sight that are lower or narrower than 24 pixels. */
export const small = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, select, input, summary, a[href]")].flatMap((control) => {
      const { width, height } = control.getBoundingClientRect();
      // The label of a tick is part of its target.
      const label = control.closest("label")?.getBoundingClientRect();
      const tall = Math.max(height, label?.height ?? 0);
      const wide = Math.max(width, label?.width ?? 0);
      const shown = width > 0 && control.checkVisibility();
      return shown && (tall < 24 || wide < 24) ? [`${control.outerHTML.slice(0, 120)}: ${wide} by ${tall}`] : [];
    }),
  );
