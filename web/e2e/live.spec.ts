// The page with a server: what a viewer does, and sees happen.

import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { expect, type Page, test } from "@playwright/test";
import { violations } from "./axe";
import { discipline, errors, open, overhang, panel, presets, slide, small, tile, value } from "./page";
import { real, type Server, serve } from "./server";

let server: Server;

test.beforeAll(async () => {
  console.log(real ? "with the real server" : "with a made-up server: there is no `l4s live` (L4S names the binary)");
  server = await serve();
});
test.afterAll(() => server.stop());

test("it loads, and shows numbers, pictures and charts without an error", async ({ page }) => {
  const said = errors(page);
  await open(page, server.url);
  await expect(tile(page, "L4S queueing delay")).toHaveText(/[µm]s$/);
  await expect(page.locator('[data-plot="histogram"] canvas')).toBeVisible();
  await expect(page.locator('[data-plot="histogram"] .words')).toContainText("mean");
  expect(await page.locator("canvas.network").evaluate((canvas: HTMLCanvasElement) => canvas.width)).toBeGreaterThan(0);
  await expect(page.locator("canvas.network")).toHaveAttribute("aria-label", /link .* % used/);
  expect(said).toEqual([]);
});

test("a slider sets the link's rate, and the rates follow", async ({ page }) => {
  await open(page, server.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "5 Mb/s");
  await expect
    .poll(async () => (await value(tile(page, /Rate A/))) + (await value(tile(page, /Rate B/))))
    .toBeLessThan(5.5);
  await slide(panel(page, "Link").getByLabel("Rate"), "50 Mb/s");
  await expect
    .poll(async () => (await value(tile(page, /Rate A/))) + (await value(tile(page, /Rate B/))))
    .toBeGreaterThan(20);
});

test("another discipline moves the histogram", async ({ page }) => {
  await open(page, server.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "20 Mb/s");
  await discipline(page, "DualPI2").click();
  const words = page.locator('[data-plot="histogram"] .words');
  const mean = async (queue: RegExp) => Number.parseFloat(queue.exec((await words.textContent()) ?? "")?.[1] ?? "NaN");
  await expect.poll(() => mean(/Classic: mean ([\d.]+) ms/)).toBeLessThan(40);
  await discipline(page, "FIFO").click();
  await expect(discipline(page, "FIFO")).toHaveAttribute("aria-pressed", "true");
  await expect.poll(() => mean(/queue: mean ([\d.]+) ms/)).toBeGreaterThan(40);
  await discipline(page, "DualPI2").click();
  await expect.poll(() => mean(/Classic: mean ([\d.]+) ms/)).toBeLessThan(40);
});

test("each preset can be loaded, and says what to look at", async ({ page }) => {
  const said = errors(page);
  await open(page, server.url);
  const all = await presets(page).count();
  expect(all).toBeGreaterThan(1);
  for (let i = all - 1; i >= 0; i--) {
    const chip = presets(page).nth(i);
    await chip.click();
    await expect(chip).toHaveAttribute("aria-pressed", "true");
    await expect(tile(page, "Link used")).toContainText("%");
    await expect(page.locator(".lead")).not.toBeEmpty();
  }
  expect(said).toEqual([]);
});

test("clients, applications and UDP can be changed", async ({ page }) => {
  await open(page, server.url);
  const client = panel(page, "Client A");
  await slide(client.getByLabel("Downloads"), "3");
  await client.getByRole("button", { name: "100/s" }).click();
  await expect(client.getByRole("button", { name: "100/s" })).toHaveAttribute("aria-pressed", "true");
  await client.getByLabel("Application, 4 Mb/s").check();
  await expect(client.locator(".delay")).toContainText(/the picture is [\d.]+ ms late/);
  await client.getByLabel("Congestion control").selectOption("cubic");
  await expect(tile(page, "Rate A · Cubic")).toContainText("b/s");
  await page.locator('[data-plot="completion"]').scrollIntoViewIfNeeded();
  await expect(page.locator('[data-plot="completion"] .words')).toContainText("the ideal");
  await slide(panel(page, "UDP U").getByLabel("Rate"), "1 Mb/s");
  await expect(panel(page, "UDP U").getByRole("slider")).toHaveAttribute("aria-valuetext", "1 Mb/s");
});

