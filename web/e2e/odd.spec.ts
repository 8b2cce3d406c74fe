// What a server hardly does: a made-up one does it.
import { expect, test } from "@playwright/test";
import { type Fake, start } from "./fake.mjs";
import { open, overhang, panel, slide, tile } from "./page";

let fake: Fake;
test.afterEach(() => fake.stop());

test("a machine that is too slow: the page says by how much", async ({ page }) => {
  fake = await start({ slow: 0.6 });
  await open(page, fake.url);
  await expect(page.getByText("virtual time runs at 60 % of the speed asked for")).toBeVisible();
});

test("the runs of a large sweep are a list", async ({ page }) => {
  fake = await start({ points: 75 });
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, fake.url);
  const list = page.getByRole("combobox", { name: "Presets" });
  await list.selectOption("link.rate=40mbit, group.*.rtt=10ms");
  await expect(list).toHaveValue("39");
  await expect(page.getByRole("group", { name: "Presets" })).toBeHidden();
  await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
});

test("a session that has all downloads that it may have: the page says so", async ({ page }) => {
  fake = await start({ full: true });
  await open(page, fake.url);
  await expect(page.getByText("2,000 downloads are under way, the most that a session may have")).toBeVisible();
});

test("states that were left out are counted", async ({ page }) => {
  fake = await start({ gaps: true });
  await open(page, fake.url);
  await expect(page.getByText(/\d+ states were left out/)).toBeVisible();
});

test("what the server refuses is put back, and says why beside the field", async ({ page }) => {
  fake = await start();
  await open(page, fake.url);
  await page.locator("summary").first().click();
  const field = page.getByLabel("step_thresh");
  await field.fill("soon");
  await field.press("Enter");
  const fault = page.getByRole("alert").filter({ hasText: "aqm.step_thresh" });
  await expect(fault).toContainText("expected a time");
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await field.blur();
  await expect(field).toHaveValue("1ms");
  await field.fill("2ms");
  await field.press("Enter");
  await expect(fault).toHaveCount(0);
  await expect(field).toHaveValue("2ms");
});

test("numbers are held within their limits", async ({ page }) => {
  fake = await start();
  await open(page, fake.url);
  await page.locator("summary").first().click();
  const field = page.getByLabel("target");
  await field.fill("9000");
  await field.press("Enter");
  await expect(field).toHaveValue("4000");
});

test("a session that is ended begins again with what was set", async ({ page }) => {
  fake = await start();
  await open(page, fake.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "6 Mb/s");
  // The slider shows what was asked for before the server has heard of it.
  const heard = () => [...fake.sessions.values()].map((session) => session.settings().set["link.rate"]);
  await expect.poll(heard).toEqual(["6mbit"]);
  for (const [id, session] of fake.sessions) {
    fake.sessions.delete(id);
    session.end();
  }
  await expect.poll(() => fake.sessions.size).toBe(1);
  await expect(tile(page, "Link used")).toContainText("%");
  await expect(panel(page, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", "6 Mb/s");
});

test("a session that is ended, and may not begin again, is a new one with the reason", async ({ page }) => {
  fake = await start({ textless: true });
  await open(page, fake.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "6 Mb/s");
  for (const [id, session] of fake.sessions) {
    fake.sessions.delete(id);
    session.end();
  }
  await expect(page.getByRole("alert").filter({ hasText: "found a file" })).toBeVisible();
  await expect.poll(() => fake.sessions.size).toBe(1);
  await expect(panel(page, "Link").getByLabel("Rate")).not.toHaveAttribute("aria-valuetext", "6 Mb/s");
});

test("a token comes from the address, which loses it, or is asked for", async ({ page, browser }) => {
  fake = await start({ token: "secret" });
  await open(page, `${fake.url}?token=secret`);
  expect(page.url()).not.toContain("secret");
  await page.reload();
  await expect(tile(page, "Link used")).toContainText("%");
  const other = await (await browser.newContext()).newPage();
  await other.goto(fake.url);
  await other.getByLabel("This server asks for a token").fill("wrong");
  await other.keyboard.press("Enter");
  await other.getByLabel("That is not the server's token").fill("secret");
  await other.keyboard.press("Enter");
  await expect(tile(other, "Link used")).toContainText("%");
  await other.context().close();
});

test("with real sockets there is no other time, and it says what runs", async ({ page }) => {
  fake = await start({ kernel: true });
  await open(page, fake.url);
  await expect(page.getByText("Real Linux TCP, in real time.")).toBeVisible();
  for (const name of ["speed", "side by side with"]) await expect(page.getByLabel(name)).toBeHidden();
  await expect(page.getByRole("button", { name: "Pause" })).toBeHidden();
  await expect(page.getByRole("button", { name: "Freeze" })).toBeVisible();
});
