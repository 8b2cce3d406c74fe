// End-to-end tests in the system's Chromium (CHROMIUM names another): nothing is downloaded.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: ".",
  testMatch: process.env.L4S_PICTURES === "1" ? "pictures.ts" : "*.spec.ts",
  outputDir: "../node_modules/.e2e",
  // Servers simulate on the same machine: one at a time, and patience.
  workers: 1,
  timeout: 180_000,
  // Real time on shared machines: what fails once and not again is reported as flaky.
  retries: 2,
  expect: { timeout: 60_000 },
  reporter: "list",
  forbidOnly: process.env.CI !== undefined,
  use: {
    viewport: { width: 1400, height: 900 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
});
