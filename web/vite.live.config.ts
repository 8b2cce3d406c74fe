// The page of the live demo, to where the crate l4s-live embeds it.
import { defineConfig } from "vite";

export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  publicDir: "src/live/public",
  build: {
    target: "es2022",
    outDir: "../crates/live/assets",
    emptyOutDir: true,
    reportCompressedSize: false,
    lib: {
      entry: "src/live/main.ts",
      formats: ["iife"],
      name: "L4sLive",
      fileName: () => "live.js",
      cssFileName: "live",
    },
  },
});
