// One bundle, `report.js`, for the page and for drawing without a browser, written to where the
// crate l4s-report embeds it.
import { defineConfig } from "vite";

export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2020",
    outDir: "../crates/report/assets/web",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: {
      entry: "src/main.ts",
      formats: ["iife"],
      name: "L4s",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});