test("two disciplines stand side by side", async ({ page }) => {
  await open(page, server.url);
  await page.getByLabel("side by side with").selectOption("fifo");
  await expect(tile(page, /^Queueing delay/, 1)).toHaveText(/[µm]s$/);
  await expect(tile(page, "L4S queueing delay", 0)).toHaveText(/[µm]s$/);
  await expect(page.locator("canvas.network")).toHaveCount(2);
  await page.getByLabel("side by side with").selectOption("");
  await expect(page.locator("canvas.network")).toHaveCount(1);
});

test("it freezes, steps back, and returns", async ({ page }) => {
  await open(page, server.url);
  await page.getByRole("button", { name: "Freeze" }).click();
  const past = page.getByRole("group", { name: "Past" });
  const at = past.getByRole("slider");
  await expect(at).toBeVisible();
  const end = await at.inputValue();
  const thereAndBack = async () => {
    await at.press("Home");
    await expect(past.locator("output")).toContainText("s before");
    await at.press("End");
    await expect(at).toHaveValue(end);
  };
  // The same moment has the same numbers, however much time has gone by. The tile may still show an earlier one.
  await expect(async () => {
    await thereAndBack();
    const before = await tile(page, "Classic queueing delay").textContent();
    await thereAndBack();
    await expect(tile(page, "Classic queueing delay")).toHaveText(before ?? "", { timeout: 1000 });
  }).toPass();
  await past.getByRole("button", { name: "Back to live" }).click();
  await expect(past).toBeHidden();
});

test("a link takes the scenario to another browser", async ({ page, browser }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, server.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "12 Mb/s");
  const link = page.getByLabel("A link to it as it stands now", { exact: true });
  // What is shared is what the server has heard, a moment after the slider shows it.
  await expect(async () => {
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Share" }).click();
    await expect(page.getByLabel("A command that runs it", { exact: true })).toHaveValue(
      /^l4s run .*link\.rate=12mbit/,
      { timeout: 500 },
    );
  }).toPass();
  await expect(link).toHaveValue(/#s=[\w-]+/);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: /^Download .*\.toml$/ }).click();
  const text = readFileSync(await (await download).path(), "utf8");
  expect(text).toContain("12mbit");
  await page.getByRole("button", { name: "Copy: A link to it" }).click();
  await expect(page.getByText("Copied.")).toBeVisible();
  const other = await (await browser.newContext()).newPage();
  await other.goto(await link.inputValue());
  await other.getByRole("button", { name: "Run it" }).click();
  await expect(tile(other, "Link used")).toContainText("%");
  await expect(panel(other, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", "12 Mb/s");
  // The address is the page's again.
  expect(new URL(other.url()).hash).toBe("");
  await other.context().close();
});

/** A scenario in an address, as anybody can make one. */
const address = (text: string): string => `#s=${deflateRawSync(text).toString("base64url")}`;

const SOMEBODYS =
  `link.rate = "7mbit"\n` +
  `[[group]]\nname = "A"\ncc = "prague"\nrtt = "10ms"\n` +
  `[[group]]\nname = "B"\ncc = "cubic"\nrtt = "10ms"\n`;

test("a scenario in the address is shown, and does not run before a click", async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/sessions")) asked.push(request.method());
  });
  await page.goto(`${server.url}${address(SOMEBODYS)}`);
  const dialog = page.getByRole("dialog", { name: "Run the scenario of this link?" });
  await expect(dialog).toContainText('link.rate = "7mbit"');
  // Neither Enter nor Escape runs it.
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expect(tile(page, "Link used")).toContainText("%");
  await expect(panel(page, "Link").getByLabel("Rate")).not.toHaveAttribute("aria-valuetext", "7 Mb/s");
  // Nor does one that comes to a page that is there already.
  const before = asked.length;
  await page.evaluate((hash) => location.assign(hash), address(SOMEBODYS));
  await expect(dialog).toBeVisible();
  expect(asked.length).toBe(before);
  await expect(panel(page, "Link").getByLabel("Rate")).not.toHaveAttribute("aria-valuetext", "7 Mb/s");
  if (!real) return;
  await dialog.getByRole("button", { name: "Run it" }).click();
  await expect(panel(page, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", "7 Mb/s");
});

test("nothing is asked of the server while a scenario in the address waits", async ({ page }) => {
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().includes("/api/")) asked++;
  });
  await page.goto(`${server.url}${address(SOMEBODYS)}`);
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(asked).toBe(0);
  await page.getByRole("button", { name: "Not now" }).click();
  await expect(tile(page, "Link used")).toContainText("%");
});

test("one that needs more memory than a session may have is refused with its arithmetic", async ({ page }) => {
  // `make e2e` and CI run it, with the real server.
  test.skip(!real, "only the real server counts memory");
  const hop = (n: number): string =>
    `[[hop]]\nname = "h${n}"\nper = "flow"\nrate = "1gbit"\naqm = { kind = "fq_codel", flows = 65536 }\n`;
  const text = SOMEBODYS.replace("rtt", "flows = 99\nrtt") + Array.from({ length: 100 }, (_, n) => hop(n)).join("");
  await page.goto(`${server.url}${address(text)}`);
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "a session may have 512 MB" })).toContainText(
    "100 hops × 100 links × 65,536",
  );
  await expect(tile(page, "Link used")).toContainText("%");
});

test("names are text, whatever is in them", async ({ page }) => {
  // `make e2e` and CI run it, with the real server.
  test.skip(!real, "only the real server reads the names of a scenario");
  const said = errors(page);
  const name = "<img src=x onerror=pwned()>'\"&</script><script>pwned()</script>";
  const text = SOMEBODYS.replace('name = "A"', `name = ${JSON.stringify(name.replace(/[=]/g, "").slice(0, 64))}`);
  await page.goto(`${server.url}${address(`name = ${JSON.stringify(name)}\n${text}`)}`);
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(page.getByRole("region", { name: /^Client <img/ })).toBeVisible();
  await page.locator("[data-plot]:visible").last().scrollIntoViewIfNeeded();
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await page.evaluate(() => document.querySelectorAll("img, script:not([src])").length)).toBe(0);
  expect(said).toEqual([]);
});

/** Downloads and uploads over an access with an uplink. */
const ACCESS =
  `link.rate = "20mbit"\nuplink.rate = "5mbit"\nuplink.buffer = "100p"\n` +
  `[[group]]\nname = "down"\ncc = "prague"\nrtt = "10ms"\n` +
  `[[group]]\nname = "up"\ndirection = "up"\ncc = "cubic"\nrtt = "10ms"\n`;

/** Runs a scenario, if there is a server that can. */
async function run(page: Page, text: string): Promise<void> {
  // `make e2e` and CI run these, with the real server.
  test.skip(!real, "only the real server runs a scenario");
  await page.goto(`${server.url}${address(text)}`);
  await page.getByRole("button", { name: "Run it" }).click();
  await expect(tile(page, "Link used")).toContainText("%");
}

test("the uplink is drawn and told, and its rate and discipline are set while it runs", async ({ page }) => {
  const said = errors(page);
  await run(page, ACCESS);
  const uplink = panel(page, "Uplink");
  await expect.poll(() => value(tile(page, "Rate up"))).toBeGreaterThan(3.5);
  await expect(page.locator("canvas.network")).toHaveAttribute("aria-label", /an uplink \(dualpi2\).*uplink .* % used/);
  await slide(uplink.getByLabel("Rate"), "2 Mb/s");
  await expect.poll(() => value(tile(page, "Rate up"))).toBeLessThan(2.1);
  await uplink.getByLabel("Queue discipline").selectOption("fifo");
  // 100 packets of 1514 B at 2 Mb/s are 0.6 s.
  await expect.poll(() => value(tile(page, "Uplink queueing delay"))).toBeGreaterThan(100);
  await expect(tile(page, "Uplink used")).toContainText("%");
  // The bottleneck keeps its discipline.
  await expect(tile(page, "L4S queueing delay")).toContainText("s");
  await uplink.getByLabel("Queue discipline").selectOption("pie");
  await uplink.locator("summary").click();
  await expect(uplink.getByLabel("target", { exact: true })).toHaveValue("15");
  await page.locator('[data-plot="uplink-signals"]').scrollIntoViewIfNeeded();
  await expect(page.locator('[data-plot="uplink-signals"] .words')).toContainText("marked");
  await expect(page.locator('[data-plot="uplink-delays"] canvas')).toBeVisible();
  expect(await violations(page)).toEqual([]);
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
    expect(await small(page)).toEqual([]);
  }
  expect(said).toEqual([]);
});

test("a link that follows a trace has its capacity in the chart, and no control of its rate", async ({ page }) => {
  const said = errors(page);
  await run(page, SOMEBODYS.replace(`link.rate = "7mbit"`, `link = { trace = "lte-1", trace_scale = "20mbit" }`));
  const link = panel(page, "Link");
  await expect(link).toContainText("lte-1, 20 Mb/s on average");
  await expect(link.getByRole("slider")).toHaveCount(0);
  const words = page.locator('[data-plot="throughput"] .words');
  await words.scrollIntoViewIfNeeded();
  const seen = new Set<string>();
  // It is not the mean.
  await expect
    .poll(async () => seen.add(/link ([\d.]+ [kM]b\/s)/.exec((await words.textContent()) ?? "")?.[1] ?? "").size)
    .toBeGreaterThan(3);
  // The rest is set as ever, and the run goes on.
  await discipline(page, "PIE").click();
  await expect(tile(page, /^Queueing delay/)).toHaveText(/[µm]s$/);
  await page.setViewportSize({ width: 320, height: 640 });
  await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
  expect(said).toEqual([]);
});

test("loss and jitter of a path are set while it runs", async ({ page }) => {
  const path = `[[path]]\nname = "far"\nloss = 0\n[[path]]\nname = "up"\ndirection = "up"\nloss = [9]\n`;
  await run(page, SOMEBODYS.replace("7mbit", "50mbit") + path);
  const rates = async () => (await value(tile(page, /Rate A/))) + (await value(tile(page, /Rate B/)));
  await expect.poll(rates).toBeGreaterThan(30);
  const far = panel(page, "Path far");
  await slide(far.getByLabel("Loss"), "5 %");
  // A window of 1.22 / √0.05 = 5.5 packets of 1500 B in 10 ms is 6.5 Mb/s.
  await expect.poll(rates).toBeLessThan(25);
  await slide(far.getByLabel("Jitter"), "up to 20 ms");
  await slide(far.getByLabel("Loss"), "none");
  await slide(far.getByLabel("Jitter"), "none");
  await expect.poll(rates).toBeGreaterThan(30);
  // Numbers of packets are no chance.
  await expect(panel(page, "Path up")).toContainText("[9]");
  await expect(panel(page, "Path up").getByRole("slider")).toHaveCount(1);
  expect(await violations(page)).toEqual([]);
});

test("a session can be watched and turned together", async ({ page, browser }) => {
  await open(page, server.url);
  await page.getByRole("button", { name: "Share" }).click();
  const link = page.getByLabel("A link to this very session", { exact: false }).first();
  await expect(link).toHaveValue(/#w=/);
  const other = await (await browser.newContext()).newPage();
  await open(other, await link.inputValue());
  await page.keyboard.press("Escape");
  await slide(panel(other, "Link").getByLabel("Rate"), "8 Mb/s");
  await expect(panel(page, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", "8 Mb/s");
  await other.context().close();
});

test("a damaged link is said to be one, and the page goes on", async ({ page }) => {
  await open(page, `${server.url}#s=AAAA`);
  await expect(page.getByRole("alert").filter({ hasText: "damaged" })).toBeVisible();
});

test("when the server comes back, so does the session with all that was set", async ({ page }) => {
  let own = await serve();
  const port = Number(new URL(own.url).port);
  await open(page, own.url);
  await slide(panel(page, "Link").getByLabel("Rate"), "8 Mb/s");
  await expect
    .poll(async () => (await value(tile(page, /Rate A/))) + (await value(tile(page, /Rate B/))))
    .toBeLessThan(9);
  await own.stop();
  await expect(page.getByText("Trying again")).toBeVisible();
  own = await serve(port);
  await page
    .getByRole("button", { name: "Try now" })
    .click({ timeout: 1000 })
    .catch(() => undefined);
  await expect(page.getByText("Trying again")).toBeHidden();
  await expect(tile(page, "Link used")).toContainText("%");
  await expect(panel(page, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", "8 Mb/s");
  await own.stop();
});

test("two viewers have a session each", async ({ page, browser }) => {
  const other = await (await browser.newContext()).newPage();
  await open(page, server.url);
  await open(other, server.url);
  const before = await panel(other, "Link").getByLabel("Rate").getAttribute("aria-valuetext");
  await slide(panel(page, "Link").getByLabel("Rate"), "3 Mb/s");
  await expect
    .poll(async () => (await value(tile(page, /Rate A/))) + (await value(tile(page, /Rate B/))))
    .toBeLessThan(4);
  await expect(panel(other, "Link").getByLabel("Rate")).toHaveAttribute("aria-valuetext", before ?? "");
  await other.context().close();
});

test("at 320 pixels nothing hangs over the edge, and every target has 24 pixels", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await open(page, server.url);
  await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
  expect(await small(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
});

test("nothing hangs over the edge of a phone", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, server.url);
  await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
  await page.locator("summary").first().click();
  await panel(page, "Client A").getByLabel("Application, 4 Mb/s").check();
  await page.getByLabel("side by side with").selectOption("pie");
  await expect(tile(page, /^Queueing delay/, 1)).toHaveText(/[µm]s$/);
  await expect.poll(() => overhang(page)).toBeLessThanOrEqual(0);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${colorScheme}`, async ({ browser }) => {
    const page = await (await browser.newContext({ colorScheme })).newPage();
    await open(page, server.url);
    await page.locator("summary").first().click();
    await page.getByRole("button", { name: "Freeze" }).click();
    for (const state of ["page", "dialog"]) {
      if (state === "dialog") await page.getByRole("button", { name: "Share" }).click();
      expect(await violations(page), state).toEqual([]);
    }
    await page.context().close();
  });
}

test("the keyboard is enough", async ({ page }) => {
  await open(page, server.url);
  // From the top: share, light and dark, presets, disciplines, what it is compared with.
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Share");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  for (let i = 0; i < 40 && (await focused()) !== "PIE"; i++) await page.keyboard.press("Tab");
  for (let i = 0; i < 40 && !(await discipline(page, "PIE").evaluate((chip) => chip === document.activeElement)); i++)
    await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(discipline(page, "PIE")).toHaveAttribute("aria-pressed", "true");
  await expect(tile(page, /^Queueing delay/)).toHaveText(/[µm]s$/);
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.keyboard.press("Space");
  const at = page.getByRole("group", { name: "Past" }).getByRole("slider");
  await expect(at).toBeFocused();
  const end = Number(await at.inputValue());
  await page.keyboard.press("ArrowLeft");
  await expect(at).toHaveValue(String(end - 1));
  await page.keyboard.press("Space");
  await expect(at).toBeHidden();
});

test("who asked for less motion sees none, and all numbers", async ({ browser }) => {
  const page = await (await browser.newContext({ reducedMotion: "reduce" })).newPage();
  await open(page, server.url);
  await expect(tile(page, "L4S queueing delay")).toHaveText(/[µm]s$/);
  await page.context().close();
});
